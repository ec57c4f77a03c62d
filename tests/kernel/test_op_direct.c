/*
 * tests/kernel/test_op_direct.c - kernels of every level, called by themselves, where cases of ops.def do not reach
 *
 * Tables of block-quantized rows, and parameters of bf16 that are rounded stochastically: there to the bit of ref, since the steps
 * are exact in f32, and without bias. States without a target that are not finite. Products with gaps between their batches; results so large that they go past the caches.
 * NaN that rounding to bf16 would carry away; gelu where its bell is no number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

static struct kernel_tensor tensor(enum dtype t, void *data, size_t rows, size_t width)
{
	return (struct kernel_tensor){ .data = data,
				       .dtype = t,
				       .n_axes = rows ? 2 : 1,
				       .shape = { rows ? rows : width, width },
				       .stride = { rows ? (ptrdiff_t)width : 1, 1 } };
}

/* All phases of K on C, by PARTS parts one after the other. */
static void run(const struct kernel *k, struct kernel_call c, int parts)
{
	int phases, in;

	c.parts = parts;
	phases = kernel_phases(k, &c);
	c.kept = k->kept ? aligned_alloc(64, (k->kept(&c, &in) + 64) / 64 * 64) : NULL;
	c.scratch = k->scratch ? aligned_alloc(64, (k->scratch(&c) + 64) / 64 * 64) : NULL;
	for (c.phase = 0; c.phase < phases; c.phase++)
		for (c.part = 0; c.part < parts; c.part++)
			k->run(&c);
	free(c.scratch);
	free(c.kept);
}

/* The kernel of LEVEL, or NULL after a failed check. */
static const struct kernel *kernel_of(int level, enum op op, const struct kernel_call *c,
				      const char *what)
{
	const struct kernel *k =
		backend_choose(backend_level((enum level)level), op_info(op)->name, c);

	tap_ok(k != NULL, "%s: %s claims it", what, level_name((enum level)level));
	return k;
}

/* --- blocks --- */

#define ROWS  5
#define WIDTH 512

/* Small bytes: whatever holds the scales, they are finite. */
static void fill_bytes(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 37 % 29);
}

static void check_gather(enum dtype t, enum dtype result, int level)
{
	static uint8_t table[ROWS * WIDTH * 8];
	int32_t ids[] = { 4, 0, -1, 2, 4, 1 };
	float got[6 * WIDTH], want[6 * WIDTH];
	struct kernel_tensor in[] = { tensor(t, table, ROWS, WIDTH), tensor(DTYPE_I32, ids, 0, 6) };
	struct kernel_tensor out = tensor(result, want, 6, WIDTH);
	struct kernel_call c = { .in = in, .out = &out, .n_in = 2, .n_out = 1, .parts = 1 };
	const struct kernel *k;

	fill_bytes(table, sizeof(table));
	k = kernel_of(level, OP_GATHER_ROWS, &c, dtype_name(t));
	memset(want, 0, sizeof(want));
	memset(got, 0, sizeof(got));
	run(op_info(OP_GATHER_ROWS)->ref, c, 1);
	out.data = got;
	if (k)
		run(k, c, 3);
	tap_ok(memcmp(got, want, sizeof(got)) == 0, "gather_rows of %s into %s, %s: as ref",
	       dtype_name(t), dtype_name(result), level_name((enum level)level));
}

static bool near(const float *a, const float *b, size_t n)
{
	float most = 0, apart = 0;

	for (size_t i = 0; i < n; i++) {
		most = fmaxf(most, fabsf(b[i]));
		apart = a[i] == a[i] ? fmaxf(apart, fabsf(a[i] - b[i])) : INFINITY;
	}
	return most > 0 && apart <= 1e-5f * most;
}

/* Words of blocks: the loss, and its gradient by the states. */
static void check_head(enum dtype t, int level)
{
	static uint8_t words[ROWS * WIDTH * 8];
	static float x[3 * WIDTH], out_data[2][2][ROWS * WIDTH];
	int32_t targets[] = { 1, 4, 0 };
	float lse[] = { 1, 2, 1.5f }, dloss[] = { 1, -2, 0.5f };
	struct cross_entropy_attributes a = { .ignore = -100 };
	struct kernel_tensor in[] = { tensor(DTYPE_F32, x, 3, WIDTH), tensor(t, words, ROWS, WIDTH),
				      tensor(DTYPE_I32, targets, 0, 3),
				      tensor(DTYPE_F32, lse, 0, 3),
				      tensor(DTYPE_F32, dloss, 0, 3) };

	fill_bytes(words, sizeof(words));
	for (size_t i = 0; i < 3 * WIDTH; i++)
		x[i] = (float)(i * 31 % 17) / 8 - 1;
	for (int gradient = 0; gradient < 2; gradient++) {
		enum op op = gradient ? OP_LINEAR_CE_GRAD : OP_LINEAR_CE;
		struct kernel_tensor out[2];
		struct kernel_call c = { .in = in,
					 .out = out,
					 .n_in = gradient ? 5 : 3,
					 .n_out = 2,
					 .attributes = &a,
					 .parts = 1 };
		const struct kernel *k;

		for (int i = 0; i < 2; i++)
			out[i] = gradient ? tensor(DTYPE_F32, out_data[0][i], i ? ROWS : 3, WIDTH)
					  : tensor(DTYPE_F32, out_data[0][i], 0, 3);
		k = kernel_of(level, op, &c, dtype_name(t));
		run(op_info(op)->ref, c, 1);
		for (int i = 0; i < 2; i++)
			out[i].data = out_data[1][i];
		if (k)
			run(k, c, 2);
		for (int i = 0; i < 2; i++)
			tap_ok(near(out_data[1][i], out_data[0][i], kernel_elements(&out[i])),
			       "%s of %s words, %s: result %d as ref", op_info(op)->name,
			       dtype_name(t), level_name((enum level)level), i);
	}
}

/* --- rows without a target --- */

#define HEAD_WIDTH  40
#define HEAD_WORDS  50
#define HEAD_STATES 3

struct slopes {
	float total, loss[HEAD_STATES], lse[HEAD_STATES];
	float dx[HEAD_STATES * HEAD_WIDTH], dw[HEAD_WORDS * HEAD_WIDTH];
};

/* Of three states, the second of which has no target and is FILL throughout. */
static void head_slopes(int level, enum op op, float fill, struct slopes *out)
{
	static float x[HEAD_STATES * HEAD_WIDTH], w[HEAD_WORDS * HEAD_WIDTH];
	int32_t targets[] = { 1, -100, 7 };
	float lse[] = { 4, 4, 5 }, weights[] = { 1, 1, 0.5f };
	struct cross_entropy_attributes a = { .ignore = -100 };
	bool sum = op == OP_LINEAR_CE_SUM;
	struct kernel_tensor in[] = { tensor(DTYPE_F32, x, HEAD_STATES, HEAD_WIDTH),
				      tensor(DTYPE_F32, w, HEAD_WORDS, HEAD_WIDTH),
				      tensor(DTYPE_I32, targets, 0, HEAD_STATES),
				      tensor(DTYPE_F32, sum ? weights : lse, 0, HEAD_STATES),
				      tensor(DTYPE_F32, weights, 0, HEAD_STATES) };
	struct kernel_tensor results[] = { { .data = &out->total, .dtype = DTYPE_F32 },
					   tensor(DTYPE_F32, out->loss, 0, HEAD_STATES),
					   tensor(DTYPE_F32, out->lse, 0, HEAD_STATES),
					   tensor(DTYPE_F32, out->dx, HEAD_STATES, HEAD_WIDTH),
					   tensor(DTYPE_F32, out->dw, HEAD_WORDS, HEAD_WIDTH) };
	struct kernel_call c = { .in = in,
				 .out = sum ? results : results + 3,
				 .n_in = sum ? 4 : 5,
				 .n_out = sum ? 5 : 2,
				 .attributes = &a,
				 .parts = 1 };
	const struct kernel *k;

	for (size_t i = 0; i < HEAD_STATES * HEAD_WIDTH; i++)
		x[i] = i / HEAD_WIDTH == 1 ? fill : (float)(i * 31 % 17) / 8 - 1;
	for (size_t i = 0; i < HEAD_WORDS * HEAD_WIDTH; i++)
		w[i] = (float)(i * 29 % 19) / 9 - 1;
	k = kernel_of(level, op, &c, "a row without a target");
	if (k)
		run(k, c, 2);
}

static void check_ignored(int level, enum op op)
{
	static struct slopes got, want;

	head_slopes(level, op, 0, &want);
	head_slopes(level, op, INFINITY, &got);
	tap_ok(memcmp(got.dx, want.dx, sizeof(got.dx)) == 0 &&
		       memcmp(got.dw, want.dw, sizeof(got.dw)) == 0,
	       "%s, %s: an infinite state without a target has no part in the gradients",
	       op_info(op)->name, level_name((enum level)level));
	tap_ok(want.dw[HEAD_WIDTH] != 0 && want.dx[0] != 0, "%s: there are gradients",
	       op_info(op)->name);
}

/* --- batches --- */

#define BATCHES	      3
#define BATCH_ROWS    21
#define BATCH_COLUMNS 40
#define BATCH_DEPTH   33
#define BATCH_GAP     7 /* elements */

enum { BATCH_A, BATCH_B, BATCH_RESIDUAL, BATCH_OUT, BATCH_OPERANDS };

static float small_float(size_t i)
{
	return (float)(i * 37 % 13) - 6;
}

/* BATCHES matrices of ROWS x COLUMNS in DATA, with or without a gap after each, of small integers: sums of them are exact. */
static struct kernel_tensor batches_of(enum dtype t, void *data, size_t rows, size_t columns,
				       bool gap)
{
	size_t step = rows * columns + (gap ? BATCH_GAP : 0);

	for (size_t i = 0; i < BATCHES * step; i++)
		if (t == DTYPE_F32)
			((float *)data)[i] = small_float(i);
		else
			((uint16_t *)data)[i] = bf16_from_f32(small_float(i));
	return (struct kernel_tensor){ .data = data,
				       .dtype = t,
				       .n_axes = 3,
				       .shape = { BATCHES, rows, columns },
				       .stride = { (ptrdiff_t)step, (ptrdiff_t)columns, 1 } };
}

/* By one right operand, so that all rows may be those of one matrix; WHERE, or none (BATCH_B), is what has the gaps. */
static void check_batches(enum dtype t, int where, int level)
{
	static const char *const names[] = { "a", "nothing", "the residual", "the result" };
	static float data[BATCH_OPERANDS][BATCHES * (BATCH_ROWS * BATCH_COLUMNS + BATCH_GAP)];
	static float want[BATCHES * (BATCH_ROWS * BATCH_COLUMNS + BATCH_GAP)];
	struct matmul_attributes a = { 0 };
	struct kernel_tensor in[4] = { batches_of(t, data[BATCH_A], BATCH_ROWS, BATCH_DEPTH,
						  where == BATCH_A) };
	struct kernel_tensor out =
		batches_of(t, data[BATCH_OUT], BATCH_ROWS, BATCH_COLUMNS, where == BATCH_OUT);
	struct kernel_call c = {
		.in = in, .out = &out, .n_in = 4, .n_out = 1, .attributes = &a, .parts = 1
	};
	const struct kernel *k;

	in[1] = batches_of(t, data[BATCH_B], BATCH_DEPTH, BATCH_COLUMNS, false);
	in[1] = tensor(t, in[1].data, BATCH_DEPTH, BATCH_COLUMNS);
	in[3] = batches_of(t, data[BATCH_RESIDUAL], BATCH_ROWS, BATCH_COLUMNS,
			   where == BATCH_RESIDUAL);
	run(op_info(OP_MATMUL)->ref, c, 1);
	memcpy(want, out.data, sizeof(want));
	batches_of(t, data[BATCH_OUT], BATCH_ROWS, BATCH_COLUMNS, where == BATCH_OUT);
	k = kernel_of(level, OP_MATMUL, &c, "batches");
	for (int parts = 1; k && parts <= 3; parts += 2) {
		run(k, c, parts);
		tap_ok(memcmp(data[BATCH_OUT], want, sizeof(want)) == 0,
		       "matmul of %s, %s, %d parts: gaps between the batches of %s", dtype_name(t),
		       level_name((enum level)level), parts, names[where]);
	}
}

/* --- draws --- */

#define N 3000

struct draw {
	uint16_t p[N];
	float m[N], g[N];
};

/* Parameters from 1 to 2, steps of a few bits: each difference is exact in f32. */
static void fill_draw(struct draw *d)
{
	for (size_t i = 0; i < N; i++) {
		d->p[i] = bf16_from_f32(1 + (float)(i % 128) / 128);
		d->g[i] = (float)(i * 7 % 31) / 4096;
		d->m[i] = 0;
	}
}

static void step(const struct kernel *k, struct draw *d, int parts, bool stochastic)
{
	struct optimizer_attributes a = { .stochastic = stochastic };
	float h[] = { 0x1p-12f, 4096 };
	struct kernel_tensor in[] = { tensor(DTYPE_BF16, d->p, 0, N), tensor(DTYPE_F32, d->m, 0, N),
				      tensor(DTYPE_F32, d->g, 0, N), tensor(DTYPE_F32, h, 0, 2) };
	struct kernel_call c = { .in = in,
				 .out = in,
				 .n_in = 4,
				 .n_out = 2,
				 .attributes = &a,
				 .key = { 0x12345678, 9 } };

	fill_draw(d);
	run(k, c, parts);
}

static bool claims(int level, enum op op, const struct kernel **k)
{
	static struct draw d;
	float h[2] = { 0 };
	struct kernel_tensor in[] = { tensor(DTYPE_BF16, d.p, 0, N), tensor(DTYPE_F32, d.m, 0, N),
				      tensor(DTYPE_F32, d.g, 0, N), tensor(DTYPE_F32, h, 0, 2) };
	struct kernel_call c = { .in = in, .out = in, .n_in = 4, .n_out = 2, .parts = 1 };

	*k = kernel_of(level, op, &c, op_info(op)->name);
	return *k != NULL;
}

static void check_draws(int level, enum op op)
{
	static struct draw got, want;
	const struct kernel *k;

	step(op_info(op)->ref, &want, 1, true);
	for (int parts = 1; claims(level, op, &k) && parts <= 3; parts += 2) {
		step(k, &got, parts, true);
		tap_ok(memcmp(got.p, want.p, sizeof(got.p)) == 0,
		       "%s, %s, %d parts: rounded by the same words as ref", op_info(op)->name,
		       level_name((enum level)level), parts);
	}
}

/* Each result is one of the two neighbours, and their mean that of what was rounded: the deviation of a sum is below N / 4 steps. */
static void check_law(void)
{
	static struct draw before, after;
	double bias = 0, step_size = 0x1p-7, most = 0;

	fill_draw(&before);
	step(op_info(OP_SGD)->ref, &after, 1, true);
	for (size_t i = 0; i < N; i++) {
		double exact = (double)bf16_to_f32(before.p[i]) - (double)before.g[i];
		double off = (bf16_to_f32(after.p[i]) - exact) / step_size;

		bias += off;
		most = fmax(most, fabs(off));
	}
	tap_ok(most < 1, "a result is a neighbour: %.3f of a step away", most);
	tap_ok(fabs(bias) < 4 * sqrt(N / 4.0), "the sum is %.1f steps off", bias);
	step(op_info(OP_SGD)->ref, &before, 1, false);
	tap_ok(memcmp(before.p, after.p, sizeof(after.p)) != 0, "to nearest is something else");
}

/* --- results that go past the caches --- */

/* 33 MB of f32; rows whose address is not that of a vector. */
#define LARGE_ROWS  8200
#define LARGE_WIDTH 1028
#define TILE	    100

static void fill_floats(enum dtype t, uint8_t *p, size_t n, size_t step)
{
	float x[256];

	for (size_t i = 0; i < 256; i++)
		x[i] = (float)(i * step % 101) / 16 - 3;
	for (size_t i = 0; i < n; i += 256)
		dtype_from_f32(t, x, p + i * dtype_info(t)->bytes, n - i < 256 ? n - i : 256);
}

/* Rows FIRST to FIRST + MANY - 1 of X, the same of its gradient, a weight. */
static void large_call(struct kernel_tensor in[3], struct kernel_tensor *out, enum dtype t,
		       uint8_t *const data[4], size_t first, size_t many)
{
	size_t at = first * LARGE_WIDTH * dtype_info(t)->bytes;

	in[0] = tensor(t, data[0] + at, many, LARGE_WIDTH);
	in[1] = tensor(t, data[1] + at, many, LARGE_WIDTH);
	in[2] = tensor(t, data[2], 0, LARGE_WIDTH);
	*out = tensor(t, data[3] + at, many, LARGE_WIDTH);
}

/* Whole, and tile by tile, which stays in the caches: the same bits. */
static void check_large(int level, enum op op, enum dtype t, int n_in, bool weight)
{
	size_t n = (size_t)(t == DTYPE_F32 ? 1 : 2) * LARGE_ROWS, width = dtype_info(t)->bytes;
	size_t size = n * LARGE_WIDTH * width;
	struct norm_attributes attributes = { .eps = 1e-5 };
	struct kernel_tensor in[3], out;
	struct kernel_call c = { .in = in, .out = &out, .n_in = n_in, .n_out = 1, .rows = n };
	uint8_t *data[4], *whole;
	const struct kernel *k;

	c.attributes = &attributes;
	for (int i = 0; i < 4; i++)
		data[i] = aligned_alloc(64, (size + 63) / 64 * 64);
	whole = data[3];
	fill_floats(t, data[0], n * LARGE_WIDTH, 37);
	fill_floats(t, data[1], n * LARGE_WIDTH, 41);
	fill_floats(t, data[2], LARGE_WIDTH, 43);
	large_call(in, &out, t, data, 0, n);
	if (weight)
		in[n_in - 1] = in[2];
	k = kernel_of(level, op, &c, op_info(op)->name);
	if (k)
		run(k, c, 2);
	data[3] = aligned_alloc(64, (size + 63) / 64 * 64);
	for (c.row = 0; k && c.row < n; c.row += TILE) {
		large_call(in, &out, t, data, c.row, n - c.row < TILE ? n - c.row : TILE);
		if (weight)
			in[n_in - 1] = in[2];
		run(k, c, 1);
	}
	tap_ok(k && memcmp(whole, data[3], size) == 0, "%s of %s, %s: a large result by tiles",
	       op_info(op)->name, dtype_info(t)->name, level_name((enum level)level));
	free(whole);
	for (int i = 0; i < 4; i++)
		free(data[i]);
}

static void check_all_large(int level)
{
	for (int brain = 0; brain < 2; brain++) {
		enum dtype t = brain ? DTYPE_BF16 : DTYPE_F32;

		check_large(level, OP_ADD, t, 2, false);
		check_large(level, OP_RMS_NORM, t, 2, true);
		check_large(level, OP_RMS_NORM_GRAD, t, 3, true);
	}
}

/* --- rows that the cases of ops.def do not have --- */

#define HEADS 3
#define DIM   64 /* whole vectors at every level, pairs of halves too */
#define CELLS (ROWS * HEADS * DIM)

/* Results of K beside those of ref: NaN where that has NaN, within what T rounds. */
static void check_beside_ref(int level, enum op op, struct kernel_call c, enum dtype t,
			     const char *what)
{
	uint8_t data[2][4 * CELLS];
	float got[CELLS], want[CELLS];
	struct kernel_tensor out = *c.out;
	const struct kernel *k;
	size_t n = kernel_elements(&out), wrong = 0;

	c.out = &out;
	k = kernel_of(level, op, &c, what);
	for (int i = 0; i < 2; i++) {
		out.data = memset(data[i], 0x55, sizeof(data[i]));
		if (k)
			run(i ? k : op_info(op)->ref, c, i ? 2 : 1);
	}
	dtype_to_f32(t, data[0], want, n);
	dtype_to_f32(t, data[1], got, n);
	for (size_t i = 0; i < n; i++) {
		float allowed = (t == DTYPE_F32 ? 1e-6f : 8e-3f) * (fabsf(want[i]) + 1);

		if (isnan(want[i]) ? !isnan(got[i]) : !(fabsf(got[i] - want[i]) <= allowed))
			wrong++;
	}
	tap_ok(wrong == 0, "%s of %s, %s: as ref (%zu are not)", what, dtype_name(t),
	       level_name((enum level)level), wrong);
}

/* Heads that are turned as a whole, where they lie. */
static void check_whole_heads(int level, enum dtype t)
{
	static uint8_t x[4 * CELLS];
	int32_t positions[ROWS] = { 0, 1, 7, 100, 5000 };
	float frequencies[DIM / 2];
	struct rope_attributes a = { .scale = 1.25 };
	struct kernel_tensor out = { .dtype = t,
				     .n_axes = 3,
				     .shape = { ROWS, HEADS, DIM },
				     .stride = { HEADS * DIM, DIM, 1 } };
	struct kernel_tensor in[] = { out, tensor(DTYPE_I32, positions, ROWS, 1),
				      tensor(DTYPE_F32, frequencies, 0, DIM / 2) };

	in[0].data = x;
	fill_floats(t, x, CELLS, 37);
	for (int i = 0; i < DIM / 2; i++)
		frequencies[i] = powf(1e4f, -(float)i / (DIM / 2));
	check_beside_ref(level, OP_ROPE,
			 (struct kernel_call){ .in = in,
					       .out = &out,
					       .n_in = 3,
					       .n_out = 1,
					       .attributes = &a,
					       .rows = ROWS },
			 t, "rope of whole heads");
}

/* Rows of -inf alone, of that and NaN, with one number, with +inf. */
static void check_infinite_rows(int level, enum dtype t)
{
	static uint8_t data[4 * CELLS];
	float x[4 * DIM];
	struct kernel_tensor in = tensor(t, data, 4, DIM - 3), out = in;
	size_t width = DIM - 3;

	for (size_t i = 0; i < 4 * width; i++)
		x[i] = -INFINITY;
	x[width + 7] = NAN;
	x[2 * width + width - 1] = 3;
	x[3 * width] = INFINITY;
	dtype_from_f32(t, x, data, 4 * width);
	check_beside_ref(
		level, OP_SOFTMAX,
		(struct kernel_call){ .in = &in, .out = &out, .n_in = 1, .n_out = 1, .rows = 4 }, t,
		"softmax of infinite rows");
}

/* Sums of rows whose ids are next to those that there are, and as far from them as can be. */
static void check_far_ids(int level, enum dtype t)
{
	static uint8_t x[4 * CELLS];
	int32_t ids[] = { 2, INT32_MAX, 0, INT32_MIN, 2, -1, 3, 1 << 24 };
	struct axis_attributes a = { .n = 3 };
	struct kernel_tensor out = tensor(t, NULL, 3, DIM + 3);
	struct kernel_tensor in[] = { tensor(t, x, 8, DIM + 3), tensor(DTYPE_I32, ids, 0, 8) };

	fill_floats(t, x, 8 * (DIM + 3), 41);
	check_beside_ref(
		level, OP_SCATTER_ADD_ROWS,
		(struct kernel_call){
			.in = in, .out = &out, .n_in = 2, .n_out = 1, .attributes = &a, .rows = 3 },
		t, "rows of far ids");
}

/* --- NaN of bits that rounding as numbers would make infinite, or 0 --- */

#define NAN_WIDTH 133 /* groups, pairs and a part of a vector at every level */

static float bits_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* 1, and such NaN among them. */
static void fill_nans(float *x, size_t n)
{
	const uint32_t nans[] = { 0x7fffffff, 0xffffffff, 0x7f800001, 0xff80ffff, 0x7fff8000 };

	for (size_t i = 0; i < n; i++)
		x[i] = i % 3 == 1 ? bits_float(nans[i / 3 % 5]) : 1 + (float)(i % 7);
}

/* X of bf16, and weights of f32 that are such NaN, to results of bf16. */
static void check_nan_weights(int level, enum op op, int n_in, const char *what)
{
	static uint16_t x[ROWS * NAN_WIDTH];
	static float w[2][NAN_WIDTH];
	struct norm_attributes a = { .eps = 1e-5 };
	struct kernel_tensor in[4], out = tensor(DTYPE_BF16, NULL, ROWS, NAN_WIDTH);
	bool grad = op == OP_RMS_NORM_GRAD || op == OP_LAYER_NORM_GRAD;

	fill_floats(DTYPE_BF16, (uint8_t *)x, ROWS * NAN_WIDTH, 37);
	fill_nans(w[0], NAN_WIDTH);
	fill_nans(w[1], NAN_WIDTH);
	in[0] = in[1] = tensor(DTYPE_BF16, x, ROWS, NAN_WIDTH);
	for (int i = grad ? 2 : 1; i < n_in; i++)
		in[i] = tensor(DTYPE_F32, w[i % 2], 0, NAN_WIDTH);
	check_beside_ref(level, op,
			 (struct kernel_call){ .in = in,
					       .out = &out,
					       .n_in = n_in,
					       .n_out = 1,
					       .attributes = &a,
					       .rows = ROWS },
			 DTYPE_BF16, what);
}

/* OP of one operand of FROM, which holds such NaN, to bf16. */
static void check_nan_elements(int level, enum op op, enum dtype from, const char *what)
{
	static float x[ROWS * NAN_WIDTH];
	static uint8_t data[sizeof(x)];
	struct kernel_tensor in = tensor(from, data, ROWS, NAN_WIDTH);
	struct kernel_tensor out = tensor(DTYPE_BF16, NULL, ROWS, NAN_WIDTH);
	struct scalars_attributes a = { .a = 1, .b = 2 };

	fill_nans(x, ROWS * NAN_WIDTH);
	memcpy(data, x, sizeof(x));
	for (size_t i = 0; from == DTYPE_BF16 && i < ROWS * NAN_WIDTH; i++) {
		uint32_t bits;

		/* Cut off, not rounded: quiet NaN or not. */
		memcpy(&bits, &x[i], sizeof(bits));
		bits = bits >> 16 | (x[i] != x[i]);
		memcpy(data + 2 * i, &(uint16_t){ (uint16_t)bits }, 2);
	}
	check_beside_ref(level, op,
			 (struct kernel_call){ .in = &in,
					       .out = &out,
					       .n_in = 1,
					       .n_out = 1,
					       .attributes = &a,
					       .rows = ROWS },
			 DTYPE_BF16, what);
}

static void check_nans(int level)
{
	check_nan_weights(level, OP_RMS_NORM, 2, "rms_norm by NaN");
	check_nan_weights(level, OP_LAYER_NORM, 3, "layer_norm by NaN");
	check_nan_weights(level, OP_RMS_NORM_GRAD, 3, "rms_norm_grad by NaN");
	check_nan_weights(level, OP_LAYER_NORM_GRAD, 3, "layer_norm_grad by NaN");
	check_nan_elements(level, OP_CAST, DTYPE_F32, "cast of NaN");
	check_nan_elements(level, OP_NEG, DTYPE_BF16, "neg of NaN");
	check_nan_elements(level, OP_SILU, DTYPE_BF16, "silu of NaN");
	check_nan_elements(level, OP_RELU, DTYPE_BF16, "relu of NaN");
	check_nan_elements(level, OP_CLAMP, DTYPE_BF16, "clamp of NaN");
}

/* Numbers from -40 to 40, where e^(-x x / 2) soon is none: gelu is x or 0 there, its slope 1 or 0. */
static void check_far_gelu(int level, enum dtype t)
{
	static uint8_t data[2][4 * CELLS];
	float x[CELLS];
	struct kernel_tensor in[] = { tensor(t, data[0], ROWS, CELLS / ROWS),
				      tensor(t, data[1], ROWS, CELLS / ROWS) };
	struct kernel_tensor out = in[0];
	struct kind_attributes slope = { .kind = UNARY_GELU };
	struct gated_attributes gate = { .tanh = false };
	struct kernel_call c = { .in = in, .out = &out, .n_in = 1, .n_out = 1, .rows = ROWS };

	for (size_t i = 0; i < CELLS; i++)
		x[i] = 80 * (float)i / CELLS - 40;
	dtype_from_f32(t, x, data[0], CELLS);
	for (size_t i = 0; i < CELLS; i++)
		x[i] = 1;
	dtype_from_f32(t, x, data[1], CELLS);
	check_beside_ref(level, OP_GELU, c, t, "gelu far out");
	c.n_in = 2;
	c.attributes = &gate;
	check_beside_ref(level, OP_GEGLU, c, t, "geglu far out");
	c.attributes = &slope;
	check_beside_ref(level, OP_UNARY_GRAD, c, t, "gelu's slope far out");
}

int main(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level))
			continue;
		for (int t = 1; t < DTYPE_COUNT; t++)
			if (dtype_info((enum dtype)t)->block > 1 && dtype_decodes((enum dtype)t))
				for (int i = 0; i < 2; i++)
					check_gather((enum dtype)t, i ? DTYPE_BF16 : DTYPE_F32,
						     level);
		check_head(DTYPE_Q8_0, level);
		check_head(DTYPE_Q4_K, level);
		check_ignored(level, OP_LINEAR_CE_GRAD);
		check_ignored(level, OP_LINEAR_CE_SUM);
		for (int where = 0; where < BATCH_OPERANDS; where++) {
			check_batches(DTYPE_F32, where, level);
			check_batches(DTYPE_BF16, where, level);
		}
		check_draws(level, OP_SGD);
		check_draws(level, OP_LION);
		check_all_large(level);
		for (int brain = 0; brain < 2; brain++) {
			check_whole_heads(level, brain ? DTYPE_BF16 : DTYPE_F32);
			check_infinite_rows(level, brain ? DTYPE_BF16 : DTYPE_F32);
			check_far_ids(level, brain ? DTYPE_BF16 : DTYPE_F32);
			check_far_gelu(level, brain ? DTYPE_BF16 : DTYPE_F32);
		}
		check_nans(level);
	}
	check_law();
	return tap_done();
}
