/* lib/model/bind_parts.h - values between the two sides of a rule; users include bind.h */
#ifndef LIB_MODEL_BIND_PARTS_H
#define LIB_MODEL_BIND_PARTS_H

#include "lib/model/bind.h"

#define BIND_NAME 512 /* bytes of a name at most, with its NUL */

/* Rows of ROW bytes, N of them. */
struct bind_rows {
	uint64_t n;
	size_t row;
};

/* Of a shape; blocks whole. False: sizes that cannot be, or rows that are no whole blocks. */
bool bind_rows_of(enum dtype t, const uint64_t *shape, uint32_t n_dims, struct bind_rows *out);
/* Where row I of a piece of ours lies in the piece of theirs. */
uint64_t bind_row_there(const struct bind_rule *r, uint64_t i);
/* VALUES [rows, columns] of plain dtype T, the other way round, into OUT. */
void bind_turn(enum dtype t, const void *values, uint64_t rows, uint64_t columns, void *out);
/* N values of a float dtype, each larger by ADDED; how many are not exact. */
uint64_t bind_add(enum dtype t, void *values, uint64_t n, double added);
/* What a rule cannot do with blocks or integers. NULL: it can. */
const char *bind_refusal(const struct bind_rule *r, enum dtype t, uint32_t n_dims);
int bind_count_items(const char *pattern); /* how many {} */

#endif
