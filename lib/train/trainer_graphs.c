/* lib/train/trainer_graphs.c - the graphs of a trainer, and their plans in one arena */

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/op_table.h"
#include "lib/train/trainer_parts.h"

#define IGNORED	 (-100)
#define JOIN_MAX KERNEL_TENSORS

/* --- a batch --- */

static void make_inputs(struct graph *g, size_t n, struct trainer_inputs *in)
{
	in->ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
	in->targets = graph_input(g, "targets", DTYPE_I32, SHAPE(n));
	in->positions = graph_input(g, "positions", DTYPE_I32, SHAPE(n, 1));
	in->documents = graph_input(g, "documents", DTYPE_I32, SHAPE(n));
}

static struct tensor *hidden_of(struct graph *g, const struct trainer *t,
				const struct trainer_inputs *in, double dropout)
{
	return lm_hidden(g, t->config,
			 &(struct lm_inputs){ .ids = in->ids,
					      .positions = in->positions,
					      .documents = in->documents,
					      .dropout = dropout });
}

static int build_micro(struct trainer *t, struct graph *g)
{
	const struct trainer_options *o = &t->options;
	struct cross_entropy ce = { .smoothing = o->smoothing,
				    .z_loss = o->z_loss,
				    .ignore = IGNORED };
	struct tensor *hidden, *loss;

	make_inputs(g, o->tokens, &t->micro);
	t->micro.weights = graph_input(g, "weights", DTYPE_F32, SHAPE(o->tokens));
	hidden = hidden_of(g, t, &t->micro, o->dropout);
	loss = lm_loss_sum(g, t->config, hidden, t->micro.targets, t->micro.weights, &ce);
	op_accumulate(g, graph_entry(g, t->loss), op_reshape(g, loss, SHAPE(1)));
	return graph_grad_accumulate(g, loss);
}

static int build_evaluate(struct trainer *t, struct graph *g)
{
	struct cross_entropy ce = { .ignore = IGNORED };
	struct tensor *hidden;

	make_inputs(g, t->options.tokens, &t->evaluate);
	hidden = hidden_of(g, t, &t->evaluate, 0);
	t->row_losses = lm_loss(g, t->config, hidden, t->evaluate.targets, &ce);
	graph_output(g, t->row_losses, "losses");
	return graph_check(g);
}

/* --- the update --- */

/* Parameters that are looked up by row or read by the head: no hidden matrices. */
static bool is_table(const struct graph *g, const struct store_entry *e)
{
	const struct tensor *whole = graph_find(g, e->name);
	const struct tensor *cast = e->cast ? graph_find(g, e->cast->name) : NULL;

	for (size_t i = 0; i < graph_n_nodes(g); i++) {
		const struct node *n = graph_node(g, i);
		const struct tensor *table = n->op == OP_GATHER_ROWS	 ? n->in[0]
					     : n->op == OP_LINEAR_CE_SUM ? n->in[1]
									 : NULL;

		if (table && (table->base == whole || table->base == cast))
			return true;
	}
	return false;
}

static enum trainer_optimizer rule_of(const struct trainer *t, const struct store_entry *e)
{
	if (t->options.optimizer != TRAINER_MUON)
		return t->options.optimizer;
	return e->shape.n == 2 && !is_table(t->graphs[TRAINER_MICRO], e) ? TRAINER_MUON
									 : TRAINER_ADAMW;
}

/* Every parameter whose sum the micro-batch adds to. */
static int find_items(struct trainer *t)
{
	const struct graph *g = t->graphs[TRAINER_MICRO];
	size_t n = store_n(t->store);

	t->items = mem_new(n + 1, sizeof(*t->items));
	t->watched = mem_new(3 * n + 1, sizeof(*t->watched));
	if (!t->items || !t->watched)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct store_entry *e = store_at(t->store, i);

		if (!e->sum || !e->trainable || !graph_find(g, e->sum->name))
			continue;
		if (t->options.stochastic && e->dtype == DTYPE_F16)
			return err_set(ERR_UNSUPPORTED,
				       "%s: stochastic rounding of f16: bf16 has it", e->name);
		t->items[t->n_items++] = (struct update_item){ e, rule_of(t, e), e->shape.n >= 2 };
	}
	return t->n_items ? 0 : err_set(ERR_ARGUMENT, "no parameter is to be trained");
}

struct tensor *trainer_joined(struct graph *g, struct tensor **parts, size_t n)
{
	while (n > 1) {
		size_t made = 0;

		for (size_t i = 0; i < n; i += JOIN_MAX) {
			int many = (int)(n - i < JOIN_MAX ? n - i : JOIN_MAX);

			parts[made++] = many > 1 ? op_concat(g, parts + i, many, 0) : parts[i];
		}
		n = made;
	}
	return parts[0];
}

static int build_measure(struct trainer *t, struct graph *g)
{
	struct tensor **squares = mem_new(t->n_items, sizeof(*squares));

	if (!squares)
		return -1;
	for (size_t i = 0; i < t->n_items; i++)
		squares[i] = op_sum_squares(g, graph_entry(g, t->items[i].entry->sum));
	t->squares = trainer_joined(g, squares, t->n_items);
	free(squares);
	t->step_loss = op_copy(g, graph_entry(g, t->loss));
	graph_output(g, t->squares, "squares");
	graph_output(g, t->step_loss, "loss");
	return graph_check(g);
}

static int build_update(struct trainer *t, struct graph *g)
{
	update_scalars(g, &t->scalars);
	for (size_t i = 0; i < t->n_items; i++) {
		update_append(g, &t->items[i], &t->options, &t->scalars);
		update_clear(g, t->items[i].entry->sum);
	}
	update_clear(g, t->loss);
	return graph_check(g);
}

static int build_watched(struct trainer *t, struct graph *g)
{
	trainer_build_watched(t, g);
	update_clear(g, t->loss);
	return graph_check(g);
}

static int build_clear(struct trainer *t, struct graph *g)
{
	for (size_t i = 0; i < t->n_items; i++)
		update_clear(g, t->items[i].entry->sum);
	update_clear(g, t->loss);
	return graph_check(g);
}

/* --- all of them --- */

static int plan_one(struct trainer *t, enum trainer_graph which)
{
	const struct trainer_options *o = &t->options;
	bool again = which == TRAINER_MICRO && o->recompute_blocks;

	return plan_new(&t->plans[which], t->graphs[which],
			&(struct plan_options){
				.backend = o->backend,
				.team = o->team,
				.arena = t->arena,
				.without = o->without,
				.recompute = again,
				.recompute_blocks =
					o->recompute_blocks == SIZE_MAX ? 0 : o->recompute_blocks,
			});
}

static int build_one(struct trainer *t, enum trainer_graph which,
		     int (*build)(struct trainer *t, struct graph *g))
{
	bool model = which == TRAINER_MICRO || which == TRAINER_EVALUATE;
	struct graph_options o = { .compute = model ? t->options.compute : DTYPE_F32,
				   .train = which == TRAINER_MICRO };

	if (graph_new(&t->graphs[which], t->store, &o) < 0)
		return -1;
	return build(t, t->graphs[which]);
}

int trainer_plan_all(struct trainer *t)
{
	if (plan_arena_new(&t->arena) < 0 || build_one(t, TRAINER_MICRO, build_micro) < 0 ||
	    find_items(t) < 0 || build_one(t, TRAINER_MEASURE, build_measure) < 0 ||
	    build_one(t, TRAINER_UPDATE, build_update) < 0 ||
	    build_one(t, TRAINER_WATCHED, build_watched) < 0 ||
	    build_one(t, TRAINER_CLEAR, build_clear) < 0 ||
	    build_one(t, TRAINER_EVALUATE, build_evaluate) < 0)
		return -1;
	for (int i = 0; i < TRAINER_GRAPH_COUNT; i++)
		if (plan_one(t, (enum trainer_graph)i) < 0)
			return -1;
	return 0;
}

void trainer_drop_plans(struct trainer *t)
{
	for (int i = 0; i < TRAINER_GRAPH_COUNT; i++) {
		plan_free(t->plans[i]);
		graph_free(t->graphs[i]);
	}
	plan_arena_free(t->arena);
	free(t->items);
	free(t->watched);
}
