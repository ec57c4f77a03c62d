/* kernels/cpu/head.c - the product of states and a vocabulary, and what a loss makes of it */

#include "kernels/cpu/head.h"

#include <math.h>

#include "kernels/cpu/head_blocks.h"

struct head LEVEL_NAME(head_of)(const struct kernel_call *c, const struct head_loss *loss, int lse,
				int bias)
{
	struct head h = {
		.c = c, .a = c->attributes, .loss = loss, .x = &c->in[0], .w = &c->in[1]
	};

	h.rows = h.x->shape[0];
	h.width = h.x->shape[1];
	h.vocab = h.w->shape[0];
	if (lse) {
		h.lse = &c->in[lse];
		h.dloss = &c->in[lse + 1];
	}
	if (bias < c->n_in && c->in[bias].n_axes)
		h.bias = &c->in[bias];
	return h;
}

/* --- scratch --- */

/* Rows for which words are packed once: fewer when there are many threads, more with more rows. */
static size_t group_rows(const struct head *h)
{
	size_t parts = (size_t)h->c->parts;
	size_t each = head_round_up((h->rows + parts - 1) / parts, GEMM_ROWS);

	return head_most(head_least(each, HEAD_GROUP), GEMM_ROWS);
}

static size_t block_rows(const struct head *h)
{
	return head_most(head_least(head_round_up(h->rows, GEMM_ROWS), HEAD_ROWS), GEMM_ROWS);
}

/* What a part works in. */
struct room {
	float *left;   /* rows of x, as the left operand */
	float *words;  /* w, as the right operand */
	float *z;      /* logits, then slopes */
	float *bias;   /* of the words */
	float *slopes; /* dz, or dz turned, as the left operand of the second products */
	float *right;  /* x, as the right operand of dw */
	float *across; /* w, as that of dx */
	float *sums;   /* dw */
	float *bias_sums;
	struct head_row *states; /* of the group's rows; backward of all */
	size_t size;		 /* floats */
};

static float *piece(struct room *r, float *base, size_t n)
{
	float *at = base ? base + r->size : NULL;

	r->size += head_round_up(n, 16);
	return at;
}

static size_t columns_of(const struct head *h)
{
	return head_round_up(h->width, GEMM_COLUMNS);
}

static struct room room_at(const struct head *h, float *base)
{
	size_t block = block_rows(h), group = group_rows(h);
	struct room r = { 0 };

	r.left = piece(&r, base, (h->lse ? block : head_most(block, group)) * h->width);
	r.words = piece(&r, base, HEAD_WORDS * h->width);
	r.z = piece(&r, base, block * HEAD_WORDS);
	r.bias = piece(&r, base, HEAD_WORDS);
	r.states = (void *)piece(
		&r, base, (h->lse ? h->rows : group) * sizeof(struct head_row) / sizeof(float));
	if (!h->lse)
		return r;
	r.slopes = piece(&r, base, block * HEAD_WORDS);
	r.right = piece(&r, base, block * columns_of(h));
	r.across = piece(&r, base, HEAD_WORDS * columns_of(h));
	r.sums = piece(&r, base, HEAD_WORDS * columns_of(h));
	r.bias_sums = piece(&r, base, HEAD_WORDS);
	return r;
}

/*
 * Ranges of words: each sums a dx of its own, so that parts need not wait for each other and the logits of a block are made once. By
 * shape alone; memory grows with the rows.
 */
static size_t ranges_of(const struct head *h)
{
	size_t blocks = (h->vocab + HEAD_WORDS - 1) / HEAD_WORDS;

	return head_least(h->rows * columns_of(h) <= (1 << 20) ? 16 : 8, head_most(blocks, 1));
}

static size_t dx_size(const struct head *h)
{
	return h->lse ? head_round_up(head_round_up(h->rows, GEMM_ROWS) * columns_of(h), 16) : 0;
}

static float *dx_at(const struct head *h, size_t range)
{
	return (float *)h->c->scratch + range * dx_size(h);
}

/* A step that is not shared has one part, which takes more rows at a time. */
size_t LEVEL_NAME(head_scratch)(const struct head *h)
{
	struct kernel_call alone = *h->c;
	struct head one = *h;

	alone.parts = 1;
	one.c = &alone;
	return (ranges_of(h) * dx_size(h) +
		head_most((size_t)h->c->parts * room_at(h, NULL).size, room_at(&one, NULL).size)) *
	       sizeof(float);
}

static struct room part_room(const struct head *h)
{
	size_t size = room_at(h, NULL).size;

	return room_at(h, dx_at(h, ranges_of(h)) + (size_t)h->c->part * size);
}

/* --- products --- */

/* Words FIRST to FIRST + N - 1, and their biases. */
static void pack_words(const struct head *h, size_t first, size_t n, struct room *r)
{
	head_pack_rows(h->w, first, n, GEMM_COLUMNS, r->words);
	memset(r->bias, 0, HEAD_WORDS * sizeof(float));
	for (size_t i = 0; h->bias && i < n; i++)
		r->bias[i] = head_get(h->bias, (ptrdiff_t)(first + i) * h->bias->stride[0]);
}

/* Products of ROWS packed rows and N words, the rest of the vectors 0. */
static void block_products(const struct head *h, const float *left, size_t rows, size_t n,
			   struct room *r)
{
	rows = head_round_up(rows, GEMM_ROWS);
	head_multiply(h->c->caches,
		      &(struct head_product){ .left = left,
					      .right = r->words,
					      .rows = rows,
					      .columns = head_round_up(n, GEMM_COLUMNS),
					      .depth = h->width,
					      .first = true,
					      .sums = r->z,
					      .step = HEAD_WORDS });
}

static void begin_row(const struct head *h, size_t row, struct head_row *r)
{
	*r = (struct head_row){ .most = -INFINITY };
	if (h->loss->begin)
		h->loss->begin(h, row, r);
}

/* --- forward --- */

static void see_words(const struct head *h, float *z, const float *bias, size_t n,
		      struct head_row *r)
{
	float top = head_logits(z, bias, (float)h->a->soft_cap, n, &r->total), shift;
	vf32 sum = { 0 }, weighted = { 0 };

	if (top > r->most) {
		double less = r->most == -INFINITY ? 0 : (double)r->most - top;

		r->weighted = exp(less) * (r->weighted + less * r->sum);
		r->sum *= exp(less);
		r->most = top;
	}
	shift = r->most == -INFINITY ? 0 : r->most;
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = simd_load(z + i) - simd_f32(shift), e = simd_exp_below(v);

		sum += e;
		weighted = simd_fma(e, v, weighted);
	}
	r->sum += rows_sum(sum);
	r->weighted += rows_sum(weighted);
}

static void forward_group(const struct head *h, size_t first, size_t n, struct room *r)
{
	head_pack_rows(h->x, first, n, GEMM_ROWS, r->left);
	for (size_t i = 0; i < n; i++)
		begin_row(h, first + i, &r->states[i]);
	for (size_t word = 0; word < h->vocab; word += HEAD_WORDS) {
		size_t words = head_least(HEAD_WORDS, h->vocab - word);

		pack_words(h, word, words, r);
		for (size_t row = 0; row < n; row += HEAD_ROWS) {
			size_t rows = head_least(HEAD_ROWS, n - row);

			block_products(h, r->left + row * h->width, rows, words, r);
			for (size_t i = 0; i < rows; i++) {
				float *z = r->z + i * HEAD_WORDS;

				see_words(h, z, r->bias, words, &r->states[row + i]);
				h->loss->pick(h, first + row + i, word, words, z,
					      &r->states[row + i]);
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		h->loss->finish(h, first + i, &r->states[i]);
}

void LEVEL_NAME(head_forward)(const struct head *h)
{
	struct room r = part_room(h);
	size_t group = group_rows(h), from, to;

	kernel_share(h->rows, group, h->c->part, h->c->parts, &from, &to);
	for (size_t i = from; i < to; i += group)
		forward_group(h, i, head_least(group, to - i), &r);
}

/* --- backward --- */

/* The products of ROW into slopes: d (p (1 + 2 z_loss lse) - smoothing / V - what the loss takes) (1 - (z / cap)^2). */
static void make_slopes(const struct head *h, size_t row, size_t first, size_t n,
			const struct room *r, float *z)
{
	float cap = (float)h->a->soft_cap, inverse = cap == 0 ? 0 : 1 / cap;
	float lse = head_get(h->lse, (ptrdiff_t)row * h->lse->stride[0]);
	float d = head_get(h->dloss, (ptrdiff_t)row * h->dloss->stride[0]);
	vf32 factor = simd_f32((float)(1 + 2 * h->z_loss * (double)lse));
	vf32 base = simd_f32((float)(h->smoothing / (double)h->vocab));
	float outer[HEAD_WORDS];

	if (!h->loss->live(h, row)) {
		memset(z, 0, HEAD_WORDS * sizeof(float));
		return;
	}
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = head_logit(simd_load(z + i), r->bias + i, cap),
		     part = v * simd_f32(inverse);

		simd_store(outer + i, simd_f32(d) * (simd_f32(1.0f) - part * part));
		simd_store(z + i, simd_exp_normal(v - simd_f32(lse)) * factor - base);
	}
	h->loss->take(h, row, first, n, z, &r->states[row]);
	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(z + i, simd_load(z + i) * simd_load(outer + i));
}

static bool any_live(const struct head *h, size_t first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (h->loss->live(h, first + i))
			return true;
	return false;
}

/* Slopes of rows FIRST to FIRST + ROWS - 1, packed in LEFT, at words WORD to WORD + N - 1. */
static void block_slopes(const struct head *h, const float *left, size_t first, size_t rows,
			 size_t word, size_t n, struct room *r)
{
	block_products(h, left, rows, n, r);
	for (size_t i = 0; i < rows; i++)
		make_slopes(h, first + i, word, n, r, r->z + i * HEAD_WORDS);
}

static struct kernel_tensor slopes_of(const struct room *r, size_t rows, size_t words)
{
	return (struct kernel_tensor){ .data = r->z,
				       .dtype = DTYPE_F32,
				       .n_axes = 2,
				       .shape = { rows, words },
				       .stride = { HEAD_WORDS, 1 } };
}

static void store_row(const struct kernel_tensor *t, size_t row, const float *x)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0];

	operand_store(t->dtype, x, (uint8_t *)t->data + operand_bytes(t->dtype, at), t->shape[1]);
}

static void add_biases(const struct room *r, size_t rows, size_t words)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < words; j += SIMD_WIDTH)
			simd_store(r->bias_sums + j, simd_load(r->bias_sums + j) +
							     simd_load(r->z + i * HEAD_WORDS + j));
}

/* Slopes of ROWS rows from ROW on and WORDS words: what they add to dw and to DX, whose rows are all rows. */
static void add_products(const struct head *h, size_t row, size_t rows, size_t words,
			 struct room *r, float *dx)
{
	size_t columns = columns_of(h);
	struct kernel_tensor dz = slopes_of(r, rows, words);
	struct gemm_source turned = { .t = &dz, .line = 1, .k = HEAD_WORDS };

	LEVEL_NAME(gemm_pack)
	(&turned, 0, words, 0, rows, GEMM_ROWS, GEMM_ROWS * rows, r->slopes);
	head_pack_across(h->x, row, rows, r->right);
	for (size_t i = 0; i < rows; i++)
		if (!h->loss->live(h, row + i))
			head_leave_out(r->right, columns, rows, i);
	head_multiply(h->c->caches, &(struct head_product){ .left = r->slopes,
							    .right = r->right,
							    .rows = words,
							    .columns = columns,
							    .depth = rows,
							    .sums = r->sums,
							    .step = columns });
	head_pack_rows(&dz, 0, rows, GEMM_ROWS, r->slopes);
	head_multiply(h->c->caches, &(struct head_product){ .left = r->slopes,
							    .right = r->across,
							    .rows = rows,
							    .columns = columns,
							    .depth = words,
							    .sums = dx + row * columns,
							    .step = columns });
}

/* dw and dbias of words WORD to WORD + WORDS - 1, and what they add to DX. */
static void backward_words(const struct head *h, size_t word, size_t words, struct room *r,
			   float *dx)
{
	size_t columns = columns_of(h);

	memset(r->sums, 0, HEAD_WORDS * columns * sizeof(float));
	memset(r->bias_sums, 0, HEAD_WORDS * sizeof(float));
	pack_words(h, word, words, r);
	head_pack_across(h->w, word, words, r->across);
	for (size_t row = 0; row < h->rows; row += HEAD_ROWS) {
		size_t rows = head_least(HEAD_ROWS, h->rows - row);

		if (!any_live(h, row, rows))
			continue;
		head_pack_rows(h->x, row, rows, GEMM_ROWS, r->left);
		block_slopes(h, r->left, row, rows, word, words, r);
		add_biases(r, rows, words);
		add_products(h, row, rows, words, r, dx);
	}
	for (size_t i = 0; i < words; i++)
		store_row(&h->c->out[1], word + i, r->sums + i * columns);
	for (size_t i = 0; i < words && h->c->n_out > 2; i++)
		head_put(&h->c->out[2], word + i, r->bias_sums[i]);
}

static void backward_range(const struct head *h, size_t range, struct room *r)
{
	size_t blocks = (h->vocab + HEAD_WORDS - 1) / HEAD_WORDS, from, to;

	memset(dx_at(h, range), 0, dx_size(h) * sizeof(float));
	for (size_t i = 0; i < h->rows; i++)
		r->states[i].next = 0;
	kernel_share(blocks, 1, (int)range, (int)ranges_of(h), &from, &to);
	for (size_t i = from; i < to; i++)
		backward_words(h, i * HEAD_WORDS, head_least(HEAD_WORDS, h->vocab - i * HEAD_WORDS),
			       r, dx_at(h, range));
}

/* dx is the sum of the ranges in their order; of rows without a gradient it is 0. */
static void finish_rows(const struct head *h)
{
	size_t columns = columns_of(h), from, to;

	kernel_share(h->rows, 1, h->c->part, h->c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		float *sum = dx_at(h, 0) + i * columns;

		for (size_t range = 1; range < ranges_of(h); range++) {
			const float *more = dx_at(h, range) + i * columns;

			for (size_t j = 0; j < columns; j++)
				sum[j] += more[j];
		}
		if (!h->loss->live(h, i))
			memset(sum, 0, columns * sizeof(float));
		store_row(&h->c->out[0], i, sum);
	}
}

void LEVEL_NAME(head_backward)(const struct head *h)
{
	struct room r = part_room(h);

	if (h->c->phase == 1) {
		finish_rows(h);
		return;
	}
	for (size_t i = 0; i < h->rows; i++)
		begin_row(h, i, &r.states[i]);
	for (size_t i = (size_t)h->c->part; i < ranges_of(h); i += (size_t)h->c->parts)
		backward_range(h, i, &r);
}

/* --- what is claimed --- */

static bool steps_by_one(const struct kernel_tensor *t)
{
	return t->n_axes == 2 && (t->stride[0] == 1 || t->stride[1] == 1);
}

static bool result_serves(const struct kernel_tensor *t)
{
	if (!operand_is_float(t->dtype))
		return false;
	return t->n_axes == 1 || t->stride[1] == 1 || t->shape[1] == 1;
}

/* Words may be blocks along the width: the sums of both products go along whole rows of them. */
bool LEVEL_NAME(head_serves)(const struct head *h)
{
	bool blocks = dtype_info(h->w->dtype)->block > 1 && dtype_decodes(h->w->dtype) &&
		      h->w->stride[1] == 1;

	if (!operand_is_float(h->x->dtype) || !steps_by_one(h->x) || !steps_by_one(h->w) ||
	    !(operand_is_float(h->w->dtype) || blocks))
		return false;
	if (h->bias && !head_vector_serves(h->bias))
		return false;
	if (h->lse && !(head_vector_serves(h->lse) && head_vector_serves(h->dloss)))
		return false;
	for (int i = 0; i < h->c->n_out; i++)
		if (!result_serves(&h->c->out[i]))
			return false;
	return true;
}
