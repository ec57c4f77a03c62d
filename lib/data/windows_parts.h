/* lib/data/windows_parts.h - the plan behind windows that are filled best */
#ifndef LIB_DATA_WINDOWS_PARTS_H
#define LIB_DATA_WINDOWS_PARTS_H

#include "lib/data/windows.h"

/* A document, or a part of one, in a window. */
struct piece {
	uint64_t start;
	uint32_t length;
};

/* The pieces of window i are pieces[first[i]] to pieces[first[i + 1]] - 1. */
struct best_fit {
	struct piece *pieces;
	uint64_t *first;
	uint64_t n_pieces, n_windows;
	uint64_t lost, cut;
};

/* ROOM tokens a window. Fills OUT, whose parts best_fit_free frees; also after a failure. */
int best_fit_new(struct best_fit *out, const struct token_pack *p, uint32_t room);
void best_fit_free(struct best_fit *b);

#endif
