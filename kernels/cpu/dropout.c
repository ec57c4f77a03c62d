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

#define CHUNK  512
#define BLOCKS 16 /* at a time: whole vectors at every level */

/* Blocks FIRST on, of row ROW; or block 0 of rows FIRST on. */
struct draws {
	const uint32_t *key;
	uint64_t first, row;
	bool down;
};

/* Counter FIRST + I in lane I. */
static void count_up(const struct draws *d, uint64_t first, uint32_t word[4][BLOCKS])
{
	for (size_t i = 0; i < BLOCKS; i++) {
		uint64_t block = d->down ? 0 : first + i, row = d->down ? first + i : d->row;

		word[0][i] = (uint32_t)block;
		word[1][i] = (uint32_t)(block >> 32);
		word[2][i] = (uint32_t)row;
		word[3][i] = (uint32_t)(row >> 32);
	}
}

/* The words of BLOCKS counters. */
static void draw(const struct draws *d, uint64_t first, uint32_t word[4][BLOCKS])
{
	count_up(d, first, word);
	for (size_t i = 0; i < BLOCKS; i += SIMD_WIDTH) {
		vu32 c[4];

		for (int j = 0; j < 4; j++)
			memcpy(&c[j], &word[j][i], sizeof(c[j]));
		simd_philox(d->key, c);
		for (int j = 0; j < 4; j++)
			memcpy(&word[j][i], &c[j], sizeof(c[j]));
	}
}

/* The words of N elements, whole blocks of each row from FIRST on; OUT has room for BLOCKS blocks more. */
static void draw_many(const struct draws *d, size_t n, uint32_t *out)
{
	size_t each = d->down ? 1 : 4;

	for (size_t i = 0; i < n; i += BLOCKS * each) {
		uint32_t word[4][BLOCKS];

		draw(d, d->first + i / each, word);
		if (d->down)
			memcpy(out + i, word[0], sizeof(word[0]));
		else
			for (size_t j = 0; j < BLOCKS; j++)
				for (size_t k = 0; k < 4; k++)
					out[i + j * 4 + k] = word[k][j];
	}
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

static void drop(const struct kernel_call *c, const uint32_t *word, float *x, size_t n)
{
	const struct dropout_attributes *a = c->attributes;
	float scale = (float)(1 / (1 - a->p));
	/* A uniform number, word / 2^8 / 2^24, is below p as its integer is below p 2^24. */
	int32_t below = (int32_t)ceilf((float)a->p * 0x1p24f);

	for (size_t i = 0; i < n; i++) {
		float y = x[i] * scale;

		x[i] = (int32_t)(word[i] >> 8) < below ? 0.0f : y;
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
	uint32_t word[CHUNK + 4 + 4 * BLOCKS];
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
