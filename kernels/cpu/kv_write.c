/*
 * kernels/cpu/kv_write.c - rows of keys or values stored in the cache
 *
 * A cache of Q8_0 holds each 32 elements rounded (kernels/rounding.h), the scale in f16. Cut by heads and pieces of them, not by rows: of two rows with one slot the later stays.
 */
#include "kernels/cpu/level.h"

#include "kernels/blocks.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/rounded_rows.h"

#define PIECE 64

static void store_blocks(const struct kernel_tensor *x, ptrdiff_t from,
			 const struct kernel_tensor *cache, ptrdiff_t to, size_t n)
{
	struct block_q8_0 *b = (struct block_q8_0 *)cache->data + to / ROUNDING_BLOCK;
	float piece[PIECE];

	operand_load(x->dtype, operand_at(x, from), piece, n);
	for (size_t i = 0; i < n; i += ROUNDING_BLOCK, b++) {
		uint16_t d = half_from_f32(rounded_block(piece + i, b->qs));

		memcpy(b->d, &d, sizeof(d));
	}
}

static void store(const struct kernel_tensor *x, ptrdiff_t from, const struct kernel_tensor *cache,
		  ptrdiff_t to, size_t n)
{
	uint8_t *out = (uint8_t *)cache->data + operand_bytes(cache->dtype, to);
	float piece[PIECE];

	if (cache->dtype == DTYPE_Q8_0) {
		store_blocks(x, from, cache, to, n);
		return;
	}
	if (x->dtype == cache->dtype) {
		memcpy(out, operand_at(x, from), operand_bytes(x->dtype, (ptrdiff_t)n));
		return;
	}
	operand_load(x->dtype, operand_at(x, from), piece, n);
	operand_store(cache->dtype, piece, out, n);
}

static void run_kv_write(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[1], *slots = &c->in[2], *cache = &c->out[0];
	size_t dim = x->shape[2], pieces = (dim + PIECE - 1) / PIECE, from, to;

	kernel_share(x->shape[1] * pieces, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t e = i % pieces * PIECE, n = dim - e < PIECE ? dim - e : PIECE;
		ptrdiff_t head = (ptrdiff_t)(i / pieces);

		for (size_t row = 0; row < x->shape[0]; row++) {
			int32_t slot =
				((const int32_t *)slots->data)[(ptrdiff_t)row * slots->stride[0]];

			if (slot < 0 || (size_t)slot >= cache->shape[0])
				continue;
			store(x, (ptrdiff_t)row * x->stride[0] + head * x->stride[1] + (ptrdiff_t)e,
			      cache,
			      slot * cache->stride[0] + head * cache->stride[1] + (ptrdiff_t)e, n);
		}
	}
}

static bool side_by_side(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) && (t->stride[2] == 1 || t->shape[2] <= 1);
}

static bool claims(const struct kernel_call *c)
{
	const struct kernel_tensor *cache = &c->out[0];

	return side_by_side(&c->in[1]) && (side_by_side(cache) || cache->dtype == DTYPE_Q8_0);
}

const struct kernel LEVEL_NAME(kv_write_rows);
const struct kernel LEVEL_NAME(kv_write_rows) = {
	.op = "kv_write",
	.variant = "rows",
	.claims = claims,
	.run = run_kv_write,
};
