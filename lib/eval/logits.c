/* lib/eval/logits.c - windows through a model, with all that comes out */

#include "lib/eval/logits.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/op_table.h"
#include "lib/graph/ops.h"

#define PAGE	 64 /* slots of the cache */
#define NAME_MAX 256

struct tap {
	char *name; /* owned */
	struct tensor *tensor;
};

struct logits {
	const struct hf_config *config;
	struct store *store;
	struct logits_options options;
	size_t slots;
	char name[24];		 /* of the cache's entries in the store */
	int32_t *zeros, *places; /* owned, one block, at zeros */
	/* Of the window. */
	struct graph *graph; /* owned */
	struct plan *plan;   /* owned */
	struct tensor *ids, *hidden;
	/* Of a slice. */
	struct graph *head_graph; /* owned */
	struct plan *head_plan;	  /* owned */
	struct tensor *slice, *result;
	struct tap *taps; /* owned */
	size_t n_taps, taps_capacity, n;
};

/* --- what is kept on the way --- */

static bool wanted(const struct logits *l, const char *name)
{
	for (size_t i = 0; i < l->options.n_taps; i++)
		if (fnmatch(l->options.taps[i], name, 0) == 0)
			return true;
	return false;
}

/* How many nodes of NODE's scope and op come before it. */
static size_t earlier(const struct graph *g, size_t at)
{
	const struct node *node = graph_node(g, at);
	size_t n = 0;

	for (size_t i = 0; i < at; i++) {
		const struct node *o = graph_node(g, i);

		n += o->op == node->op && strcmp(o->scope, node->scope) == 0;
	}
	return n;
}

static int add_tap(struct logits *l, const char *name, struct tensor *t)
{
	char *copy;

	if (mem_grow(&l->taps, &l->taps_capacity, l->n_taps + 1, sizeof(*l->taps)) < 0)
		return -1;
	copy = mem_copy(name, strlen(name));
	if (!copy)
		return -1;
	l->taps[l->n_taps++] = (struct tap){ copy, t };
	graph_output(l->graph, t, copy);
	return 0;
}

static int add_taps(struct logits *l)
{
	const size_t n = graph_n_nodes(l->graph);
	char name[NAME_MAX];

	for (size_t i = 0; i < n && l->options.n_taps; i++) {
		const struct node *node = graph_node(l->graph, i);
		const struct op_info *info = op_info(node->op);
		struct tensor *t = node->n_out ? node->out[0] : NULL;
		size_t before;

		if (info->flags & OP_VIEW || info->in_place || !t || t->shape.n == 0 ||
		    t->shape.at[0] != l->options.context || !dtype_decodes(t->dtype))
			continue;
		before = earlier(l->graph, i);
		snprintf(name, sizeof(name), before ? "%s/%s#%zu" : "%s/%s", node->scope,
			 info->name, before + 1);
		if (wanted(l, name) && add_tap(l, name, t) < 0)
			return -1;
	}
	return 0;
}

/* --- graphs --- */

static int make_places(struct logits *l)
{
	l->slots = (l->options.context + PAGE - 1) / PAGE * (size_t)PAGE;
	l->zeros = mem_new(2 * l->slots, sizeof(*l->zeros));
	if (!l->zeros)
		return -1;
	l->places = l->zeros + l->slots;
	for (size_t i = 0; i < l->slots; i++)
		l->places[i] = (int32_t)i;
	return 0;
}

/* Row I in slot I, pages in order: what decoding has after a prompt. */
static void describe_cache(struct logits *l, struct lm_cache *cache)
{
	struct graph *g = l->graph;

	snprintf(l->name, sizeof(l->name), "logits.%s", dtype_name(l->options.cache));
	*cache = (struct lm_cache){
		.name = l->name, .slots = l->slots, .page = PAGE, .dtype = l->options.cache
	};
	cache->write = graph_constant(g, DTYPE_I32, SHAPE((size_t)l->options.context), l->places);
	cache->pages = graph_constant(g, DTYPE_I32, SHAPE(l->slots / PAGE), l->places);
	cache->documents = graph_constant(g, DTYPE_I32, SHAPE(l->slots), l->zeros);
	cache->positions = graph_constant(g, DTYPE_I32, SHAPE(l->slots), l->places);
}

static int build(struct logits *l)
{
	const size_t n = l->options.context;
	struct graph *g = l->graph;
	struct lm_cache cache;
	struct lm_inputs in = { .context = n, .rope_paired = l->options.rope_paired };

	in.ids = l->ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
	in.positions = graph_constant(g, DTYPE_I32, SHAPE(n, 1), l->places);
	in.documents = graph_constant(g, DTYPE_I32, SHAPE(n), l->zeros);
	if (l->options.cache) {
		describe_cache(l, &cache);
		in.cache = &cache;
	}
	l->hidden = lm_hidden(g, l->config, &in);
	graph_output(g, l->hidden, "hidden");
	return graph_check(g) < 0 ? -1 : add_taps(l);
}

static int build_head(struct logits *l)
{
	struct graph *g = l->head_graph;

	l->slice = graph_input(g, "hidden", l->hidden->dtype,
			       SHAPE((size_t)LOGITS_SLICE, (size_t)l->config->hidden_size));
	l->result = lm_logits(g, l->config, l->slice);
	graph_output(g, l->result, "logits");
	return graph_check(g);
}

/* --- making --- */

static int make_plan(const struct logits *l, struct plan **out, struct graph *g)
{
	const struct logits_options *o = &l->options;

	return plan_new(out, g,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.without = o->without,
						.strict = o->strict,
						.keep = true,
						.memory = o->memory });
}

static int make(struct logits *l)
{
	const struct graph_options g = { .compute = l->options.compute, .round = l->options.round };

	if (lm_check_continues(l->config, l->options.context) < 0)
		return -1;
	if (l->options.context == 0 || l->options.context > INT32_MAX / 2)
		return err_set(ERR_ARGUMENT, "a context of %" PRIu32 " tokens", l->options.context);
	if (make_places(l) < 0 || graph_new(&l->graph, l->store, &g) < 0 || build(l) < 0 ||
	    make_plan(l, &l->plan, l->graph) < 0)
		return -1;
	return graph_new(&l->head_graph, l->store, &g) < 0 || build_head(l) < 0
		       ? -1
		       : make_plan(l, &l->head_plan, l->head_graph);
}

int logits_new(struct logits **out, const struct hf_config *c, struct store *s,
	       const struct logits_options *o)
{
	struct logits *l = mem_new(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return -1;
	l->config = c;
	l->store = s;
	l->options = *o;
	if (make(l) < 0) {
		struct err_saved saved;

		err_save(&saved);
		logits_free(l);
		return err_restore(&saved);
	}
	*out = l;
	return 0;
}

void logits_free(struct logits *l)
{
	if (!l)
		return;
	plan_free(l->plan);
	graph_free(l->graph);
	plan_free(l->head_plan);
	graph_free(l->head_graph);
	for (size_t i = 0; i < l->n_taps; i++)
		free(l->taps[i].name);
	free(l->taps);
	free(l->zeros);
	free(l);
}

struct plan *logits_plan(struct logits *l)
{
	return l->plan;
}

/* --- running --- */

int logits_read(struct logits *l, const uint32_t *ids, size_t n)
{
	int32_t *to = plan_data(l->plan, l->ids);

	if (!to)
		return -1;
	if (n == 0 || n > l->options.context)
		return err_set(ERR_ARGUMENT, "%zu tokens; a window holds %" PRIu32, n,
			       l->options.context);
	for (size_t i = 0; i < l->options.context; i++) {
		uint32_t id = i < n ? ids[i] : 0; /* what comes after is not seen */

		if (id >= l->config->vocab_size)
			return err_set(ERR_ARGUMENT,
				       "token %zu: the id %" PRIu32 "; the vocabulary has %" PRIu64,
				       i, id, l->config->vocab_size);
		to[i] = (int32_t)id;
	}
	l->n = n;
	return plan_run(l->plan, 0, 0);
}

const float *logits_rows(struct logits *l, size_t first, size_t n)
{
	const size_t row = (size_t)l->config->hidden_size * dtype_info(l->hidden->dtype)->bytes;
	const char *from = plan_data(l->plan, l->hidden);
	char *to = plan_data(l->head_plan, l->slice);

	if (!from || !to)
		return NULL;
	if (n > LOGITS_SLICE || first > l->n || n > l->n - first) {
		err_set(ERR_ARGUMENT, "rows %zu to %zu of %zu", first, first + n, l->n);
		return NULL;
	}
	memcpy(to, from + first * row, n * row);
	memset(to + n * row, 0, (LOGITS_SLICE - n) * row);
	return plan_run(l->head_plan, 0, 0) < 0 ? NULL : plan_data(l->head_plan, l->result);
}

/* --- taps --- */

size_t logits_n_taps(const struct logits *l)
{
	return l->n_taps;
}

bool logits_tap(struct logits *l, size_t i, struct logits_tap *out)
{
	const struct tensor *t = l->taps[i].tensor;

	*out = (struct logits_tap){ .name = l->taps[i].name,
				    .dtype = t->dtype,
				    .data = plan_data(l->plan, t),
				    .row = shape_elements(&t->shape) / t->shape.at[0] };
	return out->data != NULL;
}
