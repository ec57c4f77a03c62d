/*
 * formats/tokenizer_ranks.h - pieces of bytes whose ids are ranks, as tiktoken merges them
 *
 * tiktoken merges the two neighbours whose joined bytes have the lowest rank, and takes a whole word that has a rank as it is: so
 * a merge stands for each way to cut a piece in two pieces, in the order of the ranks, and ignore_merges is on.
 */
#ifndef FORMATS_TOKENIZER_RANKS_H
#define FORMATS_TOKENIZER_RANKS_H

#include "lib/base/names.h"
#include "lib/text/spec.h"

struct tokenizer_ranks {
	const char *file; /* for messages; borrowed */
	struct arena *arena;
	struct names *ids;	   /* raw bytes to id */
	struct piece_spec *pieces; /* raw bytes */
	size_t n, capacity;
};

int tokenizer_ranks_new(struct tokenizer_ranks *r, struct arena *arena, const char *file);
void tokenizer_ranks_free(struct tokenizer_ranks *r); /* a zeroed struct is allowed */

/* RAW lies in the arena. ERR_FORMAT for no bytes at all, and for bytes that are there already. */
int tokenizer_ranks_add(struct tokenizer_ranks *r, struct bytes raw, uint32_t id);

/* The model of OUT. ERR_FORMAT where one of the 256 bytes is no piece: any text must have its ids. */
int tokenizer_ranks_model(struct tokenizer_spec *out, struct tokenizer_ranks *r);

#endif
