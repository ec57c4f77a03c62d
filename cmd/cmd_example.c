/* cmd/cmd_example.c - from options to an example model, from a path to a language model */

#include "cmd/cmd_example.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/memory.h"

#define TOKENS 512 /* unless they are given */

struct cmd_example cmd_example = { .kind = -1 };

const char *const cmd_example_kinds[] = { "mlp", "block", NULL };
const char *const cmd_example_optimizers[] = { "none", "sgd", "adamw", "lion", NULL };
const char *const cmd_example_dtypes[] = { "f32", "bf16", "f16", NULL };

/* What was not given depends on what was. */
static struct example_config config_of(const struct cmd_example *e)
{
	struct example_config c = {
		.kind = (enum example_kind)e->kind,
		.tokens = (size_t)(e->tokens ? e->tokens : TOKENS),
		.width = (size_t)e->width,
		.ffn = (size_t)e->ffn,
		.layers = (size_t)e->layers,
		.heads = (size_t)e->heads,
		.kv_heads = (size_t)e->kv_heads,
		.vocab = (size_t)e->vocab,
	};
	bool block = c.kind == EXAMPLE_BLOCK;

	if (!c.width)
		c.width = 768;
	if (!c.ffn)
		c.ffn = block ? (c.width * 8 / 3 + 63) / 64 * 64 : 4 * c.width;
	if (!c.layers)
		c.layers = block ? 1 : 2;
	if (!c.heads)
		c.heads = c.width >= 64 ? c.width / 64 : 1;
	if (!c.kv_heads)
		c.kv_heads = c.heads;
	return c;
}

static enum dtype dtype_of(int word)
{
	static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };

	return dtypes[word];
}

static bool is_training(void)
{
	return cmd_example.train || cmd_example.optimizer != EXAMPLE_NONE;
}

static void new_graph(struct cmd_example_model *m)
{
	struct graph_options o = { .compute = dtype_of(cmd_example.dtype), .train = is_training() };

	cmd_check(graph_new(&m->graph, m->store, &o));
}

static void title_example(struct cmd_example_model *m)
{
	const struct example_config *c = &m->config;
	const char *many = c->layers == 1 ? "" : "s";

	if (c->kind == EXAMPLE_MLP)
		snprintf(m->title, sizeof(m->title),
			 "mlp: %zu rows of %zu, %zu hidden, %zu layer%s", c->tokens, c->width,
			 c->ffn, c->layers, many);
	else
		snprintf(m->title, sizeof(m->title),
			 "block: %zu rows of %zu, %zu hidden, %zu heads, %zu layer%s", c->tokens,
			 c->width, c->ffn, c->heads, c->layers, many);
}

static void build_example(struct cmd_example_model *m)
{
	if (cmd_example.batch || cmd_example.length)
		cmd_misuse("--batch and --ctx are of language models; -n gives the rows");
	m->config = config_of(&cmd_example);
	m->made_up = true;
	if (example_check(&m->config) < 0)
		cmd_misuse("%s", err_text());
	cmd_check(store_new(&m->store));
	store_declaring(m->store, true);
	new_graph(m);
	example_build(m->graph, &m->config, is_training(), &m->example);
	title_example(m);
}

/* --- a language model --- */

/* Rows a sequence. More than the context is refused of --ctx alone: -n is an upper bound. */
static uint64_t length_of(const struct hf_config *c)
{
	uint64_t n = cmd_example.tokens ? cmd_example.tokens : TOKENS;

	if (cmd_example.length > c->context)
		cmd_misuse("--ctx %" PRIu64 ": the model's context is %" PRIu64, cmd_example.length,
			   c->context);
	if (cmd_example.length)
		return cmd_example.length;
	return n < c->context ? n : c->context;
}

static void open_lm(struct cmd_example_model *m, const char *path)
{
	const struct cmd_example *e = &cmd_example;
	uint64_t sequences = e->batch ? e->batch : 1, rows;

	if (e->width || e->ffn || e->layers || e->heads || e->kv_heads || e->vocab)
		cmd_misuse("sizes are those of %s: only -n, --batch and --ctx may be given", path);
	if (e->tokens && e->length)
		cmd_misuse("-n and --ctx both give the rows of a sequence");
	cmd_check(lm_open(&m->lm, path, NULL));
	m->store = m->lm.store;
	m->length = length_of(m->lm.config);
	if (__builtin_mul_overflow(m->length, sequences, &rows) || rows > INT32_MAX)
		cmd_misuse("--batch %" PRIu64 " of %" PRIu64 " rows are too many", sequences,
			   m->length);
	m->config.tokens = (size_t)rows;
	m->config.vocab = (size_t)m->lm.config->vocab_size;
	snprintf(m->title, sizeof(m->title),
		 BYTES_FMT ": %" PRIu64 " x %" PRIu64 " rows of %" PRIu64 ", %" PRIu32 " layers",
		 BYTES_ARG(m->lm.config->model_type), sequences, m->length,
		 m->lm.config->hidden_size, m->lm.config->n_layers);
}

/* Where each row stands: its place in its sequence, and which sequence that is. One sequence has no number. */
static void place_rows(struct cmd_example_model *m, struct lm_inputs *in)
{
	size_t n = m->config.tokens, length = (size_t)m->length;
	struct graph *g = m->graph;
	int32_t *all;

	if (n == length) {
		in->positions = op_reshape(g, op_arange(g, DTYPE_I32, n, 0, 1), SHAPE(n, 1));
		return;
	}
	all = mem_new(2 * n, sizeof(*all));
	if (!all)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < n; i++) {
		all[i] = (int32_t)(i % length);
		all[n + i] = (int32_t)(i / length);
	}
	in->positions = graph_constant(g, DTYPE_I32, SHAPE(n, 1), all);
	in->documents = graph_constant(g, DTYPE_I32, SHAPE(n), all + n);
	free(all);
}

/* The mean over all rows. */
static struct tensor *mean_loss(struct cmd_example_model *m, struct tensor *hidden)
{
	struct cross_entropy o = { .ignore = -1 };
	struct example *x = &m->example;

	x->target = graph_input(m->graph, "target", DTYPE_I32, SHAPE(m->config.tokens));
	x->loss =
		op_mean(m->graph, lm_loss(m->graph, m->lm.config, hidden, x->target, &o), 0, false);
	return x->loss;
}

/* What of the file takes no part is said. */
static void say_unused(const struct lm *m)
{
	struct buffer b = { 0 };

	cmd_check(lm_put_unused(&b, m));
	if (b.size)
		cmd_note(BYTES_FMT, BYTES_ARG(buffer_bytes(&b)));
	buffer_free(&b);
}

static void build_lm(struct cmd_example_model *m, const char *path)
{
	struct lm_inputs in = { 0 };
	struct tensor *y;
	size_t n;

	open_lm(m, path);
	n = m->config.tokens;
	new_graph(m);
	m->example.x = in.ids = graph_input(m->graph, "x", DTYPE_I32, SHAPE(n));
	place_rows(m, &in);
	in.context = (size_t)m->length;
	in.rope_paired = m->lm.rope_paired;
	m->example.y = y = lm_hidden(m->graph, m->lm.config, &in);
	if (is_training() && !lm_has_head(m->lm.config))
		cmd_die("%s: a " BYTES_FMT " has no head, and so no loss", path,
			BYTES_ARG(m->lm.config->class_name));
	if (is_training())
		graph_output(m->graph, mean_loss(m, y), "loss");
	else
		graph_output(m->graph,
			     lm_has_head(m->lm.config) ? lm_logits(m->graph, m->lm.config, y) : y,
			     "y");
	cmd_check(graph_check(m->graph));
	say_unused(&m->lm);
}

void cmd_example_build(struct cmd_example_model *m, const char *path)
{
	*m = (struct cmd_example_model){ 0 };
	if (path && cmd_example.kind >= 0)
		cmd_misuse("either --example or a model");
	if (path)
		build_lm(m, path);
	else if (cmd_example.kind < 0)
		cmd_misuse("a model is missing, or --example: mlp or block");
	else
		build_example(m);
	cmd_check(graph_check(m->graph));
	m->forward = graph_n_nodes(m->graph);
	if (is_training())
		cmd_check(example_train(m->graph, &m->example,
					(enum example_optimizer)cmd_example.optimizer));
}

void cmd_example_free(struct cmd_example_model *m)
{
	graph_free(m->graph);
	if (m->made_up)
		store_free(m->store);
	else
		lm_close(&m->lm);
}
