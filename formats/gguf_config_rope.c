/*
 * formats/gguf_config_rope.c - positions and windows of a GGUF's model
 *
 * What llama.cpp's loader knows without a key is said here: gemma3 slides in five of six layers,
 * whose base is 10000; smollm3 has no rope in every fourth layer. The factors of Llama 3's rope are
 * in a file as a tensor alone (rope_freqs.weight), so its numbers are found by trying them.
 */
#include "formats/gguf_config_parts.h"
#include "formats/gguf_config_write.h"

#include <inttypes.h>
#include <math.h>

#define GEMMA3_PATTERN	  6
#define GEMMA3_27B_LAYERS 62 /* llama.cpp tells the model by them; its scale is another */
#define NO_ROPE_INTERVAL  4
#define THETA		  10000.0
#define FREQUENCIES	  "rope_freqs.weight"

/* --- layers --- */

static int alloc_layers(const struct config_reader *r, uint8_t **kinds, bool **ropes)
{
	*kinds = arena_alloc(r->arena, r->c->n_layers, sizeof(**kinds));
	*ropes = arena_alloc(r->arena, r->c->n_layers, sizeof(**ropes));
	return *kinds && *ropes ? 0 : -1;
}

/* A period, or a bool for each layer: whether it slides. */
static int read_pattern(const struct config_reader *r, uint8_t *kinds)
{
	static const char suffix[] = "attention.sliding_window_pattern";
	char key[CONFIG_KEY_SIZE];
	const struct gguf_value *v = gguf_get(r->gguf, config_key(r, suffix, key));
	uint64_t period = GEMMA3_PATTERN;
	struct gguf_value item;
	struct gguf_items it;

	if (!v || v->type != GGUF_ARRAY) {
		if (config_u64(r, suffix, HF_LAYERS_MAX, &period) < 0)
			return -1;
		for (uint32_t i = 0; i < r->c->n_layers; i++)
			kinds[i] = (i + 1) % period ? HF_SLIDING : HF_FULL;
		return 0;
	}
	if (v->item_type != GGUF_BOOL || v->n != r->c->n_layers)
		return config_fail(r, ERR_FORMAT, suffix,
				   "is %" PRIu64 " items of %s, not a bool for each of %" PRIu32
				   " layers",
				   v->n, gguf_type_name(v->item_type), r->c->n_layers);
	gguf_items(&it, v);
	for (uint32_t i = 0; gguf_items_next(&it, &item); i++)
		kinds[i] = gguf_value_u64(&item) ? HF_SLIDING : HF_FULL;
	return 0;
}

static int read_window(const struct config_reader *r, uint8_t *kinds)
{
	struct hf_config *c = r->c;
	uint64_t window = 0;

	/* A LLaMA whose layers slide is a Mistral; both are `llama` in GGUF. */
	if (c->architecture != HF_GEMMA3 && c->architecture != HF_LLAMA)
		return 0;
	if (config_u64(r, "attention.sliding_window", HF_SIZE_MAX - 1, &window) < 0)
		return -1;
	if (window == 0)
		return 0;
	c->window = c->window_given = window;
	if (c->architecture == HF_GEMMA3)
		return read_pattern(r, kinds);
	c->architecture = HF_MISTRAL;
	c->model_type = bytes_of(hf_architecture_name(HF_MISTRAL));
	for (uint32_t i = 0; i < c->n_layers; i++)
		kinds[i] = HF_SLIDING;
	return 0;
}

static int read_soft_cap(const struct config_reader *r)
{
	struct hf_config *c = r->c;

	if (c->architecture != HF_GEMMA3)
		return 0;
	c->query_pre_attn_scalar = c->n_layers == GEMMA3_27B_LAYERS
					   ? (double)c->hidden_size / c->n_heads
					   : c->head_dim;
	return config_real(r, "final_logit_softcapping", &c->final_soft_cap) < 0 ? -1 : 0;
}

static int read_causal(const struct config_reader *r)
{
	char key[CONFIG_KEY_SIZE];
	bool causal = !r->c->bidirectional;

	if (gguf_get_bool(r->gguf, config_key(r, "attention.causal", key), &causal) < 0)
		return -1;
	if (!causal && r->c->architecture != HF_BERT)
		return config_fail(r, ERR_UNSUPPORTED, "attention.causal",
				   "is false, which is supported for bert alone");
	r->c->bidirectional = !causal;
	return 0;
}

int config_read_attention(const struct config_reader *r)
{
	struct hf_config *c = r->c;
	uint8_t *kinds;
	bool *ropes;

	if (alloc_layers(r, &kinds, &ropes))
		return -1;
	c->window = c->window_given = 0;
	for (uint32_t i = 0; i < c->n_layers; i++) {
		kinds[i] = HF_FULL;
		ropes[i] = c->position == HF_POSITION_ROPE &&
			   !(c->architecture == HF_SMOLLM3 && (i + 1) % NO_ROPE_INTERVAL == 0);
	}
	c->layer_attention = kinds;
	c->layer_rope = ropes;
	if (read_window(r, kinds) || read_soft_cap(r))
		return -1;
	return read_causal(r);
}

/* --- rope --- */

static int read_partial(const struct config_reader *r, struct hf_rope *rope)
{
	uint64_t rotated = r->c->head_dim;

	if (config_u64(r, "rope.dimension_count", HF_HEAD_DIM_MAX, &rotated) < 0)
		return -1;
	if (rotated > r->c->head_dim)
		return config_fail(r, ERR_FORMAT, "rope.dimension_count",
				   "is %" PRIu64 ", of %" PRIu32 " dimensions", rotated,
				   r->c->head_dim);
	rope->partial = (double)rotated / r->c->head_dim;
	return 0;
}

/* The values of a vector of f32. */
static int read_factors(const struct config_reader *r, const char *name, const double **out,
			uint32_t *n)
{
	const struct tensor_info *t = config_tensor(r, -1, name);
	double *values;

	if (!t)
		return err_set(ERR_MISSING, "%s: tensor %s: is missing", r->file, name);
	if (t->dtype != DTYPE_F32 || t->n_dims != 1 || t->n_elements > HF_HEAD_DIM_MAX)
		return err_set(ERR_FORMAT, "%s: tensor %s: must be a short vector of f32", r->file,
			       name);
	*n = (uint32_t)t->n_elements;
	values = arena_alloc(r->arena, *n, sizeof(*values));
	if (!values)
		return -1;
	for (uint32_t i = 0; i < *n; i++) {
		float v;

		dtype_to_f32(DTYPE_F32, t->data + 4 * (size_t)i, &v, 1);
		values[i] = v;
	}
	*out = values;
	return 0;
}

double gguf_llama3_factor(const struct hf_rope *rope, uint32_t i, uint32_t pairs)
{
	double length = 2 * acos(-1) * pow(rope->theta, (double)i / pairs);
	double smooth = (rope->original_context / length - rope->low_freq_factor) /
			(rope->high_freq_factor - rope->low_freq_factor);

	if (smooth > 1)
		return 1;
	return smooth < 0 ? rope->factor : 1 / ((1 - smooth) / rope->factor + smooth);
}

/* Whether the tensor has ROPE's factors. */
static int check_llama3(const struct config_reader *r, const struct hf_rope *rope)
{
	static const char name[] = FREQUENCIES;
	const double *factors;
	uint32_t pairs;

	if (read_factors(r, name, &factors, &pairs))
		return -1;
	if (pairs == 0 || 2 * (uint64_t)pairs != (uint64_t)lround(rope->partial * r->c->head_dim))
		return err_set(ERR_MISMATCH,
			       "%s: tensor %s: has %" PRIu32 " values for %" PRIu32 " dimensions",
			       r->file, name, pairs, r->c->head_dim);
	for (uint32_t i = 0; i < pairs; i++) {
		double want = gguf_llama3_factor(rope, i, pairs);

		if (!(fabs(factors[i] - want) <= 1e-4 * want))
			return err_set(ERR_UNSUPPORTED,
				       "%s: tensor %s: value %" PRIu32
				       " is %g, not one of Llama 3's, %g",
				       r->file, name, i, factors[i], want);
	}
	return 0;
}

/* All of Meta's models have 1, 4 and 8192 beside their factor, which the slowest pair shows. */
static int read_llama3(const struct config_reader *r, struct hf_rope *rope)
{
	const double *factors;
	uint32_t pairs;

	if (read_factors(r, FREQUENCIES, &factors, &pairs))
		return -1;
	rope->type = HF_ROPE_LLAMA3;
	rope->factor = pairs ? factors[pairs - 1] : 1;
	rope->low_freq_factor = 1;
	rope->high_freq_factor = 4;
	rope->original_context = 8192;
	if (check_llama3(r, rope) == 0)
		return 0;
	/* Other numbers come with the rest, and are held against the tensor then. */
	if (!r->rest_follows || err_last() != ERR_UNSUPPORTED)
		return -1;
	*rope = (struct hf_rope){ .type = HF_ROPE_DEFAULT,
				  .theta = rope->theta,
				  .partial = rope->partial,
				  .truncate = true };
	return 0;
}

int config_check_llama3(const struct config_reader *r)
{
	const struct hf_rope *rope = &r->c->rope[HF_FULL];
	bool there = config_tensor(r, -1, FREQUENCIES) != NULL;

	if (there != (rope->type == HF_ROPE_LLAMA3))
		return err_set(ERR_MISMATCH,
			       "%s: key " GGUF_CONFIG_REST
			       ": its rope does not go with tensor " FREQUENCIES,
			       r->file);
	if (!there || check_llama3(r, rope) == 0)
		return 0;
	return err_set(ERR_MISMATCH, "%s; " GGUF_CONFIG_REST " says otherwise", err_text());
}

static int read_yarn(const struct config_reader *r, struct hf_rope *rope)
{
	rope->type = HF_ROPE_YARN;
	rope->original_context = (double)r->c->context;
	if (config_real(r, "rope.scaling.original_context_length", &rope->original_context) < 0 ||
	    config_real(r, "rope.scaling.yarn_attn_factor", &rope->attention_factor) < 0 ||
	    config_real(r, "rope.scaling.yarn_beta_fast", &rope->beta_fast) < 0 ||
	    config_real(r, "rope.scaling.yarn_beta_slow", &rope->beta_slow) < 0)
		return -1;
	return 0;
}

static int read_longrope(const struct config_reader *r, struct hf_rope *rope)
{
	rope->type = HF_ROPE_LONGROPE;
	rope->original_context = (double)r->c->context;
	if (config_real(r, "rope.scaling.original_context_length", &rope->original_context) < 0 ||
	    config_real(r, "rope.scaling.attn_factor", &rope->attention_factor) < 0 ||
	    read_factors(r, "rope_factors_short.weight", &rope->short_factor,
			 &rope->n_short_factors))
		return -1;
	return read_factors(r, "rope_factors_long.weight", &rope->long_factor,
			    &rope->n_long_factors);
}

static int read_scaling(const struct config_reader *r, struct hf_rope *rope)
{
	struct bytes type = bytes_of("linear");
	char key[CONFIG_KEY_SIZE];
	int got = gguf_get_string(r->gguf, config_key(r, "rope.scaling.type", key), &type);

	if (got < 0 || config_real(r, "rope.scaling.factor", &rope->factor) < 0)
		return -1;
	if (rope->factor == 0 && config_real(r, "rope.scale_linear", &rope->factor) < 0)
		return -1;
	if (bytes_are(type, "yarn"))
		return read_yarn(r, rope);
	if (bytes_are(type, "longrope"))
		return read_longrope(r, rope);
	if (!bytes_are(type, "none") && !bytes_are(type, "linear"))
		return config_fail(r, ERR_UNSUPPORTED, "rope.scaling.type",
				   BYTES_FMT " is not supported", BYTES_ARG(type));
	if (bytes_are(type, "none") || rope->factor == 0 || rope->factor == 1)
		rope->factor = 0;
	else
		rope->type = HF_ROPE_LINEAR;
	if (!config_tensor(r, -1, FREQUENCIES))
		return 0;
	if (rope->type != HF_ROPE_DEFAULT)
		return config_fail(r, ERR_UNSUPPORTED, "rope.scaling.factor",
				   "is %g, beside a tensor rope_freqs.weight", rope->factor);
	return read_llama3(r, rope);
}

int config_read_rope(const struct config_reader *r)
{
	struct hf_rope *full = &r->c->rope[HF_FULL], *sliding = &r->c->rope[HF_SLIDING];

	if (r->c->position != HF_POSITION_ROPE)
		return 0;
	*full = (struct hf_rope){
		.type = HF_ROPE_DEFAULT, .theta = THETA, .partial = 1, .truncate = true
	};
	if (config_real(r, "rope.freq_base", &full->theta) < 0 || read_partial(r, full) ||
	    read_scaling(r, full))
		return -1;
	*sliding = *full;
	if (r->c->architecture != HF_GEMMA3)
		return 0;
	*sliding = (struct hf_rope){
		.type = HF_ROPE_DEFAULT, .theta = THETA, .partial = full->partial, .truncate = true
	};
	return config_real(r, "rope.freq_base_swa", &sliding->theta) < 0 ? -1 : 0;
}
