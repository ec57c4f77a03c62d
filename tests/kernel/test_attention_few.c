/*
 * tests/kernel/test_attention_few.c - attention of few queries at every level against ref: caches of every type, in pages
 *
 * Any number of parts gives the same bits, and a query alone those that it has among others, whose pages lie between its own.
 * Rows of the cache that nobody sees are NaN.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/ref.h"
#include "lib/base/random.h"
#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

#define PAGE  96 /* a tile */
#define PAGES 5
#define KEYS  (PAGE * PAGES)
#define ROWS  12

struct trial {
	enum level level;
	enum dtype cache;
	size_t rows, heads, groups, dim;
	struct attention_attributes a;
};

/* Everything of a call, and what belongs to it. */
struct operands {
	struct kernel_tensor in[10], out[2];
	struct kernel_call c;
	float *q, *result, *lse;
	void *k, *v;
	int32_t q_documents[ROWS], q_positions[ROWS], k_documents[KEYS], k_positions[KEYS],
		pages[PAGES];
};

/* Row ROW of N values: what is there, or what nobody may look at. */
static void put_row(enum dtype t, uint8_t *to, const float *x, size_t n, bool there)
{
	if (t == DTYPE_Q8_0) {
		for (size_t i = 0; i < n; i += 32, to += sizeof(struct block_q8_0)) {
			struct block_q8_0 b;
			uint16_t d = half_from_f32(there ? 0.02F : NAN);

			memcpy(b.d, &d, sizeof(d));
			for (size_t j = 0; j < 32; j++)
				b.qs[j] = (int8_t)(x[i + j] * 40);
			memcpy(to, &b, sizeof(b));
		}
		return;
	}
	dtype_from_f32(t, x, to, n);
	if (!there)
		memset(to, 0xff, n * dtype_info(t)->bytes);
}

static void *make_cache(const struct trial *t, const struct operands *o, uint64_t which)
{
	struct random_stream r = random_at(7, which, 0);
	size_t n = t->groups * t->dim, bytes;
	uint8_t *cache;
	float *x = malloc(n * sizeof(*x));

	dtype_size(t->cache, n, &bytes);
	cache = malloc(bytes * KEYS);
	for (size_t slot = 0; slot < KEYS; slot++) {
		bool there = false;

		for (size_t p = 0; p < PAGES; p++)
			there |= o->pages[p] == (int32_t)(slot / PAGE) &&
				 o->k_positions[p * PAGE + slot % PAGE] >= 0;
		for (size_t i = 0; i < n; i++)
			x[i] = (float)random_normal(&r, slot, i);
		put_row(t->cache, cache + slot * bytes, x, n, there);
	}
	free(x);
	return cache;
}

/*
 * Pages of two texts in turn, out of order, one of them missing, the last tile of each not whole, a key of one text among the other's;
 * queries of either, the later ones further back, and one of a text of which there is no key.
 */
static void place(struct operands *o)
{
	const int32_t pages[PAGES] = { 3, 0, 4, -1, 1 };

	memcpy(o->pages, pages, sizeof(pages));
	for (int32_t j = 0; j < KEYS; j++) {
		int32_t p = j / PAGE, at = p / 2 * PAGE + j % PAGE;

		o->k_documents[j] = p % 2 || (p == 2 && j % PAGE == 40);
		o->k_positions[j] = p == 4 && j % PAGE > 70 ? -1 : at;
	}
	for (int32_t i = 0; i < ROWS; i++) {
		o->q_documents[i] = i % 3 == 1;
		o->q_positions[i] = i % 3 == 1 ? 90 - i : 262 - 20 * i;
	}
	o->q_documents[2] = 7;
}

static struct kernel_tensor matrix(void *data, enum dtype t, size_t rows, size_t heads, size_t dim)
{
	return (struct kernel_tensor){ .data = data,
				       .dtype = t,
				       .n_axes = 3,
				       .shape = { rows, heads, dim },
				       .stride = { (ptrdiff_t)(heads * dim), (ptrdiff_t)dim, 1 } };
}

static struct kernel_tensor list(int32_t *data, size_t n)
{
	return (struct kernel_tensor){
		.data = data, .dtype = DTYPE_I32, .n_axes = 1, .shape = { n }, .stride = { 1 }
	};
}

/* Queries ROW to ROW + ROWS - 1. */
static void point(const struct trial *t, struct operands *o, size_t row, size_t rows)
{
	size_t step = t->heads * t->dim;

	o->in[0] = matrix(o->q + row * step, DTYPE_F32, rows, t->heads, t->dim);
	o->in[1] = matrix(o->k, t->cache, KEYS, t->groups, t->dim);
	o->in[2] = matrix(o->v, t->cache, KEYS, t->groups, t->dim);
	o->in[5] = list(o->q_documents + row, rows);
	o->in[6] = list(o->k_documents, KEYS);
	o->in[7] = list(o->q_positions + row, rows);
	o->in[8] = list(o->k_positions, KEYS);
	o->in[9] = list(o->pages, PAGES);
	o->out[0] = matrix(o->result + row * step, DTYPE_F32, rows, t->heads, t->dim);
	o->out[1] = (struct kernel_tensor){ .data = o->lse + row * t->heads,
					    .dtype = DTYPE_F32,
					    .n_axes = 2,
					    .shape = { rows, t->heads },
					    .stride = { (ptrdiff_t)t->heads, 1 } };
	o->c = (struct kernel_call){ .in = o->in,
				     .out = o->out,
				     .n_in = 10,
				     .n_out = 2,
				     .attributes = &t->a,
				     .rows = rows,
				     .parts = 1 };
}

static void make(const struct trial *t, struct operands *o)
{
	struct random_stream r = random_at(8, 0, 0);
	size_t n = t->rows * t->heads * t->dim;

	*o = (struct operands){ 0 };
	place(o);
	o->q = malloc(n * sizeof(float));
	o->result = malloc(n * sizeof(float));
	o->lse = malloc(t->rows * t->heads * sizeof(float));
	for (size_t i = 0; i < n; i++)
		o->q[i] = (float)random_normal(&r, 0, i);
	o->k = make_cache(t, o, 1);
	o->v = make_cache(t, o, 2);
	point(t, o, 0, t->rows);
}

static void drop(struct operands *o)
{
	free(o->q);
	free(o->result);
	free(o->lse);
	free(o->k);
	free(o->v);
}

static void run(const struct kernel *k, const struct kernel_call *call, int parts)
{
	struct kernel_call c = *call;
	size_t size;

	c.parts = parts;
	size = k->scratch ? k->scratch(&c) : 0;
	c.scratch = aligned_alloc(64, (size + 64) / 64 * 64);
	memset(c.scratch, 0xff, size);
	for (c.phase = 0; c.phase < kernel_phases(k, &c); c.phase++)
		for (c.part = 0; c.part < parts; c.part++)
			k->run(&c);
	free(c.scratch);
}

static bool near(const float *got, const float *want, size_t n, double allowed)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs((double)got[i] - want[i]) <= allowed * (1 + fabs((double)want[i]))) &&
		    got[i] != want[i])
			return false;
	return true;
}

static void check(struct trial t)
{
	struct operands o;
	const struct kernel *k;
	size_t n = t.rows * t.heads * t.dim, heads = t.rows * t.heads;
	float *want = malloc(n * sizeof(*want)), *lse = malloc(heads * sizeof(*lse));
	char what[120];

	make(&t, &o);
	snprintf(what, sizeof(what), "%s, %s, %zu x %zu/%zu x %zu", level_name(t.level),
		 dtype_name(t.cache), t.rows, t.heads, t.groups, t.dim);
	run(op_info(OP_ATTENTION)->ref, &o.c, 1);
	memcpy(want, o.result, n * sizeof(*want));
	memcpy(lse, o.lse, heads * sizeof(*lse));
	k = backend_choose(backend_level(t.level), "attention", &o.c);
	tap_ok(k && strcmp(k->variant, "few-queries") == 0, "%s: claimed", what);
	run(k, &o.c, 1);
	tap_ok(near(o.result, want, n, 2e-6), "%s: near", what);
	tap_ok(near(o.lse, lse, heads, 2e-6), "%s: the log-sum-exp is near", what);
	memcpy(want, o.result, n * sizeof(*want));
	for (int parts = 2; parts <= 7; parts += 5) {
		memset(o.result, 0xff, n * sizeof(*want));
		run(k, &o.c, parts);
		tap_ok(memcmp(want, o.result, n * sizeof(*want)) == 0,
		       "%s: the same bits by %d parts", what, parts);
	}
	memset(o.result, 0xff, n * sizeof(*want));
	for (size_t i = 0; i < t.rows; i++) {
		point(&t, &o, i, 1);
		run(k, &o.c, 3);
	}
	tap_ok(memcmp(want, o.result, n * sizeof(*want)) == 0, "%s: the same bits alone", what);
	drop(&o);
	free(want);
	free(lse);
}

/* A cache of Q8_0, written: the bytes that ref writes, NaN in sight, other rows as they were. */
static void check_write(enum level level, enum dtype type)
{
	enum { N = 96, CACHE = 5 };
	struct block_q8_0 caches[2][CACHE][2 * N / 32];
	float x[3 * 2 * N];
	uint8_t low[sizeof(x)];
	int32_t slots[3] = { 4, -1, 1 };
	struct random_stream r = random_at(9, 0, 0);
	struct kernel_tensor in[3] = { matrix(NULL, DTYPE_Q8_0, CACHE, 2, N),
				       matrix(x, type, 3, 2, N), list(slots, 3) };
	struct kernel_tensor out = in[0];
	const struct kernel *k = NULL;

	for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++)
		x[i] = (float)random_normal(&r, 0, i);
	x[4 * N + 7] = NAN;
	if (type != DTYPE_F32) {
		dtype_from_f32(type, x, low, sizeof(x) / sizeof(*x));
		in[1].data = low;
	}
	memset(caches, 0x55, sizeof(caches));
	for (int i = 0; i < 2; i++) {
		struct kernel_call c = { .in = in, .out = &out, .n_in = 3, .n_out = 1, .parts = 1 };

		in[0].data = out.data = caches[i];
		k = i ? backend_choose(backend_level(level), "kv_write", &c)
		      : op_info(OP_KV_WRITE)->ref;
		for (c.parts = i ? 3 : 1; k && c.part < c.parts; c.part++)
			k->run(&c);
	}
	tap_ok(k && memcmp(caches[0], caches[1], sizeof(caches[0])) == 0,
	       "%s, %s: rows of q8_0 are ref's", level_name(level), dtype_name(type));
	tap_ok(isnan(half_to_f32(load_u16(caches[1][1][0].d))) &&
		       isfinite(half_to_f32(load_u16(caches[1][1][1].d))) &&
		       caches[1][0][0].d[0] == 0x55,
	       "%s, %s: a NaN stays in its block", level_name(level), dtype_name(type));
	tap_ok(fabsf(half_to_f32(load_u16(caches[1][4][0].d)) * (float)caches[1][4][0].qs[3] -
		     x[3]) < 0.02F,
	       "%s, %s: a value is near", level_name(level), dtype_name(type));
}

int main(void)
{
	const enum dtype caches[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0 };
	const struct attention_attributes causal = { .causal = 1, .page = PAGE }, window = {
		.causal = 1, .page = PAGE, .window = 100, .soft_cap = 5
	};

	for (int level = 0; level < LEVEL_COUNT; level++)
		for (size_t i = 0; i < 4 && level_available((enum level)level); i++) {
			enum level l = (enum level)level;

			check((struct trial){ l, caches[i], 1, 6, 2, 64, causal });
			check((struct trial){ l, caches[i], 1, 5, 1, 32, window });
			check((struct trial){ l, caches[i], 12, 2, 1, 32, window });
			check((struct trial){ l, caches[i], 2, 1, 1, 256, causal });
			check((struct trial){ l, caches[i], 4, 16, 2, 64, causal });
		}
	for (int level = 0; level < LEVEL_COUNT; level++)
		if (level_available((enum level)level)) {
			check_write((enum level)level, DTYPE_F32);
			check_write((enum level)level, DTYPE_BF16);
		}
	return tap_done();
}
