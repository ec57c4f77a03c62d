/*
 * lib/infer/engine_pass.c - the graph of one pass over rows of several sequences, what it is given, and what comes of it
 *
 * Every sequence of a pass is a document of its own number. Its pages are listed in their order, a page for each tile of attention, and
 * each slot says which place of which document it holds; a slot that holds nothing yet has the place -1.
 */
#include <string.h>

#include "lib/base/err.h"
#include "lib/graph/ops.h"
#include "lib/infer/engine_parts.h"

/* --- the graph --- */

static struct tensor *length(struct graph *g, const char *name)
{
	return graph_input(g, name, DTYPE_I32, SHAPE(1));
}

static struct tensor *numbers(struct graph *g, const char *name, struct shape shape,
			      struct tensor *rows)
{
	return rows ? graph_input_rows(g, name, DTYPE_I32, shape, rows)
		    : graph_input(g, name, DTYPE_I32, shape);
}

static void make_inputs(struct pass *p)
{
	struct graph *g = p->graph;
	const size_t slots = p->pages * ENGINE_PAGE;

	if (p->rows > 1)
		p->n_rows = length(g, "rows");
	p->n_pages = length(g, "n_pages");
	p->n_slots = length(g, "n_slots");
	p->ids = numbers(g, "ids", SHAPE(p->rows), p->n_rows);
	p->positions = numbers(g, "positions", SHAPE(p->rows, 1), p->n_rows);
	p->documents = numbers(g, "documents", SHAPE(p->rows), p->n_rows);
	p->write = numbers(g, "write", SHAPE(p->rows), p->n_rows);
	p->table = numbers(g, "pages", SHAPE(p->pages), p->n_pages);
	p->slot_positions = numbers(g, "slot_positions", SHAPE(slots), p->n_slots);
	p->slot_documents = numbers(g, "slot_documents", SHAPE(slots), p->n_slots);
	if (p->rows == 1)
		return;
	p->n_wanted = length(g, "n_wanted");
	p->which = numbers(g, "wanted", SHAPE(p->wanted), p->n_wanted);
}

static int build(const struct engine *e, struct pass *p)
{
	struct lm_cache cache = {
		.name = e->name, .slots = e->slots, .page = ENGINE_PAGE, .dtype = e->options.cache
	};
	struct lm_inputs in = { .context = e->options.context,
				.cache = &cache,
				.rope_paired = e->options.rope_paired };
	struct tensor *hidden;

	make_inputs(p);
	in.ids = p->ids;
	in.positions = p->positions;
	in.documents = p->documents;
	cache.write = p->write;
	cache.pages = p->table;
	cache.positions = p->slot_positions;
	cache.documents = p->slot_documents;
	hidden = lm_hidden(p->graph, e->config, &in);
	if (p->which)
		hidden = op_gather_rows(p->graph, hidden, p->which);
	p->logits = lm_logits(p->graph, e->config, hidden);
	graph_output(p->graph, p->logits, "logits");
	return graph_check(p->graph);
}

int engine_make_pass(struct engine *e, struct pass *p, size_t rows, size_t pages)
{
	const struct engine_options *o = &e->options;

	p->rows = rows;
	p->pages = pages;
	p->wanted = rows < e->most_few ? rows : e->most_few;
	p->wanted = p->wanted < o->sequences ? p->wanted : o->sequences;
	if (graph_new(&p->graph, e->store,
		      &(struct graph_options){
			      .compute = o->compute, .round = o->round, .pack = o->repack }) < 0 ||
	    build(e, p) < 0)
		return -1;
	return plan_new(&p->plan, p->graph,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.arena = e->arena,
						.without = o->without,
						.strict = o->strict });
}

void engine_drop_pass(struct pass *p)
{
	plan_free(p->plan);
	graph_free(p->graph);
}

/* --- what it is given --- */

/* Where inputs are written, and how far they are. */
struct fill {
	const struct engine *e;
	int32_t *ids, *positions, *documents, *write, *table, *slot_positions, *slot_documents,
		*which;
	size_t rows, pages, wanted;
};

static int begin(struct fill *f, const struct engine *e, struct pass *p)
{
	*f = (struct fill){ .e = e,
			    .ids = plan_data(p->plan, p->ids),
			    .positions = plan_data(p->plan, p->positions),
			    .documents = plan_data(p->plan, p->documents),
			    .write = plan_data(p->plan, p->write),
			    .table = plan_data(p->plan, p->table),
			    .slot_positions = plan_data(p->plan, p->slot_positions),
			    .slot_documents = plan_data(p->plan, p->slot_documents) };
	if (p->which)
		f->which = plan_data(p->plan, p->which);
	return f->ids && f->positions && f->documents && f->write && f->table &&
			       f->slot_positions && f->slot_documents && (f->which || !p->which)
		       ? 0
		       : -1;
}

static void fill_rows(struct fill *f, const struct piece *p, size_t from)
{
	const struct cache_table *t = &f->e->sequences[p->sequence].table;

	for (size_t i = 0; i < p->n; i++, f->rows++) {
		f->ids[f->rows] = p->ids[i];
		f->positions[f->rows] = (int32_t)(from + i);
		f->documents[f->rows] = p->sequence;
		f->write[f->rows] = cache_table_slot(f->e->pages, t, from + i);
	}
}

/* The pages that hold the first N rows of the sequence. */
static void fill_pages(struct fill *f, const struct piece *p, size_t n)
{
	const struct cache_table *t = &f->e->sequences[p->sequence].table;

	for (size_t page = 0; page * ENGINE_PAGE < n; page++, f->pages++) {
		int32_t *positions = f->slot_positions + f->pages * ENGINE_PAGE;
		int32_t *documents = f->slot_documents + f->pages * ENGINE_PAGE;

		f->table[f->pages] = t->pages[page];
		for (size_t i = 0; i < ENGINE_PAGE; i++) {
			size_t at = page * ENGINE_PAGE + i;

			positions[i] = at < n ? (int32_t)at : -1;
			documents[i] = p->sequence;
		}
	}
}

static int give_length(struct pass *p, const struct tensor *t, size_t n)
{
	const int32_t value = (int32_t)n;

	return t ? plan_give(p->plan, t, &value, sizeof(value)) : 0;
}

static int give(struct engine *e, struct pass *p, const struct piece *pieces, size_t n)
{
	struct fill f;

	if (begin(&f, e, p) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		size_t from = e->sequences[pieces[i].sequence].table.length;

		from -= pieces[i].n;
		fill_rows(&f, &pieces[i], from);
		fill_pages(&f, &pieces[i], from + pieces[i].n);
		if (pieces[i].wanted && f.which)
			f.which[f.wanted++] = (int32_t)f.rows - 1;
	}
	return give_length(p, p->n_rows, f.rows) < 0 || give_length(p, p->n_pages, f.pages) < 0 ||
			       give_length(p, p->n_slots, f.pages * ENGINE_PAGE) < 0 ||
			       give_length(p, p->n_wanted, f.wanted) < 0
		       ? -1
		       : 0;
}

/* --- what comes of it --- */

int engine_run_pass(struct engine *e, struct pass *p, const struct piece *pieces, size_t n)
{
	const float *logits;

	if (give(e, p, pieces, n) < 0 || plan_run(p->plan, 0, 0) < 0)
		return -1;
	logits = plan_data(p->plan, p->logits);
	if (!logits)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!pieces[i].wanted)
			continue;
		e->sequences[pieces[i].sequence].logits = logits;
		logits += e->config->vocab_size;
	}
	return 0;
}
