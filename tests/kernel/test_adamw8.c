/*
 * tests/kernel/test_adamw8.c - Adam with moments of 8 bits goes where Adam goes
 *
 * The kernels of ref and of every level, many steps on: entries without a gradient stand still, those whose gradient ends stop,
 * small ones beside large ones neither stand still nor run away, and a regression is learned as with moments of f32.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attributes.h"
#include "kernels/random.h"
#include "kernels/ref/ref.h"
#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

#define N      300 /* a block and a part of one */
#define BLOCKS 2
#define BETA1  0.9
#define BETA2  0.999
#define LR     0.001f

struct adam {
	const struct kernel *kernel;
	bool eight; /* moments of 8 bits */
	float p[N], g[N], m[N], v[N], scales[2][BLOCKS];
	int8_t q[N];
	uint8_t u[N];
	uint32_t steps;
};

static struct kernel_tensor vector(enum dtype t, void *data, size_t n)
{
	return (struct kernel_tensor){
		.data = data, .dtype = t, .n_axes = 1, .shape = { n }, .stride = { 1 }
	};
}

static void step(struct adam *a)
{
	struct optimizer_attributes o = {
		.beta1 = BETA1, .beta2 = BETA2, .eps = 1e-8, .stochastic = STOCHASTIC_MOMENTS
	};
	float h[4] = { LR, 1 };
	struct kernel_tensor in[7] = { vector(DTYPE_F32, a->p, N) };
	struct kernel_call c = { .in = in, .out = in, .parts = 1, .attributes = &o };

	a->steps++;
	h[2] = (float)(1 - pow(BETA1, a->steps));
	h[3] = (float)(1 - pow(BETA2, a->steps));
	c.key[0] = 77;
	c.key[1] = a->steps;
	if (a->eight) {
		in[1] = vector(DTYPE_I8, a->q, N);
		in[2] = vector(DTYPE_U8, a->u, N);
		in[3] = vector(DTYPE_F32, a->scales[0], BLOCKS);
		in[4] = vector(DTYPE_F32, a->scales[1], BLOCKS);
		in[5] = vector(DTYPE_F32, a->g, N);
		in[6] = vector(DTYPE_F32, h, 4);
		c.n_in = 7;
		c.n_out = 5;
	} else {
		in[1] = vector(DTYPE_F32, a->m, N);
		in[2] = vector(DTYPE_F32, a->v, N);
		in[3] = vector(DTYPE_F32, a->g, N);
		in[4] = vector(DTYPE_F32, h, 4);
		c.n_in = 5;
		c.n_out = 3;
	}
	a->kernel->run(&c);
}

static void begin(struct adam *a, const struct kernel *k, bool eight)
{
	*a = (struct adam){ .kernel = k, .eight = eight };
}

/* From -1 to 1, by a step and an element. */
static float noise(uint32_t at, uint32_t i)
{
	uint32_t words[4];

	random_block((const uint32_t[]){ 5, at }, 0, i, words);
	return 2 * random_uniform_of(words[0]) - 1;
}

/* Entry 3 never has a gradient, entry 4 for 50 steps; the others always. */
static void check_zeros(const struct kernel *k, const char *who)
{
	static struct adam a;
	float at = 0;

	begin(&a, k, true);
	a.p[3] = 0.25f;
	for (int i = 0; i < 600; i++) {
		for (size_t j = 0; j < N; j++)
			a.g[j] = j == 3 || (j == 4 && i >= 50) ? 0 : 1;
		step(&a);
		if (i == 499)
			at = a.p[4];
	}
	tap_ok(a.p[3] == 0.25f, "%s: without a gradient an entry stays: %g", who, (double)a.p[3]);
	tap_ok(a.p[4] == at && a.p[4] < 0, "%s: an entry stops when its gradient has ended: %g",
	       who, (double)(a.p[4] - at));
	tap_ok(fabs(a.p[5] / (-600 * LR) - 1) < 0.01, "%s: 600 steps of 1 go %g far", who,
	       (double)a.p[5]);
}

/* Entry 7 is pulled by 1 in SHARE of what shakes the others. */
static void check_small(const struct kernel *k, const struct kernel *plain, float share,
			double least, double most, const char *who)
{
	static struct adam a, b;
	double ratio;

	begin(&a, k, true);
	begin(&b, plain, false);
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t j = 0; j < N; j++)
			a.g[j] = b.g[j] = j == 7 ? share : noise(i, j);
		step(&a);
		step(&b);
	}
	ratio = (double)a.p[7] / (double)b.p[7];
	tap_ok(ratio > least && ratio < most, "%s: a pull of %g goes %.3g of adamw's way", who,
	       (double)share, ratio);
}

struct losses {
	double first, last; /* the mean of 100 steps */
};

/* The losses of a linear regression of N weights, on rows whose features are on scales of their own. */
static struct losses learn(struct adam *a)
{
	struct losses l = { 0 };

	for (uint32_t i = 0; i < 1200; i++) {
		double off = 0;
		float x[N];

		for (uint32_t j = 0; j < N; j++) {
			x[j] = noise(i, j) * (float)(1 + j % 7);
			off += x[j] * (a->p[j] - 0.05 * (j % 5));
		}
		for (uint32_t j = 0; j < N; j++)
			a->g[j] = (float)off * x[j];
		l.first += i < 100 ? off * off / 100 : 0;
		l.last += i >= 1100 ? off * off / 100 : 0;
		step(a);
	}
	return l;
}

static void check_learning(const struct kernel *k, const struct kernel *plain, const char *who)
{
	static struct adam a, b;
	struct losses ours, exact;

	begin(&a, k, true);
	begin(&b, plain, false);
	ours = learn(&a);
	exact = learn(&b);
	tap_ok(exact.last < exact.first / 2 && fabs(ours.last / exact.last - 1) < 0.05,
	       "%s: a regression's loss falls from %.4g to %.4g, adamw's to %.4g", who, ours.first,
	       ours.last, exact.last);
}

static void check(const struct kernel *k, const struct kernel *plain, const char *who)
{
	check_zeros(k, who);
	check_small(k, plain, 0.1f, 0.85, 1.15, who);
	check_small(k, plain, 0.01f, 0.8, 1.2, who);
	/* Below a quantum of the root it goes slower, never faster. */
	check_small(k, plain, 0.001f, 0.2, 1.2, who);
	check_learning(k, plain, who);
}

static const struct kernel *of_level(enum level level, enum op op)
{
	const struct kernel *const *k = backend_level(level)->kernels;

	while (*k && strcmp((*k)->op, op_info(op)->name) != 0)
		k++;
	return *k;
}

int main(void)
{
	check(op_info(OP_ADAMW8)->ref, op_info(OP_ADAMW)->ref, "ref");
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (level_available((enum level)i) && level_base((enum level)i) == (enum level)i)
			check(of_level((enum level)i, OP_ADAMW8), of_level((enum level)i, OP_ADAMW),
			      level_name((enum level)i));
	return tap_done();
}
