/*
 * test_quantize.c - f32 to blocks: the definition against ggml, every level against it bit by bit, values that are hard
 *
 * fixtures/golden/quantize: ggml's own, made by scripts/gen-fixtures-quantize.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "kernels/quantize.h"
#include "tests/corrupt.h"
#include "tests/kernel/values.h"
#include "tests/tap.h"

#define ROW 768

static const enum dtype types[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0,	 DTYPE_Q5_1,
				    DTYPE_Q8_0, DTYPE_Q2_K, DTYPE_Q3_K,	 DTYPE_Q4_K,
				    DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_IQ4_NL };
#define N_TYPES (sizeof(types) / sizeof(*types))

static char *golden(const char *name, const char *suffix, size_t *n)
{
	char path[128];

	snprintf(path, sizeof(path), "fixtures/golden/quantize/%s.%s", name, suffix);
	return tap_fixture(path, n);
}

static size_t size_of(enum dtype t, size_t n)
{
	return n / dtype_info(t)->block * dtype_info(t)->bytes;
}

/* The first row whose blocks are not WANT's, or ROWS. */
static size_t first_wrong_row(enum dtype t, const float *x, const float *weights, const char *want,
			      size_t rows)
{
	size_t bytes = size_of(t, ROW), i;
	uint8_t *got = guard_new(bytes);

	for (i = 0; i < rows; i++) {
		quantize_row_ref(t, x + i * ROW, weights, ROW, got);
		if (memcmp(got, want + i * bytes, bytes) != 0)
			break;
	}
	guard_free(got);
	return i;
}

static void test_ggml(void)
{
	size_t n, n_weights, n_blocks, n_weighted;
	float *x = (float *)golden("rows", "f32", &n);
	float *weights = (float *)golden("importance", "f32", &n_weights);
	size_t rows = n / sizeof(float) / ROW;

	tap_ok(rows == 8 && n_weights == ROW * sizeof(float), "rows and weights");
	for (size_t i = 0; i < N_TYPES; i++) {
		const char *name = dtype_name(types[i]);
		char *blocks = golden(name, "blocks", &n_blocks);
		char *weighted = golden(name, "weighted", &n_weighted);

		tap_ok(n_blocks == rows * size_of(types[i], ROW) && n_weighted == n_blocks,
		       "%s: sizes", name);
		tap_is_u64(first_wrong_row(types[i], x, NULL, blocks, rows), rows,
			   "%s: ggml's bytes", name);
		tap_is_u64(first_wrong_row(types[i], x, weights, weighted, rows), rows,
			   "%s: ggml's bytes, by importance", name);
		free(blocks);
		free(weighted);
	}
	free(x);
	free(weights);
}

/* Source and destination end at guard pages, the destination at an odd address. */
static bool level_agrees(enum level level, enum dtype t, enum values kind, size_t n, bool weighted)
{
	size_t bytes = size_of(t, n);
	float *x = guard_new(n * sizeof(float)), *weights = guard_new(n * sizeof(float));
	uint8_t *want = guard_new(bytes), *got = guard_new(bytes + 1);
	bool same;

	values_fill(DTYPE_F32, kind, x, n, n * 7 + (size_t)t);
	values_fill(DTYPE_F32, VALUES_POSITIVE, weights, n, n * 5 + (size_t)t);
	quantize_row_ref(t, x, weighted ? weights : NULL, n, want);
	quantize_row(level, t, x, weighted ? weights : NULL, n, got + 1);
	same = memcmp(want, got + 1, bytes) == 0;
	guard_free(x);
	guard_free(weights);
	guard_free(want);
	guard_free(got);
	return same;
}

/* From one block to some more than are worked on together; the number of values with which it is wrong. */
static size_t wrong_length(enum level level, enum dtype t, enum values kind, bool weighted)
{
	size_t block = dtype_info(t)->block < 32 ? 32 : dtype_info(t)->block;

	for (size_t n = block; n <= 20 * block; n += block)
		if (!level_agrees(level, t, kind, n, weighted))
			return n;
	return level_agrees(level, t, kind, 40 * 256, weighted) ? 0 : 40 * 256;
}

static void check_level(enum level level, enum dtype t)
{
	static const enum values kinds[] = { VALUES_ORDINARY, VALUES_POSITIVE, VALUES_NEGATIVE };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		tap_is_u64(wrong_length(level, t, kinds[i], false), 0, "%s %s %s: the length",
			   level_name(level), dtype_name(t), values_name(kinds[i]));
		if (quantize_weighs(t))
			tap_is_u64(wrong_length(level, t, kinds[i], true), 0,
				   "%s %s %s, weighted: the length", level_name(level),
				   dtype_name(t), values_name(kinds[i]));
	}
}

static void test_every_level(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level)) {
			tap_skip("cpu: this machine lacks the level",
				 level_name((enum level)level));
			continue;
		}
		if (level_base((enum level)level) != (enum level)level)
			continue;
		for (size_t i = 0; i < N_TYPES; i++)
			check_level((enum level)level, types[i]);
		check_level((enum level)level, DTYPE_F16);
		check_level((enum level)level, DTYPE_BF16);
	}
}

static void both(enum dtype t, const float *x, const float *weights, size_t n, uint8_t *out)
{
	uint8_t *other = guard_new(size_of(t, n));

	quantize_row_ref(t, x, weights, n, out);
	quantize_row(level_best(), t, x, weights, n, other);
	tap_ok(memcmp(out, other, size_of(t, n)) == 0, "%s: the level agrees", dtype_name(t));
	guard_free(other);
}

/* What blocks of T stand for, of N values. */
static void decoded(enum dtype t, const float *x, const float *weights, size_t n, float *out)
{
	uint8_t *blocks = guard_new(size_of(t, n));

	both(t, x, weights, n, blocks);
	tap_is_u64(quantize_bad_block(t, blocks, n / dtype_info(t)->block),
		   n / dtype_info(t)->block, "%s: scales are finite", dtype_name(t));
	dtype_to_f32(t, blocks, out, n);
	guard_free(blocks);
}

static size_t n_not_zero(const float *x, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += x[i] != 0; /* a NaN is not 0 */
	return count;
}

static void test_zeros(void)
{
	static const float zeros[512], mixed[512] = { [3] = -0.0f, [400] = -0.0f };
	float weights[512], out[512];

	for (size_t i = 0; i < 512; i++)
		weights[i] = 1;
	for (size_t i = 0; i < N_TYPES; i++) {
		decoded(types[i], zeros, NULL, 512, out);
		tap_is_u64(n_not_zero(out, 512), 0, "%s: zeros come back", dtype_name(types[i]));
		decoded(types[i], mixed, weights, 512, out);
		tap_is_u64(n_not_zero(out, 512), 0, "%s: weighted too", dtype_name(types[i]));
	}
}

/* 1e-6 / 127 is below half the least f16; 1e-40 has no inverse. */
static void test_scales_that_vanish(void)
{
	static const float sizes[] = { 1e-6f, 1e-10f, 1e-20f, 1e-40f, 0x1p-149f };
	float x[512], out[512];

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		for (size_t i = 0; i < 512; i++)
			x[i] = (float)((int)(i * 37 % 41) - 20) / 20 * sizes[s];
		for (size_t i = 0; i < N_TYPES; i++) {
			decoded(types[i], x, NULL, 512, out);
			for (size_t j = 0; j < 512; j++)
				out[j] = fabsf(out[j]) <= 2e-6f ? 0 : out[j];
			tap_is_u64(n_not_zero(out, 512), 0, "%s: values of %g stay small",
				   dtype_name(types[i]), (double)sizes[s]);
		}
	}
}

/* 70144, which f16 has not, is well within what scales of blocks reach. */
static void test_values_past_f16(void)
{
	float x[512], out[512];

	for (size_t i = 0; i < 512; i++)
		x[i] = i % 3 ? 70144 : -35000;
	for (size_t i = 0; i < N_TYPES; i++) {
		float worst = 0;

		if (types[i] == DTYPE_Q4_1 || types[i] == DTYPE_Q5_1)
			continue; /* their minimum is an f16, as their scale: -35000 is in its range */
		decoded(types[i], x, NULL, 512, out);
		for (size_t j = 0; j < 512; j++)
			worst = fabsf(out[j] - x[j]) > worst ? fabsf(out[j] - x[j]) : worst;
		tap_ok(worst < 20000, "%s: 70144 within a step: off by %g", dtype_name(types[i]),
		       (double)worst);
	}
}

/* A scale that f16 cannot hold is told, and so is the block. */
static void test_bad_blocks(void)
{
	static const enum dtype all[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0,	DTYPE_Q5_1,
					  DTYPE_Q8_0, DTYPE_Q2_K, DTYPE_Q3_K,	DTYPE_Q4_K,
					  DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_IQ4_NL, DTYPE_F16 };
	float x[1024];
	uint8_t out[4096];

	for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++) {
		size_t block = dtype_info(all[t])->block;

		for (size_t i = 0; i < 1024; i++)
			x[i] = i < 512 ? (float)(i % 17) : (float)((int)(i % 17) - 8) * 1e8f;
		if (all[t] == DTYPE_F16)
			x[512] = 1e9f;
		both(all[t], x, NULL, 1024, out);
		tap_is_u64(quantize_bad_block(all[t], out, 1024 / block), 512 / block,
			   "%s: the first block with values of 8e8", dtype_name(all[t]));
	}
	/* The minimum alone: -1e9 everywhere has no range. */
	for (size_t i = 0; i < 1024; i++)
		x[i] = -1e9f;
	both(DTYPE_Q4_1, x, NULL, 1024, out);
	tap_is_u64(quantize_bad_block(DTYPE_Q4_1, out, 32), 0, "q4_1: the minimum");
	both(DTYPE_Q4_K, x, NULL, 1024, out);
	tap_is_u64(quantize_bad_block(DTYPE_Q4_K, out, 4), 0, "q4_k: the minimum");
	both(DTYPE_Q2_K, x, NULL, 1024, out);
	tap_is_u64(quantize_bad_block(DTYPE_Q2_K, out, 4), 0, "q2_k: the minimum");
}

/* Halves go away from zero, and what is just below a half does not. */
static void test_halves_of_q8_0(void)
{
	float x[32] = { 127, 0.5f, -0.5f, 1.5f, -2.5f, 0x1.fffffep-2f, -0x1.fffffep-2f, 126.5f };
	uint8_t out[34];

	both(DTYPE_Q8_0, x, NULL, 32, out);
	tap_ok(load_u16(out) == 0x3c00, "scale 1");
	tap_ok((int8_t)out[3] == 1 && (int8_t)out[4] == -1 && (int8_t)out[5] == 2 &&
		       (int8_t)out[6] == -3 && (int8_t)out[7] == 0 && (int8_t)out[8] == 0 &&
		       (int8_t)out[9] == 127,
	       "roundf's integers");
}

/* The largest size twice: the sign is the first one's. */
static void test_ties_of_extremes(void)
{
	float x[32] = { 0.25f, -1, 1 };
	uint8_t out[18];

	both(DTYPE_Q4_0, x, NULL, 32, out);
	tap_ok(load_u16(out) == 0x3000, "-1 first: d is 1/8");
	x[1] = 1;
	x[2] = -1;
	both(DTYPE_Q4_0, x, NULL, 32, out);
	tap_ok(load_u16(out) == 0xb000, "1 first: d is -1/8");
}

/* A minimum of 0 has the sign of the first 0. */
static void test_signs_of_minima(void)
{
	float x[32] = { 1, -0.0f, 0, 2 };
	uint8_t out[20];

	both(DTYPE_Q4_1, x, NULL, 32, out);
	tap_ok(load_u16(out + 2) == 0x8000, "-0 first");
	x[1] = 0;
	x[2] = -0.0f;
	both(DTYPE_Q4_1, x, NULL, 32, out);
	tap_ok(load_u16(out + 2) == 0, "0 first");
}

static double weighted_error(const float *x, const float *weights, const float *asked)
{
	double sum = 0;
	float out[ROW];

	decoded(DTYPE_Q4_K, x, asked, ROW, out);
	for (size_t i = 0; i < ROW; i++)
		sum += (double)weights[i] * (out[i] - x[i]) * (out[i] - x[i]);
	return sum;
}

static void test_importance_pays(void)
{
	float x[ROW], weights[ROW];

	values_fill(DTYPE_F32, VALUES_ORDINARY, x, ROW, 3);
	for (size_t i = 0; i < ROW; i++)
		weights[i] = i % 7 == 0 ? 100 : 0.01f;
	tap_ok(weighted_error(x, weights, weights) < 0.6 * weighted_error(x, weights, NULL),
	       "q4_k: columns that count are more exact");
}

static void test_what_is_known(void)
{
	tap_ok(!quantize_knows(DTYPE_F32) && !quantize_knows(DTYPE_IQ2_XXS) &&
		       !quantize_knows(DTYPE_Q8_1),
	       "not f32, iq2_xxs, q8_1");
	tap_ok(quantize_knows(DTYPE_Q8_0) && !quantize_weighs(DTYPE_Q8_0), "q8_0, unweighted");
}

int main(void)
{
	tap_run(test_ggml);
	tap_run(test_every_level);
	tap_run(test_zeros);
	tap_run(test_scales_that_vanish);
	tap_run(test_values_past_f16);
	tap_run(test_bad_blocks);
	tap_run(test_halves_of_q8_0);
	tap_run(test_ties_of_extremes);
	tap_run(test_signs_of_minima);
	tap_run(test_importance_pays);
	tap_run(test_what_is_known);
	return tap_done();
}
