/*
 * kernels/cpu/elementwise.h - ops that make each element of equally placed ones: the walk, and how a function of vectors becomes a kernel
 *
 * The elements are walked in runs along the last axis. A run's operands are f32 or, where all are, bf16 where they lie; others are
 * brought to f32 (or a value that is broadcast repeated) in a small buffer; its results are stored or rounded likewise. The end of a run goes
 * through a buffer too, so that tails have the arithmetic of the body.
 */
#ifndef KERNELS_CPU_ELEMENTWISE_H
#define KERNELS_CPU_ELEMENTWISE_H

#include "kernels/attributes.h"
#include "kernels/cpu/plain.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_four.h"
#include "kernels/cpu/vector.h"

#define RUN	 1024 /* elements at a time */
#define LONG_RUN 4096 /* of what lies where it is taken from and put */
#define OPERANDS 3
#define RESULTS	 2

struct run {
	const uint8_t *x[OPERANDS];
	uint8_t *y[RESULTS];
	enum dtype from, to; /* what lies there: f32 or bf16 */
	bool stream;	     /* past the caches */
	const void *attributes;
};

#define STEP (4 * SIMD_WIDTH)

/* N is a multiple of STEP. */
typedef void run_fn(const struct run *r, size_t n);

/* --- the walk --- */

static ptrdiff_t last_step(const struct kernel_tensor *t, ptrdiff_t scalar)
{
	return t->n_axes ? t->stride[t->n_axes - 1] : scalar;
}

/* N elements of T from AT on as WANTED, f32 or what T is: where they lie, or in ROOM. */
static const uint8_t *take(const struct kernel_tensor *t, ptrdiff_t at, size_t n, enum dtype wanted,
			   float *room)
{
	ptrdiff_t step = last_step(t, 0);
	const uint8_t *p = operand_at(t, at);

	if (step == 1 && t->dtype == wanted)
		return p;
	if (t->dtype == wanted)
		plain_gather(operand_bytes(wanted, 1), p, step, (uint8_t *)room, n);
	else if (step == 1)
		operand_load(t->dtype, p, room, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(t->dtype, operand_at(t, at + (ptrdiff_t)i * step), room + i,
				     1);
	return (const uint8_t *)room;
}

/* From f32. */
static void give(const struct kernel_tensor *t, ptrdiff_t at, const float *y, size_t n)
{
	ptrdiff_t step = last_step(t, 1);
	uint8_t *p = (uint8_t *)t->data;

	if (step == 1) {
		operand_store(t->dtype, y, p + operand_bytes(t->dtype, at), n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		operand_store(t->dtype, y + i,
			      p + operand_bytes(t->dtype, at + (ptrdiff_t)i * step), 1);
}

/* The last few elements, in buffers of whole vectors. */
static void run_tail(const struct kernel_call *c, run_fn *fn, const struct run *r, size_t done,
		     size_t n)
{
	uint8_t x[OPERANDS][4 * STEP] = { { 0 } }, y[RESULTS][4 * STEP];
	size_t in = operand_bytes(r->from, 1), out = operand_bytes(r->to, 1);
	struct run tail = { .from = r->from, .to = r->to, .attributes = r->attributes };

	for (int i = 0; i < c->n_in; i++) {
		memcpy(x[i], r->x[i] + done * in, (n - done) * in);
		tail.x[i] = x[i];
	}
	for (int i = 0; i < c->n_out; i++)
		tail.y[i] = y[i];
	fn(&tail, STEP);
	for (int i = 0; i < c->n_out; i++)
		memcpy(r->y[i] + done * out, y[i], (n - done) * out);
}

/* N elements of run OUTER from FIRST on. LIKE: what lies there, and whether it goes past the caches. */
static void run_some(const struct kernel_call *c, run_fn *fn, const struct run *like, size_t outer,
		     size_t first, size_t n)
{
	float x[OPERANDS][RUN], y[RESULTS][RUN];
	ptrdiff_t at[RESULTS];
	struct run r = *like;
	size_t whole = n / STEP * STEP;

	for (int i = 0; i < c->n_in; i++) {
		const struct kernel_tensor *t = &c->in[i];

		r.x[i] = take(t, rows_at(t, outer) + (ptrdiff_t)first * last_step(t, 0), n, r.from,
			      x[i]);
	}
	for (int i = 0; i < c->n_out; i++) {
		const struct kernel_tensor *t = &c->out[i];

		at[i] = rows_at(t, outer) + (ptrdiff_t)first * last_step(t, 1);
		r.y[i] = last_step(t, 1) == 1 && t->dtype == r.to
				 ? (uint8_t *)t->data + operand_bytes(t->dtype, at[i])
				 : (uint8_t *)y[i];
		r.stream = r.stream && r.y[i] != (uint8_t *)y[i] && vector_aligned(r.y[i]);
	}
	if (whole)
		fn(&r, whole);
	if (whole < n)
		run_tail(c, fn, &r, whole, n);
	for (int i = 0; i < c->n_out; i++)
		if (r.y[i] == (uint8_t *)y[i])
			give(&c->out[i], at[i], y[i], n);
}

static bool all_are(const struct kernel_tensor *t, int n, enum dtype wanted)
{
	for (int i = 0; i < n; i++)
		if (t[i].dtype != wanted)
			return false;
	return true;
}

static bool results_side_by_side(const struct kernel_call *c)
{
	for (int i = 0; i < c->n_out; i++)
		if (last_step(&c->out[i], 1) != 1)
			return false;
	return true;
}

/*
 * What runs of C take and give: bf16 where nothing else is there, else f32. Two results written in turn past the caches took a fifth
 * longer than through them (Zen 3).
 */
static struct run run_like(const struct kernel_call *c)
{
	bool brain = all_are(c->in, c->n_in, DTYPE_BF16) && all_are(c->out, c->n_out, DTYPE_BF16) &&
		     results_side_by_side(c);
	enum dtype t = brain ? DTYPE_BF16 : DTYPE_F32;

	return (struct run){ .attributes = c->attributes,
			     .from = t,
			     .to = t,
			     .stream = c->n_out == 1 && vector_streams(&c->out[0]) };
}

/* Whether runs of C pass through no buffer. */
static bool straight(const struct kernel_call *c, const struct run *like)
{
	for (int i = 0; i < c->n_in; i++)
		if (last_step(&c->in[i], 0) != 1 || c->in[i].dtype != like->from)
			return false;
	return results_side_by_side(c) && all_are(c->out, c->n_out, like->to);
}

static bool all_dense(const struct kernel_tensor *t, int n)
{
	for (int i = 0; i < n; i++)
		if (!kernel_dense(&t[i]))
			return false;
	return true;
}

static void each_run(const struct kernel_call *c, run_fn *fn, const struct run *like, size_t most)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + most - 1) / most, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t first = i % runs * most;

		run_some(c, fn, like, i / runs, first,
			 length - first < most ? length - first : most);
	}
}

/* What lies side by side from the first to the last is one run for each part. */
static void each(const struct kernel_call *c, run_fn *fn, const struct run *like)
{
	bool is_straight = straight(c, like);
	size_t from, to;

	if (is_straight && all_dense(c->in, c->n_in) && all_dense(c->out, c->n_out)) {
		kernel_share(kernel_elements(&c->out[0]), RUN, c->part, c->parts, &from, &to);
		if (from < to)
			run_some(c, fn, like, 0, from, to - from);
	} else {
		each_run(c, fn, like, is_straight ? LONG_RUN : RUN);
	}
	if (like->stream)
		simd_stream_end();
}

static bool claims(const struct kernel_call *c)
{
	for (int i = 0; i < c->n_in; i++)
		if (!operand_is_float(c->in[i].dtype))
			return false;
	for (int i = 0; i < c->n_out; i++)
		if (!operand_is_float(c->out[i].dtype))
			return false;
	return true;
}

/* --- the functions --- */

#define KERNEL(name, claim)                          \
 static void run_##name(const struct kernel_call *c) \
 {                                                   \
  struct run like = run_like(c);                     \
  each(c, runs_##name, &like);                       \
 }                                                   \
 LEVEL_KERNEL(name, runs, .claims = claim, .run = run_##name)

/*
 * Two vectors of operand or result I at ELEMENT of a run of T, in an order of their own. What comes AHEAD bytes later is asked for, be it
 * there or not: a step takes so long that the processor does not look far enough past it by itself.
 */
#define AHEAD 1024

SIMD_INLINE void load(const struct run *r, enum dtype t, int i, size_t element, vf32 two[2])
{
	const uint8_t *p = r->x[i] + operand_bytes(t, (ptrdiff_t)element);

	__builtin_prefetch((const void *)((uintptr_t)p + AHEAD), 0, 3);
	vector_split(t, p, two);
}

/* What arithmetic made of operands of T (vector_join_bare). */
SIMD_INLINE void store(const struct run *r, enum dtype t, int i, size_t element, const vf32 two[2],
		       bool stream)
{
	vector_join_bare(t, r->y[i] + operand_bytes(t, (ptrdiff_t)element), two, stream);
}

/* What may be an operand as it was, or have met a number that is none of T. */
SIMD_INLINE void store_any(const struct run *r, enum dtype t, int i, size_t element,
			   const vf32 two[2], bool stream)
{
	vector_join(t, r->y[i] + operand_bytes(t, (ptrdiff_t)element), two, stream);
}

/*
 * runs_NAME of body_NAME(run, n, dtype, stream), for the dtypes that runs are of. The run is a local one: what is stored is none of it.
 */
#define RUNS(name)                                        \
 static void runs_##name(const struct run *run, size_t n) \
 {                                                        \
  struct run r = *run;                                    \
  if (r.from == DTYPE_BF16 && r.stream)                   \
   body_##name(&r, n, DTYPE_BF16, true);                  \
  else if (r.from == DTYPE_BF16)                          \
   body_##name(&r, n, DTYPE_BF16, false);                 \
  else if (r.stream)                                      \
   body_##name(&r, n, DTYPE_F32, true);                   \
  else                                                    \
   body_##name(&r, n, DTYPE_F32, false);                  \
 }                                                        \
 KERNEL(name, claims)

#define UNARY_BY(name, expression, put)                                                 \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += VECTOR_TWO) {                                          \
   vf32 v[2];                                                                           \
   load(r, t, 0, i, v);                                                                 \
   SIMD_UNROLL                                                                          \
   for (size_t j = 0; j < 2; j++) {                                                     \
    vf32 x = v[j];                                                                      \
    v[j] = expression;                                                                  \
   }                                                                                    \
   put(r, t, 0, i, v, stream);                                                          \
  }                                                                                     \
 }                                                                                      \
 RUNS(name)

#define BINARY_BY(name, expression, put)                                                \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += VECTOR_TWO) {                                          \
   vf32 v[2], w[2];                                                                     \
   load(r, t, 0, i, v);                                                                 \
   load(r, t, 1, i, w);                                                                 \
   SIMD_UNROLL                                                                          \
   for (size_t j = 0; j < 2; j++) {                                                     \
    vf32 a = v[j], b = w[j];                                                            \
    v[j] = expression;                                                                  \
   }                                                                                    \
   put(r, t, 0, i, v, stream);                                                          \
  }                                                                                     \
 }                                                                                      \
 RUNS(name)

/* Of functions that take four vectors, and put what they make in their place. */
SIMD_INLINE void load_four(const struct run *r, enum dtype t, int i, size_t element, vf32 four[4])
{
	load(r, t, i, element, four);
	load(r, t, i, element + VECTOR_TWO, four + 2);
}

SIMD_INLINE void store_four(const struct run *r, enum dtype t, int i, size_t element,
			    const vf32 four[4], bool stream)
{
	store(r, t, i, element, four, stream);
	store(r, t, i, element + VECTOR_TWO, four + 2, stream);
}

#define FOUR(name, function)                                                            \
 SIMD_INLINE void four_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += STEP) {                                                \
   vf32 v[4];                                                                           \
   load_four(r, t, 0, i, v);                                                            \
   function(v);                                                                         \
   store_four(r, t, 0, i, v, stream);                                                   \
  }                                                                                     \
 }

#define UNARY_FOUR(name, function)                                                      \
 FOUR(name, function)                                                                   \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  four_##name(r, n, t, stream);                                                         \
 }                                                                                      \
 RUNS(name)

/* Of functions that compute, and of those that choose or change a sign. */
#define UNARY(name, expression)	     UNARY_BY(name, expression, store)
#define BINARY(name, expression)     BINARY_BY(name, expression, store)
#define UNARY_ANY(name, expression)  UNARY_BY(name, expression, store_any)
#define BINARY_ANY(name, expression) BINARY_BY(name, expression, store_any)

SIMD_INLINE vf32 zero(void)
{
	return simd_f32(0.0f);
}

SIMD_INLINE vf32 one(void)
{
	return simd_f32(1.0f);
}

#endif
