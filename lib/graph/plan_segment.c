/*
 * lib/graph/plan_segment.c - chains of row-wise steps, run tile of rows by tile of rows
 *
 * Row r of what a row-wise step makes depends on row r of what the chain made before, and on all of what was there before the
 * chain. So a thread may take a tile of rows through the whole chain: what lies between stays in its caches, and the threads
 * meet once a chain. Bits do not change: kernels are given the row and the number of rows that there are, and what they
 * choose or draw goes by those (kernels/kernel.h). What is made of whole operands alone (packed weights) is made before the tiles.
 *
 * Memory: with tiles the steps of a chain run at the same time, so what any of them touches lives through all of it. What
 * is made and read within the chain only has room for one tile a thread.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

#define TILE_ROWS 96 /* a multiple of what the products' tiles have at any level */

/* --- what may join --- */

/* Phases after that which makes what is kept. */
static bool one_phase(const struct plan_step *s)
{
	int phases = s->kernel->phases ? s->kernel->phases : 1;

	if (s->kernel->phases_of)
		return false;
	return phases - (s->kept_bytes ? 1 : 0) == 1;
}

static bool has_rows(const struct tensor *t, size_t rows)
{
	return t->shape.n > 0 && t->shape.at[0] == rows;
}

/* Whether the row-wise step reads its operand I row by row; else all of it. */
static bool by_row(const struct node *n, int i, size_t rows)
{
	const struct op_info *info = op_info(n->op);

	if (!(info->rows >> i & 1) || !has_rows(n->in[i], rows))
		return false;
	/* Of an elementwise op an operand with fewer axes is broadcast over the rows. */
	return !(info->flags & OP_ELEMENTWISE) || n->in[i]->shape.n == n->out[0]->shape.n;
}

static bool is_row_wise(const struct plan *p, const struct plan_step *s)
{
	const struct node *n = s->node;

	if (s->moved || s->where == PLAN_DEVICE || n->count || (s->serial && !p->options.tile) ||
	    node_updates(n) || op_info(n->op)->rows == 0 || !one_phase(s) || n->n_in == 0)
		return false;
	/* Over the last axis, which is axis 0. */
	if (!(op_info(n->op)->flags & OP_ELEMENTWISE) && n->out[0]->shape.n < 2)
		return false;
	/* A product whose right operand has a matrix for each row. */
	if (n->op == OP_MATMUL && n->in[1]->shape.n > 2)
		return false;
	for (int i = 0; i < n->n_out; i++)
		if (!has_rows(n->out[i], n->out[0]->shape.at[0]) || n->out[i]->base != n->out[i])
			return false;
	return true;
}

/* Whether row r of T lies in the r-th of as many equal pieces of its memory, whatever it does with the other axes. */
static bool rows_lie_alike(const struct tensor *t)
{
	size_t all = shape_elements(&t->base->shape), rows = t->shape.n ? t->shape.at[0] : 0;
	size_t end = t->offset;

	if (rows == 0 || all % rows != 0 || t->base->dtype != t->dtype)
		return false;
	for (int i = 1; i < t->shape.n; i++)
		end += (t->shape.at[i] - 1) * (size_t)t->stride[i];
	return (size_t)t->stride[0] == all / rows && end < all / rows;
}

struct finder {
	struct plan *p;
	uint32_t *made_in; /* by a base tensor's id: the chain that makes it, or NOWHERE */
};

/* Whether step S may go on with chain C of ROWS rows. */
static bool may_join(const struct finder *f, const struct plan_step *s, uint32_t c, size_t rows,
		     const struct tensor *length)
{
	const struct node *n = s->node;

	if (!is_row_wise(f->p, s) || !has_rows(n->out[0], rows) || n->out[0]->rows != length)
		return false;
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && f->made_in[n->in[i]->base->id] == c &&
		    (!by_row(n, i, rows) || !rows_lie_alike(n->in[i])))
			return false;
	return true;
}

static void mark_made(struct finder *f, const struct plan_step *s, uint32_t c)
{
	for (int i = 0; i < s->node->n_out; i++)
		f->made_in[s->node->out[i]->id] = c;
}

/* The steps from FROM on that make one chain: where it ends. */
static size_t chain_end(struct finder *f, size_t from, uint32_t c)
{
	const struct plan *p = f->p;
	const struct node *first = p->steps[from].node;
	size_t to = from;

	if (!is_row_wise(p, &p->steps[from]))
		return from + 1;
	while (to < p->n_steps &&
	       may_join(f, &p->steps[to], c, first->out[0]->shape.at[0], first->out[0]->rows))
		mark_made(f, &p->steps[to++], c);
	return to > from ? to : from + 1;
}

/* --- the chains --- */

/* Its operands with axis 0 as it is. False: some kernel no longer serves. */
static bool prepare(struct plan *p, const struct plan_segment *g)
{
	for (size_t i = g->from; i < g->to; i++) {
		struct plan_step *s = &p->steps[i];
		struct plan_step tried = *s;

		if (plan_operands(s->node, tried.in, tried.out, true) < 0)
			return false;
		tried.call.in = tried.in;
		tried.call.out = tried.out;
		tried.call.rows = g->rows;
		if (s->kernel->claims && !s->kernel->claims(&tried.call))
			return false;
	}
	return true;
}

static void enter(struct plan *p, const struct plan_segment *g)
{
	for (size_t i = g->from; i < g->to; i++) {
		struct plan_step *s = &p->steps[i];

		plan_operands(s->node, s->in, s->out, true);
		s->call.rows = g->rows;
		s->segment = (uint32_t)p->n_segments;
		for (int j = 0; j < s->node->n_in; j++)
			s->by_row |= s->node->in[j] && by_row(s->node, j, g->rows) ? 1u << j : 0;
	}
	/* All take part, in what part 0 would do alone too. */
	p->steps[g->from].barrier = true;
	if (g->to < p->n_steps)
		p->steps[g->to].barrier = true;
	p->segments[p->n_segments++] = *g;
}

/* It pays when every thread has tiles, and there is something between steps to keep near. */
static bool pays(const struct plan *p, const struct plan_segment *g)
{
	size_t parts = (size_t)plan_n_parts(p);

	return g->rows > g->tile && (p->options.tile || g->rows >= 2 * parts * g->tile);
}

int plan_segments(struct plan *p)
{
	struct finder f = { .p = p };

	f.made_in = mem_new(p->g->n_tensors + 1, sizeof(*f.made_in));
	p->segments = mem_new(p->n_steps + 1, sizeof(*p->segments));
	if (!f.made_in || !p->segments) {
		free(f.made_in);
		return -1;
	}
	memset(f.made_in, 0xff, (p->g->n_tensors + 1) * sizeof(*f.made_in));
	for (size_t from = 0, to; from < p->n_steps; from = to) {
		struct plan_segment g = { .from = from,
					  .tile = p->options.tile ? p->options.tile : TILE_ROWS };

		to = g.to = chain_end(&f, from, (uint32_t)from);
		if (to - from < 2)
			continue;
		g.rows = p->steps[from].node->out[0]->shape.at[0];
		if (pays(p, &g) && prepare(p, &g))
			enter(p, &g);
	}
	free(f.made_in);
	return 0;
}

/* --- memory --- */

/* By a base tensor's id: the last step that touches it lies in this chain, and nothing outside does. */
static bool is_local(const struct plan *p, const struct plan_segment *g, const struct tensor *t,
		     const uint32_t *last)
{
	return last[t->id] < g->to && t->shape.n > 0 && !p->options.guard;
}

/* Rows of a tensor that a chain keeps to itself: of one tile a thread. */
uint64_t plan_segment_rows(const struct plan *p, const struct plan_step *s, const struct tensor *t,
			   const uint32_t *last)
{
	const struct plan_segment *g;

	if (s->segment == NOWHERE)
		return 0;
	g = &p->segments[s->segment];
	if (!is_local(p, g, t, last))
		return 0;
	return (uint64_t)plan_n_parts(p) * g->tile;
}

/* What is not read row by row ends after its chain: nothing may be written over it by a tile that is ahead. */
void plan_segment_uses(const struct plan *p, uint32_t *last)
{
	for (size_t i = 0; i < p->n_segments; i++) {
		const struct plan_segment *g = &p->segments[i];

		for (size_t j = g->from; j < g->to; j++) {
			const struct plan_step *s = &p->steps[j];

			for (int k = 0; k < s->node->n_in; k++) {
				const struct tensor *t = s->node->in[k];

				bool rows = s->by_row >> k & 1;

				if (t && !(rows && rows_lie_alike(t)) && last[t->base->id] < g->to)
					last[t->base->id] = (uint32_t)g->to;
			}
		}
	}
}

void plan_segment_lives(struct plan *p)
{
	for (size_t i = 0; i < p->n_places; i++) {
		struct place *x = &p->places[i];
		uint32_t first = x->first < p->n_steps ? p->steps[x->first].segment : NOWHERE;
		uint32_t last = x->last < p->n_steps ? p->steps[x->last].segment : NOWHERE;

		if (first != NOWHERE)
			x->first = (uint32_t)p->segments[first].from;
		if (last != NOWHERE)
			x->last = (uint32_t)p->segments[last].to - 1;
	}
}

/* --- running --- */

/* The call's operand K, of rows ROW to ROW + N - 1; what the chain keeps to itself begins with the tile. */
static void cut(struct kernel_tensor *k, size_t row, size_t n, bool local)
{
	size_t skip = 0;

	if (!k->data)
		return;
	if (!local)
		dtype_size(k->dtype, row * (size_t)k->stride[0], &skip);
	k->data = (char *)k->data + skip;
	k->shape[0] = n;
}

struct tile {
	struct plan *p;
	const struct plan_segment *segment;
	int part;
	size_t row, n, rows;
};

/* Memory of the calling thread's tile: T is kept within the chain. */
static bool shift_local(const struct tile *t, const struct tensor *x, struct kernel_tensor *k)
{
	uint32_t place = t->p->place_of[PLAN_HOST][x->base->id];
	size_t skip = 0;

	if (place == NOWHERE || !t->p->places[place].tile)
		return false;
	dtype_size(x->base->dtype, t->segment->tile * (size_t)x->base->stride[0] * (size_t)t->part,
		   &skip);
	k->data = (char *)k->data + skip;
	return true;
}

static void run_tile_step(const struct tile *t, const struct plan_step *s)
{
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call c = s->call;

	memcpy(in, s->in, sizeof(in));
	memcpy(out, s->out, sizeof(out));
	for (int i = 0; i < s->node->n_in; i++)
		if (s->by_row >> i & 1)
			cut(&in[i], t->row, t->n, shift_local(t, s->node->in[i], &in[i]));
	for (int i = 0; i < s->node->n_out; i++)
		cut(&out[i], t->row, t->n, shift_local(t, s->node->out[i], &out[i]));
	c.in = in;
	c.out = out;
	c.part = 0;
	c.parts = 1;
	c.row = t->row;
	c.rows = t->rows;
	if (s->scratch != NOWHERE)
		c.scratch = (char *)c.scratch + (size_t)t->part * t->segment->scratch;
	plan_set_key(t->p, s->node, c.key);
	c.phase = s->kept_bytes ? 1 : 0;
	s->kernel->run(&c);
}

/* When measured, a step's time is that of part 0's tiles. */
static void run_timed(const struct tile *t, struct plan_step *s)
{
	uint64_t start;

	if (!t->p->measuring || t->part > 0) {
		run_tile_step(t, s);
		return;
	}
	start = clock_ns();
	run_tile_step(t, s);
	s->seconds += clock_seconds(start, clock_ns());
}

static size_t rows_now(const struct plan *p, const struct plan_segment *g)
{
	const struct tensor *length = p->steps[g->from].node->out[0]->rows;
	int64_t n = length ? plan_scalar(p, length) : (int64_t)g->rows;

	return n < 0 ? 0 : n < (int64_t)g->rows ? (size_t)n : g->rows;
}

/* What the chain's kernels make of whole operands, all parts together. */
static void run_kept(struct plan *p, const struct plan_segment *g, int part, int parts)
{
	bool any = false;

	for (size_t i = g->from; i < g->to; i++) {
		if (!p->steps[i].kept_bytes || p->steps[i].form)
			continue;
		plan_run_step(p, &p->steps[i], part, parts, PLAN_PHASES_KEPT);
		any = true;
	}
	if (any && parts > 1)
		spin_barrier_wait(&p->barrier, parts);
}

void plan_run_segment(struct plan *p, const struct plan_segment *g, int part, int parts)
{
	struct tile t = { .p = p, .segment = g, .part = part, .rows = rows_now(p, g) };

	run_kept(p, g, part, parts);
	for (t.row = (size_t)part * g->tile; t.row < t.rows; t.row += (size_t)parts * g->tile) {
		t.n = t.rows - t.row < g->tile ? t.rows - t.row : g->tile;
		for (size_t i = g->from; i < g->to; i++)
			run_timed(&t, &p->steps[i]);
	}
	for (size_t i = g->from; i < g->to && part == 0; i++)
		p->steps[i].runs += p->measuring;
}

/* The most scratch that a tile of the chain takes, for each thread. */
uint64_t plan_segment_scratch(struct plan *p, struct plan_segment *g)
{
	for (size_t i = g->from; i < g->to; i++) {
		const struct plan_step *s = &p->steps[i];
		struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
		struct kernel_call c = s->call;
		size_t size;

		memcpy(in, s->in, sizeof(in));
		memcpy(out, s->out, sizeof(out));
		for (int j = 0; j < s->node->n_in; j++)
			if (s->by_row >> j & 1)
				in[j].shape[0] = g->tile;
		for (int j = 0; j < s->node->n_out; j++)
			out[j].shape[0] = g->tile;
		c.in = in;
		c.out = out;
		c.parts = 1;
		size = s->kernel->scratch ? s->kernel->scratch(&c) : 0;
		size = (size + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
		if (size > g->scratch)
			g->scratch = size;
	}
	return g->scratch * (uint64_t)plan_n_parts(p);
}
