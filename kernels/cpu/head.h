/*
 * kernels/cpu/head.h - the product of states and a vocabulary, and what a loss makes of it, never whole in memory
 *
 * Logits z = cap(x wT + b) are made HEAD_ROWS rows by HEAD_WORDS words at a time in panels (gemm.h). Forward, a row keeps its
 * largest logit, the sum of exp and what the loss picks, word by word in their order. Backward makes the logits of a block
 * once more, and from them what it adds to dw = dzT x and to dx = dz w: four products in all. Work is a range of words, whose dw are its
 * own and which sums a dx for itself; those are added in the order of the ranges. A row's and a word's sums are chains in the order of
 * words and rows, whatever the parts, so that the number of threads changes no bit.
 */
#ifndef KERNELS_CPU_HEAD_H
#define KERNELS_CPU_HEAD_H

#include "kernels/attributes.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/level.h"

#define HEAD_ROWS \
 240 /* of a block: multiples of every GEMM_ROWS, and of GEMM_COLUMNS and GEMM_ROWS */
#define HEAD_WORDS 384
#define HEAD_GROUP 720 /* rows for which words are packed once */

struct head;

/* What is known of a row as its words pass. */
struct head_row {
	float most;
	double sum;	 /* of exp(z - most) */
	double total;	 /* of z */
	double weighted; /* of exp(z - most) (z - most) */
	/* The loss's own: what it picked; of the words that a teacher kept how many, their total, and where it stands. */
	double picked, log_total;
	size_t kept, next;
	bool rising;
};

struct head_loss {
	/* Before the words pass; NULL: nothing. */
	void (*begin)(const struct head *h, size_t row, struct head_row *r);
	/* Forward: words FIRST to FIRST + N - 1 of ROW have the logits Z. */
	void (*pick)(const struct head *h, size_t row, size_t first, size_t n, const float *z,
		     struct head_row *r);
	void (*finish)(const struct head *h, size_t row, const struct head_row *r);
	/* Backward: whether ROW has a gradient, and what is taken from its P, as Z above. */
	bool (*live)(const struct head *h, size_t row);
	void (*take)(const struct head *h, size_t row, size_t first, size_t n, float *p,
		     struct head_row *r);
};

struct head {
	const struct kernel_call *c;
	const struct cross_entropy_attributes *a;
	const struct head_loss *loss;
	const struct kernel_tensor *x, *w, *bias; /* NULL: none */
	const struct kernel_tensor *lse, *dloss;  /* backward */
	size_t rows, vocab, width;
	double smoothing, z_loss;
};

/* Of a call whose log-sum-exp is operand LSE, the next dloss (0: forward), and whose bias is operand BIAS. */
struct head LEVEL_NAME(head_of)(const struct kernel_call *c, const struct head_loss *loss, int lse,
				int bias);
bool LEVEL_NAME(head_serves)(const struct head *h);
size_t LEVEL_NAME(head_scratch)(const struct head *h);
void LEVEL_NAME(head_forward)(const struct head *h);
void LEVEL_NAME(head_backward)(const struct head *h);

SIMD_INLINE float head_get(const struct kernel_tensor *t, ptrdiff_t at)
{
	float x;

	operand_load(t->dtype, operand_at(t, at), &x, 1);
	return x;
}

SIMD_INLINE int32_t head_id(const struct kernel_tensor *t, ptrdiff_t at)
{
	return ((const int32_t *)t->data)[at];
}

SIMD_INLINE void head_put(const struct kernel_tensor *t, size_t row, double x)
{
	float f = (float)x;
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0];

	operand_store(t->dtype, &f, (uint8_t *)t->data + operand_bytes(t->dtype, at), 1);
}

/* Vectors of any stride whose elements are floats, or ids. */
SIMD_INLINE bool head_vector_serves(const struct kernel_tensor *t)
{
	return t->n_axes == 1 && operand_is_float(t->dtype);
}

/* A kernel of a file whose make(call, gradient) gives the head, and whose loss_serves(call) looks at the rest. */
#define HEAD_KERNEL(name, gradient, work)                                       \
 static void run_##name(const struct kernel_call *c)                            \
 {                                                                              \
  struct head h = make(c, gradient);                                            \
  LEVEL_NAME(work)(&h);                                                         \
 }                                                                              \
 static size_t scratch_##name(const struct kernel_call *c)                      \
 {                                                                              \
  struct head h = make(c, gradient);                                            \
  return LEVEL_NAME(head_scratch)(&h);                                          \
 }                                                                              \
 static bool claims_##name(const struct kernel_call *c)                         \
 {                                                                              \
  struct head h = make(c, gradient);                                            \
  return LEVEL_NAME(head_serves)(&h) && loss_serves(c);                         \
 }                                                                              \
 LEVEL_KERNEL(name, chunks, .claims = claims_##name, .scratch = scratch_##name, \
	      .phases = (gradient) ? 2 : 1, .run = run_##name)

#endif
