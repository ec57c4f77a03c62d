/*
 * tests/kernel/test_pairs.c - products of bf16 on units that multiply pairs (kernels/cpu/pairs.h), at sizes that reach every block
 *
 * Operands are small integers, so that every sum is exact and the right value is that of integers; or fractions, for the same
 * bits however the work is cut. Operands end at pages that cannot be touched.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/attributes.h"
#include "kernels/half.h"
#include "lib/graph/backend.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#if defined(__x86_64__)
struct product_case {
	const char *what;
	size_t m, n, k, batches; /* batches 0: two axes */
	bool a_turned, b_turned, b_shared, accumulate, bias, residual;
	uint32_t activation;
	enum dtype out;
};

static const struct product_case cases[] = {
	{ "the least", 16, 1, 1, .out = DTYPE_F32 },
	{ "no k", 20, 40, 0, .out = DTYPE_BF16 },
	{ "edges", 17, 33, 31, .out = DTYPE_BF16 },
	{ "b turned", 49, 131, 70, .b_turned = true, .out = DTYPE_BF16 },
	{ "a turned", 49, 131, 70, .a_turned = true, .out = DTYPE_F32 },
	{ "both turned", 33, 97, 65, .a_turned = true, .b_turned = true, .out = DTYPE_BF16 },
	{ "blocks", 290, 1100, 40, .b_turned = true, .out = DTYPE_BF16 },
	{ "pieces past the near ones", 40, 70, 900, .out = DTYPE_F32 },
	{ "deep", 35, 1060, 2090, .a_turned = true, .accumulate = true, .out = DTYPE_F32 },
	{ "batches", 18, 20, 40, 3, .out = DTYPE_BF16 },
	{ "batches of one b", 18, 20, 40, 3, .b_shared = true, .out = DTYPE_F32 },
	{ "epilogue", 37, 150, 64, .bias = true, .residual = true, .activation = ACTIVATION_RELU,
	  .out = DTYPE_F32 },
	{ "epilogue of bf16", 37, 150, 64, .bias = true, .residual = true, .out = DTYPE_BF16 },
};

struct operands {
	uint16_t *a, *b;
	float *bias, *residual;
	struct kernel_tensor in[4], out;
	struct matmul_attributes attributes;
	struct kernel_call call;
	size_t results;
};

static uint32_t state = 1;

static int small(void)
{
	state = state * 1664525 + 1013904223;
	return (int)(state >> 24) % 7 - 3;
}

static float fraction(void)
{
	return (float)small() + (float)small() / 64 + (float)small() / 512;
}

static uint16_t *new_values(size_t n, bool whole)
{
	uint16_t *x = guard_new(n * sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = brain_from_f32(whole ? (float)small() : fraction());
	return x;
}

static float *new_floats(size_t n)
{
	float *x = guard_new(n * sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = (float)small();
	return x;
}

/* ROWS x COLUMNS, stored the other way round when TURNED; with BATCHES in front, or one axis of them less. */
static struct kernel_tensor matrix(enum dtype t, void *data, size_t batches, size_t rows,
				   size_t columns, bool turned)
{
	struct kernel_tensor k = { .data = data, .dtype = t, .n_axes = batches ? 3 : 2 };
	int at = batches ? 1 : 0;

	k.shape[0] = batches;
	k.stride[0] = (ptrdiff_t)(rows * columns);
	k.shape[at] = rows;
	k.shape[at + 1] = columns;
	k.stride[at] = turned ? 1 : (ptrdiff_t)columns;
	k.stride[at + 1] = turned ? (ptrdiff_t)rows : 1;
	return k;
}

static void make(struct operands *o, const struct product_case *p, bool whole)
{
	size_t many = p->batches ? p->batches : 1, b_many = p->b_shared ? 1 : many;
	int first = p->accumulate ? 1 : 0;

	*o = (struct operands){ .results = many * p->m * p->n };
	o->attributes.activation = p->activation;
	o->a = new_values(many * p->m * p->k, whole);
	o->b = new_values(b_many * p->k * p->n, whole);
	o->in[first] = matrix(DTYPE_BF16, o->a, p->batches, p->m, p->k, p->a_turned);
	o->in[first + 1] =
		matrix(DTYPE_BF16, o->b, p->b_shared ? 0 : p->batches, p->k, p->n, p->b_turned);
	o->call = (struct kernel_call){ .in = o->in,
					.out = &o->out,
					.n_in = p->accumulate ? 3 : 4,
					.n_out = 1,
					.parts = 1,
					.attributes = &o->attributes };
	if (p->bias) {
		o->bias = new_floats(p->n);
		o->in[2] = (struct kernel_tensor){ .data = o->bias,
						   .dtype = DTYPE_F32,
						   .n_axes = 1,
						   .shape = { p->n },
						   .stride = { 1 } };
	}
	if (p->residual) {
		o->residual = new_floats(o->results);
		o->in[3] = matrix(DTYPE_F32, o->residual, p->batches, p->m, p->n, false);
	}
}

static void discard(struct operands *o)
{
	guard_free(o->a);
	guard_free(o->b);
	if (o->bias)
		guard_free(o->bias);
	if (o->residual)
		guard_free(o->residual);
}

/* The results as f32, each 1 before an accumulation. NULL after a failed check. */
static float *results(const struct operands *o, const struct product_case *p, enum level level,
		      int parts)
{
	struct kernel_tensor out = matrix(p->out, NULL, p->batches, p->m, p->n, false);
	struct kernel_call c = o->call;
	size_t size = p->out == DTYPE_F32 ? 4 : 2;
	uint8_t *data = guard_new(o->results * size);
	float *x = malloc((o->results + 1) * sizeof(*x));
	const struct kernel *k;
	int in;

	out.data = data;
	c.out = &out;
	c.parts = parts;
	for (size_t i = 0; i < o->results && p->accumulate; i++)
		((float *)(void *)data)[i] = 1;
	k = backend_choose(backend_level(level), p->accumulate ? "matmul_acc" : "matmul", &c);
	if (!tap_ok(k && strstr(k->variant, level == LEVEL_amx ? "amx" : "pairs"), "%s: the unit's",
		    p->what)) {
		guard_free(data);
		free(x);
		return NULL;
	}
	c.kept = aligned_alloc(64, (k->kept(&c, &in) + 64) / 64 * 64);
	c.scratch = aligned_alloc(64, (k->scratch(&c) + 64) / 64 * 64);
	memset(c.scratch, 0xff, k->scratch(&c));
	for (c.phase = 0; c.phase < 2; c.phase++)
		for (c.part = 0; c.part < parts; c.part++)
			k->run(&c);
	for (size_t i = 0; i < o->results; i++)
		x[i] = p->out == DTYPE_F32 ? ((float *)(void *)data)[i]
					   : brain_to_f32(((uint16_t *)(void *)data)[i]);
	free(c.kept);
	free(c.scratch);
	guard_free(data);
	return x;
}

static float at(const struct kernel_tensor *t, size_t batch, size_t row, size_t column)
{
	int n = t->n_axes;
	ptrdiff_t i = (n == 3 ? (ptrdiff_t)batch * t->stride[0] : 0) +
		      (ptrdiff_t)row * t->stride[n - 2] + (ptrdiff_t)column * t->stride[n - 1];

	return t->dtype == DTYPE_F32 ? ((const float *)t->data)[i]
				     : brain_to_f32(((const uint16_t *)t->data)[i]);
}

static float right_value(const struct operands *o, const struct product_case *p, size_t batch,
			 size_t i, size_t j)
{
	const struct kernel_tensor *a = &o->in[p->accumulate ? 1 : 0], *b = a + 1;
	float sum = p->accumulate ? 1 : 0; /* of integers below 2^24: exact */

	for (size_t k = 0; k < p->k; k++)
		sum += at(a, batch, i, k) * at(b, batch, k, j);
	if (p->bias)
		sum += o->bias[j];
	if (p->activation == ACTIVATION_RELU && sum < 0)
		sum = 0;
	if (p->residual) {
		if (p->out == DTYPE_BF16)
			sum = brain_to_f32(brain_from_f32(sum));
		sum += at(&o->in[3], batch, i, j);
	}
	return p->out == DTYPE_F32 ? sum : brain_to_f32(brain_from_f32(sum));
}

/* The number of results that are wrong. */
static size_t wrong(const struct operands *o, const struct product_case *p, const float *x)
{
	size_t bad = 0, many = p->batches ? p->batches : 1;

	for (size_t batch = 0; batch < many; batch++)
		for (size_t i = 0; i < p->m; i++)
			for (size_t j = 0; j < p->n; j++, x++)
				bad += *x != right_value(o, p, batch, i, j);
	return bad;
}

static void check_case(const struct product_case *p, enum level level)
{
	const int parts[] = { 2, 7 };
	struct operands o;
	float *one, *more;

	make(&o, p, true);
	one = results(&o, p, level, 1);
	if (one)
		tap_is_u64(wrong(&o, p, one), 0, "%s, %s: wrong results", p->what,
			   level_name(level));
	free(one);
	discard(&o);

	make(&o, p, false);
	one = results(&o, p, level, 1);
	for (size_t i = 0; one && i < 2; i++) {
		more = results(&o, p, level, parts[i]);
		tap_ok(more && memcmp(one, more, o.results * sizeof(*one)) == 0,
		       "%s, %s: the same bits in %d parts", p->what, level_name(level), parts[i]);
		free(more);
	}
	free(one);
	discard(&o);
}

/* Intel's manual: both units take subnormal operands for zeros. */
static void check_subnormals(enum level level)
{
	const struct product_case p = { "subnormals", 16, 16, 32, .out = DTYPE_F32 };
	struct operands o;
	float *x;

	make(&o, &p, true);
	for (size_t i = 0; i < p.m * p.k; i++)
		o.a[i] = 0x0040; /* 2^-127 */
	for (size_t i = 0; i < p.k * p.n; i++)
		o.b[i] = brain_from_f32(0x1p100f);
	x = results(&o, &p, level, 1);
	tap_ok(x && x[0] == 0 && x[255] == 0, "%s: subnormals are zeros", level_name(level));
	free(x);
	discard(&o);
}

/* The kernels of the table by who made the processor; few rows are the base's. */
static void check_choice(enum level level)
{
	struct product_case p = { "choice", 64, 32, 32, .out = DTYPE_F32 };
	const struct kernel *intel, *amd;
	struct operands o;

	make(&o, &p, true);
	o.out = matrix(DTYPE_F32, NULL, 0, p.m, p.n, false);
	o.call.out = &o.out;
	o.call.in = o.in;
	o.call.attributes = &o.attributes;
	intel = backend_choose(backend_of(level, VENDOR_INTEL), "matmul", &o.call);
	amd = backend_choose(backend_of(level, VENDOR_AMD), "matmul", &o.call);
	if (level == LEVEL_amx)
		tap_is_text(intel->variant, "amx", "Intel: tiles");
	else
		tap_ok(!strstr(intel->variant, "pairs"), "Intel: f32 runs at twice the rate");
	tap_ok(level == LEVEL_amx || strstr(amd->variant, "pairs"), "AMD: pairs");
	o.in[0].shape[0] = o.out.shape[0] = 15;
	amd = backend_choose(backend_level(level), "matmul", &o.call);
	tap_ok(!strstr(amd->variant, "pairs") && !strstr(amd->variant, "amx"), "few rows");
	discard(&o);
}

int main(void)
{
	const enum level levels[] = { LEVEL_avx512_bf16, LEVEL_amx };

	for (size_t l = 0; l < 2; l++) {
		if (!level_available(levels[l])) {
			tap_skip("cpu: this machine lacks the level", level_name(levels[l]));
			continue;
		}
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			check_case(&cases[i], levels[l]);
		check_subnormals(levels[l]);
		check_choice(levels[l]);
	}
	return tap_done();
}
#else
int main(void)
{
	tap_skip("cpu: this architecture has no such unit", "pairs");
	return tap_done();
}
#endif
