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

/* What comes as many bytes later is asked for, as in elementwise.h: a draw takes long. */
#define AHEAD 1024

/* Blocks FIRST on, of row ROW; or block 0 of rows FIRST on. */
struct draws {
	const uint32_t *key;
	uint64_t first, row;
	bool down;
};

/* The words of N elements of each row from FIRST on; OUT has room for SIMD_PHILOX_WORDS more. */
static void draw_many(const struct draws *d, size_t n, uint32_t *out)
{
	if (d->down)
		for (size_t i = 0; i < n; i += SIMD_WIDTH)
			simd_store(out + i, (vf32)simd_philox_rows(d->key, d->first + i));
	else
		simd_philox_store(d->key, d->first, d->row, n, out);
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

SIMD_INLINE vf32 kept(struct chance c, vu32 word, vf32 x)
{
	vi32 stays = (vi32)(word >> 8) >= c.below;

	return simd_keep(stays, x * simd_f32(c.scale));
}

/* As many of N elements of T as are whole draws, where they lie, each as soon as its word is drawn; how many these were. */
SIMD_INLINE size_t drop_drawn(enum dtype t, const struct draws *draws, struct chance c,
			      const uint8_t *x, uint8_t *y, size_t n, bool stream)
{
	const struct draws d = *draws; /* what is stored is none of it */
	const uint32_t key[2] = { d.key[0], d.key[1] };
	size_t i = 0;

	for (; i + SIMD_PHILOX_WORDS <= n; i += SIMD_PHILOX_WORDS) {
		vu32 word[SIMD_PHILOX_VECTORS];

		simd_philox_words(key, d.first + i / 4, d.row, word);
		SIMD_UNROLL
		for (size_t j = 0; j < SIMD_PHILOX_VECTORS; j += 2) {
			size_t at = operand_bytes(t, (ptrdiff_t)(i + j * SIMD_WIDTH));
			vf32 a = vector_load(t, x + at);
			vf32 b = vector_load(t, x + at + operand_bytes(t, SIMD_WIDTH));

			__builtin_prefetch((const void *)((uintptr_t)x + at + AHEAD), 0, 3);
			vector_store_two(t, y + at, kept(c, word[j], a), kept(c, word[j + 1], b),
					 stream);
		}
	}
	return i;
}

static struct chance chance_of(const struct kernel_call *c)
{
	const struct dropout_attributes *a = c->attributes;

	return (struct chance){ (int32_t)ceilf((float)a->p * 0x1p24f), (float)(1 / (1 - a->p)) };
}

/* The first of N elements, of which D.FIRST is the first block, where these need no buffer; how many these were. */
static size_t drop_in_place(const struct kernel_call *c, const struct draws *d, ptrdiff_t from,
			    ptrdiff_t to, size_t n, bool stream)
{
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	const uint8_t *x = operand_at(in, from);
	uint8_t *y = (uint8_t *)out->data + operand_bytes(out->dtype, to);

	if (d->down || last_step(in) != 1 || in->dtype != out->dtype)
		return 0;
	if (in->dtype == DTYPE_BF16)
		return drop_drawn(DTYPE_BF16, d, chance_of(c), x, y, n, false);
	if (in->dtype != DTYPE_F32)
		return 0;
	return stream && vector_aligned(y) ? drop_drawn(DTYPE_F32, d, chance_of(c), x, y, n, true)
					   : drop_drawn(DTYPE_F32, d, chance_of(c), x, y, n, false);
}

/* N elements whose words are WORD; there is room for a vector behind these. */
static void drop(const struct kernel_call *c, const uint32_t *word, ptrdiff_t from, ptrdiff_t to,
		 size_t n)
{
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	ptrdiff_t step = last_step(in);
	struct chance chance = chance_of(c);
	float room[CHUNK];

	if (step == 1)
		operand_load(in->dtype, operand_at(in, from), room, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(in->dtype, operand_at(in, from + (ptrdiff_t)i * step),
				     room + i, 1);
	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(room + i, kept(chance, (vu32)simd_load(word + i), simd_load(room + i)));
	operand_store(out->dtype, room, (uint8_t *)out->data + operand_bytes(out->dtype, to), n);
}

/* Elements FIRST to FIRST + N - 1 of run OUTER of LENGTH. */
static void drop_run(const struct kernel_call *c, size_t outer, size_t first, size_t n,
		     size_t length, bool stream)
{
	const struct kernel_tensor *in = &c->in[0], *out = &c->out[0];
	ptrdiff_t from = rows_at(in, outer) + (ptrdiff_t)first * last_step(in);
	ptrdiff_t to = rows_at(out, outer) + (ptrdiff_t)first;
	struct draws d = { .key = c->key, .down = out->n_axes < 2 };
	uint32_t word[CHUNK + 2 * SIMD_PHILOX_WORDS];
	size_t skip = 0, done = 0;

	if (d.down) {
		d.first = c->row + first;
	} else {
		size_t runs = kernel_elements(out) / length / out->shape[0];
		size_t element = outer % runs * length + first;

		d.row = c->row + outer / runs;
		skip = element % SIMD_PHILOX_WORDS;
		d.first = (element - skip) / 4;
	}
	if (!skip)
		done = drop_in_place(c, &d, from, to, n, stream);
	if (done == n)
		return;
	d.first += done / 4;
	draw_many(&d, skip + n - done, word);
	drop(c, word + skip, from + (ptrdiff_t)done * last_step(in), to + (ptrdiff_t)done,
	     n - done);
}

static void run(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + CHUNK - 1) / CHUNK, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;
	bool stream = vector_streams(out);

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t first = i % runs * CHUNK;

		drop_run(c, i / runs, first, length - first < CHUNK ? length - first : CHUNK,
			 length, stream);
	}
	if (stream)
		simd_stream_end();
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
