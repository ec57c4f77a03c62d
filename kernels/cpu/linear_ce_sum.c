/*
 * kernels/cpu/linear_ce_sum.c - cross-entropy and its gradient in one pass over the rows: three products
 *
 * A group of rows has all its logits in memory, so that they are made once: z = x wT; from them the losses, then the slopes over the
 * logits, and dw += dzT x, dx = dz w. Groups are as large as GROUP_BYTES of logits allow, since each reads w and dw once more,
 * and of nearly equal size.
 *
 * Work is a range of words, as in head.h: in phase 2 g each range makes its logits of group g, in phase 2 g + 1 its slopes, what they
 * add to dw, and a dx of its own; those of group g are added in the order of the ranges in phase 2 g + 2. A row's sums over words go
 * block by block in their order, dw's over rows group by group: no bit depends on the number of parts.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/linear_ce_rows.h"

static size_t groups_of(const struct sum *s)
{
	return head_most((s->rows + s->group - 1) / s->group, 1);
}

/* --- scratch --- */

/* What all parts see; then what one part works in. */
struct shared {
	float *z;	      /* of block b: GROUP rows of HEAD_WORDS */
	float *dx;	      /* of range r: GROUP rows of columns */
	struct seen *seen[2]; /* of even and odd groups; of block b: GROUP */
	size_t size;
};

struct room {
	float *left, *words, *dz, *slopes, *right, *across, *sums, *bias, *bias_sums, *lse;
	size_t size;
};

static float *piece(size_t *size, float *base, size_t n)
{
	float *at = base ? base + *size : NULL;

	*size += head_round_up(n, 16);
	return at;
}

static struct shared shared_of(const struct sum *s)
{
	struct shared r = { 0 };
	float *base = s->c->scratch;
	size_t seen = s->blocks * s->group * sizeof(struct seen) / sizeof(float);

	r.z = piece(&r.size, base, s->blocks * s->group * HEAD_WORDS);
	r.dx = piece(&r.size, base, s->ranges * s->group * s->columns);
	for (int i = 0; i < 2; i++)
		r.seen[i] = (void *)piece(&r.size, base, seen);
	return r;
}

static struct room room_at(const struct sum *s, float *base)
{
	struct room r = { 0 };

	r.left = piece(&r.size, base, s->group * s->width);
	r.words = piece(&r.size, base, HEAD_WORDS * s->width);
	r.dz = piece(&r.size, base, HEAD_ROWS * HEAD_WORDS);
	r.slopes = piece(&r.size, base, HEAD_ROWS * HEAD_WORDS);
	r.right = piece(&r.size, base, s->group * s->columns);
	r.across = piece(&r.size, base, HEAD_WORDS * s->columns);
	r.sums = piece(&r.size, base, HEAD_WORDS * s->columns);
	r.bias = piece(&r.size, base, HEAD_WORDS);
	r.bias_sums = piece(&r.size, base, HEAD_WORDS);
	r.lse = piece(&r.size, base, s->group);
	return r;
}

static struct room room_of(const struct sum *s)
{
	size_t size = room_at(s, NULL).size;

	return room_at(s, (float *)s->c->scratch + shared_of(s).size + (size_t)s->c->part * size);
}

static size_t scratch(const struct kernel_call *c)
{
	struct sum s = sum_of(c);
	struct kernel_call none = *c;

	none.scratch = NULL;
	s.c = &none;
	return (shared_of(&s).size + (size_t)c->parts * room_at(&s, NULL).size) * sizeof(float);
}

static void load_biases(const struct sum *s, size_t b, struct room *r)
{
	memset(r->bias, 0, HEAD_WORDS * sizeof(float));
	for (size_t i = 0; s->bias && i < block_words(s, b); i++)
		r->bias[i] =
			head_get(s->bias, (ptrdiff_t)(b * HEAD_WORDS + i) * s->bias->stride[0]);
}

/* --- logits --- */

/* Logits of rows FIRST to FIRST + N - 1, packed, at the words of block B: some rows at a time, which are in L2 when they are looked at. */
static void make_block(const struct sum *s, size_t first, size_t n, size_t b, float *z,
		       struct seen *seen, struct room *r)
{
	size_t words = block_words(s, b);
	struct head_product p = { .right = r->words,
				  .columns = head_round_up(words, GEMM_COLUMNS),
				  .depth = s->width,
				  .first = true,
				  .step = HEAD_WORDS };

	head_pack_rows(s->w, b * HEAD_WORDS, words, GEMM_COLUMNS, r->words);
	load_biases(s, b, r);
	for (size_t row = 0; row < n; row += HEAD_ROWS) {
		p.rows = head_least(HEAD_ROWS, n - row);
		p.left = r->left + row * s->width;
		p.sums = z + row * HEAD_WORDS;
		head_multiply(s->c->caches, &p);
		for (size_t i = row; i < row + p.rows; i++)
			see_row(s, first + i, b, z + i * HEAD_WORDS, r->bias, &seen[i]);
	}
}

/* Every part needs them; part 0 stores them. */
static void make_losses(const struct sum *s, size_t first, size_t n, const struct seen *seen,
			struct room *r)
{
	double loss;

	for (size_t i = 0; i < n; i++) {
		double lse = row_lse(s, seen, first + i, i, s->c->part == 0 ? &loss : NULL);

		r->lse[i] = (float)lse;
		if (s->c->part > 0)
			continue;
		head_put(&s->c->out[1], first + i, loss);
		head_put(&s->c->out[2], first + i, lse);
	}
}

/* --- slopes --- */

static void add_biases(const struct sum *s, size_t n, const float *z, float *sums)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < HEAD_WORDS; j += SIMD_WIDTH)
			simd_store(sums + j,
				   simd_load(sums + j) + simd_load(z + i * HEAD_WORDS + j));
}

static void store_words(const struct sum *s, size_t b, bool adds, const struct room *r)
{
	const struct kernel_tensor *dw = &s->c->out[4], *dbias = &s->c->out[5];

	for (size_t i = 0; i < block_words(s, b); i++) {
		size_t word = b * HEAD_WORDS + i;
		float *to = (float *)dw->data + (ptrdiff_t)word * dw->stride[0];
		const float *from = r->sums + i * s->columns;

		for (size_t j = 0; j < s->width; j++)
			to[j] = adds ? to[j] + from[j] : from[j];
		if (!s->bias)
			continue;
		to = (float *)dbias->data + (ptrdiff_t)word * dbias->stride[0];
		*to = adds ? *to + r->bias_sums[i] : r->bias_sums[i];
	}
}

/* What N rows from ROW of the group on, whose slopes are r->dz, add to dw, in r->sums, and to DX; X of the group lies in r->right. */
static void slope_products(const struct sum *s, size_t row, size_t n, size_t group_rows,
			   size_t words, bool begins, struct room *r, float *dx)
{
	struct kernel_tensor dz = { .data = r->dz,
				    .dtype = DTYPE_F32,
				    .n_axes = 2,
				    .shape = { n, words },
				    .stride = { HEAD_WORDS, 1 } };
	struct gemm_source turned = { .t = &dz, .line = 1, .k = HEAD_WORDS };
	struct head_product p = { .left = r->slopes, .columns = s->columns, .step = s->columns };

	LEVEL_NAME(gemm_pack)(&turned, 0, words, 0, n, GEMM_ROWS, GEMM_ROWS * n, r->slopes);
	p.right = r->right + row * GEMM_COLUMNS;
	p.panel = group_rows;
	p.rows = words;
	p.depth = n;
	p.first = row == 0;
	p.sums = r->sums;
	head_multiply(s->c->caches, &p);
	head_pack_rows(&dz, 0, n, GEMM_ROWS, r->slopes);
	p.right = r->across;
	p.panel = 0;
	p.rows = n;
	p.depth = words;
	p.first = begins;
	p.sums = dx + row * s->columns;
	head_multiply(s->c->caches, &p);
}

/* --- phases --- */

struct group {
	size_t index, first, n;
};

static struct group group_at(const struct sum *s, size_t index)
{
	size_t first = index * s->group;

	return (struct group){ index, first,
			       s->rows > first ? head_least(s->group, s->rows - first) : 0 };
}

static void range_blocks(const struct sum *s, size_t range, size_t *from, size_t *to)
{
	kernel_share(s->blocks, 1, (int)range, (int)s->ranges, from, to);
}

static void run_logits(const struct sum *s, const struct group *g)
{
	struct shared sh = shared_of(s);
	struct room r = room_of(s);
	struct seen *seen = sh.seen[g->index % 2];
	size_t from, to;

	head_pack_rows(s->x, g->first, g->n, GEMM_ROWS, r.left);
	for (size_t range = (size_t)s->c->part; range < s->ranges; range += (size_t)s->c->parts) {
		range_blocks(s, range, &from, &to);
		for (size_t b = from; b < to; b++)
			make_block(s, g->first, g->n, b, sh.z + b * s->group * HEAD_WORDS,
				   seen + b * s->group, &r);
	}
}

/* Some rows at a time, whose slopes are in L2 then. BEGINS: DX has no sums yet. */
static void block_slopes(const struct sum *s, const struct group *g, size_t b, bool begins,
			 struct room *r, float *dx)
{
	struct shared sh = shared_of(s);
	const float *z = sh.z + b * s->group * HEAD_WORDS;
	const struct seen *seen = sh.seen[g->index % 2] + b * s->group;
	size_t words = block_words(s, b);

	head_pack_across(s->w, b * HEAD_WORDS, words, r->across);
	memset(r->bias_sums, 0, HEAD_WORDS * sizeof(float));
	if (g->n == 0)
		memset(r->sums, 0, words * s->columns * sizeof(float));
	for (size_t row = 0; row < g->n; row += HEAD_ROWS) {
		size_t n = head_least(HEAD_ROWS, g->n - row);

		for (size_t i = row; i < row + n; i++)
			make_slopes(s, g->first + i, b, &seen[i], r->lse[i], z + i * HEAD_WORDS,
				    r->dz + (i - row) * HEAD_WORDS);
		if (s->bias)
			add_biases(s, n, r->dz, r->bias_sums);
		slope_products(s, row, n, g->n, words, begins, r, dx);
	}
	store_words(s, b, g->index > 0, r);
}

static void run_slopes(const struct sum *s, const struct group *g)
{
	struct shared sh = shared_of(s);
	struct room r = room_of(s);
	size_t from, to;

	make_losses(s, g->first, g->n, sh.seen[g->index % 2], &r);
	head_pack_across(s->x, g->first, g->n, r.right);
	for (size_t i = 0; i < g->n; i++)
		if (!is_live(s, g->first + i))
			head_leave_out(r.right, s->columns, g->n, i);
	for (size_t range = (size_t)s->c->part; range < s->ranges; range += (size_t)s->c->parts) {
		float *dx = sh.dx + range * s->group * s->columns;

		range_blocks(s, range, &from, &to);
		if (from == to)
			memset(dx, 0, s->group * s->columns * sizeof(float));
		for (size_t b = from; b < to; b++)
			block_slopes(s, g, b, b == from, &r, dx);
	}
}

/* dx of the group is the sum of the ranges in their order; of rows without a target it is 0. */
static void finish_group(const struct sum *s, const struct group *g)
{
	const struct kernel_tensor *t = &s->c->out[3];
	float *dx = shared_of(s).dx;
	size_t from, to;

	kernel_share(g->n, 1, s->c->part, s->c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		float *sum = dx + i * s->columns;
		ptrdiff_t at = (ptrdiff_t)(g->first + i) * t->stride[0];

		for (size_t range = 1; range < s->ranges; range++) {
			const float *more = sum + range * s->group * s->columns;

			for (size_t j = 0; j < s->columns; j++)
				sum[j] += more[j];
		}
		if (!is_live(s, g->first + i))
			memset(sum, 0, s->columns * sizeof(float));
		operand_store(t->dtype, sum, (uint8_t *)t->data + operand_bytes(t->dtype, at),
			      s->width);
	}
}

static void store_total(const struct sum *s)
{
	double total = 0;

	for (size_t i = 0; i < s->rows; i++)
		total += (double)weight_of(s, i) *
			 (double)head_get(&s->c->out[1], (ptrdiff_t)i * s->c->out[1].stride[0]);
	*(float *)s->c->out[0].data = (float)total;
}

static void run(const struct kernel_call *c)
{
	struct sum s = sum_of(c);
	size_t index = (size_t)c->phase / 2;
	struct group g = group_at(&s, index);

	if (c->phase % 2) {
		run_slopes(&s, &g);
		return;
	}
	if (index > 0) {
		struct group before = group_at(&s, index - 1);

		finish_group(&s, &before);
	}
	if (index < groups_of(&s))
		run_logits(&s, &g);
	else if (c->part == 0)
		store_total(&s);
}

static int phases_of(const struct kernel_call *c)
{
	struct sum s = sum_of(c);

	return 2 * (int)groups_of(&s) + 1;
}

/* --- what is claimed --- */

/* Losses and sums of f32; the rest as linear_ce_grad. */
static bool claims(const struct kernel_call *c)
{
	struct kernel_call slopes = *c;
	struct head h = { .c = &slopes, .x = &c->in[0], .w = &c->in[1] };

	if (c->n_in > 4 && c->in[4].n_axes)
		h.bias = &c->in[4];
	slopes.out = c->out + 3;
	slopes.n_out = c->n_out - 3;
	for (int i = 0; i < c->n_out; i++)
		if (i != 3 && c->out[i].dtype != DTYPE_F32)
			return false;
	return LEVEL_NAME(head_serves)(&h) && c->in[2].dtype == DTYPE_I32 &&
	       head_vector_serves(&c->in[3]) && c->out[4].stride[1] == 1;
}

const struct kernel LEVEL_NAME(linear_ce_sum_groups);
const struct kernel LEVEL_NAME(linear_ce_sum_groups) = {
	.op = "linear_ce_sum",
	.variant = "groups",
	.claims = claims,
	.scratch = scratch,
	.phases_of = phases_of,
	.run = run,
};
