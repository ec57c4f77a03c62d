/*
 * kernels/cpu/dropout.c - x / (1 - p), or 0 with the chance p
 *
 * The words are those of random_block, of many blocks at a time: of one row, or, where a row has one element, of many rows.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/simd_philox.h"
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

static ptrdiff_t run_at(const struct kernel_tensor *t, size_t outer)
{
	ptrdiff_t at = 0;

	for (int i = t->n_axes - 2; i >= 0; i--) {
		at += (ptrdiff_t)(outer % t->shape[i]) * t->stride[i];
		outer /= t->shape[i];
	}
	return at;
}

/* In whole vectors: past the end of X and WORD too, where there is room. */
static void drop(const struct kernel_call *c, const uint32_t *word, float *x, size_t n)
{
	const struct dropout_attributes *a = c->attributes;
	vf32 scale = simd_f32((float)(1 / (1 - a->p)));
	/* A uniform number, word / 2^8 / 2^24, is below p as its integer is below p 2^24. */
	int32_t below = (int32_t)ceilf((float)a->p * 0x1p24f);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vi32 kept = (vi32)((vu32)simd_load(word + i) >> 8) >= below;

		simd_store(x + i, simd_keep(kept, simd_load(x + i) * scale));
	}
}

/* Elements FIRST to FIRST + N - 1 of run OUTER of LENGTH. */
static void drop_run(const struct kernel_call *c, size_t outer, size_t first, size_t n,
		     size_t length)
{
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	ptrdiff_t from = run_at(in, outer) + (ptrdiff_t)first * last_step(in);
	ptrdiff_t to = run_at(out, outer) + (ptrdiff_t)first;
	struct draws d = { .key = c->key, .down = out->n_axes < 2 };
	uint32_t word[CHUNK + 4 + ROOM];
	float x[CHUNK];
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
	if (last_step(in) == 1)
		operand_load(in->dtype, operand_at(in, from), x, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(in->dtype, operand_at(in, from + (ptrdiff_t)i * last_step(in)),
				     x + i, 1);
	drop(c, word + skip, x, n);
	operand_store(out->dtype, x, (uint8_t *)out->data + operand_bytes(out->dtype, to), n);
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
