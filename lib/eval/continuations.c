/* lib/eval/continuations.c - contexts and continuations into rows and pages, logits of some rows into sums */

#include "lib/eval/continuations.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"

#define ROWS	     1024 /* of a pass, unless a context is longer */
#define PAGE	     16	  /* tokens */
#define SEGMENTS     64	  /* contexts and continuations that pages of a pass are for */
#define LOGITS_BYTES ((size_t)64 << 20)

/* A token whose logarithm is summed: it is read from the logits of row ROW. */
struct wanted {
	size_t row;
	uint32_t id;
	struct continuation *of;
};

struct continuations {
	const struct hf_config *config;
	struct continuations_options options;
	struct graph *graph; /* owned */
	struct plan *plan;   /* owned */
	struct tensor *count, *ids, *positions, *documents, *write;
	struct tensor *pages, *page_documents, *page_positions;
	struct tensor *picked_count, *picked, *logits;
	size_t rows, n_slots, n_listed, n_logits; /* as many there can be; listed: pages */

	/* Of the pass that is filled, where its inputs lie. */
	int32_t *row_id, *row_position, *row_document, *row_slot, *page, *key_document,
		*key_position, *pick;
	size_t filled, slots, listed, segments, n_documents;
	struct wanted *wanted; /* owned; in the order of rows within a group */
	size_t n_wanted, wanted_capacity;
	uint64_t computed;
};

/* --- making --- */

static struct tensor *rows_input(struct continuations *c, const char *name, struct shape shape)
{
	return graph_input_rows(c->graph, name, DTYPE_I32, shape, c->count);
}

static int build(struct continuations *c)
{
	struct graph *g = c->graph;
	struct lm_cache cache = {
		.name = "continuations", .slots = c->n_slots, .page = PAGE, .dtype = DTYPE_F32
	};
	struct lm_inputs in = { .context = c->options.context,
				.cache = &cache,
				.rope_paired = c->options.rope_paired };
	const struct shape keys = SHAPE(c->n_listed * PAGE);
	struct tensor *hidden;

	c->count = graph_input(g, "rows", DTYPE_I32, SHAPE(1));
	c->picked_count = graph_input(g, "picked rows", DTYPE_I32, SHAPE(1));
	in.ids = c->ids = rows_input(c, "ids", SHAPE(c->rows));
	in.positions = c->positions = rows_input(c, "positions", SHAPE(c->rows, 1));
	in.documents = c->documents = rows_input(c, "documents", SHAPE(c->rows));
	cache.write = c->write = rows_input(c, "write", SHAPE(c->rows));
	cache.pages = c->pages = graph_input(g, "pages", DTYPE_I32, SHAPE(c->n_listed));
	cache.documents = c->page_documents = graph_input(g, "page documents", DTYPE_I32, keys);
	cache.positions = c->page_positions = graph_input(g, "page positions", DTYPE_I32, keys);
	hidden = lm_hidden(g, c->config, &in);
	c->picked = graph_input_rows(g, "picked", DTYPE_I32, SHAPE(c->n_logits), c->picked_count);
	c->logits = lm_logits(g, c->config, op_gather_rows(g, hidden, c->picked));
	graph_output(g, c->logits, "logits");
	return graph_check(g);
}

static int check_config(const struct hf_config *c, size_t context)
{
	if (lm_check_continues(c, 0) < 0)
		return -1;
	if (context == 0 || context > c->context)
		return err_set(ERR_ARGUMENT,
			       "a context of %zu tokens; the model has positions for %" PRIu64,
			       context, c->context);
	return 0;
}

static int make(struct continuations *c, struct store *s)
{
	const struct continuations_options *o = &c->options;
	size_t row = (size_t)c->config->vocab_size * sizeof(float);

	if (check_config(c->config, o->context) < 0)
		return -1;
	c->rows = o->rows ? o->rows : ROWS;
	if (c->rows < o->context)
		c->rows = o->context;
	c->n_slots = ((c->rows + PAGE - 1) / PAGE + SEGMENTS) * PAGE;
	/* A pass has room for the longest context under its own number and that of some more. */
	c->n_listed = 4 * c->n_slots / PAGE;
	c->n_logits = row && LOGITS_BYTES / row > 8 ? LOGITS_BYTES / row : 8;
	if (c->n_logits > c->rows)
		c->n_logits = c->rows;
	if (graph_new(&c->graph, s, &(struct graph_options){ .compute = o->compute }) < 0 ||
	    build(c) < 0)
		return -1;
	return plan_new(&c->plan, c->graph,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.without = o->without,
						.strict = o->strict,
						.memory = o->memory,
						.keep = true });
}

int continuations_new(struct continuations **out, const struct hf_config *config, struct store *s,
		      const struct continuations_options *o)
{
	struct continuations *c = mem_new(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return -1;
	c->config = config;
	c->options = *o;
	if (make(c, s) < 0) {
		struct err_saved saved;

		err_save(&saved);
		continuations_free(c);
		return err_restore(&saved);
	}
	*out = c;
	return 0;
}

void continuations_free(struct continuations *c)
{
	if (!c)
		return;
	plan_free(c->plan);
	graph_free(c->graph);
	free(c->wanted);
	free(c);
}

uint64_t continuations_rows(const struct continuations *c)
{
	return c->computed;
}

struct plan *continuations_plan(struct continuations *c)
{
	return c->plan;
}

static int find_inputs(struct continuations *c)
{
	if (c->row_id)
		return 0;
	if (plan_allocate(c->plan) < 0)
		return -1;
	c->row_position = plan_data(c->plan, c->positions);
	c->row_document = plan_data(c->plan, c->documents);
	c->row_slot = plan_data(c->plan, c->write);
	c->page = plan_data(c->plan, c->pages);
	c->key_document = plan_data(c->plan, c->page_documents);
	c->key_position = plan_data(c->plan, c->page_positions);
	c->pick = plan_data(c->plan, c->picked);
	if (!c->row_position || !c->row_document || !c->row_slot || !c->page || !c->key_document ||
	    !c->key_position || !c->pick)
		return -1;
	c->row_id = plan_data(c->plan, c->ids);
	return c->row_id ? 0 : -1;
}

/* --- logits --- */

/* What the logits of a pick say: the logarithm of the sum of their exponentials, and the first of the largest. */
struct read {
	const struct continuations *c;
	const float *logits;
	const struct wanted
		*wanted; /* of the pick that CHUNK counts: FIRST[chunk] on, to FIRST[chunk + 1] */
	size_t *first;
	double *logprob; /* of each of WANTED */
	bool *greedy;
};

static void read_pick(void *arg, size_t chunk)
{
	struct read *r = arg;
	size_t n = (size_t)r->c->config->vocab_size, best = 0;
	const float *x = r->logits + chunk * n;
	double sum = 0;

	for (size_t i = 1; i < n; i++)
		if (x[i] > x[best])
			best = i;
	for (size_t i = 0; i < n; i++)
		sum += exp((double)x[i] - (double)x[best]);
	for (size_t i = r->first[chunk]; i < r->first[chunk + 1]; i++) {
		r->logprob[i] = (double)x[r->wanted[i].id] - (double)x[best] - log(sum);
		r->greedy[i] = x[r->wanted[i].id] == x[best];
	}
}

/* Runs the pass for the picks of WANTED[FROM] on, as many as there is room for; *TO is the first that is left. */
static int run_picks(struct continuations *c, struct read *r, size_t from, size_t *to)
{
	int32_t *count = plan_data(c->plan, c->count);
	int32_t *picked = plan_data(c->plan, c->picked_count);
	size_t n = 0, i = from;

	if (!count || !picked)
		return -1;
	for (; i < c->n_wanted; i++) {
		bool same = i > from && c->wanted[i].row == c->wanted[i - 1].row;

		if (!same && n == c->n_logits)
			break;
		if (!same) {
			c->pick[n] = (int32_t)c->wanted[i].row;
			r->first[n++] = i;
		}
	}
	r->first[n] = *to = i;
	*count = (int32_t)c->filled;
	*picked = (int32_t)n;
	if (plan_run(c->plan, 0, 0) < 0)
		return -1;
	c->computed += c->filled;
	r->logits = plan_data(c->plan, c->logits);
	if (!r->logits)
		return -1;
	if (c->options.team)
		team_chunks(c->options.team, n, read_pick, r);
	else
		for (size_t k = 0; k < n; k++)
			read_pick(r, k);
	return 0;
}

static int run(struct continuations *c, struct read *r)
{
	for (size_t at = 0; at < c->n_wanted;)
		if (run_picks(c, r, at, &at) < 0)
			return -1;
	for (size_t i = 0; i < c->n_wanted; i++) {
		struct continuation *of = c->wanted[i].of;

		of->logprob += r->logprob[i];
		of->greedy = of->greedy && r->greedy[i];
	}
	return 0;
}

static void list_nothing(struct continuations *c)
{
	for (size_t i = c->listed; i < c->n_listed; i++) {
		c->page[i] = -1;
		for (size_t k = 0; k < PAGE; k++)
			c->key_document[i * PAGE + k] = c->key_position[i * PAGE + k] = -1;
	}
}

static int by_row(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

int continuations_flush(struct continuations *c)
{
	struct read r = { .c = c, .wanted = c->wanted };
	int result = 0;

	if (c->n_wanted == 0)
		return 0;
	/* Sums stay in the order of tokens: a continuation's rows are in it, and its first token's row is before them. */
	qsort(c->wanted, c->n_wanted, sizeof(*c->wanted), by_row);
	list_nothing(c);
	r.first = mem_new(c->n_logits + 1, sizeof(*r.first));
	r.logprob = mem_new(c->n_wanted, sizeof(*r.logprob));
	r.greedy = mem_new(c->n_wanted, sizeof(*r.greedy));
	result = r.first && r.logprob && r.greedy ? run(c, &r) : -1;
	free(r.first);
	free(r.logprob);
	free(r.greedy);
	c->filled = c->slots = c->listed = c->segments = c->n_documents = c->n_wanted = 0;
	return result;
}

/* --- rows and pages --- */

static size_t pages_of(size_t tokens)
{
	return (tokens + PAGE - 1) / PAGE;
}

/* N tokens of DOCUMENT as rows, from POSITION on; where they lie: their first page. */
static size_t put_rows(struct continuations *c, const uint32_t *ids, size_t n, size_t position,
		       size_t document)
{
	size_t page = c->slots / PAGE;

	for (size_t i = 0; i < n; i++) {
		size_t row = c->filled++;

		c->row_id[row] = (int32_t)ids[i];
		c->row_position[row] = (int32_t)(position + i);
		c->row_document[row] = (int32_t)document;
		c->row_slot[row] = (int32_t)(c->slots + i);
	}
	c->slots += pages_of(n) * PAGE;
	c->segments += n > 0;
	return page;
}

/* Lists the pages from PAGE on, which hold N tokens, for DOCUMENT. */
static void list_pages(struct continuations *c, size_t page, size_t n, size_t position,
		       size_t document)
{
	for (size_t i = 0; i < pages_of(n); i++) {
		size_t at = c->listed++;

		c->page[at] = (int32_t)(page + i);
		for (size_t k = 0; k < PAGE; k++) {
			size_t token = i * PAGE + k;

			c->key_document[at * PAGE + k] = token < n ? (int32_t)document : -1;
			c->key_position[at * PAGE + k] =
				token < n ? (int32_t)(position + token) : -1;
		}
	}
}

static void want(struct continuations *c, size_t row, uint32_t id, struct continuation *of)
{
	c->wanted[c->n_wanted++] = (struct wanted){ row, id, of };
}

static void put_continuation(struct continuations *c, size_t context_page, size_t n_context,
			     size_t last, struct continuation *item)
{
	size_t document = c->n_documents++, row = c->filled, page;

	page = put_rows(c, item->ids, item->n - 1, n_context, document);
	list_pages(c, context_page, n_context, 0, document);
	list_pages(c, page, item->n - 1, n_context, document);
	item->logprob = 0;
	item->greedy = true;
	for (size_t i = 0; i < item->n; i++)
		want(c, i ? row + i - 1 : last, item->ids[i], item);
}

/* Whether there is room for a continuation, and for the context where NEW. */
static bool fits(const struct continuations *c, size_t n_context, const struct continuation *item,
		 bool new)
{
	size_t rows = item->n - 1 + (new ? n_context : 0);
	size_t pages = pages_of(item->n - 1) + (new ? pages_of(n_context) : 0);
	size_t listed = pages_of(n_context) + pages_of(item->n - 1);

	return rows <= c->rows - c->filled && pages * PAGE <= c->n_slots - c->slots &&
	       listed <= c->n_listed - c->listed && c->segments + 2 <= SEGMENTS;
}

static int check(const struct continuations *c, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] >= c->config->vocab_size)
			return err_set(ERR_MISMATCH,
				       "token %zu: the id %" PRIu32
				       "; the model's vocabulary has %" PRIu64,
				       i, ids[i], c->config->vocab_size);
	return 0;
}

static int check_item(const struct continuations *c, size_t n_context,
		      const struct continuation *item)
{
	if (n_context == 0 || item->n == 0)
		return err_set(ERR_ARGUMENT, "a %s without a token",
			       item->n ? "context" : "continuation");
	if (n_context > c->options.context || item->n - 1 > c->options.context - n_context)
		return err_set(ERR_LIMIT, "%zu tokens after %zu: the context holds %zu", item->n,
			       n_context, c->options.context);
	return check(c, item->ids, item->n);
}

int continuations_add(struct continuations *c, const uint32_t *context, size_t n_context,
		      struct continuation *items, size_t n)
{
	size_t page = 0, last = 0;
	bool new = true;

	if (find_inputs(c) < 0 || check(c, context, n_context) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (check_item(c, n_context, &items[i]) < 0)
			return -1;
		if (!fits(c, n_context, &items[i], new)) {
			if (continuations_flush(c) < 0)
				return -1;
			new = true;
		}
		if (mem_grow(&c->wanted, &c->wanted_capacity, c->n_wanted + items[i].n,
			     sizeof(*c->wanted)) < 0)
			return -1;
		if (new) {
			page = put_rows(c, context, n_context, 0, c->n_documents);
			last = c->filled - 1;
			new = false;
		}
		put_continuation(c, page, n_context, last, &items[i]);
	}
	return 0;
}
