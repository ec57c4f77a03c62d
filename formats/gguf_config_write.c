/*
 * formats/gguf_config_write.c - a configuration as the keys of a GGUF
 *
 * Names and order: gguf-py's constants.py and llama.cpp's converter.
 */
#include "formats/gguf_config_write.h"

#include "formats/gguf_config_parts.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/err.h"
#define GEMMA3_PATTERN 6 /* llama.cpp's own */

struct putter {
	struct gguf_writer *w;
	const struct hf_config *c;
	const char *arch;
	char key[128];
};

static const char *key(struct putter *p, const char *suffix)
{
	snprintf(p->key, sizeof(p->key), "%s.%s", p->arch, suffix);
	return p->key;
}

/* Sizes are below 2^31 (HF_SIZE_MAX). */
static void put_u32(struct putter *p, const char *suffix, uint64_t v)
{
	gguf_put_u32(p->w, key(p, suffix), (uint32_t)v);
}

static void put_real(struct putter *p, const char *suffix, double v)
{
	gguf_put_f32(p->w, key(p, suffix), (float)v);
}

static void put_real_given(struct putter *p, const char *suffix, double v)
{
	if (v > 0)
		put_real(p, suffix, v);
}

const char *gguf_architecture(const struct hf_config *c)
{
	if (c->architecture == HF_MISTRAL)
		return "llama";
	return c->architecture == HF_UNKNOWN ? NULL : hf_architecture_name(c->architecture);
}

static void put_sizes(struct putter *p)
{
	const struct hf_config *c = p->c;

	put_u32(p, "vocab_size", c->vocab_size);
	put_u32(p, "context_length", c->context);
	put_u32(p, "embedding_length", c->hidden_size);
	put_u32(p, "block_count", c->n_layers);
	put_u32(p, "feed_forward_length", c->ffn_size);
	put_u32(p, "attention.head_count", c->n_heads);
	if (c->position != HF_POSITION_ROPE)
		return;
	put_u32(p, "attention.head_count_kv", c->n_kv_heads);
	put_u32(p, "attention.key_length", c->head_dim);
	put_u32(p, "attention.value_length", c->head_dim);
}

/* --- windows --- */

/* The period of gemma3's full layers; 0: there is none. */
static uint32_t full_period(const struct hf_config *c)
{
	for (uint32_t period = 1; period <= c->n_layers + 1; period++) {
		uint32_t i = 0;

		while (i < c->n_layers &&
		       (c->layer_attention[i] == HF_SLIDING) == ((i + 1) % period != 0))
			i++;
		if (i == c->n_layers)
			return period;
	}
	return 0;
}

static bool has_period(const struct hf_config *c, uint32_t period)
{
	for (uint32_t i = 0; i < c->n_layers; i++)
		if ((c->layer_attention[i] == HF_SLIDING) != ((i + 1) % period != 0))
			return false;
	return true;
}

static int put_pattern(struct putter *p)
{
	static const char suffix[] = "attention.sliding_window_pattern";
	const struct hf_config *c = p->c;
	uint32_t period = full_period(c);
	struct buffer slides = { 0 };

	if (has_period(c, GEMMA3_PATTERN))
		return 0;
	if (period) {
		put_u32(p, suffix, period);
		return 0;
	}
	for (uint32_t i = 0; i < c->n_layers; i++)
		buffer_put_u8(&slides, c->layer_attention[i] == HF_SLIDING);
	if (buffer_check(&slides) == 0)
		gguf_put_array(p->w, key(p, suffix), GGUF_BOOL, c->n_layers, slides.data);
	period = !!slides.failed;
	buffer_free(&slides);
	return period ? -1 : 0;
}

static int put_window(struct putter *p)
{
	const struct hf_config *c = p->c;
	bool mistral = c->architecture == HF_MISTRAL && c->window;

	if (mistral || (c->architecture == HF_GEMMA3 && c->window_given))
		put_u32(p, "attention.sliding_window", c->window_given);
	return c->architecture == HF_GEMMA3 && c->window_given ? put_pattern(p) : 0;
}

/* --- rope --- */

/* Where it is not given the two contexts say it. */
static double factor_of(const struct hf_config *c, const struct hf_rope *r)
{
	return r->factor > 0		 ? r->factor
	       : r->original_context > 0 ? (double)c->context / r->original_context
					 : 1;
}

/* Of sine and cosine: Ding et al. 2024, as transformers has it. */
static double longrope_scale(const struct hf_config *c, const struct hf_rope *r)
{
	double factor = factor_of(c, r);

	if (r->attention_factor > 0)
		return r->attention_factor;
	return factor <= 1 ? 1 : sqrt(1 + log(factor) / log(r->original_context));
}

static void put_scaling(struct putter *p, const struct hf_rope *r)
{
	const char *type = r->type == HF_ROPE_LINEAR	 ? "linear"
			   : r->type == HF_ROPE_YARN	 ? "yarn"
			   : r->type == HF_ROPE_LONGROPE ? "longrope"
							 : NULL;

	/* llama3's are a tensor; dynamic has no word there. */
	if (!type)
		return;
	gguf_put_string(p->w, key(p, "rope.scaling.type"), bytes_of(type));
	/* llama.cpp would divide longrope's frequencies by it, beside the factors of each pair. */
	if (r->type != HF_ROPE_LONGROPE)
		put_real_given(p, "rope.scaling.factor", factor_of(p->c, r));
	if (r->type == HF_ROPE_LINEAR)
		return;
	if (r->original_context > 0)
		put_u32(p, "rope.scaling.original_context_length",
			(uint64_t)llround(r->original_context));
	if (r->type == HF_ROPE_LONGROPE) {
		put_real(p, "rope.scaling.attn_factor", longrope_scale(p->c, r));
		return;
	}
	put_real_given(p, "rope.scaling.yarn_attn_factor", r->attention_factor);
	put_real_given(p, "rope.scaling.yarn_beta_fast", r->beta_fast);
	put_real_given(p, "rope.scaling.yarn_beta_slow", r->beta_slow);
}

static void put_rope(struct putter *p)
{
	const struct hf_config *c = p->c;
	const struct hf_rope *r = &c->rope[HF_FULL];

	if (c->position != HF_POSITION_ROPE)
		return;
	put_u32(p, "rope.dimension_count", (uint64_t)llround(r->partial * c->head_dim));
	put_real(p, "rope.freq_base", r->theta);
	if (c->architecture == HF_GEMMA3)
		put_real(p, "rope.freq_base_swa", c->rope[HF_SLIDING].theta);
	put_scaling(p, r);
}

/* --- the whole --- */

static void put_own(struct putter *p)
{
	const struct hf_config *c = p->c;

	if (c->architecture == HF_GEMMA3 && c->final_soft_cap > 0)
		put_real(p, "final_logit_softcapping", c->final_soft_cap);
	if (c->architecture != HF_BERT)
		return;
	gguf_put_bool(p->w, key(p, "attention.causal"), !c->bidirectional);
	put_u32(p, "pooling_type", 0); /* none: every token's vector */
	gguf_put_u32(p->w, "tokenizer.ggml.token_type_count", (uint32_t)c->type_vocab_size);
}

int gguf_config_put(struct gguf_writer *w, const struct hf_config *c)
{
	struct putter p = { .w = w, .c = c, .arch = gguf_architecture(c) };

	if (!p.arch)
		return err_set(ERR_UNSUPPORTED, "GGUF has no architecture " BYTES_FMT,
			       BYTES_ARG(c->model_type));
	put_sizes(&p);
	put_real(&p,
		 c->position == HF_POSITION_ROPE ? "attention.layer_norm_rms_epsilon"
						 : "attention.layer_norm_epsilon",
		 c->norm_eps);
	put_rope(&p);
	put_own(&p);
	return put_window(&p);
}

/* --- tensors of a rope --- */

static int add_vector(struct arena *arena, struct tensor_info *out, const char *name,
		      const double *values, uint32_t n)
{
	float *data = arena_alloc(arena, n, sizeof(*data));

	if (!data)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		data[i] = (float)values[i];
	*out = (struct tensor_info){
		.name = bytes_of(name),
		.dtype = DTYPE_F32,
		.dtype_name = bytes_of(dtype_name(DTYPE_F32)),
		.n_dims = 1,
		.shape = { n },
		.n_elements = n,
		.data = (const unsigned char *)data,
		.n_bytes = n * sizeof(*data),
	};
	return 0;
}

int gguf_config_rope_tensors(const struct hf_config *c, struct arena *arena,
			     struct tensor_info out[GGUF_ROPE_TENSORS], size_t *n)
{
	const struct hf_rope *r = &c->rope[HF_FULL];
	uint32_t pairs = (uint32_t)lround(r->partial * c->head_dim) / 2;
	double *factors;

	*n = 0;
	if (c->position != HF_POSITION_ROPE)
		return 0;
	if (r->type == HF_ROPE_LLAMA3) {
		*n = 1;
		factors = arena_alloc(arena, pairs, sizeof(*factors));
		for (uint32_t i = 0; factors && i < pairs; i++)
			factors[i] = gguf_llama3_factor(r, i, pairs);
		return factors ? add_vector(arena, &out[0], "rope_freqs.weight", factors, pairs)
			       : -1;
	}
	if (r->type != HF_ROPE_LONGROPE)
		return 0;
	*n = 2;
	if (add_vector(arena, &out[0], "rope_factors_long.weight", r->long_factor,
		       r->n_long_factors) < 0)
		return -1;
	return add_vector(arena, &out[1], "rope_factors_short.weight", r->short_factor,
			  r->n_short_factors);
}
