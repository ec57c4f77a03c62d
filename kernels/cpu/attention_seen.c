/* kernels/cpu/attention_seen.c - products whose rows keep to what they see, where some of it is not finite */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention_seen.h"

/* Whether column C of the tile sees key J of the tile: by where both stand, and by the bits of the mask. */
static bool sees(const struct attention_sight *s, size_t c, size_t j)
{
	const struct attention_columns *q = s->q;
	const struct kernel_tensor *mask = s->t->mask;
	size_t key = s->key + j;
	int32_t at = s->k->position[key];

	if (at < q->low[c] || at > q->high[c] || s->k->document[key] != q->document[c])
		return false;
	return !mask ||
	       (((const uint8_t *)
			 mask->data)[(ptrdiff_t)((s->first + c) / s->t->group) * mask->stride[0] +
				     (ptrdiff_t)(key / 8) * mask->stride[1]] >>
			key % 8 &
		1);
}

/* OUT = OUT factor + the sum of N rows, those of LIST, times their scores. */
static void add_rows(const struct attention_product *p, const float *scores, size_t score_step,
		     const size_t *list, size_t n, float factor, float *out)
{
	for (size_t e = 0; e < p->step; e += SIMD_WIDTH) {
		vf32 sum = { 0 };

		for (size_t i = 0; i < n; i++)
			sum = simd_fma(simd_broadcast(scores + list[i] * score_step),
				       simd_load(p->rows + list[i] * p->step + e), sum);
		simd_store(out + e, simd_fma(simd_load(out + e), simd_f32(factor), sum));
	}
}

void LEVEL_NAME(attention_seen_keys)(const struct attention_sight *s,
				     const struct attention_product *p, const float *factor)
{
	size_t list[ATTENTION_TILE];

	for (size_t c = 0; c < s->columns; c++) {
		size_t n = 0;

		for (size_t j = 0; j < s->keys; j++)
			if (sees(s, c, j))
				list[n++] = j;
		add_rows(p, p->scores + c * p->column_step, p->key_step, list, n,
			 factor ? factor[c] : 1, p->out + c * p->step);
	}
}

void LEVEL_NAME(attention_seen_columns)(const struct attention_sight *s,
					const struct attention_product *p)
{
	size_t list[ATTENTION_TILE];

	for (size_t j = 0; j < s->keys; j++) {
		size_t n = 0;

		for (size_t c = 0; c < s->columns; c++)
			if (sees(s, c, j))
				list[n++] = c;
		add_rows(p, p->scores + j * p->key_step, p->column_step, list, n, 1,
			 p->out + j * p->step);
	}
}
