/* lib/model/bind.c - names and rows of rules; what loading and saving share */

#include "lib/model/bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/dtype.h"
#include "lib/base/size.h"
#include "lib/model/bind_parts.h"

/* --- names --- */

/* The number at *P, which moves on. */
static bool take_number(const char **p, const char *end, uint32_t *out)
{
	uint64_t n = 0;
	const char *start = *p;

	while (*p < end && **p >= '0' && **p <= '9' && n < UINT32_MAX / 16)
		n = 10 * n + (uint64_t)(*(*p)++ - '0');
	*out = (uint32_t)n;
	return *p > start && (*start != '0' || *p == start + 1);
}

bool bind_match(const char *pattern, struct bytes name, uint32_t numbers[BIND_NUMBERS])
{
	const char *p = name.data, *end = name.data + name.size;
	int n = 0;

	for (; *pattern; pattern++) {
		if (pattern[0] == '{' && pattern[1] == '}') {
			if (n == BIND_NUMBERS || !take_number(&p, end, &numbers[n++]))
				return false;
			pattern++;
		} else if (p == end || *p++ != *pattern) {
			return false;
		}
	}
	return p == end;
}

bool bind_name(const char *pattern, const uint32_t numbers[BIND_NUMBERS], char *out, size_t size)
{
	size_t at = 0;

	for (int n = 0; *pattern; pattern++) {
		char digits[16] = { *pattern };
		size_t length = 1;

		if (pattern[0] == '{' && pattern[1] == '}' && n < BIND_NUMBERS) {
			length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu32, numbers[n++]);
			pattern++;
		}
		if (at + length >= size)
			return false;
		memcpy(out + at, digits, length);
		at += length;
	}
	out[at] = '\0';
	return true;
}

int bind_count_items(const char *pattern)
{
	int n = 0;

	for (; (pattern = strstr(pattern, "{}")); pattern += 2)
		n++;
	return n;
}

/* --- rows --- */

bool bind_rows_of(enum dtype t, const uint64_t *shape, uint32_t n_dims, struct bind_rows *out)
{
	/* A vector's rows are its elements; one of blocks is a row. */
	bool vector = n_dims < 2 && dtype_info(t)->block == 1;
	size_t rows = 1;

	for (uint32_t i = 0; i + !vector < n_dims; i++)
		if (shape[i] > SIZE_MAX || !size_mul(rows, (size_t)shape[i], &rows))
			return false;
	out->n = rows;
	return dtype_size(t, vector || n_dims == 0 ? 1 : shape[n_dims - 1], &out->row);
}

uint64_t bind_row_there(const struct bind_rule *r, uint64_t i)
{
	uint64_t half = r->paired / 2, head, in_head;

	if (!r->paired)
		return i;
	head = i / r->paired * r->paired;
	in_head = i % r->paired;
	return head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
}

/* --- values --- */

void bind_turn(enum dtype t, const void *values, uint64_t rows, uint64_t columns, void *out)
{
	size_t size = dtype_info(t)->bytes;

	for (uint64_t i = 0; i < rows; i++)
		for (uint64_t j = 0; j < columns; j++)
			memcpy((char *)out + (j * rows + i) * size,
			       (const char *)values + (i * columns + j) * size, size);
}

uint64_t bind_add(enum dtype t, void *values, uint64_t n, double added)
{
	size_t size = dtype_info(t)->bytes;
	uint64_t inexact = 0;

	for (uint64_t i = 0; i < n; i++) {
		char *at = (char *)values + i * size;
		float before, sum, after;

		dtype_to_f32(t, at, &before, 1);
		sum = (float)((double)before + added);
		dtype_from_f32(t, &sum, at, 1);
		dtype_to_f32(t, at, &after, 1);
		inexact += (double)after - added != (double)before;
	}
	return inexact;
}

static bool is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_BF16 || t == DTYPE_F16;
}

const char *bind_refusal(const struct bind_rule *r, enum dtype t, uint32_t n_dims)
{
	if (r->transposed && dtype_info(t)->block > 1)
		return "blocks cannot be transposed";
	if (r->transposed && n_dims != 2)
		return "only a matrix can be transposed";
	if (r->added != 0 && !is_float(t))
		return "values of this type cannot be shifted";
	return NULL;
}

void bind_report_free(struct bind_report *r)
{
	for (size_t i = 0; i < r->n_unknown; i++)
		free(r->unknown[i]);
	free(r->unknown);
	*r = (struct bind_report){ 0 };
}
