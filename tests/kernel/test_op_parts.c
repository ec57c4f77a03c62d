/*
 * tests/kernel/test_op_parts.c - elementwise kernels of every level by one, two, three and seven parts: the same bits
 *
 * Threads share what is long; the cases of ops.def are too short for more than one to get some. So are rows: here a run of many thousand
 * elements, rows of an odd length, and rows with gaps between them, which is walked in another way.
 */
#include <string.h>

#include "kernels/attributes.h"
#include "kernels/half.h"
#include "kernels/ref/ref.h"
#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

#define ROWS  7
#define WIDTH 1500
#define GAP   36 /* elements between rows */

enum layout { FLAT, MATRIX, GAPPED, LAYOUTS };

static const char *const layout_names[LAYOUTS] = { "one run", "rows", "rows with gaps" };

static const struct scalars_attributes scalars = { 1.5, -0.25 };
static const struct kind_attributes silu = { UNARY_SILU };
static const struct gated_attributes gated = { 0 };
static const struct dropout_attributes dropout = { .p = 0.25 };

static const struct {
	enum op op;
	int n_in;
	const void *attributes;
} cases[] = { { OP_COPY, 1, NULL },	{ OP_SCALE, 1, &scalars },   { OP_SILU, 1, NULL },
	      { OP_GELU, 1, NULL },	{ OP_GELU_TANH, 1, NULL },   { OP_ADD, 2, NULL },
	      { OP_SWIGLU, 2, &gated }, { OP_UNARY_GRAD, 2, &silu }, { OP_DROPOUT, 1, &dropout },
	      { OP_EXP, 1, NULL } };

#define CASES (sizeof(cases) / sizeof(*cases))

static struct kernel_tensor tensor(enum dtype t, enum layout s, void *data)
{
	size_t width = s == FLAT ? ROWS * WIDTH : WIDTH;

	if (s == FLAT)
		return (struct kernel_tensor){
			.data = data, .dtype = t, .n_axes = 1, .shape = { width }, .stride = { 1 }
		};
	return (struct kernel_tensor){ .data = data,
				       .dtype = t,
				       .n_axes = 2,
				       .shape = { ROWS, width },
				       .stride = { s == GAPPED ? WIDTH + GAP : WIDTH, 1 } };
}

static void fill(enum dtype t, uint8_t *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++) {
		float x = (float)((i * 7919 + (size_t)seed * 101) % 2001) / 200 - 5;
		uint16_t brain = bf16_from_f32(x);

		if (t == DTYPE_F32)
			memcpy(p + 4 * i, &x, 4);
		else
			memcpy(p + 2 * i, &brain, 2);
	}
}

#define BYTES (ROWS * (WIDTH + GAP) * sizeof(float))

/* OUT, of which what no part writes stays as it is filled here. */
static void run(const struct kernel *k, struct kernel_call c, int parts, uint8_t *out)
{
	memset(out, 0xa5, BYTES);
	c.parts = parts;
	for (c.part = 0; c.part < parts; c.part++)
		k->run(&c);
}

static void check(int level, size_t i, enum dtype t, enum layout s)
{
	static const int parts[] = { 2, 3, 7 };
	static uint8_t in_data[2][BYTES], want[BYTES], got[BYTES];
	struct kernel_tensor in[2], out = tensor(t, s, want);
	struct kernel_call c = { .in = in,
				 .out = &out,
				 .n_in = cases[i].n_in,
				 .n_out = 1,
				 .attributes = cases[i].attributes,
				 .key = { 5, 6 },
				 .parts = 1 };
	const char *name = op_info(cases[i].op)->name;
	const struct kernel *k;

	for (int j = 0; j < 2; j++) {
		in[j] = tensor(t, s, in_data[j]);
		fill(t, in_data[j], ROWS * (WIDTH + GAP), j);
	}
	k = backend_choose(backend_level((enum level)level), name, &c);
	tap_ok(k != NULL, "%s, %s, %s, %s: is claimed", name, level_name((enum level)level),
	       dtype_name(t), layout_names[s]);
	if (!k)
		return;
	run(k, c, 1, want);
	out.data = got;
	for (size_t j = 0; j < sizeof(parts) / sizeof(*parts); j++) {
		run(k, c, parts[j], got);
		tap_ok(memcmp(got, want, BYTES) == 0, "%s, %s, %s, %s: %d parts as one", name,
		       level_name((enum level)level), dtype_name(t), layout_names[s], parts[j]);
	}
}

int main(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (size_t i = 0; i < CASES && level_available((enum level)level); i++)
			for (int s = 0; s < LAYOUTS; s++) {
				check(level, i, DTYPE_F32, (enum layout)s);
				check(level, i, DTYPE_BF16, (enum layout)s);
			}
	return tap_done();
}
