/*
 * formats/tokenizer_pieces.h - a vocabulary and its merges, as readers gather them
 *
 * What readers of tokenizer files share: pieces found by their text in constant time, merges whose three
 * pieces must exist, merges worked out where a file gives ranks or scores instead, and the alphabet of
 * byte-level models.
 */
#ifndef FORMATS_TOKENIZER_PIECES_H
#define FORMATS_TOKENIZER_PIECES_H

#include "lib/base/buffer.h"
#include "lib/base/names.h"
#include "lib/text/spec.h"

#define TOKENIZER_ID_MAX    ((uint32_t)INT32_MAX)
#define TOKENIZER_PIECE_MAX ((size_t)1024) /* bytes of a piece whose merges are worked out */

struct tokenizer_pieces {
	const char *file; /* for messages; borrowed */
	struct arena *arena;
	struct names *ids; /* text to id */
	struct piece_spec *items;
	size_t n, capacity;
	struct merge_spec *merges;
	size_t n_merges, merges_capacity;
	struct buffer scratch;
	size_t next; /* in items: behind the last merge's result, which is where the next one's mostly is */
};

int tokenizer_pieces_new(struct tokenizer_pieces *p, struct arena *arena, const char *file);
void tokenizer_pieces_free(struct tokenizer_pieces *p); /* a zeroed struct is allowed */

/* Room for N pieces and N_MERGES merges, where a file tells how many it has: saves growing. */
int tokenizer_pieces_reserve(struct tokenizer_pieces *p, size_t n, size_t n_merges);

/* TEXT lies in the arena. ERR_FORMAT when the text is there already, or ID is past 2^31 - 1. */
int tokenizer_pieces_add(struct tokenizer_pieces *p, struct bytes text, uint64_t id, double score);
/* The id of TEXT, or TOKEN_NONE. */
uint32_t tokenizer_pieces_find(const struct tokenizer_pieces *p, struct bytes text);

/*
 * Appends a merge. Its result is LEFT followed by RIGHT without its first SKIP bytes (a
 * continuing_subword_prefix). ERR_FORMAT names the piece that is not there.
 */
int tokenizer_pieces_merge(struct tokenizer_pieces *p, struct bytes left, struct bytes right,
			   size_t skip);
/* The same from a line `left right`, of exactly one space. */
int tokenizer_pieces_merge_line(struct tokenizer_pieces *p, struct bytes line, size_t skip);

/* How merges are worked out from pieces alone. */
enum merge_order {
	MERGE_BY_LENGTH, /* of one piece's splits, the shorter left side first; cut between characters */
	MERGE_BY_RANK, /* the lower left id, then the lower right id; cut between any bytes */
};
/*
 * For each of the N pieces in TEXTS, in this order: a merge for each way to cut it in two pieces that RAW
 * knows (text to id). ERR_LIMIT for a piece of more than TOKENIZER_PIECE_MAX bytes.
 */
int tokenizer_pieces_splits(struct tokenizer_pieces *p, const struct names *raw,
			    const struct piece_spec *texts, size_t n, enum merge_order order);

/*
 * Gives the pieces, ordered by id, and the merges to MODEL; of a merge that is there twice the last one
 * counts when KEEP_LAST, else the first. ERR_FORMAT when two pieces have one id.
 */
int tokenizer_pieces_finish(struct tokenizer_pieces *p, struct model_spec *model, bool keep_last);

/* Bytes to the characters that stand for them in byte-level vocabularies (GPT-2's bytes_to_unicode). */
void tokenizer_put_byte_level(struct buffer *b, struct bytes raw);
/* The byte that stands at place I (0 to 255) of GPT-2's table: printable ones first. */
unsigned char tokenizer_byte_order(unsigned i);

/* A copy of B in ARENA; its data is NULL, with the error set, when memory is refused. */
struct bytes tokenizer_copy(struct arena *arena, struct bytes b);

#endif
