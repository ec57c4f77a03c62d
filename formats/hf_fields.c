/*
 * formats/hf_fields.c - the keys of config.json that are one value each
 *
 * A row a key: its spellings, for which architectures, its type and range. The keys that need more
 * than that are only named here.
 */
#include <float.h>
#include <stddef.h>

#include "formats/hf_parts.h"

/* --- the table of keys --- */

#define ONLY(a) (1u << (a))
#define WITH_ROPE                                                                         \
 (ONLY(HF_LLAMA) | ONLY(HF_MISTRAL) | ONLY(HF_QWEN2) | ONLY(HF_QWEN3) | ONLY(HF_GEMMA3) | \
  ONLY(HF_SMOLLM3))
#define GPT2 ONLY(HF_GPT2)
#define BERT ONLY(HF_BERT)
#define ALL  (WITH_ROPE | GPT2 | BERT)

enum field_kind {
	FIELD_U64,
	FIELD_U32,
	FIELD_REAL,
	FIELD_BOOL,
};

struct field {
	const char *key, *alias; /* the second spelling, or NULL */
	unsigned architectures;
	enum field_kind kind;
	size_t offset;
	bool nullable; /* null gives 0 or false; else it is an error */
	uint64_t high; /* of whole numbers, from 1 */
	double low;    /* of reals */
};

#define AT(member)     offsetof(struct hf_config, member)
#define SIZE(member)   FIELD_U64, AT(member), false, HF_SIZE_MAX - 1, 0
#define COUNT(member)  FIELD_U32, AT(member), false, HF_SIZE_MAX - 1, 0
#define COUNT0(member) FIELD_U32, AT(member), true, HF_SIZE_MAX - 1, 0
#define REAL(member)   FIELD_REAL, AT(member), false, 0, 0
#define ABOVE0(member) FIELD_REAL, AT(member), true, 0, DBL_MIN
#define FLAG(member)   FIELD_BOOL, AT(member), false, 0, 0

static const struct field fields[] = {
	{ "vocab_size", NULL, ALL, SIZE(vocab_size) },
	{ "hidden_size", NULL, ALL & ~GPT2, SIZE(hidden_size) },
	{ "n_embd", "hidden_size", GPT2, SIZE(hidden_size) },
	{ "intermediate_size", NULL, ALL & ~GPT2, SIZE(ffn_size) },
	{ "n_inner", NULL, GPT2, FIELD_U64, AT(ffn_size), true, HF_SIZE_MAX - 1, 0 },
	{ "num_hidden_layers", NULL, ALL & ~GPT2, COUNT(n_layers) },
	{ "n_layer", "num_hidden_layers", GPT2, COUNT(n_layers) },
	{ "num_attention_heads", NULL, ALL & ~GPT2, COUNT(n_heads) },
	{ "n_head", "num_attention_heads", GPT2, COUNT(n_heads) },
	{ "num_key_value_heads", NULL, WITH_ROPE, COUNT0(n_kv_heads) },
	{ "head_dim", NULL, WITH_ROPE, COUNT0(head_dim) },
	{ "max_position_embeddings", NULL, ALL & ~GPT2, SIZE(context) },
	{ "n_positions", "max_position_embeddings", GPT2, SIZE(context) },
	{ "rms_norm_eps", NULL, WITH_ROPE, REAL(norm_eps) },
	{ "layer_norm_epsilon", NULL, GPT2, REAL(norm_eps) },
	{ "layer_norm_eps", NULL, BERT, REAL(norm_eps) },
	{ "initializer_range", NULL, ALL, REAL(initializer_range) },
	{ "tie_word_embeddings", NULL, ALL, FLAG(tie_word_embeddings) },
	{ "attention_bias", NULL,
	  ONLY(HF_LLAMA) | ONLY(HF_QWEN3) | ONLY(HF_GEMMA3) | ONLY(HF_SMOLLM3), FLAG(qkv_bias) },
	{ "mlp_bias", NULL, ONLY(HF_LLAMA) | ONLY(HF_SMOLLM3), FLAG(mlp_bias) },
	{ "type_vocab_size", NULL, BERT, SIZE(type_vocab_size) },
	{ "query_pre_attn_scalar", NULL, ONLY(HF_GEMMA3), FIELD_REAL, AT(query_pre_attn_scalar),
	  false, 0, DBL_MIN },
	{ "attn_logit_softcapping", NULL, ONLY(HF_GEMMA3), ABOVE0(attn_soft_cap) },
	{ "final_logit_softcapping", NULL, ONLY(HF_GEMMA3), ABOVE0(final_soft_cap) },
	{ "use_bidirectional_attention", NULL, ONLY(HF_GEMMA3), FIELD_BOOL, AT(bidirectional), true,
	  0, 0 },
	{ "scale_attn_weights", NULL, GPT2, FLAG(scale_attention) },
	{ "scale_attn_by_inverse_layer_idx", NULL, GPT2, FLAG(scale_by_layer) },
};

#define N_FIELDS (sizeof fields / sizeof *fields)

/* The keys that are read elsewhere than by the table, and written again. */
static const struct {
	const char *key;
	unsigned architectures;
} others[] = {
	{ "model_type", ALL },
	{ "architectures", ALL },
	{ "torch_dtype", ALL },
	{ "dtype", ALL },
	{ "bos_token_id", ALL },
	{ "eos_token_id", ALL },
	{ "pad_token_id", ALL },
	{ "hidden_act", ALL & ~(GPT2 | ONLY(HF_GEMMA3)) },
	{ "hidden_activation", ONLY(HF_GEMMA3) },
	{ "activation_function", GPT2 },
	{ "is_decoder", BERT },
	{ "position_embedding_type", BERT },
	{ "rope_parameters", WITH_ROPE },
	{ "rope_theta", WITH_ROPE },
	{ "rope_scaling", WITH_ROPE },
	{ "partial_rotary_factor", WITH_ROPE },
	{ "original_max_position_embeddings", WITH_ROPE },
	{ "rope_local_base_freq", ONLY(HF_GEMMA3) },
	{ "layer_types", WITH_ROPE },
	{ "sliding_window", WITH_ROPE & ~ONLY(HF_LLAMA) },
	{ "use_sliding_window", ONLY(HF_QWEN2) | ONLY(HF_QWEN3) | ONLY(HF_SMOLLM3) },
	{ "max_window_layers", ONLY(HF_QWEN2) | ONLY(HF_QWEN3) },
	{ "sliding_window_pattern", ONLY(HF_GEMMA3) },
	{ "no_rope_layers", ONLY(HF_SMOLLM3) },
};

bool hf_key_known(enum hf_architecture a, struct bytes key)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if ((fields[i].architectures & ONLY(a)) &&
		    (bytes_are(key, fields[i].key) ||
		     (fields[i].alias && bytes_are(key, fields[i].alias))))
			return true;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if ((others[i].architectures & ONLY(a)) && bytes_are(key, others[i].key))
			return true;
	return false;
}

const char *hf_key_of(enum hf_architecture a, size_t offset)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if ((fields[i].architectures & ONLY(a)) && fields[i].offset == offset)
			return fields[i].key;
	return "size";
}

/* --- reading by the table --- */

const cJSON *hf_find(const struct hf_reader *r, const char *key)
{
	const cJSON *v = r->object ? json_tree_find(r->tree, r->object, key) : NULL;

	return v || !r->outer ? v : json_tree_find(r->tree, r->outer, key);
}

const cJSON *hf_find_given(const struct hf_reader *r, const char *key)
{
	const cJSON *v = hf_find(r, key);

	return v && cJSON_IsNull(v) ? NULL : v;
}

int hf_agree(const struct hf_reader *r, const cJSON *v, const cJSON *other, const char *path)
{
	bool same;

	if (cJSON_IsNumber(v) && cJSON_IsNumber(other))
		same = v->valuedouble == other->valuedouble;
	else
		same = cJSON_Compare(v, other, true);
	if (same)
		return 0;
	return json_tree_fail(r->tree, v, ERR_MISMATCH, "is unlike %s, which should say the same",
			      path);
}

static int store_whole(const struct hf_reader *r, const struct field *f, const cJSON *v)
{
	char *at = (char *)r->c + f->offset;
	uint64_t n;

	if (json_tree_as_u64(r->tree, v, &n) < 0)
		return -1;
	if (n < 1 || n > f->high)
		return json_tree_fail(r->tree, v, ERR_FORMAT, "is %llu, must be from 1 to %llu",
				      (unsigned long long)n, (unsigned long long)f->high);
	if (f->kind == FIELD_U64)
		*(uint64_t *)at = n;
	else
		*(uint32_t *)at = (uint32_t)n;
	return 0;
}

static int store_real(const struct hf_reader *r, const struct field *f, const cJSON *v)
{
	double x;

	if (json_tree_as_f64(r->tree, v, &x) < 0)
		return -1;
	if (x < f->low)
		return json_tree_fail(r->tree, v, ERR_FORMAT, "is %g, must be %s", x,
				      f->low > 0 ? "above 0" : "at least 0");
	*(double *)((char *)r->c + f->offset) = x;
	return 0;
}

static int store_null(const struct hf_reader *r, const struct field *f, const cJSON *v)
{
	char *at = (char *)r->c + f->offset;

	if (!f->nullable)
		return json_tree_fail(r->tree, v, ERR_FORMAT, "is null");
	switch (f->kind) {
	case FIELD_U64: *(uint64_t *)at = 0; break;
	case FIELD_U32: *(uint32_t *)at = 0; break;
	case FIELD_REAL: *(double *)at = 0; break;
	case FIELD_BOOL: *(bool *)at = false; break;
	}
	return 0;
}

static int read_field(const struct hf_reader *r, const struct field *f)
{
	const cJSON *v = hf_find(r, f->key), *alias = f->alias ? hf_find(r, f->alias) : NULL;

	if (v && alias && hf_agree(r, alias, v, f->key) < 0)
		return -1;
	if (!v)
		v = alias;
	if (!v)
		return 0;
	if (cJSON_IsNull(v))
		return store_null(r, f, v);
	switch (f->kind) {
	case FIELD_U64:
	case FIELD_U32: return store_whole(r, f, v);
	case FIELD_REAL: return store_real(r, f, v);
	default: return json_tree_as_bool(r->tree, v, (bool *)((char *)r->c + f->offset));
	}
}

int hf_read_fields(const struct hf_reader *r)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if ((fields[i].architectures & ONLY(r->c->architecture)) &&
		    read_field(r, &fields[i]) < 0)
			return -1;
	/* attention_bias says it of all four; qwen2's own is of q, k and v alone. */
	if (r->c->architecture != HF_QWEN2)
		r->c->out_bias = r->c->qkv_bias;
	return 0;
}
