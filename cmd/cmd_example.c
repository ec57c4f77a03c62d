/* cmd/cmd_example.c - from options to an example model */

#include "cmd/cmd_example.h"

struct cmd_example cmd_example = { .kind = -1, .tokens = 512, .width = 768 };

const char *const cmd_example_kinds[] = { "mlp", "block", NULL };
const char *const cmd_example_optimizers[] = { "none", "sgd", "adamw", "lion", NULL };
const char *const cmd_example_dtypes[] = { "f32", "bf16", "f16", NULL };

/* What was not given depends on what was. */
static struct example_config config_of(const struct cmd_example *e)
{
	struct example_config c = {
		.kind = (enum example_kind)e->kind,
		.tokens = (size_t)e->tokens,
		.width = (size_t)e->width,
		.ffn = (size_t)e->ffn,
		.layers = (size_t)e->layers,
		.heads = (size_t)e->heads,
		.kv_heads = (size_t)e->kv_heads,
		.vocab = (size_t)e->vocab,
	};
	bool block = c.kind == EXAMPLE_BLOCK;

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

void cmd_example_build(struct cmd_example_model *m)
{
	bool train = cmd_example.train || cmd_example.optimizer != EXAMPLE_NONE;
	struct graph_options options = { .compute = dtype_of(cmd_example.dtype), .train = train };

	*m = (struct cmd_example_model){ 0 };
	if (cmd_example.kind < 0)
		cmd_misuse("--example is missing: mlp or block");
	m->config = config_of(&cmd_example);
	if (example_check(&m->config) < 0)
		cmd_misuse("%s", err_text());
	cmd_check(store_new(&m->store));
	store_declaring(m->store, true);
	cmd_check(graph_new(&m->graph, m->store, &options));
	example_build(m->graph, &m->config, train, &m->example);
	cmd_check(graph_check(m->graph));
	m->forward = graph_n_nodes(m->graph);
	if (train)
		cmd_check(example_train(m->graph, &m->example,
					(enum example_optimizer)cmd_example.optimizer));
}

void cmd_example_free(struct cmd_example_model *m)
{
	graph_free(m->graph);
	store_free(m->store);
}
