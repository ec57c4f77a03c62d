/*
 * lib/text/vocabulary.h - the pieces of a model, found by their bytes and by their ids
 *
 * About 32 bytes a piece and, for byte-level models, the bytes themselves. Ids need not be dense.
 */
#ifndef LIB_TEXT_VOCABULARY_H
#define LIB_TEXT_VOCABULARY_H

#include "lib/text/spec.h"
#include "lib/text/trie.h"

struct vocabulary_slot {
	uint32_t hash; /* the lower half of the text's hash */
	uint32_t at;   /* a place in pieces; TOKEN_NONE: free */
};

struct vocabulary_piece {
	const char *data;
	uint32_t size;
	uint32_t id;
};

struct vocabulary {
	struct vocabulary_piece *pieces; /* in the order of their ids */
	uint32_t n;
	uint32_t size;	  /* the largest id + 1 */
	uint32_t longest; /* bytes of the longest piece that can be found */
	struct vocabulary_slot *slots;
	uint64_t seed;
	uint32_t mask; /* slots - 1, slots being a power of two */
	char *bytes;   /* of a byte-level vocabulary, owned */
};

/*
 * Takes the pieces of SPEC, whose bytes must outlive it. BYTE_LEVEL: those that are spelled in ByteLevel's alphabet are
 * mapped back to bytes; the others keep their text and are not found by it. Of two pieces with the same
 * text the one with the larger id is found. An id that stands twice, or past 2^31, is ERR_FORMAT.
 */
int vocabulary_init(struct vocabulary *v, const struct model_spec *spec, bool byte_level);
void vocabulary_clear(struct vocabulary *v); /* a zeroed one too */

/* The id, or TOKEN_NONE; and its place in pieces, or TOKEN_NONE. */
uint32_t vocabulary_find(const struct vocabulary *v, const char *data, size_t size);
uint32_t vocabulary_place(const struct vocabulary *v, const char *data, size_t size);
/* NULL when there is none. */
const struct vocabulary_piece *vocabulary_at(const struct vocabulary *v, uint32_t id);
/* Every text that can be found, its value its piece's place in pieces. */
int vocabulary_trie(const struct vocabulary *v, struct trie *t);

#endif
