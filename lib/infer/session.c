/*
 * lib/infer/session.c - tokens into the cache, and the logits after the last one
 *
 * Two plans share an arena: one of many rows, whose number is known at run time, and one of a single row. Row I of the sequence lies in
 * slot I: pages are listed in order, those that nothing was written to are left out of attention, and what lies behind the last token in
 * its page is masked by its place.
 */

#include "lib/infer/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"

#define PAGE	     64	  /* slots */
#define ROWS	     512  /* of a pass, unless it is said */
#define SESSIONS_MAX 1000 /* of one store */

/* One pass: its inputs and its result. */
struct pass {
	struct graph *graph; /* owned */
	struct plan *plan;   /* owned */
	size_t rows;
	/* NULL in the pass of one row: how many rows there are, and the last of them. */
	struct tensor *count, *last;
	struct tensor *ids, *positions, *documents, *write, *pages;
	struct tensor *logits;
};

struct session {
	const struct hf_config *config;
	struct store *store;
	struct session_options options;
	char name[24]; /* of its entries in the store */
	size_t context, slots, length;
	int32_t *zeros,
		*places; /* owned, one block: documents and places of the keys in the slots */
	struct plan_arena *arena; /* owned */
	struct pass many, one;
	const float *logits;
};

/* --- its entries --- */

static struct store_entry *entry(const struct session *s, uint32_t layer, const char *which)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%" PRIu32 ".%s", s->name, layer, which);
	return store_find(s->store, name);
}

/* A name whose entries no session has: never made, or given back and of the same shape. */
static int choose_name(struct session *s)
{
	struct shape shape =
		SHAPE(s->slots, (size_t)s->config->n_kv_heads, (size_t)s->config->head_dim);

	for (int i = 0; i < SESSIONS_MAX; i++) {
		const struct store_entry *e;

		snprintf(s->name, sizeof(s->name), "session.%d", i);
		e = entry(s, 0, "k");
		if (!e || (!e->data && !e->device_data && e->dtype == s->options.cache &&
			   shape_equal(&e->shape, &shape)))
			return 0;
	}
	return err_set(ERR_LIMIT, "more than %d sessions of one model", SESSIONS_MAX);
}

static void release_cache(struct session *s)
{
	static const char *const both[] = { "k", "v" };

	for (uint32_t i = 0; i < s->config->n_layers; i++)
		for (int k = 0; k < 2; k++) {
			struct store_entry *e = entry(s, i, both[k]);

			if (e)
				store_release(s->store, e);
		}
}

/* --- a pass --- */

static struct tensor *rows_input(struct graph *g, const struct pass *p, const char *name,
				 struct shape shape)
{
	return p->count ? graph_input_rows(g, name, DTYPE_I32, shape, p->count)
			: graph_input(g, name, DTYPE_I32, shape);
}

static int build(struct session *s, struct pass *p)
{
	struct graph *g = p->graph;
	struct lm_cache cache = {
		.name = s->name, .slots = s->slots, .page = PAGE, .dtype = s->options.cache
	};
	struct lm_inputs in = { .context = s->context,
				.cache = &cache,
				.rope_paired = s->options.rope_paired };
	struct tensor *hidden;

	if (p->rows > 1)
		p->count = graph_input(g, "rows", DTYPE_I32, SHAPE(1));
	in.ids = p->ids = rows_input(g, p, "ids", SHAPE(p->rows));
	in.positions = p->positions = rows_input(g, p, "positions", SHAPE(p->rows, 1));
	in.documents = p->documents = rows_input(g, p, "documents", SHAPE(p->rows));
	cache.write = p->write = rows_input(g, p, "write", SHAPE(p->rows));
	cache.pages = p->pages = graph_input(g, "pages", DTYPE_I32, SHAPE(s->slots / PAGE));
	cache.documents = graph_constant(g, DTYPE_I32, SHAPE(s->slots), s->zeros);
	cache.positions = graph_constant(g, DTYPE_I32, SHAPE(s->slots), s->places);
	hidden = lm_hidden(g, s->config, &in);
	if (p->rows > 1) {
		p->last = graph_input(g, "last", DTYPE_I32, SHAPE(1));
		hidden = op_gather_rows(g, hidden, p->last);
	}
	p->logits = lm_logits(g, s->config, hidden);
	graph_output(g, p->logits, "logits");
	return graph_check(g);
}

static int make_pass(struct session *s, struct pass *p, size_t rows)
{
	const struct session_options *o = &s->options;

	p->rows = rows;
	if (graph_new(&p->graph, s->store, &(struct graph_options){ .compute = o->compute }) < 0 ||
	    build(s, p) < 0)
		return -1;
	return plan_new(&p->plan, p->graph,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.arena = s->arena,
						.without = o->without,
						.strict = o->strict });
}

static void drop_pass(struct pass *p)
{
	plan_free(p->plan);
	graph_free(p->graph);
}

/* --- making --- */

uint64_t session_bytes(const struct session *s, enum plan_memory kind)
{
	uint64_t many = s->many.plan ? plan_bytes(s->many.plan, kind) : 0;
	uint64_t one = plan_bytes(s->one.plan, kind);

	return many > one ? many : one;
}

struct plan *session_plan(const struct session *s)
{
	return s->one.plan;
}

static uint64_t bytes_in_all(const struct session *s)
{
	uint64_t bytes = 0;

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		bytes += session_bytes(s, (enum plan_memory)i);
	return bytes;
}

static int check_memory(const struct session *s)
{
	uint64_t all = bytes_in_all(s), cache = session_bytes(s, PLAN_CACHE), fits;

	if (!s->options.memory || all <= s->options.memory)
		return 0;
	fits = all - cache < s->options.memory
		       ? (s->options.memory - (all - cache)) / (cache / s->slots + 1)
		       : 0;
	return err_set(ERR_LIMIT,
		       "a context of %zu tokens needs %" PRIu64 " bytes, %" PRIu64
		       " of them for keys and values; %" PRIu64 " are allowed: %s %" PRIu64,
		       s->context, all, cache, s->options.memory,
		       fits ? "they are enough for a context of about"
			    : "without any context it needs",
		       fits ? fits : all - cache);
}

static int make_places(struct session *s)
{
	s->zeros = mem_new(2 * s->slots, sizeof(*s->zeros));
	if (!s->zeros)
		return -1;
	s->places = s->zeros + s->slots;
	for (size_t i = 0; i < s->slots; i++)
		s->places[i] = (int32_t)i;
	return 0;
}

static int make(struct session *s)
{
	size_t rows = s->options.rows ? s->options.rows : ROWS;

	s->context = s->options.context ? s->options.context : (size_t)s->config->context;
	if (lm_check_continues(s->config, s->context) < 0)
		return -1;
	if (s->context == 0 || s->context > INT32_MAX / 2)
		return err_set(ERR_ARGUMENT, "a context of %zu tokens", s->context);
	s->slots = (s->context + PAGE - 1) / PAGE * PAGE;
	if (choose_name(s) < 0 || make_places(s) < 0 || plan_arena_new(&s->arena) < 0)
		return -1;
	if (rows > s->context)
		rows = s->context;
	if (rows > 1 && make_pass(s, &s->many, rows) < 0)
		return -1;
	return make_pass(s, &s->one, 1) < 0 ? -1 : check_memory(s);
}

int session_new(struct session **out, const struct hf_config *c, struct store *store,
		const struct session_options *o)
{
	struct session *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->config = c;
	s->store = store;
	s->options = *o;
	if (make(s) < 0) {
		struct err_saved saved;

		err_save(&saved);
		session_free(s);
		return err_restore(&saved);
	}
	*out = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	drop_pass(&s->many);
	drop_pass(&s->one);
	plan_arena_free(s->arena);
	free(s->zeros);
	if (s->name[0])
		release_cache(s);
	free(s);
}

/* --- tokens --- */

/* N values from FIRST on, by STEP. */
static int give_series(struct plan *p, const struct tensor *t, int32_t first, int32_t step,
		       size_t n)
{
	int32_t *to = plan_data(p, t);

	if (!to)
		return -1;
	for (size_t i = 0; i < n; i++)
		to[i] = first + step * (int32_t)i;
	return 0;
}

/* Those that hold the first N tokens. */
static int give_pages(const struct session *s, struct plan *p, const struct tensor *t, size_t n)
{
	int32_t *to = plan_data(p, t);

	if (!to)
		return -1;
	for (size_t i = 0; i < s->slots / PAGE; i++)
		to[i] = i * PAGE < n ? (int32_t)i : -1;
	return 0;
}

/* N tokens through P, which has room for them. */
static int run(struct session *s, struct pass *p, const int32_t *ids, size_t n)
{
	const int32_t at = (int32_t)s->length, count = (int32_t)n, last = count - 1;

	if (plan_give(p->plan, p->ids, ids, n * sizeof(*ids)) < 0 ||
	    give_series(p->plan, p->positions, at, 1, n) < 0 ||
	    give_series(p->plan, p->documents, 0, 0, n) < 0 ||
	    give_series(p->plan, p->write, at, 1, n) < 0 ||
	    give_pages(s, p->plan, p->pages, s->length + n) < 0)
		return -1;
	if (p->count && (plan_give(p->plan, p->count, &count, sizeof(count)) < 0 ||
			 plan_give(p->plan, p->last, &last, sizeof(last)) < 0))
		return -1;
	if (plan_run(p->plan, 0, 0) < 0)
		return -1;
	s->logits = plan_data(p->plan, p->logits);
	s->length += n;
	return s->logits ? 0 : -1;
}

static int check(const struct session *s, const int32_t *ids, size_t n)
{
	if (n == 0 || n > s->context - s->length)
		return err_set(ERR_LIMIT, "%zu tokens after %zu: the context holds %zu", n,
			       s->length, s->context);
	for (size_t i = 0; i < n; i++)
		if (ids[i] < 0 || (uint64_t)ids[i] >= s->config->vocab_size)
			return err_set(ERR_ARGUMENT,
				       "token %zu: the id %" PRId32 "; the vocabulary has %" PRIu64,
				       s->length + i, ids[i], s->config->vocab_size);
	return 0;
}

int session_append(struct session *s, const int32_t *ids, size_t n)
{
	if (check(s, ids, n) < 0)
		return -1;
	while (n) {
		struct pass *p = n > 1 && s->many.plan ? &s->many : &s->one;
		size_t now = n < p->rows ? n : p->rows;

		s->logits = NULL;
		if (run(s, p, ids, now) < 0)
			return -1;
		ids += now;
		n -= now;
	}
	return 0;
}

const float *session_logits(const struct session *s)
{
	return s->logits;
}

size_t session_length(const struct session *s)
{
	return s->length;
}

size_t session_context(const struct session *s)
{
	return s->context;
}

void session_rewind(struct session *s, size_t n)
{
	if (n >= s->length)
		return;
	s->length = n;
	s->logits = NULL;
}
