/*
 * kernels/ref/ref.h - elements of any dtype as doubles, and walks over strided tensors
 *
 * The reference kernels are written over these: slow, and plain to read.
 */
#ifndef KERNELS_REF_REF_H
#define KERNELS_REF_REF_H

#include <string.h>

#include "kernels/attributes.h"
#include "kernels/kernel.h"

/* The element AT elements from T's first, and how to put one there: rounded to the dtype, to nearest even. */
double ref_get(const struct kernel_tensor *t, ptrdiff_t at);
void ref_put(const struct kernel_tensor *t, ptrdiff_t at, double value);
/* X as it is after a trip through the dtype. */
double ref_rounded(enum dtype dtype, double x);

/* A place in a shape, counted up from the last axis. */
struct ref_index {
	size_t at[KERNEL_AXES];
};

/* The index of element I of T, in the order of its axes. */
void ref_index(const struct kernel_tensor *t, size_t i, struct ref_index *out);
/* Where that lies in T, whose axes are INDEX's. */
ptrdiff_t ref_offset(const struct kernel_tensor *t, const struct ref_index *index);

/* Shares the elements of output 0, and calls FN(c, index, position) for each of this part's. */
#define REF_SHARE(c, n, from, to) \
 size_t from, to;                 \
 kernel_share(n, 1, (c)->part, (c)->parts, &from, &to)

static inline bool ref_has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

double ref_activation(double x, uint32_t activation); /* enum activation */

#define REF_KERNEL(name, function) \
 const struct kernel ref_##name = { .op = #name, .variant = "ref", .run = function }

#endif
