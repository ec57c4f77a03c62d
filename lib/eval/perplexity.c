/* lib/eval/perplexity.c - windows of texts into rows, losses of rows into sums */

#include "lib/eval/perplexity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"

#define IGNORED (-100)
#define ROWS	2048 /* at a time, unless a context is longer */

/* Rows of one window: they are of a text, and those from SCORED on count. */
struct stretch {
	size_t text, from, to, scored;
};

struct perplexity {
	const struct hf_config *config;
	struct store *store;
	struct perplexity_options options;
	struct graph *graph; /* owned */
	struct plan *plan;   /* owned */
	struct tensor *in_ids, *in_targets, *in_positions, *in_documents, *losses;
	int32_t *ids, *targets, *positions, *documents; /* owned: one block, at ids */
	struct stretch *stretches;			/* owned; of the rows that are filled */
	size_t n_stretches, filled;
	struct perplexity_sum *texts; /* owned */
	size_t n, capacity;
	uint64_t scored;
};

/* --- making --- */

static int build(struct perplexity *p)
{
	struct cross_entropy ce = { .ignore = IGNORED };
	struct graph *g = p->graph;
	size_t n = p->options.rows;
	struct tensor *hidden;

	p->in_ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
	p->in_targets = graph_input(g, "targets", DTYPE_I32, SHAPE(n));
	p->in_positions = graph_input(g, "positions", DTYPE_I32, SHAPE(n, 1));
	p->in_documents = graph_input(g, "documents", DTYPE_I32, SHAPE(n));
	hidden = lm_hidden(g, p->config,
			   &(struct lm_inputs){ .ids = p->in_ids,
						.positions = p->in_positions,
						.documents = p->in_documents,
						.context = p->options.context,
						.rope_paired = p->options.rope_paired });
	p->losses = lm_loss(g, p->config, hidden, p->in_targets, &ce);
	graph_output(g, p->losses, "losses");
	return graph_check(g);
}

static int make_rows(struct perplexity *p)
{
	size_t n = p->options.rows;

	p->ids = mem_new(4 * n, sizeof(*p->ids));
	p->stretches = mem_new(n, sizeof(*p->stretches));
	if (!p->ids || !p->stretches)
		return -1;
	p->targets = p->ids + n;
	p->positions = p->ids + 2 * n;
	p->documents = p->ids + 3 * n;
	return 0;
}

static int make(struct perplexity *p)
{
	struct perplexity_options *o = &p->options;

	if (o->context == 0 || o->stride == 0 || o->stride > o->context)
		return err_set(ERR_ARGUMENT, "a context of %" PRIu32 " tokens every %" PRIu32,
			       o->context, o->stride);
	if (o->has_bos && o->bos >= p->config->vocab_size)
		return err_set(ERR_ARGUMENT,
			       "the id %" PRIu32
			       " before each window; the model's vocabulary has %" PRIu64,
			       o->bos, p->config->vocab_size);
	if (lm_check_continues(p->config, o->context) < 0)
		return -1;
	if (o->rows == 0)
		o->rows = ROWS;
	if (o->rows < o->context)
		o->rows = o->context;
	if (make_rows(p) < 0 ||
	    graph_new(&p->graph, p->store, &(struct graph_options){ .compute = o->compute }) < 0 ||
	    build(p) < 0)
		return -1;
	return plan_new(&p->plan, p->graph,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.without = o->without,
						.strict = o->strict,
						.keep = true,
						.memory = o->memory });
}

int perplexity_new(struct perplexity **out, const struct hf_config *c, struct store *s,
		   const struct perplexity_options *o)
{
	struct perplexity *p = mem_new(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -1;
	p->config = c;
	p->store = s;
	p->options = *o;
	if (make(p) < 0) {
		struct err_saved saved;

		err_save(&saved);
		perplexity_free(p);
		return err_restore(&saved);
	}
	*out = p;
	return 0;
}

void perplexity_free(struct perplexity *p)
{
	if (!p)
		return;
	plan_free(p->plan);
	graph_free(p->graph);
	free(p->ids);
	free(p->stretches);
	free(p->texts);
	free(p);
}

struct plan *perplexity_plan(struct perplexity *p)
{
	return p->plan;
}

/* --- rows --- */

static void fill_nothing(struct perplexity *p)
{
	for (size_t i = p->filled; i < p->options.rows; i++) {
		p->ids[i] = 0;
		p->targets[i] = IGNORED;
		p->positions[i] = (int32_t)(i - p->filled);
		p->documents[i] = (int32_t)p->n_stretches;
	}
}

static int give(struct perplexity *p, const struct tensor *t, const int32_t *values)
{
	return plan_give(p->plan, t, values, p->options.rows * sizeof(*values));
}

static void sum_up(struct perplexity *p, const float *losses)
{
	for (size_t i = 0; i < p->n_stretches; i++) {
		const struct stretch *s = &p->stretches[i];
		struct perplexity_sum *sum = &p->texts[s->text];

		for (size_t k = s->scored; k < s->to; k++) {
			sum->loss += (double)losses[k];
			sum->squares += (double)losses[k] * (double)losses[k];
		}
		sum->scored += s->to - s->scored;
		p->scored += s->to - s->scored;
	}
}

/* Computes what was filled. */
static int run(struct perplexity *p)
{
	const float *losses;

	if (p->n_stretches == 0)
		return 0;
	fill_nothing(p);
	if (give(p, p->in_ids, p->ids) < 0 || give(p, p->in_targets, p->targets) < 0 ||
	    give(p, p->in_positions, p->positions) < 0 ||
	    give(p, p->in_documents, p->documents) < 0 || plan_run(p->plan, 0, 0) < 0)
		return -1;
	losses = plan_data(p->plan, p->losses);
	if (!losses)
		return -1;
	sum_up(p, losses);
	p->n_stretches = p->filled = 0;
	return 0;
}

/* A text as it is read: N tokens, PUT: the first of them is the bos that it lacks. */
struct reading {
	const uint32_t *ids;
	size_t n;
	bool put;
};

static struct reading reading_of(const struct perplexity *p, const uint32_t *ids, size_t n)
{
	bool put = p->options.has_bos && n && ids[0] != p->options.bos;

	return (struct reading){ ids, n + put, put };
}

static int32_t token(const struct perplexity *p, const struct reading *r, size_t i)
{
	if (r->put)
		return (int32_t)(i ? r->ids[i - 1] : p->options.bos);
	return (int32_t)r->ids[i];
}

/* The inputs FROM to TO of a text, of which those from SCORED on are scored. */
static int add_window(struct perplexity *p, const struct reading *r, size_t from, size_t to,
		      size_t scored)
{
	size_t n = to - from, at;

	if (p->options.rows - p->filled < n && run(p) < 0)
		return -1;
	at = p->filled;
	for (size_t i = 0; i < n; i++) {
		p->ids[at + i] = i == 0 && p->options.has_bos ? (int32_t)p->options.bos
							      : token(p, r, from + i);
		p->targets[at + i] = from + i >= scored ? token(p, r, from + i + 1) : IGNORED;
		p->positions[at + i] = (int32_t)i;
		p->documents[at + i] = (int32_t)p->n_stretches;
	}
	p->stretches[p->n_stretches++] =
		(struct stretch){ p->n - 1, at, at + n, at + scored - from };
	p->filled += n;
	return 0;
}

static int check_ids(const struct perplexity *p, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] >= p->config->vocab_size)
			return err_set(ERR_ARGUMENT,
				       "text %zu, token %zu: the id %" PRIu32
				       "; the model's vocabulary has %" PRIu64,
				       p->n, i, ids[i], p->config->vocab_size);
	return 0;
}

int perplexity_add(struct perplexity *p, const uint32_t *ids, size_t n)
{
	struct reading r = reading_of(p, ids, n);
	size_t inputs = r.n ? r.n - 1 : 0, scored = 0;

	if (check_ids(p, ids, n) < 0 ||
	    mem_grow(&p->texts, &p->capacity, p->n + 1, sizeof(*p->texts)) < 0)
		return -1;
	p->texts[p->n++] = (struct perplexity_sum){ .tokens = n };
	for (size_t from = 0; scored < inputs; from += p->options.stride) {
		size_t to = inputs - from < p->options.context ? inputs : from + p->options.context;

		if (add_window(p, &r, from, to, scored) < 0)
			return -1;
		scored = to;
	}
	return 0;
}

int perplexity_end(struct perplexity *p)
{
	return run(p);
}

/* --- results --- */

size_t perplexity_n(const struct perplexity *p)
{
	return p->n;
}

struct perplexity_sum perplexity_text(const struct perplexity *p, size_t i)
{
	return p->texts[i];
}

uint64_t perplexity_scored(const struct perplexity *p)
{
	return p->scored;
}

/* Texts that have scored tokens. */
static size_t counted(const struct perplexity *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->texts[i].scored > 0;
	return n;
}

static double error_over_texts(const struct perplexity *p, double mean, double scored, double n)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		double off = p->texts[i].loss - mean * (double)p->texts[i].scored;

		sum += off * off;
	}
	return sqrt(sum * n / (n - 1)) / scored;
}

struct perplexity_result perplexity_result(const struct perplexity *p)
{
	struct perplexity_result r = { .texts = p->n, .loss = NAN, .error = NAN };
	size_t n = counted(p);
	double loss = 0, squares = 0, scored;

	for (size_t i = 0; i < p->n; i++) {
		r.tokens += p->texts[i].tokens;
		r.scored += p->texts[i].scored;
		loss += p->texts[i].loss;
		squares += p->texts[i].squares;
	}
	if (r.scored == 0)
		return r;
	scored = (double)r.scored;
	r.loss = loss / scored;
	if (n > 1)
		r.error = error_over_texts(p, r.loss, scored, (double)n);
	else if (r.scored > 1)
		r.error = sqrt(fmax(0, squares / scored - r.loss * r.loss) / (scored - 1));
	return r;
}
