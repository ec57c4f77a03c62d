/* lib/model/lm.c - which family builds, and the head */

#include "lib/model/lm.h"

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/graph/op_table.h"
#include "lib/model/lm_parts.h"

struct tensor *lm_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in)
{
	switch (c->architecture) {
	case HF_GPT2: return gpt2_hidden(g, c, in);
	case HF_BERT: return bert_hidden(g, c, in);
	case HF_UNKNOWN:
	case HF_ARCHITECTURE_COUNT:
		graph_error(g, "no builder for the architecture " BYTES_FMT,
			    BYTES_ARG(c->model_type));
		return NULL;
	default: return decoder_hidden(g, c, in);
	}
}

/* --- the head --- */

static const char *embedding_name(const struct hf_config *c)
{
	switch (c->architecture) {
	case HF_GPT2: return "transformer.wte.weight";
	case HF_BERT: return "bert.embeddings.word_embeddings.weight";
	default: return "model.embed_tokens.weight";
	}
}

static const char *free_head_name(const struct hf_config *c)
{
	return c->architecture == HF_BERT ? "cls.predictions.decoder.weight" : "lm_head.weight";
}

/* [vocab, width]: the embedding when it is tied. */
static struct tensor *head(struct graph *g, const struct hf_config *c)
{
	const char *name = c->tie_word_embeddings ? embedding_name(c) : free_head_name(c);

	return graph_param_compute(g, name, SHAPE(c->vocab_size, c->hidden_size));
}

/* Bert's alone. A free head has one of its own. */
static struct tensor *head_bias(struct graph *g, const struct hf_config *c)
{
	if (c->architecture != HF_BERT)
		return NULL;
	return param(
		g, c->tie_word_embeddings ? "cls.predictions.bias" : "cls.predictions.decoder.bias",
		c->vocab_size);
}

static struct tensor *before_head(struct graph *g, const struct hf_config *c, struct tensor *hidden)
{
	return c->architecture == HF_BERT ? bert_transform(g, c, hidden) : hidden;
}

struct tensor *lm_logits(struct graph *g, const struct hf_config *c, struct tensor *hidden)
{
	struct matmul_operands o = { .a = before_head(g, c, hidden), .dtype = DTYPE_F32 };
	struct tensor *y;

	o.b = op_transpose(g, head(g, c));
	o.bias = head_bias(g, c);
	o.round = linear_rounds(g, o.b);
	o.pack = o.round && graph_options(g)->pack;
	y = op_matmul_with(g, &o);
	if (c->final_soft_cap > 0)
		y = op_scale(g, op_tanh(g, op_scale(g, y, 1 / c->final_soft_cap, 0)),
			     c->final_soft_cap, 0);
	return y;
}

struct tensor *lm_loss(struct graph *g, const struct hf_config *c, struct tensor *hidden,
		       struct tensor *targets, struct cross_entropy *o)
{
	o->soft_cap = c->final_soft_cap;
	o->bias = head_bias(g, c);
	return op_linear_ce(g, before_head(g, c, hidden), head(g, c), targets, o);
}

struct tensor *lm_loss_sum(struct graph *g, const struct hf_config *c, struct tensor *hidden,
			   struct tensor *targets, struct tensor *weights, struct cross_entropy *o)
{
	o->soft_cap = c->final_soft_cap;
	o->bias = head_bias(g, c);
	return op_linear_ce_sum(g, before_head(g, c, hidden), head(g, c), targets, weights, o,
				NULL);
}

/* --- what it can do --- */

int lm_check_continues(const struct hf_config *c, size_t context)
{
	if (c->bidirectional || c->architecture == HF_BERT)
		return err_set(ERR_UNSUPPORTED,
			       "a model of type " BYTES_FMT " does not continue text",
			       BYTES_ARG(c->model_type));
	if (!lm_has_head(c))
		return err_set(ERR_UNSUPPORTED, BYTES_FMT ": a model without a head",
			       BYTES_ARG(c->class_name));
	if (c->position == HF_POSITION_ABSOLUTE && context > c->context)
		return err_set(ERR_ARGUMENT,
			       "a context of %zu tokens; the model has %" PRIu64 " positions",
			       context, c->context);
	return 0;
}

/* --- declaring --- */

bool lm_has_head(const struct hf_config *c)
{
	return !bytes_end_with(c->class_name, "Model") ||
	       bytes_end_with(c->class_name, "LMHeadModel");
}

int lm_declare(struct store *s, const struct hf_config *c)
{
	struct lm_inputs in = { 0 };
	struct graph *g;
	struct tensor *hidden;
	bool before = store_is_declaring(s);
	int result;

	if (graph_new(&g, s, NULL) < 0)
		return -1;
	store_declaring(s, true);
	in.ids = graph_input(g, "ids", DTYPE_I32, SHAPE(1));
	in.positions = graph_input(g, "positions", DTYPE_I32, SHAPE(1, 1));
	hidden = lm_hidden(g, c, &in);
	if (lm_has_head(c))
		lm_logits(g, c, hidden);
	result = graph_check(g);
	store_declaring(s, before);
	graph_free(g);
	return result;
}

int lm_declare_as(struct store *s, const struct hf_config *c, enum dtype dtype)
{
	struct store *names;
	int result;

	if (store_new(&names) < 0)
		return -1;
	result = lm_declare(names, c);
	for (size_t i = 0; i < store_n(names) && result == 0; i++) {
		const struct store_entry *e = store_at(names, i);
		struct store_entry *made;

		if (e->kind != STORE_PARAMETER)
			continue;
		made = store_add(s, e->name, e->kind, dtype, &e->shape);
		if (made)
			made->trainable = e->trainable;
		else
			result = -1;
	}
	store_free(names);
	return result;
}
