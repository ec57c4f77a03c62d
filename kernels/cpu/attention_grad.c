/*
 * kernels/cpu/attention_grad.c - the gradient of attention in tiles, from the log-sum-exp (Dao et al. 2022; Dao 2023)
 *
 * Per head of keys, for a tile of keys and a tile of columns (queries of all heads of its group), with q times the scale and log2 e, and p
 * and ds of attention_slopes.c:
 *
 *	dv += p^T dout,  dk += ds^T q ln 2,  dq += ds k,  D = dout . out
 *
 * Of these only k and v are turned, once a tile of keys; all else is multiplied as it lies. Floor: the multiply-adds of the five
 * products; an exponential a score.
 *
 * Phase 0 brings q and dout to f32, with D, and finds where keys stand. Phase 1: work is a head and a range of its tiles of
 * keys; dk and dv of a tile are summed over the columns in order, dq in f32 a range for itself, by tiles in order. Phase 2
 * adds the ranges of dq in order. There are ATTENTION_RANGES ranges of all heads together, or one a head, so that what is kept is
 * linear in the rows. A bias that all heads share is summed over heads: there work is a range of keys of all heads in turn.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention_grad.h"

/* --- phase 0: tiles of columns --- */

static float row_dot(const float *x, const float *y, size_t n)
{
	vf32 sum = { 0 };

	for (size_t e = 0; e < n; e += SIMD_WIDTH)
		sum = simd_fma(rows_load(x + e, n - e), rows_load(y + e, n - e), sum);
	return rows_sum(sum);
}

/*
 * D and the log-sum-exp times log2 e; a column that is not there has p = exp(s - inf) = 0. Where D is finite all of dout is: what is not
 * gives no finite term, and no sum with one is finite.
 */
static void load_sums(const struct attention_grad *g, const struct attention_block *b, size_t head,
		      size_t first, size_t n)
{
	const struct kernel_tensor *lse = &g->c->in[ATTENTION_LSE];
	float *out = attention_room_at(g, 0).p;

	b->finite[1] = 1;
	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		size_t row = (first + c) / g->t.group;
		size_t h = head * g->t.group + (first + c) % g->t.group;

		b->lse[c] = INFINITY;
		b->d[c] = 0;
		if (c >= n)
			continue;
		b->lse[c] = ((const float *)lse->data)[(ptrdiff_t)row * lse->stride[0] +
						       (ptrdiff_t)h * lse->stride[1]] *
			    (float)ATTENTION_LOG2_E;
		if (c + ATTENTION_AHEAD < n)
			attention_ask(&g->c->in[ATTENTION_OUT],
				      (int64_t)((first + c + ATTENTION_AHEAD) / g->t.group),
				      head * g->t.group +
					      (first + c + ATTENTION_AHEAD) % g->t.group);
		attention_load(&g->c->in[ATTENTION_OUT], (int64_t)row, h, out);
		b->d[c] = row_dot(b->dout + c * g->value_step, out, g->t.value_dim);
		b->finite[1] &= isfinite(b->d[c]) != 0;
	}
}

static void load_block(const struct attention_grad *g, size_t head, size_t block)
{
	const struct attention *t = &g->t;
	struct attention_block b = attention_block_at(g, head, block);
	size_t first = block * ATTENTION_TILE, n = attention_in_tile(t->columns, block);

	attention_columns_of(t, first, n, b.columns);
	attention_load_columns(t, t->q, head, first, n, 1, g->step, b.q);
	b.finite[0] = attention_scaled(b.q, ATTENTION_TILE * g->step,
				       (float)(t->scale * ATTENTION_LOG2_E));
	attention_load_columns(t, &g->c->in[ATTENTION_DOUT], head, first, n, 1, g->value_step,
			       b.dout);
	load_sums(g, &b, head, first, n);
}

static void load_blocks(const struct attention_grad *g)
{
	struct attention_keys k = attention_keys_at(g);
	size_t from, to;

	attention_keys_make(g->c, &g->t, &k);
	kernel_share(g->t.heads * g->t.blocks, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		load_block(g, i / g->t.blocks, i % g->t.blocks);
}

/* --- phase 1: a tile of keys --- */

static void load_keys(struct attention_pair *w)
{
	const struct attention_grad *g = w->g;
	const struct attention *t = &g->t;

	w->keys = attention_in_tile(t->keys, w->tile);
	attention_load_keys(t, t->k, &w->k, w->head, w->tile, w->keys, g->step, w->r.key);
	w->finite = attention_scaled(w->r.key, ATTENTION_TILE * g->step, 1);
	attention_turn(w->r.key, t->dim, g->step, w->r.key_across);
	/* Of the values only the panels are wanted. */
	attention_load_keys(t, t->v, &w->k, w->head, w->tile, w->keys, g->value_step, w->r.dv);
	attention_turn(w->r.dv, t->value_dim, g->value_step, w->r.value_across);
	memset(w->r.dk, 0, ATTENTION_TILE * g->step * sizeof(float));
	memset(w->r.dv, 0, ATTENTION_TILE * g->value_step * sizeof(float));
}

/* Whether products may meet what is hidden: it counts as 0, which what is not finite does not let it be. */
static bool is_safe(const struct attention_pair *w, bool finite)
{
	return finite || (w->whole && !w->g->t.mask);
}

static struct attention_sight sight_of(const struct attention_pair *w)
{
	return (struct attention_sight){ &w->g->t,   w->q.columns,
					 &w->k,	     w->block * ATTENTION_TILE,
					 w->columns, w->tile * ATTENTION_TILE,
					 w->keys };
}

/* OUT, rows of keys, += scores^T rows, over the columns that see them; FINITE: rows are. */
static void add_to_keys(const struct attention_pair *w, const float *scores, const float *rows,
			bool finite, size_t step, float *out)
{
	struct attention_product seen = { scores, ATTENTION_TILE, 1, rows, out, step };
	struct attention_sight sight = sight_of(w);
	struct attention_span s = { 0, w->columns };

	if (!is_safe(w, finite)) {
		LEVEL_NAME(attention_seen_columns)(&sight, &seen);
		return;
	}
	for (size_t j = 0; j < w->keys; j += GEMM_ROWS) {
		if (!w->whole)
			s = attention_union(w->seen, j, j + GEMM_ROWS);
		for (size_t e = 0; e < step && s.from < s.to; e += GEMM_COLUMNS)
			LEVEL_NAME(attention_add_across)
		((struct attention_matrix){ scores + j + s.from * ATTENTION_TILE, ATTENTION_TILE },
		 (struct attention_matrix){ rows + s.from * step + e, step }, s.to - s.from, NULL,
		 out + j * step + e, step);
	}
}

/* The keys from the first to the last panel that columns C to C + GEMM_ROWS - 1 see. */
static struct attention_span keys_seen(const struct attention_pair *w, size_t c)
{
	struct attention_span s = { 0, 0 };

	for (size_t p = 0; p * GEMM_COLUMNS < w->keys; p++) {
		if (w->seen[p].from >= c + GEMM_ROWS || w->seen[p].to <= c)
			continue;
		s.from = s.to ? s.from : p * GEMM_COLUMNS;
		s.to = (p + 1) * GEMM_COLUMNS;
	}
	s.to = s.to < w->keys ? s.to : w->keys;
	return s;
}

static void add_to_queries(const struct attention_pair *w, float *dq)
{
	struct attention_span s = { 0, w->keys };
	size_t step = w->g->step;
	struct attention_product seen = { w->r.ds, ATTENTION_TILE, 1, w->r.key, dq, step };
	struct attention_sight sight = sight_of(w);

	if (!is_safe(w, w->finite)) {
		LEVEL_NAME(attention_seen_keys)(&sight, &seen, NULL);
		return;
	}
	for (size_t c = 0; c < w->columns; c += GEMM_ROWS) {
		if (!w->whole)
			s = keys_seen(w, c);
		for (size_t e = 0; e < step && s.from < s.to; e += GEMM_COLUMNS)
			LEVEL_NAME(attention_add)
		((struct attention_matrix){ w->r.ds + c * ATTENTION_TILE + s.from, ATTENTION_TILE },
		 (struct attention_matrix){ w->r.key + s.from * step + e, step }, s.to - s.from,
		 dq + c * step + e, step);
	}
}

/* Most tiles of columns see the keys of few tiles, where texts are short: what none adds to is not even cleared. */
static float *begin_queries(const struct attention_pair *w, size_t range)
{
	float *dq = attention_dq_at(w->g, range, w->head, w->block);
	int32_t *begun = attention_begun_at(w->g, range, w->head, w->block);

	if (!*begun)
		memset(dq, 0, attention_dq_size(w->g) * sizeof(*dq));
	*begun = 1;
	return dq;
}

static void run_pair(struct attention_pair *w, size_t block, size_t range)
{
	const struct attention_grad *g = w->g;
	bool last = block + 1 == g->t.blocks;

	w->block = block;
	w->q = attention_block_at(g, w->head, w->block);
	w->columns = attention_in_tile(g->t.columns, w->block);
	w->next = last ? NULL : attention_block_at(g, w->head, w->block + 1).q;
	w->next_dq = last ? NULL : attention_dq_at(g, range, w->head, w->block + 1);
	if (!LEVEL_NAME(attention_slopes)(w))
		return;
	add_to_keys(w, w->r.p, w->q.dout, w->q.finite[1], g->value_step, w->r.dv);
	add_to_keys(w, w->r.ds, w->q.q, w->q.finite[0], g->step, w->r.dk);
	add_to_queries(w, begin_queries(w, range));
}

static void put_row(const struct kernel_tensor *t, size_t row, size_t head, const float *x)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];

	operand_store(t->dtype, x, (uint8_t *)t->data + operand_bytes(t->dtype, at), t->shape[2]);
}

static void put_keys(const struct attention_pair *w, const float *rows, size_t step,
		     const struct kernel_tensor *out)
{
	for (size_t j = 0; j < w->keys; j++)
		put_row(out, w->tile * ATTENTION_TILE + j, w->head, rows + j * step);
}

static void begin_keys(struct attention_pair *w, const struct attention_grad *g, size_t head,
		       size_t tile, size_t turn)
{
	*w = (struct attention_pair){ .g = g, .head = head, .tile = tile };
	w->r = attention_room_at(g, turn);
	w->k = attention_keys_at(g);
	load_keys(w);
}

static void finish_keys(const struct attention_pair *w)
{
	const struct attention_grad *g = w->g;

	for (size_t i = 0; i < w->keys * g->step; i++)
		w->r.dk[i] *= (float)ATTENTION_LN_2;
	put_keys(w, w->r.dk, g->step, &g->c->out[1]);
	put_keys(w, w->r.dv, g->value_step, &g->c->out[2]);
}

static void run_range(const struct attention_grad *g, size_t head, size_t range)
{
	struct attention_pair w[ATTENTION_TOGETHER];
	size_t n;

	memset(attention_begun_at(g, range, head, 0), 0, g->t.blocks * sizeof(int32_t));
	for (size_t tile = range; tile < g->t.tiles; tile += n * g->ranges) {
		for (n = 0; n < ATTENTION_TOGETHER && tile + n * g->ranges < g->t.tiles; n++)
			begin_keys(&w[n], g, head, tile + n * g->ranges, n);
		for (size_t block = 0; block < g->t.blocks; block++)
			for (size_t i = 0; i < n; i++)
				run_pair(&w[i], block, range);
		for (size_t i = 0; i < n; i++)
			finish_keys(&w[i]);
	}
}

static void run_ranges(const struct attention_grad *g)
{
	size_t heads = g->shared_bias ? 1 : g->t.heads, all = heads * g->ranges;

	for (size_t round = 0; round * (size_t)g->c->parts < all; round++) {
		size_t i = attention_turn_of(g->c, round);

		for (size_t head = i % heads; i < all && head < g->t.heads;
		     head += g->shared_bias ? 1 : g->t.heads)
			run_range(g, head, i / heads);
	}
}

/* --- phase 2: ranges are added --- */

/* dq of a tile of columns over all ranges, in their order: in the first one's memory. */
static float *sum_ranges(const struct attention_grad *g, size_t head, size_t block)
{
	float *sum = attention_dq_at(g, 0, head, block);

	if (!*attention_begun_at(g, 0, head, block))
		memset(sum, 0, attention_dq_size(g) * sizeof(*sum));
	for (size_t range = 1; range < g->ranges; range++) {
		const float *more = attention_dq_at(g, range, head, block);

		if (*attention_begun_at(g, range, head, block))
			for (size_t i = 0; i < attention_dq_size(g); i++)
				sum[i] += more[i];
	}
	return sum;
}

static void finish_queries(const struct attention_grad *g, size_t head, size_t block)
{
	size_t first = block * ATTENTION_TILE, n = attention_in_tile(g->t.columns, block);
	float *sum = sum_ranges(g, head, block);

	for (size_t i = 0; i < attention_dq_size(g); i++)
		sum[i] *= g->t.scale;
	for (size_t c = 0; c < n; c++)
		put_row(&g->c->out[0], (first + c) / g->t.group,
			head * g->t.group + (first + c) % g->t.group, sum + c * g->step);
}

static void finish(const struct attention_grad *g)
{
	const struct kernel_tensor *b = &g->c->out[3];
	size_t from, to;

	kernel_share(g->t.heads * g->t.blocks, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		finish_queries(g, i / g->t.blocks, i % g->t.blocks);
	kernel_share(g->shared_bias ? g->t.rows : 0, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		operand_store(b->dtype, attention_bias_at(g) + i * g->t.keys,
			      (uint8_t *)b->data +
				      operand_bytes(b->dtype, attention_bias_offset(b, 0, i, 0)),
			      g->t.keys);
}

static void run_attention_grad(const struct kernel_call *c)
{
	struct attention_grad g = attention_grad_of(c);

	if (c->phase == 0)
		load_blocks(&g);
	else if (c->phase == 1)
		run_ranges(&g);
	else
		finish(&g);
}

static bool claims(const struct kernel_call *c)
{
	if (!attention_serves(c, ATTENTION_OPERANDS) ||
	    !attention_side_by_side(&c->in[ATTENTION_DOUT]) ||
	    !attention_side_by_side(&c->in[ATTENTION_OUT]) ||
	    c->in[ATTENTION_LSE].dtype != DTYPE_F32)
		return false;
	for (int i = 0; i < c->n_out; i++)
		if (!attention_side_by_side(&c->out[i]))
			return false;
	return true;
}

const struct kernel LEVEL_NAME(attention_grad_tiles);
const struct kernel LEVEL_NAME(attention_grad_tiles) = {
	.op = "attention_grad",
	.variant = "tiles",
	.claims = claims,
	.scratch = attention_grad_scratch,
	.phases = 3,
	.run = run_attention_grad,
};
