/* lib/eval/op_operands.c - operands of an op, as people write them */

#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/op_shapes.h"

#define LENGTH_MOST ((uint64_t)1 << 40)

struct shape op_operand_memory(const struct op_operand_shape *o)
{
	struct shape s = o->shape;

	if (o->transposed) {
		s.at[s.n - 1] = o->shape.at[s.n - 2];
		s.at[s.n - 2] = o->shape.at[s.n - 1];
	}
	return s;
}

/* Digits at *P, which moves past them. */
static int read_number(const char **p, uint64_t *out)
{
	const char *s = *p;

	*out = 0;
	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		*out = *out * 10 + (uint64_t)(*s - '0');
		if (*out > LENGTH_MOST)
			return -1;
	}
	*p = s;
	return 0;
}

static int read_axes(const char **p, struct shape *s)
{
	uint64_t n;

	do {
		if (s->n == KERNEL_AXES || read_number(p, &n) < 0)
			return -1;
		s->at[s->n++] = (size_t)n;
	} while (**p == 'x' && ++*p);
	return 0;
}

static int read_dtype(const char **p, const char *end, enum dtype *out)
{
	const char *colon = memchr(*p, ':', (size_t)(end - *p));
	char name[16];
	size_t n = colon ? (size_t)(colon - *p) : 0;

	if (!colon)
		return 0;
	if (n >= sizeof(name))
		return -1;
	memcpy(name, *p, n);
	name[n] = '\0';
	*out = dtype_by_name(name);
	*p = colon + 1;
	return *out == DTYPE_UNKNOWN ? -1 : 0;
}

static int read_ending(const char **p, struct op_operand_shape *o)
{
	char c = *(*p)++;

	if (c == 'T') {
		o->transposed = true;
		return o->shape.n < 2 ? -1 : 0;
	}
	if (c == 'W') {
		o->weight = true;
		return 0;
	}
	if (o->fill)
		return -1;
	o->fill = c;
	if (c == '+' || c == '#')
		return 0;
	return (c == '<' || c == '^') && read_number(p, &o->limit) == 0 && o->limit > 0 ? 0 : -1;
}

static int read_word(const char *p, const char *end, struct op_operand_shape *o)
{
	size_t size;

	*o = (struct op_operand_shape){ .there = true };
	if (end - p == 1 && *p == '-') {
		o->there = false;
		return 0;
	}
	if (read_dtype(&p, end, &o->dtype) < 0 || read_axes(&p, &o->shape) < 0)
		return -1;
	while (p < end)
		if (read_ending(&p, o) < 0)
			return -1;
	/* Blocks lie along the axis that is the last in memory. */
	if (o->dtype != DTYPE_UNKNOWN &&
	    !dtype_size(o->dtype, o->shape.at[o->shape.n - 1 - o->transposed], &size))
		return -1;
	return p == end ? 0 : -1;
}

int op_operands_parse(const char *text, struct op_operands *out)
{
	const char *end;

	out->n = 0;
	for (text += strspn(text, " "); *text; text = end + strspn(end, " ")) {
		end = text + strcspn(text, " ");
		if (out->n == KERNEL_TENSORS)
			return err_set(ERR_ARGUMENT, "more than %d operands", KERNEL_TENSORS);
		if (read_word(text, end, &out->at[out->n++]) < 0)
			return err_set(ERR_ARGUMENT,
				       "operand '%.*s' is none like 4096x768, 768x2048T, "
				       "i32:16<100 or -",
				       (int)(end - text > 80 ? 80 : end - text), text);
	}
	return 0;
}
