/*
 * tests/kernel/test_matmul.c - products by weights of every type, at every level, against sums in double
 *
 * Few and many rows, x wT and x w, blocks along either; any number of parts, a tile of the rows, and any sizes of caches give the same
 * bits; what phase 0 made of a weight serves further calls. Weights, rows and results end at guard pages. Of rounded rows (kernels/rounding.h, tried by
 * test_rounding) each has the bits that it has alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attributes.h"
#include "kernels/blocks.h"
#include "kernels/rounding.h"
#include "lib/base/random.h"
#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

struct trial {
	enum dtype type; /* of the weight */
	enum level level;
	size_t m, n, k;
	bool turned; /* w is [n, k]; else [k, n] */
	bool round, pack;
	bool largest; /* all integers are as large as they can be, of rows and weight */
	void *w;
	float *x, *bias, *want, *got;
	double *most; /* of a result: the sum of the magnitudes */
};

static size_t lines(const struct trial *t)
{
	return t->turned ? t->n : t->k;
}

static size_t width(const struct trial *t)
{
	return t->turned ? t->k : t->n;
}

/* Bytes that hold small scales whatever the type, so that all values are finite. */
static void fill_weight(const struct trial *t, size_t bytes, const struct random_stream *r)
{
	size_t n = lines(t) * width(t);

	if (dtype_info(t->type)->block == 1) {
		float *values = malloc(n * sizeof(*values));

		for (size_t i = 0; i < n; i++)
			values[i] = (float)random_normal(r, 1, i);
		dtype_from_f32(t->type, values, t->w, n);
		free(values);
		return;
	}
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)t->w)[i] = (uint8_t)random_below(r, 1, i, 52);
	/* Integers of both signs, -128 among them, and all their bits. */
	for (size_t i = 0; i < bytes; i++)
		if (t->type == DTYPE_Q8_0 && i % 34 >= 2)
			((uint8_t *)t->w)[i] = (uint8_t)random_below(r, 1, i, 256);
}

/* Where a block of those types that are taken apart here has its f16: one, or two in a row. */
static size_t place_of_scale(enum dtype t)
{
	switch (t) {
	case DTYPE_Q2_K: return offsetof(struct block_q2_k, d);
	case DTYPE_Q3_K: return offsetof(struct block_q3_k, d);
	case DTYPE_Q6_K: return offsetof(struct block_q6_k, d);
	default: return 0;
	}
}

/* All bits of the integers, but in Q8_0, which has a sign: -128 then. */
static void fill_largest(const struct trial *t, size_t bytes)
{
	const size_t block = dtype_info(t->type)->bytes, at = place_of_scale(t->type);
	const bool two = t->type == DTYPE_Q4_1 || t->type == DTYPE_Q5_1 || t->type == DTYPE_Q2_K ||
			 t->type == DTYPE_Q4_K || t->type == DTYPE_Q5_K;
	const uint8_t small[4] = { 0, 0x14, 0, 0x14 };

	memset(t->w, t->type == DTYPE_Q8_0 ? 0x80 : 0xff, bytes);
	for (size_t i = 0; i < bytes; i += block)
		memcpy((uint8_t *)t->w + i + at, small, two ? 4 : 2);
	for (size_t i = 0; i < t->m * t->k; i++)
		t->x[i] = i / t->k % 2 ? -1 : 1;
}

/* x as it is multiplied. */
static float *round_rows(const struct trial *t)
{
	float *x = malloc((t->m * t->k + 1) * sizeof(*x));
	int8_t q[ROUNDING_BLOCK];

	memcpy(x, t->x, t->m * t->k * sizeof(*x));
	for (size_t i = 0; i < t->m && t->round; i++)
		for (size_t k = 0; k < t->k; k += ROUNDING_BLOCK) {
			float *at = x + i * t->k + k, scale;
			size_t n = t->k - k < ROUNDING_BLOCK ? t->k - k : ROUNDING_BLOCK;

			scale = rounding_block(at, n, q);
			for (size_t j = 0; j < n; j++)
				at[j] = scale * (float)q[j];
		}
	return x;
}

static void make_want(struct trial *t)
{
	size_t n = lines(t) * width(t);
	float *w = malloc((n + 1) * sizeof(*w)), *x = round_rows(t);

	dtype_to_f32(t->type, t->w, w, n);
	for (size_t i = 0; i < t->m; i++)
		for (size_t j = 0; j < t->n; j++) {
			double sum = t->bias[j], most = fabs(sum);

			for (size_t k = 0; k < t->k; k++) {
				double one = (double)x[i * t->k + k] *
					     (t->turned ? w[j * t->k + k] : w[k * t->n + j]);

				sum += one;
				most += fabs(one);
			}
			t->want[i * t->n + j] = (float)sum;
			t->most[i * t->n + j] = most;
		}
	free(w);
	free(x);
}

static void make(struct trial *t)
{
	struct random_stream r = random_at(3, (uint64_t)t->type, t->m * 1000 + t->n);
	size_t bytes = 0;

	dtype_size(t->type, lines(t) * width(t), &bytes);
	t->w = guard_new(bytes);
	t->x = guard_new(t->m * t->k * sizeof(float));
	t->bias = guard_new(t->n * sizeof(float));
	t->got = guard_new(t->m * t->n * sizeof(float));
	t->want = malloc(t->m * t->n * sizeof(float));
	t->most = malloc(t->m * t->n * sizeof(double));
	for (size_t i = 0; i < t->m * t->k; i++)
		t->x[i] = (float)random_normal(&r, 0, i);
	for (size_t i = 0; i < t->n; i++)
		t->bias[i] = (float)random_normal(&r, 2, i);
	fill_weight(t, bytes, &r);
	if (t->largest)
		fill_largest(t, bytes);
	make_want(t);
}

static void drop(struct trial *t)
{
	guard_free(t->w);
	guard_free(t->x);
	guard_free(t->bias);
	guard_free(t->got);
	free(t->want);
	free(t->most);
}

struct operands {
	struct kernel_tensor in[3], out;
	struct matmul_attributes attributes;
	struct kernel_call c;
};

/* Rows ROW to ROW + ROWS - 1 of the trial. */
static void set(const struct trial *t, size_t row, size_t rows, struct operands *o)
{
	ptrdiff_t line = (ptrdiff_t)width(t);

	*o = (struct operands){ .attributes = { .round = t->round, .pack = t->pack } };
	o->in[0] = (struct kernel_tensor){ .data = t->x + row * t->k,
					   .dtype = DTYPE_F32,
					   .n_axes = 2,
					   .shape = { rows, t->k },
					   .stride = { (ptrdiff_t)t->k, 1 } };
	o->in[1] =
		(struct kernel_tensor){ .data = t->w,
					.dtype = t->type,
					.n_axes = 2,
					.shape = { t->k, t->n },
					.stride = { t->turned ? 1 : line, t->turned ? line : 1 } };
	o->in[2] = (struct kernel_tensor){
		.data = t->bias, .dtype = DTYPE_F32, .n_axes = 1, .shape = { t->n }, .stride = { 1 }
	};
	o->out = (struct kernel_tensor){ .data = t->got + row * t->n,
					 .dtype = DTYPE_F32,
					 .n_axes = 2,
					 .shape = { rows, t->n },
					 .stride = { (ptrdiff_t)t->n, 1 } };
	o->c = (struct kernel_call){ .in = o->in,
				     .out = &o->out,
				     .n_in = 3,
				     .n_out = 1,
				     .attributes = &o->attributes,
				     .row = row,
				     .rows = t->m,
				     .parts = 1 };
}

/* Phases FIRST on, by PARTS parts one after the other. */
static void run(const struct kernel *k, struct operands *o, int parts, int first, void *kept)
{
	struct kernel_call c = o->c;
	size_t size;

	c.parts = parts;
	c.kept = kept;
	size = k->scratch ? k->scratch(&c) : 0;
	c.scratch = aligned_alloc(64, (size + 64) / 64 * 64);
	memset(c.scratch, 0xff, size);
	for (c.phase = first; c.phase < kernel_phases(k, &c); c.phase++)
		for (c.part = 0; c.part < parts; c.part++)
			k->run(&c);
	free(c.scratch);
}

static bool near(const struct trial *t)
{
	for (size_t i = 0; i < t->m * t->n; i++)
		if (!(fabs((double)t->got[i] - t->want[i]) <=
		      0x1p-22 * sqrt((double)t->k + 1) * t->most[i] + 1e-30))
			return false;
	return true;
}

static void check_bits(struct trial *t, const struct kernel *k, void *kept, const char *what)
{
	size_t bytes = t->m * t->n * sizeof(float), half = t->m / 2;
	float *one = malloc(bytes);
	struct operands o;

	memcpy(one, t->got, bytes);
	for (int parts = 2; parts <= 5; parts += 3) {
		memset(t->got, 0xff, bytes);
		set(t, 0, t->m, &o);
		run(k, &o, parts, kept ? 1 : 0, kept);
		tap_ok(memcmp(one, t->got, bytes) == 0, "%s: the same bits by %d parts", what,
		       parts);
	}
	memset(t->got, 0xff, bytes);
	set(t, 0, half, &o);
	run(k, &o, 1, kept ? 1 : 0, kept);
	set(t, half, t->m - half, &o);
	run(k, &o, 1, kept ? 1 : 0, kept);
	tap_ok(memcmp(one, t->got, bytes) == 0, "%s: the same bits in two tiles of rows", what);
	free(one);
}

/* Row by row, as calls of their own. */
static void check_alone(struct trial *t, const struct kernel *k, void *kept, const char *what)
{
	size_t bytes = t->m * t->n * sizeof(float);
	float *all = malloc(bytes);

	memcpy(all, t->got, bytes);
	memset(t->got, 0xff, bytes);
	for (size_t row = 0; row < t->m; row++) {
		struct operands o;

		set(t, row, 1, &o);
		o.c.row = 0;
		o.c.rows = 1;
		run(k, &o, 2, kept ? 1 : 0, kept);
	}
	tap_ok(memcmp(all, t->got, bytes) == 0, "%s: the same bits row by row", what);
	free(all);
}

/* What is not finite in a row is seen in all of its results, and in no other's. */
static void check_not_finite(struct trial *t, const struct kernel *k, void *kept, const char *what)
{
	size_t row = t->m / 2, wrong = 0;
	float *all = malloc(t->m * t->n * sizeof(float)), was = t->x[row * t->k];
	struct operands o;

	memcpy(all, t->got, t->m * t->n * sizeof(float));
	t->x[row * t->k] = t->m % 2 ? NAN : -INFINITY;
	set(t, 0, t->m, &o);
	run(k, &o, 2, kept ? 1 : 0, kept);
	for (size_t i = 0; i < t->m * t->n; i++)
		wrong += i / t->n == row ? !isnan(t->got[i]) : t->got[i] != all[i];
	tap_ok(wrong == 0, "%s: %zu results are wrong of a row with %s", what, wrong,
	       t->m % 2 ? "a NaN" : "an infinity");
	t->x[row * t->k] = was;
	memcpy(t->got, all, t->m * t->n * sizeof(float));
	free(all);
}

/* A form of the kernel's own changes no bit. */
static void check_unpacked(struct trial t, const char *what)
{
	size_t bytes = t.m * t.n * sizeof(float);
	float *packed = malloc(bytes);
	struct operands o;

	memcpy(packed, t.got, bytes);
	memset(t.got, 0xff, bytes);
	t.pack = false;
	set(&t, 0, t.m, &o);
	run(backend_choose(backend_level(t.level), "matmul", &o.c), &o, 1, 0, NULL);
	tap_ok(memcmp(packed, t.got, bytes) == 0, "%s: the same bits unpacked", what);
	free(packed);
}

/* Work that is cut for caches of other sizes. */
static void check_caches(struct trial *t, const struct kernel *k, const char *what)
{
	static const struct kernel_caches caches[] = {
		{ 1, 1, 1 },
		{ 4096, 16384, 0 },
		{ 16384, 32768, 1 << 20 },
		{ 49152, 2 << 20, 4 << 20 },
		{ SIZE_MAX, SIZE_MAX, SIZE_MAX },
	};
	size_t bytes = t->m * t->n * sizeof(float);
	float *all = malloc(bytes);

	memcpy(all, t->got, bytes);
	for (size_t i = 0; i < sizeof(caches) / sizeof(*caches); i++) {
		struct operands o;
		size_t size;
		void *kept;
		int in;

		memset(t->got, 0xff, bytes);
		set(t, 0, t->m, &o);
		o.c.caches = &caches[i];
		size = k->kept ? k->kept(&o.c, &in) : 0;
		kept = size ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
		run(k, &o, 1 + (int)i % 3, 0, kept);
		tap_ok(memcmp(all, t->got, bytes) == 0, "%s: the same bits with an L1 of %zu", what,
		       caches[i].l1);
		free(kept);
	}
	free(all);
}

static void check(struct trial t)
{
	struct operands o;
	const struct kernel *k;
	void *kept = NULL;
	char what[120];
	size_t size;
	int in = 0;

	make(&t);
	set(&t, 0, t.m, &o);
	k = backend_choose(backend_level(t.level), "matmul", &o.c);
	snprintf(what, sizeof(what), "%s, %s, %zu x %zu x %zu%s%s, %s", dtype_name(t.type),
		 level_name(t.level), t.m, t.k, t.n, t.turned ? " turned" : "",
		 t.pack	   ? " packed"
		 : t.round ? " rounded"
			   : "",
		 k ? k->variant : "none");
	if (tap_ok(k != NULL, "%s claims it", what)) {
		size = k->kept ? k->kept(&o.c, &in) : 0;
		kept = size ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
		tap_ok(!kept || in == 1, "%s: keeps the weight", what);
		memset(t.got, 0xff, t.m * t.n * sizeof(float));
		run(k, &o, 1, 0, kept);
		tap_ok(near(&t), "%s: near", what);
		check_bits(&t, k, kept, what);
		if (t.round)
			check_alone(&t, k, kept, what);
		if (t.round)
			check_not_finite(&t, k, kept, what);
		if (t.pack)
			check_unpacked(t, what);
		if (!t.round)
			check_caches(&t, k, what);
	}
	free(kept);
	drop(&t);
}

/* Rows that few and many kernels take; columns that fill no chunk, panel or vector. */
static void check_type(enum dtype type, enum level level)
{
	const size_t rows[] = { 1, 2, 3, 4, 5, 7, 12, 21 };
	size_t block = dtype_info(type)->block, odd = block > 1 ? block : 13;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check((struct trial){ .type = type,
				      .level = level,
				      .m = rows[i],
				      .n = i % 2 ? 37 : 70,
				      .k = i % 3 == 0	? 256 + odd
					   : i % 3 == 1 ? odd
							: 512 + odd,
				      .turned = true });
	check((struct trial){ .type = type, .level = level, .m = 3, .n = 2 * odd, .k = 21 });
	check((struct trial){ .type = type, .level = level, .m = 23, .n = 256 + odd, .k = 19 });
	if (type == DTYPE_F32 || type == DTYPE_Q4_K)
		check((struct trial){
			.type = type, .level = level, .m = 77, .n = 256 + odd, .k = 701 });
}

/*
 * Of block-quantized weights f32 is as exact as it gets: a sum of 4,096 products in one chain is off by 18 units of 2^-24 (the length of the
 * difference), in chains of 32 by 4.
 */
static void check_exactness(enum level level)
{
	struct trial t = {
		.type = DTYPE_Q8_0, .level = level, .m = 21, .n = 64, .k = 4096, .turned = true
	};
	const struct kernel *k;
	double off = 0, all = 0;
	struct operands o;
	void *kept;
	int in;

	make(&t);
	set(&t, 0, t.m, &o);
	k = backend_choose(backend_level(level), "matmul", &o.c);
	kept = k->kept ? aligned_alloc(64, (k->kept(&o.c, &in) + 63) / 64 * 64) : NULL;
	run(k, &o, 1, 0, kept);
	for (size_t i = 0; i < t.m * t.n; i++) {
		off += pow((double)t.got[i] - t.want[i], 2);
		all += pow(t.want[i], 2);
	}
	tap_ok(sqrt(off / all) < 10 * 0x1p-24, "%s: %.1f units off", level_name(level),
	       sqrt(off / all) * 0x1p24);
	free(kept);
	drop(&t);
}

/*
 * One row takes lines of w, more take panels, many are rounded apart; columns end within a group of lines and within a tile, k takes
 * one stretch or several, rows one share of the panels or two, four, two and one together. Lines of one row lie whole pages apart (261), or not.
 */
static void check_rounded(enum dtype type, enum level level, bool pack)
{
	const size_t block = dtype_info(type)->block;
	const struct {
		size_t m, n, blocks;
	} shapes[] = {
		{ 1, 70, 256 / block + 2 },  { 2, 64, 1 },
		{ 3, 3, 256 / block + 2 },   { 5, 70, 1 },
		{ 8, 64, 256 / block + 2 },  { 12, 3, 1 },
		{ 41, 70, 256 / block + 2 }, { 1, 43, 1792 / block },
		{ 3, 43, 1792 / block },     { 131, 9, 1 },
		{ 1, 19, 2304 / block + 3 }, { 7, 150, 1 },
		{ 1, 261, 2048 / block },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		check((struct trial){ .type = type,
				      .level = level,
				      .m = shapes[i].m,
				      .n = shapes[i].n,
				      .k = block * shapes[i].blocks,
				      .turned = true,
				      .round = true,
				      .pack = pack });
	/* Of the types whose integers are multiplied as they are: sums in 16 bits hold them. */
	for (size_t m = 1; m < 6 && type <= DTYPE_Q6_K; m++)
		check((struct trial){ .type = type,
				      .level = level,
				      .m = m,
				      .n = 19,
				      .k = 256,
				      .turned = true,
				      .round = true,
				      .pack = pack,
				      .largest = true });
}

/* Those that TEST_LEVELS names, or all. */
static bool is_wanted(enum level level)
{
	const char *words = getenv("TEST_LEVELS");

	return level_available(level) && (!words || strstr(words, level_name(level)));
}

int main(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (int t = 1; t < DTYPE_COUNT && is_wanted((enum level)level); t++)
			if (t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16 ||
			    (dtype_info((enum dtype)t)->block > 1 && dtype_decodes((enum dtype)t)))
				check_type((enum dtype)t, (enum level)level);
	for (int level = 0; level < LEVEL_COUNT; level++)
		if (is_wanted((enum level)level))
			check_exactness((enum level)level);
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (int t = 1; t < DTYPE_COUNT && is_wanted((enum level)level); t++)
			if (rounding_serves((enum dtype)t))
				for (int pack = 0; pack < 2; pack++)
					check_rounded((enum dtype)t, (enum level)level, pack);
	return tap_done();
}
