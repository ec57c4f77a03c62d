/* lib/graph/shape.c - shapes: counting, comparing, printing */

#include <inttypes.h>
#include <stdio.h>

#include "lib/graph/graph_parts.h"

size_t shape_elements(const struct shape *s)
{
	size_t n = 1;

	for (int i = 0; i < s->n; i++)
		n *= s->at[i];
	return n;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->at[i] != b->at[i])
			return false;
	return true;
}

const char *shape_string(const struct shape *s)
{
	static _Thread_local char ring[4][192];
	static _Thread_local unsigned turn;
	char *out = ring[turn++ % 4];
	size_t n = 0;

	out[n++] = '[';
	for (int i = 0; i < s->n; i++)
		n += (size_t)snprintf(out + n, sizeof(ring[0]) - n - 1, "%s%zu", i ? ", " : "",
				      s->at[i]);
	out[n++] = ']';
	out[n] = '\0';
	return out;
}

bool tensor_is_dense(const struct tensor *t)
{
	size_t n = 1;

	for (int i = t->shape.n - 1; i >= 0; i--) {
		if (t->shape.at[i] != 1 && t->stride[i] != (ptrdiff_t)n)
			return false;
		n *= t->shape.at[i];
	}
	return true;
}
