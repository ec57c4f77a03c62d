/*
 * lib/infer/engine_run.c - tokens of several sequences, cut into pieces, and the pieces into passes
 *
 * A round takes the next piece of every item that has one. Pieces of short texts share passes of few rows, those of long ones passes of many, each
 * filled in the order of the items; a piece is never divided.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/engine_parts.h"

/* --- what is refused before anything is done --- */

static int check_ids(const struct engine *e, const struct engine_item *item)
{
	size_t length = engine_length(e, item->sequence);

	if (item->n == 0 || item->n > e->options.context - length)
		return err_set(ERR_LIMIT, "%zu tokens after %zu: the context holds %zu", item->n,
			       length, e->options.context);
	for (size_t i = 0; i < item->n; i++)
		if (item->ids[i] < 0 || (uint64_t)item->ids[i] >= e->config->vocab_size)
			return err_set(ERR_ARGUMENT,
				       "token %zu: the id %" PRId32 "; the vocabulary has %" PRIu64,
				       length + i, item->ids[i], e->config->vocab_size);
	return 0;
}

static int check(const struct engine *e, const struct engine_item *items, size_t n)
{
	size_t need = 0;

	for (size_t i = 0; i < n; i++) {
		if (check_ids(e, &items[i]) < 0)
			return -1;
		need += engine_pages_need(e, items[i].sequence, items[i].n);
	}
	if (need > engine_pages_left(e))
		return err_set(ERR_LIMIT,
			       "the cache of keys and values is full: %zu of %zu pages are left, "
			       "and %zu are needed",
			       engine_pages_left(e), e->slots / ENGINE_PAGE, need);
	return 0;
}

/* --- passes --- */

struct run {
	struct engine *e;
	struct piece *pieces; /* of a pass; owned */
	size_t n, rows, pages, wanted;
	bool lies_in_arena; /* logits of an earlier pass do */
};

static size_t pages_for(size_t tokens)
{
	return (tokens + ENGINE_PAGE - 1) / ENGINE_PAGE;
}

/* Logits that lie in the arena are brought to where the next pass does not write. */
static int keep_logits(struct engine *e)
{
	for (size_t i = 0; i < e->options.sequences; i++) {
		struct sequence *s = &e->sequences[i];

		if (!s->logits || s->logits == s->own)
			continue;
		if (!s->own)
			s->own = mem_new((size_t)e->config->vocab_size, sizeof(*s->own));
		if (!s->own)
			return -1;
		memcpy(s->own, s->logits, (size_t)e->config->vocab_size * sizeof(*s->own));
		s->logits = s->own;
	}
	return 0;
}

/* Room for piece I; *DONE is how many have it. */
static int extend_table(struct run *r, size_t i, size_t *done)
{
	struct engine *e = r->e;
	const struct piece *p = &r->pieces[i];
	struct sequence *s = &e->sequences[p->sequence];
	struct cache_copy copy;

	if (engine_keep_ids(s, s->table.length, p->ids, p->n) < 0 ||
	    cache_table_extend(e->pages, &s->table, p->n, &copy) < 0)
		return -1;
	*done = i + 1;
	return engine_copy_page(e, &copy);
}

/* As long as they were before the first N pieces. */
static void cut_tables(struct run *r, size_t n)
{
	struct engine *e = r->e;

	for (size_t i = 0; i < n; i++) {
		struct cache_table *t = &e->sequences[r->pieces[i].sequence].table;

		cache_table_cut(e->pages, t, t->length - r->pieces[i].n);
	}
}

static int run_pieces(struct run *r, struct pass *p)
{
	size_t done = 0;
	int result = 0;

	for (size_t i = 0; i < r->n && result == 0; i++)
		result = extend_table(r, i, &done);
	if (result == 0)
		result = engine_run_pass(r->e, p, r->pieces, r->n);
	if (result < 0)
		cut_tables(r, done);
	return result;
}

/* What is collected so far goes through P. */
static int flush(struct run *r, struct pass *p)
{
	int result = 0;

	if (r->n == 0)
		return 0;
	if (p == &r->e->few && r->rows == 1)
		p = &r->e->one;
	if (r->lies_in_arena)
		result = keep_logits(r->e);
	if (result == 0)
		result = run_pieces(r, p);
	r->lies_in_arena = true;
	r->n = r->rows = r->pages = r->wanted = 0;
	return result;
}

/* A piece for P; what does not fit beside it goes first. */
static int add(struct run *r, struct pass *p, const struct piece *piece)
{
	size_t pages = pages_for(engine_length(r->e, piece->sequence) + piece->n);

	if (r->rows + piece->n > p->rows || r->pages + pages > p->pages ||
	    r->wanted + piece->wanted > p->wanted)
		if (flush(r, p) < 0)
			return -1;
	r->pieces[r->n++] = *piece;
	r->rows += piece->n;
	r->pages += pages;
	r->wanted += piece->wanted;
	return 0;
}

/* --- pieces --- */

/* The tokens of an item that are not yet in the cache. */
struct rest {
	const int32_t *ids;
	size_t n;
};

/* The next cut, or the end. */
static struct piece next_piece(const struct engine *e, const struct engine_item *item,
			       const struct rest *rest)
{
	size_t to_cut = e->options.rows - engine_length(e, item->sequence) % e->options.rows;
	struct piece p = { .sequence = item->sequence, .ids = rest->ids, .n = rest->n };

	if (p.n > to_cut)
		p.n = to_cut;
	p.wanted = item->logits && p.n == rest->n;
	return p;
}

static struct pass *pass_for(struct engine *e, const struct engine_item *item)
{
	if ((item->text ? item->text : item->n) > ENGINE_FEW && e->many.plan)
		return &e->many;
	return e->few.plan ? &e->few : &e->one;
}

/* The next pieces for P of all items. */
static int run_round(struct run *r, struct pass *p, const struct engine_item *items,
		     struct rest *rests, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct piece piece;

		if (rests[i].n == 0 || pass_for(r->e, &items[i]) != p)
			continue;
		piece = next_piece(r->e, &items[i], &rests[i]);
		if (add(r, p, &piece) < 0)
			return -1;
		rests[i].ids += piece.n;
		rests[i].n -= piece.n;
	}
	return flush(r, p);
}

static bool any_left(const struct rest *rests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rests[i].n)
			return true;
	return false;
}

static int run_all(struct run *r, const struct engine_item *items, struct rest *rests, size_t n)
{
	struct engine *e = r->e;
	struct pass *passes[] = { &e->many, &e->few, &e->one };

	while (any_left(rests, n))
		for (size_t k = 0; k < sizeof(passes) / sizeof(*passes); k++)
			if (passes[k]->plan && run_round(r, passes[k], items, rests, n) < 0)
				return -1;
	return 0;
}

int engine_run(struct engine *e, const struct engine_item *items, size_t n)
{
	struct run r = { .e = e };
	struct rest *rests;
	int result = -1;

	if (check(e, items, n) < 0)
		return -1;
	for (size_t i = 0; i < e->options.sequences; i++)
		e->sequences[i].logits = NULL;
	rests = mem_new(n, sizeof(*rests));
	r.pieces = mem_new(n, sizeof(*r.pieces));
	for (size_t i = 0; rests && i < n; i++)
		rests[i] = (struct rest){ items[i].ids, items[i].n };
	if (rests && r.pieces)
		result = run_all(&r, items, rests, n);
	free(rests);
	free(r.pieces);
	return result;
}
