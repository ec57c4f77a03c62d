/*
 * kernels/cpu/attention_grad.c - the gradient of attention in tiles, from the log-sum-exp (Dao et al. 2022; Dao 2023)
 *
 * Per head of keys, for a tile of keys and a tile of columns (queries of all heads of its group), with q times the scale:
 *
 *	s = q k^T,  p = exp(s - lse),  dp = dout v^T,  ds = p (dp - D),  D = dout . out
 *	dv^T += dout^T p,  dk^T += q^T ds,  dq^T += k^T ds^T
 *
 * gemm_tile writes s and dp by panels of keys, which after the exponential are the right panels of the next two products as
 * they lie; only ds is turned, for dq. The slope of the soft cap is in ds after it has given dbias. Floor: the multiply-adds of
 * the five products; an exponential a score.
 *
 * Phase 0 packs q and dout both ways, with D, and finds where keys stand. Phase 1: work is a head and a range of tiles of keys;
 * dk and dv of a tile are summed over the columns in order, dq in f32 a range for itself, by tiles in order. Phase 2 adds the
 * ranges of dq in order. There are RANGES ranges of all heads together, or one a head, so that what is kept is
 * linear in the rows. A bias that all heads share is summed over heads: there work is a range of keys of all heads in turn.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention.h"

#define RANGES 8

enum { DOUT, OUT, LSE, OPERANDS };

struct grad {
	struct attention t;
	const struct kernel_call *c;
	size_t ranges, range_tiles; /* of the keys of a head */
	bool shared_bias;
	size_t up, value_up; /* dims in whole panels of the left */
};

static struct grad grad_of(const struct kernel_call *c)
{
	struct grad g = { .t = attention_of(c, OPERANDS), .c = c };
	size_t ranges;

	g.shared_bias = g.t.bias && g.t.bias->shape[0] == 1;
	ranges = g.shared_bias ? RANGES : (RANGES + g.t.heads - 1) / g.t.heads;
	g.range_tiles = (g.t.tiles + ranges - 1) / ranges;
	g.ranges = (g.t.tiles + g.range_tiles - 1) / g.range_tiles;
	g.up = attention_up(g.t.dim, GEMM_ROWS);
	g.value_up = attention_up(g.t.value_dim, GEMM_ROWS);
	return g;
}

/* --- scratch, in floats --- */

/* A tile of columns, packed by columns and by elements. */
struct packed {
	float *q, *q_turned, *dout, *dout_turned;
	float *lse, *d;
	struct attention_columns *columns;
};

/* What a part works on. */
struct room {
	float *rows;
	float *key, *key_turned, *value; /* a tile of keys */
	float *p, *ds;			 /* scores by panels of keys */
	float *ds_turned;		 /* of one panel of columns */
	float *dk, *dv;			 /* by panels of keys, turned */
	float *added;
};

#define COLUMNS_FLOATS (sizeof(struct attention_columns) / sizeof(float))

static size_t packed_size(const struct grad *g)
{
	return attention_up(ATTENTION_TILE * (g->t.dim + g->up + g->t.value_dim + g->value_up + 2) +
				    COLUMNS_FLOATS,
			    16);
}

static size_t row_size(const struct grad *g)
{
	return g->up > g->value_up ? g->up : g->value_up;
}

static size_t room_size(const struct grad *g)
{
	return attention_up(ATTENTION_TILE *
				    (row_size(g) + g->t.dim + g->up + g->t.value_dim +
				     2 * ATTENTION_TILE + GEMM_COLUMNS + g->up + g->value_up + 1),
			    16);
}

static size_t keys_size(const struct grad *g)
{
	return attention_up(2 * g->t.tiles * ATTENTION_TILE, 16);
}

/* dq of a tile of columns, from one range of keys. */
static size_t dq_size(const struct grad *g)
{
	return ATTENTION_TILE * g->up;
}

static size_t bias_size(const struct grad *g)
{
	return g->shared_bias ? attention_up(g->t.rows * g->t.keys, 16) : 0;
}

static size_t scratch(const struct kernel_call *c)
{
	struct grad g = grad_of(c);
	size_t blocks = g.t.heads * g.t.blocks;

	return (keys_size(&g) + bias_size(&g) +
		blocks * (packed_size(&g) + g.ranges * dq_size(&g)) +
		(size_t)c->parts * room_size(&g)) *
	       sizeof(float);
}

static struct attention_keys keys_at(const struct grad *g)
{
	struct attention_keys k = { .position = g->c->scratch };

	k.document = k.position + g->t.tiles * ATTENTION_TILE;
	return k;
}

static float *bias_at(const struct grad *g)
{
	return (float *)g->c->scratch + keys_size(g);
}

static struct packed packed_at(const struct grad *g, size_t head, size_t block)
{
	struct packed p;

	p.q = bias_at(g) + bias_size(g) + (head * g->t.blocks + block) * packed_size(g);
	p.q_turned = p.q + ATTENTION_TILE * g->t.dim;
	p.dout = p.q_turned + ATTENTION_TILE * g->up;
	p.dout_turned = p.dout + ATTENTION_TILE * g->t.value_dim;
	p.lse = p.dout_turned + ATTENTION_TILE * g->value_up;
	p.d = p.lse + ATTENTION_TILE;
	p.columns = (struct attention_columns *)(void *)(p.d + ATTENTION_TILE);
	return p;
}

static float *dq_at(const struct grad *g, size_t range, size_t head, size_t block)
{
	size_t blocks = g->t.heads * g->t.blocks;
	float *first = bias_at(g) + bias_size(g) + blocks * packed_size(g);

	return first + (range * blocks + head * g->t.blocks + block) * dq_size(g);
}

static struct room room_at(const struct grad *g)
{
	float *first = dq_at(g, g->ranges, 0, 0);
	struct room r;

	r.rows = first + (size_t)g->c->part * room_size(g);
	r.key = r.rows + ATTENTION_TILE * row_size(g);
	r.key_turned = r.key + ATTENTION_TILE * g->t.dim;
	r.value = r.key_turned + ATTENTION_TILE * g->up;
	r.p = r.value + ATTENTION_TILE * g->t.value_dim;
	r.ds = r.p + ATTENTION_TILE * ATTENTION_TILE;
	r.ds_turned = r.ds + ATTENTION_TILE * ATTENTION_TILE;
	r.dk = r.ds_turned + ATTENTION_PANEL;
	r.dv = r.dk + ATTENTION_TILE * g->up;
	r.added = r.dv + ATTENTION_TILE * g->value_up;
	return r;
}

static size_t in_tile(size_t all, size_t tile)
{
	size_t left = all - tile * ATTENTION_TILE;

	return left < ATTENTION_TILE ? left : ATTENTION_TILE;
}

/* --- phase 0: tiles of columns --- */

static float row_dot(const float *x, const float *y, size_t n)
{
	vf32 sum = { 0 };

	for (size_t e = 0; e < n; e += SIMD_WIDTH)
		sum = simd_fma(rows_load(x + e, n - e), rows_load(y + e, n - e), sum);
	return rows_sum(sum);
}

/* D and the log-sum-exp; a column that is not there has p = exp(s - inf) = 0. DOUT holds the rows. */
static void pack_sums(const struct grad *g, const struct packed *p, size_t head, size_t first,
		      size_t n, const float *dout, float *out)
{
	const struct kernel_tensor *lse = &g->c->in[LSE];

	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		size_t row = (first + c) / g->t.group;
		size_t h = head * g->t.group + (first + c) % g->t.group;

		p->lse[c] = INFINITY;
		p->d[c] = 0;
		if (c >= n)
			continue;
		p->lse[c] = ((const float *)lse->data)[(ptrdiff_t)row * lse->stride[0] +
						       (ptrdiff_t)h * lse->stride[1]];
		attention_load(&g->c->in[OUT], (int64_t)row, h, out);
		p->d[c] = row_dot(dout + c * g->t.value_dim, out, g->t.value_dim);
	}
}

static void pack_block(const struct grad *g, size_t head, size_t block)
{
	const struct attention *t = &g->t;
	struct packed p = packed_at(g, head, block);
	struct room r = room_at(g);
	size_t first = block * ATTENTION_TILE, n = in_tile(t->columns, block);

	attention_columns_of(t, first, n, p.columns);
	attention_load_columns(t, t->q, head, first, n, t->scale, r.rows);
	attention_pack(r.rows, n, t->dim, false, GEMM_ROWS, p.q);
	attention_pack(r.rows, n, t->dim, true, GEMM_ROWS, p.q_turned);
	attention_load_columns(t, &g->c->in[DOUT], head, first, n, 1, r.rows);
	attention_pack(r.rows, n, t->value_dim, false, GEMM_ROWS, p.dout);
	attention_pack(r.rows, n, t->value_dim, true, GEMM_ROWS, p.dout_turned);
	pack_sums(g, &p, head, first, n, r.rows, r.p);
}

static void pack_blocks(const struct grad *g)
{
	struct attention_keys k = keys_at(g);
	size_t from, to;

	attention_keys_make(g->c, &g->t, &k);
	kernel_share(g->t.heads * g->t.blocks, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		pack_block(g, i / g->t.blocks, i % g->t.blocks);
}

/* --- phase 1: a tile of keys --- */

struct work {
	const struct grad *g;
	struct room r;
	struct attention_keys k;
	size_t head, tile, keys;
	/* towards a tile of columns */
	struct packed q;
	size_t block, columns;
	/* of each panel of keys, the columns that see any, from a whole GEMM_ROWS on */
	size_t from[ATTENTION_PANELS], to[ATTENTION_PANELS];
};

static void pack_keys(struct work *w)
{
	const struct attention *t = &w->g->t;

	w->keys = in_tile(t->keys, w->tile);
	attention_load_keys(t, t->k, &w->k, w->head, w->tile, w->keys, w->r.rows);
	attention_pack(w->r.rows, w->keys, t->dim, false, GEMM_COLUMNS, w->r.key);
	attention_pack(w->r.rows, w->keys, t->dim, true, GEMM_ROWS, w->r.key_turned);
	attention_load_keys(t, t->v, &w->k, w->head, w->tile, w->keys, w->r.rows);
	attention_pack(w->r.rows, w->keys, t->value_dim, false, GEMM_COLUMNS, w->r.value);
	memset(w->r.dk, 0, ATTENTION_TILE * w->g->up * sizeof(float));
	memset(w->r.dv, 0, ATTENTION_TILE * w->g->value_up * sizeof(float));
}

/* OUT, a panel of ROWS rows, += LEFT, whose panels are STEP apart, RIGHT over DEPTH. */
static void multiply(const float *left, size_t step, const float *right, size_t rows, size_t depth,
		     float *out)
{
	for (size_t i = 0; i < rows; i += GEMM_ROWS, left += step)
		LEVEL_NAME(gemm_tile)
	(left, right, depth, out + i * GEMM_COLUMNS, GEMM_COLUMNS);
}

static ptrdiff_t bias_offset(const struct kernel_tensor *b, size_t h, size_t i, size_t key)
{
	return (b->shape[0] == 1 ? 0 : (ptrdiff_t)h * b->stride[0]) + (ptrdiff_t)i * b->stride[1] +
	       (ptrdiff_t)key;
}

/* N values of dbias of query I of head H from KEY on; summed over heads when they share it. */
static void put_bias(const struct grad *g, size_t i, size_t h, size_t key, size_t n,
		     const float *ds)
{
	const struct kernel_tensor *b = &g->c->out[3];
	float *sum = bias_at(g) + i * g->t.keys + key;

	if (!g->shared_bias)
		operand_store(
			b->dtype, ds,
			(uint8_t *)b->data + operand_bytes(b->dtype, bias_offset(b, h, i, key)), n);
	for (size_t j = 0; j < n && g->shared_bias; j++)
		sum[j] = h == 0 ? ds[j] : sum[j] + ds[j];
}

/* Which of a vector of keys from KEY on column C does not see. */
SIMD_INLINE vi32 hidden(const struct work *w, size_t c, size_t key)
{
	const struct attention_columns *q = w->q.columns;
	vi32 at = (vi32)simd_load(w->k.position + key);
	vi32 document = (vi32)simd_load(w->k.document + key);

	return (at < q->low[c]) | (at > q->high[c]) | (document != q->document[c]);
}

/* s and dp of column C, keys of PANEL, to p and ds; ds before the cap to PLAIN when there is one. */
SIMD_INLINE void gradient_row(const struct work *w, size_t panel, size_t c, bool added, bool some,
			      float *plain)
{
	float *s = w->r.p + panel * ATTENTION_PANEL + c * GEMM_COLUMNS;
	float *dp = w->r.ds + panel * ATTENTION_PANEL + c * GEMM_COLUMNS;
	vf32 lse = simd_broadcast(w->q.lse + c), d = simd_broadcast(w->q.d + c);
	vf32 cap = simd_f32((float)w->g->t.a->soft_cap);
	bool capped = w->g->t.a->soft_cap != 0;

	for (size_t v = 0; v < GEMM_COLUMNS; v += SIMD_WIDTH) {
		vf32 x = simd_load(s + v), turn = x, p, ds;
		vi32 seen = ~(vi32){ 0 };

		if (capped) {
			turn = simd_tanh(x / cap);
			x = cap * turn;
		}
		if (added) {
			vf32 more = simd_load(w->r.added + v);

			x += more;
			seen = more != simd_f32(-INFINITY);
		}
		if (some)
			seen &= ~hidden(w, c, w->tile * ATTENTION_TILE + panel * GEMM_COLUMNS + v);
		p = simd_exp(x - lse);
		ds = p * (simd_load(dp + v) - d);
		if (added || some) {
			p = simd_keep(seen, p);
			ds = simd_keep(seen, ds);
		}
		if (plain)
			simd_store(plain + v, ds);
		simd_store(s + v, p);
		simd_store(dp + v, capped ? ds * simd_fma(-turn, turn, simd_f32(1.0f)) : ds);
	}
}

/* With a bias or bits of a mask. */
static void gradient_row_added(const struct work *w, size_t panel, size_t c)
{
	const struct attention *t = &w->g->t;
	size_t column = w->block * ATTENTION_TILE + c, first = panel * GEMM_COLUMNS;
	size_t n = w->keys - first < GEMM_COLUMNS ? w->keys - first : GEMM_COLUMNS;
	size_t i = column / t->group, h = w->head * t->group + column % t->group;
	float plain[GEMM_COLUMNS];

	first += w->tile * ATTENTION_TILE;
	attention_added(t, i, h, first, n, w->r.added);
	gradient_row(w, panel, c, true, true, plain);
	if (t->bias)
		put_bias(w->g, i, h, first, n, plain);
}

/* Whether a column sees a key, and which columns see those of each panel; all, where dbias is wanted of all. */
static bool find_spans(struct work *w)
{
	bool any = false;

	for (size_t p = 0; p < ATTENTION_PANELS; p++) {
		size_t first = w->tile * ATTENTION_TILE + p * GEMM_COLUMNS, from = 0;
		struct attention_bounds k =
			attention_bounds_of_keys(&w->k, first, first + GEMM_COLUMNS);

		w->to[p] = w->columns;
		attention_trim_columns(w->q.columns, &k, &from, &w->to[p]);
		any = any || from < w->to[p];
		w->from[p] = from < w->to[p] ? from / GEMM_ROWS * GEMM_ROWS : w->to[p];
		if (w->g->t.bias) {
			w->from[p] = 0;
			w->to[p] = w->columns;
		}
	}
	return any;
}

/* s and dp of a panel of keys to p and ds; ds is 0 in columns that see none. */
static void gradient_panel(const struct work *w, size_t panel)
{
	const struct attention *t = &w->g->t;
	size_t from = w->from[panel], to = w->to[panel], end = attention_up(to, GEMM_ROWS);
	size_t key = w->tile * ATTENTION_TILE + panel * GEMM_COLUMNS;
	float *p = w->r.p + panel * ATTENTION_PANEL, *ds = w->r.ds + panel * ATTENTION_PANEL;
	bool all;

	memset(ds, 0, ATTENTION_PANEL * sizeof(float));
	if (from == to)
		return;
	memset(p + from * GEMM_COLUMNS, 0, (end - from) * GEMM_COLUMNS * sizeof(float));
	multiply(w->q.q + from * t->dim, GEMM_ROWS * t->dim,
		 w->r.key + panel * GEMM_COLUMNS * t->dim, end - from, t->dim,
		 p + from * GEMM_COLUMNS);
	multiply(w->q.dout + from * t->value_dim, GEMM_ROWS * t->value_dim,
		 w->r.value + panel * GEMM_COLUMNS * t->value_dim, end - from, t->value_dim,
		 ds + from * GEMM_COLUMNS);
	all = attention_all_see(w->q.columns, from, to, &w->k, key, key + GEMM_COLUMNS);
	for (size_t c = from; c < to; c++)
		if (t->bias || t->mask)
			gradient_row_added(w, panel, c);
		else if (all)
			gradient_row(w, panel, c, false, false, NULL);
		else
			gradient_row(w, panel, c, false, true, NULL);
	memset(ds + to * GEMM_COLUMNS, 0, (end - to) * GEMM_COLUMNS * sizeof(float));
}

/* dk and dv of a panel of keys. */
static void add_to_keys(const struct work *w, size_t panel)
{
	const struct grad *g = w->g;
	size_t from = w->from[panel], depth = w->to[panel] - from;
	size_t step = GEMM_ROWS * w->columns, at = panel * ATTENTION_PANEL + from * GEMM_COLUMNS;

	if (depth == 0)
		return;
	multiply(w->q.dout_turned + from * GEMM_ROWS, step, w->r.p + at, g->value_up, depth,
		 w->r.dv + panel * GEMM_COLUMNS * g->value_up);
	multiply(w->q.q_turned + from * GEMM_ROWS, step, w->r.ds + at, g->up, depth,
		 w->r.dk + panel * GEMM_COLUMNS * g->up);
}

/* dq of a panel of columns, over the panels of keys from the first to the last that it sees. */
static void add_to_queries(const struct work *w, size_t panel, float *dq)
{
	const struct grad *g = w->g;
	size_t c = panel * GEMM_COLUMNS, from = ATTENTION_PANELS, to = 0;

	for (size_t p = 0; p * GEMM_COLUMNS < w->keys; p++) {
		if (w->from[p] == w->to[p] || w->from[p] >= c + GEMM_COLUMNS || w->to[p] <= c)
			continue;
		from = from < p ? from : p;
		to = p + 1;
	}
	if (to == 0)
		return;
	for (size_t p = from; p < to; p++)
		LEVEL_NAME(gemm_turn)
	(w->r.ds + p * ATTENTION_PANEL + c * GEMM_COLUMNS, GEMM_COLUMNS, GEMM_COLUMNS, GEMM_COLUMNS,
	 w->r.ds_turned + p * GEMM_COLUMNS * GEMM_COLUMNS, GEMM_COLUMNS);
	from *= GEMM_COLUMNS;
	to = to * GEMM_COLUMNS < w->keys ? to * GEMM_COLUMNS : w->keys;
	multiply(w->r.key_turned + from * GEMM_ROWS, GEMM_ROWS * w->keys,
		 w->r.ds_turned + from * GEMM_COLUMNS, g->up, to - from,
		 dq + panel * GEMM_COLUMNS * g->up);
}

/* No column sees any key: dbias is 0 there. */
static void no_bias(const struct work *w)
{
	const struct attention *t = &w->g->t;
	const float none[ATTENTION_TILE] = { 0 };

	for (size_t c = 0; c < w->columns && t->bias; c++) {
		size_t column = w->block * ATTENTION_TILE + c;

		put_bias(w->g, column / t->group, w->head * t->group + column % t->group,
			 w->tile * ATTENTION_TILE, w->keys, none);
	}
}

static void run_pair(struct work *w, float *dq)
{
	const struct grad *g = w->g;

	w->q = packed_at(g, w->head, w->block);
	w->columns = in_tile(g->t.columns, w->block);
	if (!find_spans(w)) {
		no_bias(w);
		return;
	}
	for (size_t p = 0; p * GEMM_COLUMNS < w->keys; p++) {
		gradient_panel(w, p);
		add_to_keys(w, p);
	}
	for (size_t p = 0; p * GEMM_COLUMNS < w->columns; p++)
		add_to_queries(w, p, dq);
}

/* Rows of a result out of its panels of N keys or columns, turned. */
static void turn_rows(const float *panels, size_t up, size_t n, float *rows)
{
	for (size_t p = 0; p * GEMM_COLUMNS < n; p++)
		LEVEL_NAME(gemm_turn)
	(panels + p * GEMM_COLUMNS * up, up, GEMM_COLUMNS, GEMM_COLUMNS,
	 rows + p * GEMM_COLUMNS * up, up);
}

static void put_row(const struct kernel_tensor *t, size_t row, size_t head, const float *x)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];

	operand_store(t->dtype, x, (uint8_t *)t->data + operand_bytes(t->dtype, at), t->shape[2]);
}

static void put_keys(const struct work *w, const float *panels, size_t up,
		     const struct kernel_tensor *out)
{
	turn_rows(panels, up, w->keys, w->r.rows);
	for (size_t j = 0; j < w->keys; j++)
		put_row(out, w->tile * ATTENTION_TILE + j, w->head, w->r.rows + j * up);
}

static void run_range(const struct grad *g, size_t head, size_t range)
{
	struct work w = { .g = g, .r = room_at(g), .k = keys_at(g), .head = head };
	size_t end = (range + 1) * g->range_tiles;

	end = end < g->t.tiles ? end : g->t.tiles;
	memset(dq_at(g, range, head, 0), 0, g->t.blocks * dq_size(g) * sizeof(float));
	for (w.tile = range * g->range_tiles; w.tile < end; w.tile++) {
		pack_keys(&w);
		for (w.block = 0; w.block < g->t.blocks; w.block++)
			run_pair(&w, dq_at(g, range, head, w.block));
		put_keys(&w, w.r.dk, g->up, &g->c->out[1]);
		put_keys(&w, w.r.dv, g->value_up, &g->c->out[2]);
	}
}

/* Taken in turn, the first keys of all heads first: in causal order they have the most queries. */
static void run_ranges(const struct grad *g)
{
	size_t heads = g->shared_bias ? 1 : g->t.heads;

	for (size_t i = (size_t)g->c->part; i < heads * g->ranges; i += (size_t)g->c->parts)
		for (size_t head = i % heads; head < g->t.heads;
		     head += g->shared_bias ? 1 : g->t.heads)
			run_range(g, head, i / heads);
}

/* --- phase 2: ranges are added --- */

static void finish_queries(const struct grad *g, size_t head, size_t block)
{
	size_t first = block * ATTENTION_TILE, n = in_tile(g->t.columns, block);
	float *sum = dq_at(g, 0, head, block), *rows = room_at(g).rows;

	for (size_t range = 1; range < g->ranges; range++) {
		const float *more = dq_at(g, range, head, block);

		for (size_t i = 0; i < dq_size(g); i++)
			sum[i] += more[i];
	}
	for (size_t i = 0; i < dq_size(g); i++)
		sum[i] *= g->t.scale;
	turn_rows(sum, g->up, n, rows);
	for (size_t c = 0; c < n; c++)
		put_row(&g->c->out[0], (first + c) / g->t.group,
			head * g->t.group + (first + c) % g->t.group, rows + c * g->up);
}

static void finish(const struct grad *g)
{
	const struct kernel_tensor *b = &g->c->out[3];
	size_t from, to;

	kernel_share(g->t.heads * g->t.blocks, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		finish_queries(g, i / g->t.blocks, i % g->t.blocks);
	kernel_share(g->shared_bias ? g->t.rows : 0, 1, g->c->part, g->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		operand_store(b->dtype, bias_at(g) + i * g->t.keys,
			      (uint8_t *)b->data + operand_bytes(b->dtype, bias_offset(b, 0, i, 0)),
			      g->t.keys);
}

static void run_attention_grad(const struct kernel_call *c)
{
	struct grad g = grad_of(c);

	if (c->phase == 0)
		pack_blocks(&g);
	else if (c->phase == 1)
		run_ranges(&g);
	else
		finish(&g);
}

static bool claims(const struct kernel_call *c)
{
	if (!attention_serves(c, OPERANDS) || !attention_side_by_side(&c->in[DOUT]) ||
	    !attention_side_by_side(&c->in[OUT]) || c->in[LSE].dtype != DTYPE_F32)
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
	.scratch = scratch,
	.phases = 3,
	.run = run_attention_grad,
};
