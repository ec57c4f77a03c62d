/*
 * formats/hf_defaults.c - what transformers takes for what config.json does not say
 *
 * Source: the configuration classes of transformers 4.56 and 5, which agree in these values.
 */
#include "formats/hf_parts.h"
#include "lib/base/err.h"

#define NO_ID (-1)

struct class_defaults {
	uint64_t vocab, hidden, ffn, context, window, types;
	uint32_t layers, heads, kv_heads, head_dim; /* 0: follows from others */
	enum hf_activation activation;
	double norm_eps, query_pre_attn_scalar;
	bool tied;
	int32_t bos, eos, pad;
};

static const struct class_defaults classes[HF_ARCHITECTURE_COUNT] = {
	[HF_LLAMA] = { .vocab = 32000,
		       .hidden = 4096,
		       .ffn = 11008,
		       .context = 2048,
		       .layers = 32,
		       .heads = 32,
		       .activation = HF_SILU,
		       .norm_eps = 1e-6,
		       .bos = 1,
		       .eos = 2,
		       .pad = NO_ID },
	[HF_MISTRAL] = { .vocab = 32000,
			 .hidden = 4096,
			 .ffn = 14336,
			 .context = 131072,
			 .window = 4096,
			 .layers = 32,
			 .heads = 32,
			 .kv_heads = 8,
			 .activation = HF_SILU,
			 .norm_eps = 1e-6,
			 .bos = 1,
			 .eos = 2,
			 .pad = NO_ID },
	[HF_QWEN2] = { .vocab = 151936,
		       .hidden = 4096,
		       .ffn = 22016,
		       .context = 32768,
		       .window = 4096,
		       .layers = 32,
		       .heads = 32,
		       .kv_heads = 32,
		       .activation = HF_SILU,
		       .norm_eps = 1e-6,
		       .bos = NO_ID,
		       .eos = NO_ID,
		       .pad = NO_ID },
	[HF_QWEN3] = { .vocab = 151936,
		       .hidden = 4096,
		       .ffn = 22016,
		       .context = 32768,
		       .window = 4096,
		       .layers = 32,
		       .heads = 32,
		       .kv_heads = 32,
		       .head_dim = 128,
		       .activation = HF_SILU,
		       .norm_eps = 1e-6,
		       .bos = NO_ID,
		       .eos = NO_ID,
		       .pad = NO_ID },
	[HF_GEMMA3] = { .vocab = 262208,
			.hidden = 2304,
			.ffn = 9216,
			.context = 131072,
			.window = 4096,
			.layers = 26,
			.heads = 8,
			.kv_heads = 4,
			.head_dim = 256,
			.activation = HF_GELU_TANH,
			.norm_eps = 1e-6,
			.query_pre_attn_scalar = 256,
			.tied = true,
			.bos = 2,
			.eos = 1,
			.pad = 0 },
	[HF_SMOLLM3] = { .vocab = 128256,
			 .hidden = 2048,
			 .ffn = 11008,
			 .context = 32768,
			 .layers = 36,
			 .heads = 16,
			 .kv_heads = 4,
			 .activation = HF_SILU,
			 .norm_eps = 1e-6,
			 .tied = true,
			 .bos = 128000,
			 .eos = 128001,
			 .pad = 128004 },
	[HF_GPT2] = { .vocab = 50257,
		      .hidden = 768,
		      .context = 1024,
		      .layers = 12,
		      .heads = 12,
		      .activation = HF_GELU_NEW,
		      .norm_eps = 1e-5,
		      .tied = true,
		      .bos = 50256,
		      .eos = 50256,
		      .pad = NO_ID },
	[HF_BERT] = { .vocab = 30522,
		      .hidden = 768,
		      .ffn = 3072,
		      .context = 512,
		      .types = 2,
		      .layers = 12,
		      .heads = 12,
		      .activation = HF_GELU,
		      .norm_eps = 1e-12,
		      .tied = true,
		      .bos = NO_ID,
		      .eos = NO_ID,
		      .pad = 0 },
};

double hf_default_theta(enum hf_architecture a, enum hf_attention kind)
{
	if (a == HF_SMOLLM3)
		return 2e6;
	return a == HF_GEMMA3 && kind == HF_FULL ? 1e6 : 1e4;
}

static int set_id(struct hf_ids *ids, int32_t id, struct arena *arena)
{
	uint32_t *value;

	*ids = (struct hf_ids){ .presence = HF_ABSENT };
	if (id == NO_ID)
		return 0;
	value = arena_alloc(arena, 1, sizeof *value);
	if (!value)
		return -1;
	*value = (uint32_t)id;
	ids->n = 1;
	ids->ids = value;
	return 0;
}

static void set_sizes(struct hf_config *c, const struct class_defaults *d)
{
	c->hidden_size = d->hidden;
	c->ffn_size = d->ffn;
	c->vocab_size = d->vocab;
	c->context = d->context;
	c->n_layers = d->layers;
	c->n_heads = d->heads;
	c->n_kv_heads = d->kv_heads;
	c->head_dim = d->head_dim;
	c->type_vocab_size = d->types;
	c->window_given = d->window;
}

/* What no key of this architecture says. */
static void set_implied(struct hf_config *c)
{
	bool learned = c->architecture == HF_GPT2 || c->architecture == HF_BERT;

	c->qkv_bias = learned || c->architecture == HF_QWEN2;
	c->out_bias = c->mlp_bias = learned;
	c->qk_norm = c->architecture == HF_QWEN3 || c->architecture == HF_GEMMA3;
	c->position = learned ? HF_POSITION_ABSOLUTE : HF_POSITION_ROPE;
	c->bidirectional = c->architecture == HF_BERT;
	c->scale_attention = true;
}

int hf_scalar_defaults(struct hf_config *c, enum hf_architecture a, struct arena *arena)
{
	const struct class_defaults *d = &classes[a];

	if (!hf_architecture_name(a))
		return err_set(ERR_ARGUMENT, "no architecture to take defaults of");
	*c = (struct hf_config){ .architecture = a };
	c->model_type = bytes_of(hf_model_type(a));
	set_sizes(c, d);
	set_implied(c);
	c->activation = d->activation;
	c->norm_eps = d->norm_eps;
	c->initializer_range = 0.02;
	c->tie_word_embeddings = d->tied;
	c->query_pre_attn_scalar = d->query_pre_attn_scalar;
	if (set_id(&c->bos, d->bos, arena) < 0 || set_id(&c->eos, d->eos, arena) < 0)
		return -1;
	return set_id(&c->pad, d->pad, arena);
}

int hf_derive_sizes(struct hf_config *c, const char *name)
{
	if (c->ffn_size == 0)
		c->ffn_size = 4 * c->hidden_size;
	if (c->n_kv_heads == 0)
		c->n_kv_heads = c->n_heads;
	if (c->head_dim != 0)
		return 0;
	if (c->hidden_size % c->n_heads != 0)
		return err_set(ERR_FORMAT, "%s: key %s: %llu is no multiple of %s, %u", name,
			       HF_KEY(c, hidden_size), (unsigned long long)c->hidden_size,
			       HF_KEY(c, n_heads), c->n_heads);
	/* Past 2^32 it would be past the limit as well, which hf_config_check tells. */
	c->head_dim = (uint32_t)(c->hidden_size / c->n_heads);
	return 0;
}

int hf_config_defaults(struct hf_config *c, enum hf_architecture a, struct arena *arena)
{
	struct hf_reader r = { .c = c, .arena = arena };

	if (hf_scalar_defaults(c, a, arena) < 0 || hf_derive_sizes(c, "defaults") < 0 ||
	    hf_read_layers(&r) < 0)
		return -1;
	return hf_read_ropes(&r);
}
