/* lib/eval/activations.c - squares of what goes into products, summed over tokens */

#include "lib/eval/activations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"

struct item {
	const char *name;    /* the store's */
	struct tensor *sums; /* f32 [n], of a window */
	double *squares;     /* owned */
};

struct activations {
	const struct hf_config *config;
	struct store *store;
	struct activations_options options;
	struct graph *graph; /* owned */
	struct plan *plan;   /* owned */
	struct tensor *ids, *present;
	struct item *items; /* owned */
	size_t n, capacity;
	uint64_t tokens, windows;
};

/* --- which products --- */

/* The parameter that T is, or was cast from; NULL: it is none. */
static const char *parameter_of(const struct graph *g, const struct tensor *t)
{
	const struct tensor *base = t->base;

	if (!graph_name_of(g, base) && base->node && base->node->op == OP_CAST)
		base = base->node->in[0]->base;
	return base->node && base->node->op == OP_PARAMETER ? graph_name_of(g, base) : NULL;
}

static bool is_there(const struct activations *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->items[i].name, name) == 0)
			return true;
	return false;
}

static int add_item(struct activations *a, const char *name, struct tensor *x)
{
	struct tensor *squares;
	struct item *item;

	if (mem_grow(&a->items, &a->capacity, a->n + 1, sizeof(*a->items)) < 0)
		return -1;
	item = &a->items[a->n];
	squares =
		op_mul(a->graph, op_square(a->graph, op_cast(a->graph, x, DTYPE_F32)), a->present);
	*item = (struct item){ .name = name, .sums = op_sum(a->graph, squares, 1, false) };
	item->squares = mem_new(x->shape.at[1], sizeof(*item->squares));
	if (!item->squares)
		return -1;
	a->n++;
	graph_output(a->graph, item->sums, name);
	return 0;
}

/* Every product with a parameter among the nodes so far. */
static int add_items(struct activations *a)
{
	const size_t n = graph_n_nodes(a->graph);

	for (size_t i = 0; i < n; i++) {
		const struct node *node = graph_node(a->graph, i);
		const char *name;

		if (node->op != OP_MATMUL || node->in[0]->shape.n != 2 ||
		    node->in[0]->shape.at[0] != a->options.context)
			continue;
		name = parameter_of(a->graph, node->in[1]);
		if (name && !is_there(a, name) && add_item(a, name, node->in[0]) < 0)
			return -1;
	}
	return graph_check(a->graph);
}

/* --- making --- */

static int build(struct activations *a)
{
	const size_t n = a->options.context;
	struct graph *g = a->graph;
	struct tensor *hidden, *positions;

	a->ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
	a->present = graph_input(g, "present", DTYPE_F32, SHAPE(n, 1));
	positions = op_reshape(g, op_arange(g, DTYPE_I32, n, 0, 1), SHAPE(n, 1));
	hidden = lm_hidden(g, a->config,
			   &(struct lm_inputs){ .ids = a->ids,
						.positions = positions,
						.context = n,
						.rope_paired = a->options.rope_paired });
	graph_output(g, hidden, "hidden");
	return graph_check(g) < 0 ? -1 : add_items(a);
}

static int make(struct activations *a)
{
	const struct activations_options *o = &a->options;

	if (lm_check_continues(a->config, o->context) < 0)
		return -1;
	if (o->context == 0 || o->context > INT32_MAX / 2)
		return err_set(ERR_ARGUMENT, "a context of %" PRIu32 " tokens", o->context);
	if (graph_new(&a->graph, a->store, NULL) < 0 || build(a) < 0)
		return -1;
	return plan_new(&a->plan, a->graph,
			&(struct plan_options){ .backend = o->backend,
						.team = o->team,
						.without = o->without,
						.strict = o->strict,
						.keep = true,
						.memory = o->memory });
}

int activations_new(struct activations **out, const struct hf_config *c, struct store *s,
		    const struct activations_options *o)
{
	struct activations *a = mem_new(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return -1;
	a->config = c;
	a->store = s;
	a->options = *o;
	if (make(a) < 0) {
		struct err_saved saved;

		err_save(&saved);
		activations_free(a);
		return err_restore(&saved);
	}
	*out = a;
	return 0;
}

void activations_free(struct activations *a)
{
	if (!a)
		return;
	plan_free(a->plan);
	graph_free(a->graph);
	for (size_t i = 0; i < a->n; i++)
		free(a->items[i].squares);
	free(a->items);
	free(a);
}

/* --- texts --- */

static int sum_up(struct activations *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const float *sums = plan_data(a->plan, a->items[i].sums);

		if (!sums)
			return -1;
		for (size_t k = 0; k < a->items[i].sums->shape.at[0]; k++)
			a->items[i].squares[k] += (double)sums[k];
	}
	return 0;
}

/* What stands behind the N tokens is seen by none of them, and not counted. */
static int add_window(struct activations *a, const uint32_t *ids, size_t n)
{
	int32_t *to = plan_data(a->plan, a->ids);
	float *present = plan_data(a->plan, a->present);

	if (!to || !present)
		return -1;
	for (size_t i = 0; i < a->options.context; i++) {
		to[i] = i < n ? (int32_t)ids[i] : 0;
		present[i] = i < n;
	}
	if (plan_run(a->plan, 0, 0) < 0)
		return -1;
	a->tokens += n;
	a->windows++;
	return sum_up(a);
}

int activations_add(struct activations *a, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] >= a->config->vocab_size)
			return err_set(ERR_ARGUMENT,
				       "token %zu: the id %" PRIu32 "; the vocabulary has %" PRIu64,
				       i, ids[i], a->config->vocab_size);
	for (size_t i = 0; i < n; i += a->options.context) {
		size_t some = n - i < a->options.context ? n - i : a->options.context;

		if (add_window(a, ids + i, some) < 0)
			return -1;
	}
	return 0;
}

uint64_t activations_tokens(const struct activations *a)
{
	return a->tokens;
}

uint64_t activations_windows(const struct activations *a)
{
	return a->windows;
}

size_t activations_n(const struct activations *a)
{
	return a->n;
}

struct activations_sum activations_at(const struct activations *a, size_t i)
{
	const struct item *item = &a->items[i];

	return (struct activations_sum){ item->name, item->sums->shape.at[0], item->squares };
}
