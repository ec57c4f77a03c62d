/*
 * lib/text/word_counts_hash.h - one thread's table of words
 *
 * Open addressing, linear probing, at most five eighths full. A word of up to 12 bytes lies in its slot, as two big-endian
 * numbers, so that slots compare and sort as numbers; a longer one lies in a chunk of text. Hashes are seeded at
 * random, so that no text can be written to collide; nothing that is told depends on them.
 */
#ifndef LIB_TEXT_WORD_COUNTS_HASH_H
#define LIB_TEXT_WORD_COUNTS_HASH_H

#include <stdint.h>

#include "lib/base/bytes.h"

#define WORD_SLOT_BYTES 12

struct word_slot {
	uint64_t count;
	union {
		uint64_t low;	  /* the first 8 bytes, zeros behind a shorter word */
		const char *text; /* of a longer word; all of it */
	};
	uint64_t
		tag; /* its size in the upper half, then the 4 bytes after low; of a longer word its first 4 */
};

static inline uint32_t word_slot_size(const struct word_slot *s) /* 0: the slot is free */
{
	return (uint32_t)(s->tag >> 32);
}

struct word_hash {
	struct word_slot *slots; /* owned; NULL before the first word */
	size_t capacity;	 /* a power of two */
	size_t n, n_max;	 /* words; as many as there may be before it grows */
	int shift;		 /* of a hash, so that its upper bits are a slot's number */
	uint64_t seed;
	struct word_chunk *chunks; /* owned; texts of long words */
	size_t chunk_bytes;	   /* of a new chunk */
	size_t bytes;		   /* of slots and chunks together */
};

/* Texts are kept in chunks of CHUNK_BYTES. Nothing is allocated yet. */
void word_hash_init(struct word_hash *h, size_t chunk_bytes);
void word_hash_free(struct word_hash *h);
void word_hash_clear(struct word_hash *h); /* forgets all words; slots stay allocated */

/*
 * Adds COUNT to WORD. 1; 0, with nothing changed, when the word is new and the table would need more than LIMIT bytes for it
 * (not when it is empty: then any word fits); -1 with the error set (memory).
 */
int word_hash_add(struct word_hash *h, struct bytes word, uint64_t count, size_t limit);

/* Puts the words into the first N slots, in the order of their bytes. Words can be read then, or the table cleared. */
void word_hash_sort(struct word_hash *h);

/* The word of a slot; BUFFER lends room for a short one. */
struct bytes word_slot_text(const struct word_slot *s, char buffer[WORD_SLOT_BYTES]);

#endif
