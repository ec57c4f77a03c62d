/*
 * tests/kernel/test_linear_ce_sum.c - linear_ce_sum of every level beside ref, where cases of ops.def do not reach
 *
 * Ranges of several blocks of words, blocks of several lots of rows and several groups of them, and no rows at all, in memory that
 * holds NaN before.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

#define WIDTH	   5
#define MOST_ROWS  1000
#define MOST_WORDS 5000

struct results {
	float total, loss[MOST_ROWS], lse[MOST_ROWS], dx[MOST_ROWS * WIDTH], dw[MOST_WORDS * WIDTH];
};

static struct kernel_tensor vector(enum dtype t, void *data, size_t n)
{
	return (struct kernel_tensor){
		.data = data, .dtype = t, .n_axes = 1, .shape = { n }, .stride = { 1 }
	};
}

static struct kernel_tensor matrix(float *data, size_t rows)
{
	return (struct kernel_tensor){ .data = data,
				       .dtype = DTYPE_F32,
				       .n_axes = 2,
				       .shape = { rows, WIDTH },
				       .stride = { WIDTH, 1 } };
}

static void *nans(size_t n)
{
	void *p = aligned_alloc(64, (n + 64) / 64 * 64);

	return memset(p, 0xff, (n + 64) / 64 * 64);
}

static void run(const struct kernel *k, struct kernel_call c, int parts)
{
	int phases;

	c.parts = parts;
	phases = kernel_phases(k, &c);
	c.scratch = k->scratch ? nans(k->scratch(&c)) : NULL;
	for (c.phase = 0; c.phase < phases; c.phase++)
		for (c.part = 0; c.part < parts; c.part++)
			k->run(&c);
	free(c.scratch);
}

/* The kernel of LEVEL, or ref (-1), on ROWS states and a vocabulary of WORDS. */
static bool losses(int level, size_t rows, size_t words, const struct cross_entropy_attributes *a,
		   int parts, struct results *r)
{
	static float x[MOST_ROWS * WIDTH], w[MOST_WORDS * WIDTH], weights[MOST_ROWS];
	static int32_t targets[MOST_ROWS];
	struct kernel_tensor in[] = { matrix(x, rows), matrix(w, words),
				      vector(DTYPE_I32, targets, rows),
				      vector(DTYPE_F32, weights, rows) };
	struct kernel_tensor out[] = { { .data = &r->total, .dtype = DTYPE_F32 },
				       vector(DTYPE_F32, r->loss, rows),
				       vector(DTYPE_F32, r->lse, rows),
				       matrix(r->dx, rows),
				       matrix(r->dw, words) };
	struct kernel_call c = {
		.in = in, .out = out, .n_in = 4, .n_out = 5, .attributes = a, .parts = parts
	};
	const struct kernel *k = op_info(OP_LINEAR_CE_SUM)->ref;

	for (size_t i = 0; i < MOST_ROWS * WIDTH; i++)
		x[i] = (float)(i * 31 % 17) / 8 - 1;
	for (size_t i = 0; i < MOST_WORDS * WIDTH; i++)
		w[i] = (float)(i * 29 % 1009) / 400 - 1.25f;
	for (size_t i = 0; i < MOST_ROWS; i++) {
		targets[i] = (int32_t)(i * 2654435761u % words) - (i % 7 == 3 ? 100000 : 0);
		weights[i] = (float)(i % 5) / 4;
	}
	memset(r, 0xff, sizeof(*r));
	if (level >= 0)
		k = backend_choose(backend_level((enum level)level), "linear_ce_sum", &c);
	if (k)
		run(k, c, parts);
	return k != NULL;
}

static bool near(const float *got, const float *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabsf(got[i] - want[i]) <= 2e-5f * (1 + fabsf(want[i]))))
			return false;
	return true;
}

static bool all_near(const struct results *got, const struct results *want, size_t rows,
		     size_t words)
{
	return near(&got->total, &want->total, 1) && near(got->loss, want->loss, rows) &&
	       near(got->lse, want->lse, rows) && near(got->dx, want->dx, rows * WIDTH) &&
	       near(got->dw, want->dw, words * WIDTH);
}

static void check(int level, size_t rows, size_t words, double cap)
{
	static struct results got, alone, want;
	struct cross_entropy_attributes a = {
		.smoothing = 0.1, .soft_cap = cap, .z_loss = 1e-3, .ignore = -1
	};
	bool claimed = losses(level, rows, words, &a, 3, &got) &&
		       losses(level, rows, words, &a, 1, &alone);

	losses(-1, rows, words, &a, 1, &want);
	tap_ok(claimed && all_near(&got, &want, rows, words),
	       "%s: %zu states, %zu words, cap %g: as ref", level_name((enum level)level), rows,
	       words, cap);
	tap_ok(claimed && memcmp(&got, &alone, sizeof(got)) == 0,
	       "%s: %zu states, %zu words, cap %g: three parts and one make the same bits",
	       level_name((enum level)level), rows, words, cap);
}

int main(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level))
			continue;
		for (int capped = 0; capped < 2; capped++) {
			check(level, 0, 700, capped * 3.0);
			check(level, 3, MOST_WORDS, capped * 3.0);
			check(level, 500, 3100, capped * 3.0);
			check(level, MOST_ROWS, 11, capped * 3.0);
		}
	}
	return tap_done();
}
