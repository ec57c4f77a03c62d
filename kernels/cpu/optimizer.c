/*
 * kernels/cpu/optimizer.c - what a training step updates in place, in one pass over memory
 *
 * The arithmetic is that of kernels/ref/optimizer.c in f32. Tensors are taken RUN elements at a time, those of 16 bits through
 * rooms of f32. Sums over a tensor are of pieces of PIECE elements in double, and of the pieces in their order.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/simd_philox.h"

#define RUN   256 /* a block of adamw8, too */
#define PIECE 4096

/* Whether N elements of T can be worked on where they lie: whole vectors. */
static bool in_place(const struct kernel_tensor *t, size_t n)
{
	return t->dtype == DTYPE_F32 && n % SIMD_WIDTH == 0;
}

/* N elements from AT on: in place, or as f32 in ROOM, with zeros up to a whole vector. */
static float *flat(const struct kernel_tensor *t, size_t at, size_t n, float *room)
{
	if (in_place(t, n))
		return (float *)t->data + at;
	operand_load(t->dtype, operand_at(t, (ptrdiff_t)at), room, n);
	for (; n % SIMD_WIDTH; n++)
		room[n] = 0;
	return room;
}

static void flat_put(const struct kernel_tensor *t, size_t at, const float *x, size_t n)
{
	if (!in_place(t, n))
		operand_store(t->dtype, x,
			      (uint8_t *)t->data + operand_bytes(t->dtype, (ptrdiff_t)at), n);
}

static float scalar(const struct kernel_call *c, int i, size_t at)
{
	return ((const float *)c->in[i].data)[(ptrdiff_t)at * c->in[i].stride[0]];
}

/* --- rounding of a parameter --- */

/* The words that RUN elements of ROW from AT, a multiple of RUN, on draw: blocks are lanes. */
static void draw(const uint32_t key[2], uint32_t row, size_t at, uint32_t *out)
{
	uint32_t words[4][SIMD_WIDTH], first[SIMD_WIDTH];
	uint64_t block = at / 4;

	for (uint32_t i = 0; i < RUN / 4; i += SIMD_WIDTH) {
		vu32 word[4] = { { 0 } };

		/* The lower half does not overflow within a run. */
		for (uint32_t j = 0; j < SIMD_WIDTH; j++)
			first[j] = (uint32_t)block + i + j;
		memcpy(&word[0], first, sizeof(word[0]));
		word[1] += (uint32_t)(block >> 32);
		word[2] += row;
		simd_philox(key, word);
		memcpy(words, word, sizeof(words));
		for (size_t j = 0; j < SIMD_WIDTH; j++)
			for (size_t k = 0; k < 4; k++)
				out[4 * (i + j) + k] = words[k][j];
	}
}

/* The bits of f32 below those of bf16 are added to as many random ones; what is not finite stays. */
static void put_stochastic(const struct kernel_call *c, size_t at, float *x, size_t n)
{
	uint32_t bits[RUN];

	draw(c->key, 0, at, bits);
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = simd_load(x + i);
		vi32 below = (vi32)((vu32)simd_load(bits + i) >> 16);
		vi32 sum = ((vi32)v + below) & (int32_t)0xffff0000;
		vi32 finite = ((vi32)v & 0x7f800000) != 0x7f800000;

		simd_store(x + i, simd_select(finite, v, (vf32)sum));
	}
	flat_put(&c->out[0], at, x, n);
}

static void put_parameter(const struct kernel_call *c, size_t at, float *x, size_t n)
{
	const struct optimizer_attributes *a = c->attributes;

	if (a->stochastic & STOCHASTIC_PARAMETER && c->out[0].dtype == DTYPE_BF16)
		put_stochastic(c, at, x, n);
	else
		flat_put(&c->out[0], at, x, n);
}

/* --- a run of each op: operands are given as f32, those that are updated first --- */

struct run {
	float *t[4];
	size_t n;
};

typedef void run_fn(const struct kernel_call *c, const struct run *r);

/* The first UPDATED of TENSORS operands are written back, the first as a parameter when the op has attributes. */
SIMD_INLINE void over_runs(const struct kernel_call *c, int tensors, int updated, run_fn *fn)
{
	size_t from, to;

	kernel_share(kernel_elements(&c->out[0]), RUN, c->part, c->parts, &from, &to);
	for (size_t at = from; at < to; at += RUN) {
		float room[4][RUN];
		struct run r = { .n = to - at < RUN ? to - at : RUN };

		for (int i = 0; i < tensors; i++)
			r.t[i] = flat(&c->in[i], at, r.n, room[i]);
		fn(c, &r);
		for (int i = c->attributes ? 1 : 0; i < updated; i++)
			flat_put(&c->out[i], at, r.t[i], r.n);
		if (c->attributes)
			put_parameter(c, at, r.t[0], r.n);
	}
}

#define LOAD(i)	    simd_load(r->t[i] + j)
#define STORE(i, x) simd_store(r->t[i] + j, x)
#define EACH	    for (size_t j = 0; j < r->n; j += SIMD_WIDTH)

/* sum += x, of which X is rounded to the sum's dtype as a node of its own would be */
static void accumulate(const struct kernel_call *c, const struct run *r)
{
	if (c->out[0].dtype != c->in[1].dtype && c->out[0].dtype != DTYPE_F32)
		operand_round(c->out[0].dtype, r->t[1], r->n);
	EACH STORE(0, LOAD(0) + LOAD(1));
}

static void scale_by(const struct kernel_call *c, const struct run *r)
{
	vf32 h = simd_f32(scalar(c, 1, 0));

	EACH STORE(0, LOAD(0) * h);
}

static void ema(const struct kernel_call *c, const struct run *r)
{
	vf32 decay = simd_f32(scalar(c, 2, 0));
	vf32 rest = simd_f32((float)(1 - (double)scalar(c, 2, 0)));

	EACH STORE(0, simd_fma(decay, LOAD(0), rest * LOAD(1)));
}

static void sgd(const struct kernel_call *c, const struct run *r)
{
	const struct optimizer_attributes *a = c->attributes;
	vf32 lr = simd_f32(scalar(c, 3, 0)), scale = simd_f32(scalar(c, 3, 1));
	vf32 beta = simd_f32((float)a->beta1), decay = simd_f32((float)a->weight_decay);

	EACH
	{
		vf32 p = LOAD(0), g = LOAD(2) * scale, m = simd_fma(beta, LOAD(1), g), step = m;

		if (a->nesterov)
			step = simd_fma(beta, m, g);
		STORE(1, m);
		STORE(0, p - lr * simd_fma(decay, p, step));
	}
}

/* What adamw and adamw8 share. */
struct adam {
	vf32 lr, scale, beta1, beta2, rest1, rest2, first, second, eps, decay;
};

/* H is operand AT; 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) are multiplied by. */
static struct adam adam_of(const struct kernel_call *c, int at)
{
	const struct optimizer_attributes *a = c->attributes;

	return (struct adam){ .lr = simd_f32(scalar(c, at, 0)),
			      .scale = simd_f32(scalar(c, at, 1)),
			      .first = simd_f32((float)(1 / (double)scalar(c, at, 2))),
			      .second = simd_f32((float)(1 / sqrt((double)scalar(c, at, 3)))),
			      .beta1 = simd_f32((float)a->beta1),
			      .beta2 = simd_f32((float)a->beta2),
			      .rest1 = simd_f32((float)(1 - a->beta1)),
			      .rest2 = simd_f32((float)(1 - a->beta2)),
			      .eps = simd_f32((float)a->eps),
			      .decay = simd_f32((float)a->weight_decay) };
}

/* P after a step by the first moment M and the root R of the second. */
SIMD_INLINE vf32 adam_step(const struct adam *a, vf32 p, vf32 m, vf32 r)
{
	vf32 step = m * a->first / simd_fma(r, a->second, a->eps);

	return p - a->lr * simd_fma(a->decay, p, step);
}

static void adamw(const struct kernel_call *c, const struct run *r)
{
	struct adam a = adam_of(c, 4);

	EACH
	{
		vf32 g = LOAD(3) * a.scale, m = simd_fma(a.beta1, LOAD(1), a.rest1 * g);
		vf32 v = simd_fma(a.beta2, LOAD(2), a.rest2 * g * g);

		STORE(0, adam_step(&a, LOAD(0), m, simd_sqrt(v)));
		STORE(1, m);
		STORE(2, v);
	}
}

static void lion(const struct kernel_call *c, const struct run *r)
{
	const struct optimizer_attributes *a = c->attributes;
	vf32 lr = simd_f32(scalar(c, 3, 0)), scale = simd_f32(scalar(c, 3, 1)), zero = { 0 };
	vf32 beta1 = simd_f32((float)a->beta1), rest1 = simd_f32((float)(1 - a->beta1));
	vf32 beta2 = simd_f32((float)a->beta2), rest2 = simd_f32((float)(1 - a->beta2));
	vf32 decay = simd_f32((float)a->weight_decay), one = simd_f32(1.0f);

	EACH
	{
		vf32 p = LOAD(0), g = LOAD(2) * scale, m = LOAD(1);
		vf32 u = simd_fma(beta1, m, rest1 * g);
		vf32 sign = simd_keep(u > zero, one) - simd_keep(u < zero, one);

		STORE(1, simd_fma(beta2, m, rest2 * g));
		STORE(0, p - lr * simd_fma(decay, p, sign));
	}
}

static void run_accumulate(const struct kernel_call *c)
{
	over_runs(c, 2, 1, accumulate);
}

static void run_scale_by(const struct kernel_call *c)
{
	over_runs(c, 1, 1, scale_by);
}

static void run_ema(const struct kernel_call *c)
{
	over_runs(c, 2, 1, ema);
}

static void run_sgd(const struct kernel_call *c)
{
	over_runs(c, 3, 2, sgd);
}

static void run_adamw(const struct kernel_call *c)
{
	over_runs(c, 4, 3, adamw);
}

static void run_lion(const struct kernel_call *c)
{
	over_runs(c, 3, 2, lion);
}

static void run_replace(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t from, to;

	kernel_share(kernel_elements(out), RUN, c->part, c->parts, &from, &to);
	for (size_t at = from; at < to; at += RUN) {
		size_t n = to - at < RUN ? to - at : RUN;
		float room[RUN];
		const float *x = flat(&c->in[1], at, n, room);

		operand_store(out->dtype, x,
			      (uint8_t *)out->data + operand_bytes(out->dtype, (ptrdiff_t)at), n);
	}
}

/* --- moments of 8 bits --- */

/* The largest magnitude. */
static float largest(const float *x, size_t n)
{
	float lane[SIMD_WIDTH], most = 0;
	vf32 all = { 0 };

	for (size_t j = 0; j < n; j += SIMD_WIDTH)
		all = simd_max(simd_abs(rows_load(x + j, n - j)), all);
	simd_store(lane, all);
	for (int i = 0; i < SIMD_WIDTH; i++)
		most = lane[i] > most ? lane[i] : most;
	return most;
}

/*
 * x / MOST * LIMIT to the nearest integers after SHIFT, which begins between -1/2 and 1/2, is added; what is NaN becomes 0.
 * LEAST: what more than 0 is less than that becomes it.
 */
static void quantize(const float *x, size_t n, float most, float limit, float least,
		     const float *shift, int32_t *out)
{
	vf32 magic = simd_f32(0x1.8p23f);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = simd_load(x + i) / simd_f32(most) * simd_f32(limit);
		vi32 q, small;

		v = simd_keep(v == v, v);
		small = (v > (vf32){ 0 }) & (v < simd_f32(least));
		v = simd_max(simd_min(v + simd_load(shift + i), simd_f32(limit)), simd_f32(-limit));
		v = simd_select(small, v, simd_f32(least));
		q = (vi32)(v + magic) - (vi32)magic;
		simd_store(out + i, (vf32)q);
	}
}

/* What moments are shifted by before they are rounded to the nearest: as kernels/ref/optimizer.c draws. */
static void draw_shifts(const struct kernel_call *c, size_t at, float first[RUN], float root[RUN])
{
	const struct optimizer_attributes *a = c->attributes;
	uint32_t words[RUN];

	memset(first, 0, RUN * sizeof(*first));
	memset(root, 0, RUN * sizeof(*root));
	if (!(a->stochastic & STOCHASTIC_MOMENTS))
		return;
	draw(c->key, 1, at, words);
	for (size_t i = 0; i < RUN; i++) {
		first[i] = (float)(int32_t)(words[i] & 4095) * 0x1p-12f + (0x1p-13f - 0.5f);
		root[i] = (float)(int32_t)(words[i] >> 12 & 4095) * 0x1p-12f + (0x1p-13f - 0.5f);
	}
}

static void adam_block(const struct kernel_call *c, const struct adam *a, size_t block, size_t n)
{
	size_t at = block * RUN;
	float rooms[2][RUN], m[RUN] = { 0 }, r[RUN] = { 0 };
	float scale_m = scalar(c, 3, block) / 127, scale_r = scalar(c, 4, block) / 255;
	float *p = flat(&c->in[0], at, n, rooms[0]), most_m, most_r;
	const float *g = flat(&c->in[5], at, n, rooms[1]);
	int8_t *q = (int8_t *)c->out[1].data + at;
	uint8_t *u = (uint8_t *)c->out[2].data + at;
	float shift_m[RUN], shift_r[RUN];
	int32_t whole[RUN];

	for (size_t i = 0; i < n; i++) {
		m[i] = (float)q[i] * scale_m;
		r[i] = (float)u[i] * scale_r;
	}
	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 d = simd_load(g + j) * a->scale, old = simd_load(r + j);
		vf32 first = simd_fma(a->beta1, simd_load(m + j), a->rest1 * d);
		vf32 second = simd_sqrt(simd_fma(a->beta2 * old, old, a->rest2 * d * d));

		simd_store(m + j, first);
		simd_store(r + j, second);
		simd_store(p + j, adam_step(a, simd_load(p + j), first, second));
	}
	put_parameter(c, at, p, n);
	most_m = largest(m, n);
	most_r = largest(r, n);
	draw_shifts(c, at, shift_m, shift_r);
	quantize(m, n, most_m, 127, 0, shift_m, whole);
	for (size_t i = 0; i < n; i++)
		q[i] = (int8_t)whole[i];
	quantize(r, n, most_r, 255, 1, shift_r, whole);
	for (size_t i = 0; i < n; i++)
		u[i] = (uint8_t)whole[i];
	((float *)c->out[3].data)[(ptrdiff_t)block * c->out[3].stride[0]] = most_m;
	((float *)c->out[4].data)[(ptrdiff_t)block * c->out[4].stride[0]] = most_r;
}

static void run_adamw8(const struct kernel_call *c)
{
	size_t n = kernel_elements(&c->out[0]), from, to;
	struct adam a = adam_of(c, 6);

	kernel_share((n + RUN - 1) / RUN, 1, c->part, c->parts, &from, &to);
	for (size_t block = from; block < to; block++)
		adam_block(c, &a, block, n - block * RUN < RUN ? n - block * RUN : RUN);
}

/* --- sums over a tensor --- */

static size_t pieces(const struct kernel_call *c)
{
	return (kernel_elements(&c->in[0]) + PIECE - 1) / PIECE;
}

static size_t scratch_pieces(const struct kernel_call *c)
{
	return pieces(c) * sizeof(double);
}

/* Products of f32 are exact in double. */
static double squares(const float *x, size_t n)
{
	vf64 sum[4] = { { 0 } };
	double lane[SIMD_WIDTH / 2], total = 0;
	size_t whole = n / (2 * SIMD_WIDTH) * (2 * SIMD_WIDTH);

	for (size_t i = 0; i < whole; i += 2 * SIMD_WIDTH) {
		simd_prefetch((const uint8_t *)(x + i));
		SIMD_UNROLL
		for (size_t j = 0; j < 4; j++) {
			vf64 v = simd_widen(x + i + j * (SIMD_WIDTH / 2));

			sum[j] = simd_any_fma64(v, v, sum[j]);
		}
	}
	simd_store64(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
	for (int i = 0; i < SIMD_WIDTH / 2; i++)
		total += lane[i];
	for (size_t i = whole; i < n; i++)
		total += (double)x[i] * x[i];
	return total;
}

static double nonfinite(const float *x, size_t n)
{
	vi32 count = { 0 };
	double total = 0;

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		count -= ((vi32)rows_load(x + i, n - i) & 0x7f800000) == 0x7f800000;
	for (int i = 0; i < SIMD_WIDTH; i++)
		total += count[i];
	return total;
}

/* Phase 0: pieces; phase 1: their sum, by part 0. */
SIMD_INLINE double over_pieces(const struct kernel_call *c, double (*fn)(const float *x, size_t n))
{
	size_t n = kernel_elements(&c->in[0]), from, to;
	double *sums = c->scratch, total = 0;
	size_t step = c->in[0].dtype == DTYPE_F32 && n % SIMD_WIDTH == 0 ? PIECE : RUN;

	if (c->phase == 1) {
		for (size_t i = 0; i < pieces(c); i++)
			total += sums[i];
		return total;
	}
	kernel_share(pieces(c), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t last = (i + 1) * PIECE < n ? (i + 1) * PIECE : n;

		sums[i] = 0;
		for (size_t at = i * PIECE; at < last; at += step) {
			float room[RUN];
			size_t many = last - at < step ? last - at : step;

			sums[i] += fn(flat(&c->in[0], at, many, room), many);
		}
	}
	return 0;
}

static void run_sum_squares(const struct kernel_call *c)
{
	double total = over_pieces(c, squares);

	if (c->phase == 1 && c->part == 0)
		*(float *)c->out[0].data = (float)total;
}

static void run_count_nonfinite(const struct kernel_call *c)
{
	double total = over_pieces(c, nonfinite);

	if (c->phase == 1 && c->part == 0)
		*(int32_t *)c->out[0].data = total > INT32_MAX ? INT32_MAX : (int32_t)total;
}

/* --- what is claimed: floats side by side --- */

static bool dense(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) && kernel_dense(t);
}

/* The first TENSORS operands of the op: all but the scalars. */
static bool serve(const struct kernel_call *c, int tensors)
{
	for (int i = 0; i < tensors; i++)
		if (!dense(&c->in[i]))
			return false;
	return true;
}

static bool claims_all(const struct kernel_call *c)
{
	return serve(c, c->n_in);
}

static bool claims_updates(const struct kernel_call *c)
{
	return serve(c, c->n_in - 1) && c->in[c->n_in - 1].dtype == DTYPE_F32;
}

static bool claims_adamw8(const struct kernel_call *c)
{
	return dense(&c->in[0]) && dense(&c->in[5]) && kernel_dense(&c->in[1]) &&
	       kernel_dense(&c->in[2]) && c->in[1].dtype == DTYPE_I8 &&
	       c->in[2].dtype == DTYPE_U8 && c->in[3].dtype == DTYPE_F32 &&
	       c->in[4].dtype == DTYPE_F32 && c->in[6].dtype == DTYPE_F32;
}

static bool claims_sum(const struct kernel_call *c)
{
	return dense(&c->in[0]) && c->out[0].dtype == DTYPE_F32;
}

static bool claims_count(const struct kernel_call *c)
{
	return dense(&c->in[0]) && c->out[0].dtype == DTYPE_I32;
}

#define KERNEL(name, claim, room_needed, n_phases)                                     \
 LEVEL_KERNEL(name, flat, .claims = claim, .scratch = room_needed, .phases = n_phases, \
	      .run = run_##name)

KERNEL(accumulate, claims_all, NULL, 1);
KERNEL(replace, claims_all, NULL, 1);
KERNEL(scale_by, claims_updates, NULL, 1);
KERNEL(ema, claims_updates, NULL, 1);
KERNEL(sgd, claims_updates, NULL, 1);
KERNEL(adamw, claims_updates, NULL, 1);
KERNEL(lion, claims_updates, NULL, 1);
KERNEL(adamw8, claims_adamw8, NULL, 1);
KERNEL(sum_squares, claims_sum, scratch_pieces, 2);
KERNEL(count_nonfinite, claims_count, scratch_pieces, 2);
