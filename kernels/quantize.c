/* kernels/quantize.c - which encoder a type has, at each level */
#include "kernels/quantize.h"

#include "kernels/blocks.h"
#include "kernels/cpu/quantize_level.h"
#include "kernels/half.h"

/* What a level has of its own. */
struct encoders {
	quantize_plain *q4_0, *q4_1, *q5_0, *q5_1, *q8_0, *f16, *bf16;
	const struct quantize_search *search;
};

static const struct encoders reference = {
	quantize_q4_0_ref, quantize_q4_1_ref, quantize_q5_0_ref, quantize_q5_1_ref,
	quantize_q8_0_ref, quantize_f16_ref,  quantize_bf16_ref, &quantize_search_ref,
};

static const struct encoders levels[LEVEL_COUNT] = {
#define ENCODERS(name, base)                                                            \
 [LEVEL_##name] = { quantize_q4_0_##base, quantize_q4_1_##base,	  quantize_q5_0_##base, \
		    quantize_q5_1_##base, quantize_q8_0_##base,	  quantize_f16_##base,  \
		    quantize_bf16_##base, &quantize_search_##base },
	LEVEL_LIST(ENCODERS)
#undef ENCODERS
};

bool quantize_knows(enum dtype t)
{
	return quantize_weighs(t) || t == DTYPE_Q8_0 || t == DTYPE_F16 || t == DTYPE_BF16;
}

bool quantize_weighs(enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_0:
	case DTYPE_Q4_1:
	case DTYPE_Q5_0:
	case DTYPE_Q5_1:
	case DTYPE_IQ4_NL:
	case DTYPE_Q2_K:
	case DTYPE_Q3_K:
	case DTYPE_Q4_K:
	case DTYPE_Q5_K:
	case DTYPE_Q6_K: return true;
	default: return false;
	}
}

static quantize_plain *plain_of(const struct encoders *e, enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_0: return e->q4_0;
	case DTYPE_Q4_1: return e->q4_1;
	case DTYPE_Q5_0: return e->q5_0;
	case DTYPE_Q5_1: return e->q5_1;
	case DTYPE_Q8_0: return e->q8_0;
	case DTYPE_F16: return e->f16;
	case DTYPE_BF16: return e->bf16;
	default: return NULL;
	}
}

static void quantize_by(const struct encoders *e, enum dtype t, const float *x,
			const float *weights, size_t n, void *out)
{
	quantize_plain *plain = plain_of(e, t);

	if (plain && !(weights && quantize_weighs(t)))
		plain(x, n, out);
	else if (dtype_info(t)->block == BLOCK_K)
		quantize_k(e->search, t, x, weights, n, out);
	else
		quantize_weighted(e->search, t, x, weights, n, out);
}

void quantize_row_ref(enum dtype t, const float *x, const float *weights, size_t n, void *out)
{
	quantize_by(&reference, t, x, weights, n, out);
}

void quantize_row(enum level level, enum dtype t, const float *x, const float *weights, size_t n,
		  void *out)
{
	quantize_by(&levels[level], t, x, weights, n, out);
}

/* Where the f16 of a block lie, from its start; the second is 0 where there is none. */
static void scales_of(enum dtype t, size_t *d, size_t *m)
{
	*d = *m = 0;
	switch (t) {
	case DTYPE_Q4_1:
	case DTYPE_Q5_1: *m = 2; break;
	case DTYPE_Q2_K:
		*d = offsetof(struct block_q2_k, d);
		*m = offsetof(struct block_q2_k, dmin);
		break;
	case DTYPE_Q3_K: *d = offsetof(struct block_q3_k, d); break;
	case DTYPE_Q4_K:
	case DTYPE_Q5_K: *m = 2; break;
	case DTYPE_Q6_K: *d = offsetof(struct block_q6_k, d); break;
	default: break;
	}
}

static bool not_finite(const uint8_t *half)
{
	return (load_u16(half) & 0x7c00) == 0x7c00;
}

size_t quantize_bad_block(enum dtype t, const void *blocks, size_t n)
{
	size_t bytes = dtype_info(t)->bytes, d, m;
	const uint8_t *p = blocks;

	scales_of(t, &d, &m);
	for (size_t i = 0; i < n; i++, p += bytes)
		if (not_finite(p + d) || (m && not_finite(p + m)))
			return i;
	return n;
}
