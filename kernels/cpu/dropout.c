/*
 * kernels/cpu/dropout.c - x / (1 - p), or 0 with the chance p
 *
 * The words are those of random_block, of many blocks at a time: of one row, or, where a row has one element, of many rows.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_philox.h"
#include "kernels/cpu/vector.h"
#include "kernels/random.h"

#define CHUNK 512
#define ROOM  (4 * SIMD_PHILOX_BLOCKS) /* words that are drawn at a time, at most */

/* Blocks FIRST on, of row ROW; or block 0 of rows FIRST on. */
struct draws {
	const uint32_t *key;
	uint64_t first, row;
	bool down;
};

/* The first words of rows FIRST to FIRST + SIMD_WIDTH - 1. */
static void draw_down(const struct draws *d, uint64_t first, uint32_t *out)
{
	vu32 word[1][4];

	simd_philox_rows(first, word[0]);
	simd_philox(d->key, word, 1);
	simd_store(out, (vf32)word[0][0]);
}

/* The words of N elements, whole blocks of each row from FIRST on; OUT has room for ROOM more. */
static void draw_many(const struct draws *d, size_t n, uint32_t *out)
{
	if (d->down)
		for (size_t i = 0; i < n; i += SIMD_WIDTH)
			draw_down(d, d->first + i, out + i);
	else
		for (size_t i = 0; i < n; i += 4 * SIMD_PHILOX_BLOCKS)
			simd_philox_words(d->key, d->first + i / 4, d->row, out + i);
}

static ptrdiff_t last_step(const struct kernel_tensor *t)
{
	return t->n_axes ? t->stride[t->n_axes - 1] : 0;
}

/* A uniform number, word / 2^8 / 2^24, is below p as its integer is below p 2^24. */
struct chance {
	int32_t below;
	float scale;
};

SIMD_INLINE vf32 kept(struct chance c, const uint32_t *word, vf32 x)
{
	vi32 stays = (vi32)((vu32)simd_load(word) >> 8) >= c.below;

	return simd_keep(stays, x * simd_f32(c.scale));
}

/* As many of N elements of T as are whole pairs of vectors, where they lie; how many these were. */
SIMD_INLINE size_t drop_pairs(enum dtype t, struct chance c, const uint32_t *word, const uint8_t *x,
			      uint8_t *y, size_t n)
{
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		size_t at = operand_bytes(t, (ptrdiff_t)i);
		vf32 a = vector_load(t, x + at);
		vf32 b = vector_load(t, x + at + operand_bytes(t, SIMD_WIDTH));

		vector_store_two(t, y + at, kept(c, word + i, a), kept(c, word + i + SIMD_WIDTH, b),
				 false);
	}
	return i;
}

/* N elements of T from FROM on, whose words are WORD; there is room for a vector behind these. */
static void drop(const struct kernel_call *c, const uint32_t *word, ptrdiff_t from, ptrdiff_t to,
		 size_t n)
{
	const struct dropout_attributes *a = c->attributes;
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	struct chance chance = { (int32_t)ceilf((float)a->p * 0x1p24f), (float)(1 / (1 - a->p)) };
	const uint8_t *x = operand_at(in, from);
	uint8_t *y = (uint8_t *)out->data + operand_bytes(out->dtype, to);
	ptrdiff_t step = last_step(in);
	float room[CHUNK];
	size_t done = 0;

	if (step == 1 && in->dtype == DTYPE_F32 && out->dtype == DTYPE_F32)
		done = drop_pairs(DTYPE_F32, chance, word, x, y, n);
	else if (step == 1 && in->dtype == DTYPE_BF16 && out->dtype == DTYPE_BF16)
		done = drop_pairs(DTYPE_BF16, chance, word, x, y, n);
	for (size_t i = done; i < n; i++)
		operand_load(in->dtype, operand_at(in, from + (ptrdiff_t)i * step), room + i, 1);
	for (size_t i = done; i < n; i += SIMD_WIDTH)
		simd_store(room + i, kept(chance, word + i, simd_load(room + i)));
	operand_store(out->dtype, room + done, y + operand_bytes(out->dtype, (ptrdiff_t)done),
		      n - done);
}

/* Elements FIRST to FIRST + N - 1 of run OUTER of LENGTH. */
static void drop_run(const struct kernel_call *c, size_t outer, size_t first, size_t n,
		     size_t length)
{
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	ptrdiff_t from = rows_at(in, outer) + (ptrdiff_t)first * last_step(in);
	ptrdiff_t to = rows_at(out, outer) + (ptrdiff_t)first;
	struct draws d = { .key = c->key, .down = out->n_axes < 2 };
	uint32_t word[CHUNK + 4 + ROOM];
	size_t skip = 0;

	if (d.down) {
		d.first = c->row + first;
	} else {
		size_t runs = kernel_elements(out) / length / out->shape[0];
		size_t element = outer % runs * length + first;

		d.row = c->row + outer / runs;
		d.first = element / 4;
		skip = element % 4;
	}
	draw_many(&d, skip + n, word);
	drop(c, word + skip, from, to, n);
}

static void run(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + CHUNK - 1) / CHUNK, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t first = i % runs * CHUNK;

		drop_run(c, i / runs, first, length - first < CHUNK ? length - first : CHUNK,
			 length);
	}
}

static bool claims(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	return operand_is_float(c->in[0].dtype) && operand_is_float(out->dtype) &&
	       (out->n_axes == 0 || out->shape[out->n_axes - 1] == 1 || last_step(out) == 1);
}

const struct kernel LEVEL_NAME(dropout_blocks);
const struct kernel LEVEL_NAME(dropout_blocks) = {
	.op = "dropout",
	.variant = "blocks",
	.claims = claims,
	.run = run,
};
