/*
 * lib/model/gguf_source_losses.c - where llama.cpp would compute another model than the folder's
 *
 * A GGUF's keys say less than config.json, and llama.cpp takes what it knows of an architecture for the rest (its src/models): no windows
 * but gemma3's, every fourth layer of smollm3 without rope, one activation each, biases here and there. SAID is what its keys say.
 */
#include <math.h>

#include "lib/base/err.h"
#include "lib/model/gguf_source_parts.h"
#include "lib/model/lm.h"

/* --- activations, biases, scales --- */

/* The three words of the tanh approximation are one function. */
static enum hf_activation function_of(enum hf_activation a)
{
	return a == HF_GELU_TANH || a == HF_GELU_FAST ? HF_GELU_NEW : a;
}

static int check_activation(struct gguf_source *s, const struct hf_config *c,
			    const struct hf_config *said)
{
	if (function_of(c->activation) == function_of(said->activation))
		return 0;
	return gguf_source_loss(
		s, "activation", "activation %s: this architecture has %s in llama.cpp",
		hf_activation_name(c->activation), hf_activation_name(said->activation));
}

static int check_biases(struct gguf_source *s, const struct hf_config *c)
{
	bool takes_any = c->architecture == HF_LLAMA || c->architecture == HF_MISTRAL;
	bool learned = c->position != HF_POSITION_ROPE;

	if (takes_any || learned)
		return 0;
	if (c->architecture == HF_QWEN2 ? !c->out_bias && !c->mlp_bias
					: !c->qkv_bias && !c->out_bias && !c->mlp_bias)
		return 0;
	return gguf_source_loss(s, "bias",
				"attention_bias or mlp_bias: llama.cpp loads no such tensors");
}

static double scale_of(const struct hf_config *c)
{
	if (!c->scale_attention)
		return 1;
	return 1 /
	       sqrt(c->query_pre_attn_scalar > 0 ? c->query_pre_attn_scalar : (double)c->head_dim);
}

static int check_scores(struct gguf_source *s, const struct hf_config *c,
			const struct hf_config *said)
{
	double scale = scale_of(c), other = scale_of(said);

	if (c->scale_by_layer || fabs(scale - other) > 1e-6 * other)
		return gguf_source_loss(
			s, "attention_scale",
			"scores of attention are scaled by %s%g, in llama.cpp by %g",
			c->scale_by_layer ? "the layer's number and " : "", scale, other);
	if (c->bidirectional != said->bidirectional)
		return gguf_source_loss(s, "causal",
					"attention looks %s, in llama.cpp it does otherwise",
					c->bidirectional ? "both ways" : "back alone");
	if (c->position != said->position)
		return gguf_source_loss(
			s, "position_embedding_type",
			"position_embedding_type: llama.cpp has absolute ones alone");
	return 0;
}

/* --- layers --- */

/* Full layers see no more than the context has; a window of that size says nothing. */
static bool slides(const struct hf_config *c, uint32_t layer)
{
	return c->layer_attention[layer] == HF_SLIDING && c->window < c->context;
}

static int check_windows(struct gguf_source *s, const struct hf_config *c,
			 const struct hf_config *said)
{
	/* The key of llama's windows is our own. */
	bool has_windows = c->architecture == HF_GEMMA3;

	for (uint32_t i = 0; i < c->n_layers; i++) {
		bool there = has_windows && slides(said, i);

		if (slides(c, i) == there && (!there || c->window == said->window))
			continue;
		return gguf_source_loss(s, "window",
					"sliding_window %llu in layer %u: llama.cpp's %s has no "
					"such window",
					(unsigned long long)c->window, i,
					hf_architecture_name(c->architecture));
	}
	return 0;
}

static int check_no_rope(struct gguf_source *s, const struct hf_config *c,
			 const struct hf_config *said)
{
	for (uint32_t i = 0; i < c->n_layers; i++)
		if (c->layer_rope[i] != said->layer_rope[i])
			return gguf_source_loss(s, "no_rope_layers",
						"no_rope_layers: layer %u has %s rope, in "
						"llama.cpp it is otherwise",
						i, c->layer_rope[i] ? "a" : "no");
	return 0;
}

/* --- rope --- */

/* Whether A and B turn by the same angles, for all positions of the context. */
static bool same_angles(const struct hf_config *c, const struct hf_rope *a, const struct hf_rope *b)
{
	float one[LM_PAIRS_MAX], other[LM_PAIRS_MAX];
	double scale, other_scale;
	size_t n = lm_rope(a, c->head_dim, c->context, c->context, one, &scale);

	if (n != lm_rope(b, c->head_dim, c->context, c->context, other, &other_scale) ||
	    fabs(scale - other_scale) > 1e-6 * scale)
		return false;
	for (size_t i = 0; i < n; i++)
		if (fabs((double)one[i] - (double)other[i]) > 1e-6 * fabs((double)one[i]))
			return false;
	return true;
}

/* What llama.cpp does not read, or has code for in llama's graph alone. */
static const char *unread(const struct hf_config *c, const struct hf_rope *r)
{
	bool llama = c->architecture == HF_LLAMA || c->architecture == HF_MISTRAL;
	struct hf_rope plain = *r;

	if (r->partial != 1)
		return "a part of a head";
	if ((r->type == HF_ROPE_LLAMA3 || r->type == HF_ROPE_LONGROPE) && !llama)
		return "factors for each pair";
	plain.attention_factor = plain.beta_fast = plain.beta_slow = 0;
	plain.mscale = plain.mscale_all_dim = 0;
	plain.truncate = true;
	if (r->type == HF_ROPE_YARN && !same_angles(c, r, &plain))
		return "yarn with numbers of its own";
	return NULL;
}

static int check_rope(struct gguf_source *s, const struct hf_config *c,
		      const struct hf_config *said)
{
	const char *fault = unread(c, &c->rope[HF_FULL]);

	if (c->position != HF_POSITION_ROPE)
		return 0;
	/* Factors of another length than Llama 3's come from the tensor. */
	if (!fault && c->rope[HF_FULL].type != HF_ROPE_LLAMA3 &&
	    !same_angles(c, &c->rope[HF_FULL], &said->rope[HF_FULL]))
		fault = hf_rope_type_name(c->rope[HF_FULL].type);
	if (!fault && c->architecture == HF_GEMMA3 &&
	    !same_angles(c, &c->rope[HF_SLIDING], &said->rope[HF_SLIDING]))
		fault = "that of sliding layers";
	return fault ? gguf_source_loss(s, "rope", "rope_parameters: llama.cpp's %s cannot have %s",
					hf_architecture_name(said->architecture), fault)
		     : 0;
}

/* --- the whole --- */

int gguf_source_losses(struct gguf_source *s, const struct hf_config *c,
		       const struct hf_config *said)
{
	if (c->architecture != HF_BERT && !lm_has_head(c) &&
	    gguf_source_loss(s, "head", "it has no head, and llama.cpp would take the embedding") <
		    0)
		return -1;
	if (check_activation(s, c, said) < 0 || check_biases(s, c) < 0 ||
	    check_scores(s, c, said) < 0 || check_windows(s, c, said) < 0)
		return -1;
	return check_no_rope(s, c, said) < 0 ? -1 : check_rope(s, c, said);
}
