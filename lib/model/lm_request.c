/* lib/model/lm_request.c - what a person asks of a new language model, made into a configuration */

#include "lib/model/lm_request.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"

#define CONTEXT	   1024
#define VOCABULARY 32000
#define GEMMA3_WINDOW \
 512 /* of Gemma 3 270M and 1B; the class's 4,096 is larger than small contexts */

static const struct hf_ids no_ids = { .presence = HF_NULL };

/* --- from a file --- */

static bool of_the_weights(struct bytes key)
{
	static const char *const keys[] = { "quantization_config", "auto_map", "_name_or_path",
					    "transformers_version" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (bytes_are(key, keys[i]))
			return true;
	return false;
}

static int keep_others(struct hf_config *c, struct arena *arena)
{
	struct hf_other *kept = arena_alloc(arena, (size_t)c->n_others + 1, sizeof(*kept));
	uint32_t n = 0;

	if (!kept)
		return -1;
	/* Of a model around this one the keys are not this one's. */
	for (uint32_t i = 0; i < c->n_others && !c->nested; i++)
		if (!of_the_weights(c->others[i].key))
			kept[n++] = c->others[i];
	c->others = kept;
	c->n_others = n;
	return 0;
}

static int from_file(struct hf_config *c, struct arena *arena, const struct lm_request *r)
{
	if (hf_config_read(c, arena, r->config) < 0 || keep_others(c, arena) < 0)
		return -1;
	if (r->architecture && r->architecture != c->architecture)
		return err_set(ERR_ARGUMENT, "%s: is a %s, not a %s", r->config,
			       hf_architecture_name(c->architecture),
			       hf_architecture_name(r->architecture));
	c->nested = false;
	return 0;
}

/* --- from nothing --- */

static void set_window(struct hf_config *c, uint64_t window)
{
	c->window_given = window;
	c->window = c->bidirectional ? window / 2 + 1 : window;
}

static int from_defaults(struct hf_config *c, struct arena *arena, const struct lm_request *r)
{
	enum hf_architecture a = r->architecture ? r->architecture : HF_LLAMA;
	uint8_t *full;

	if (hf_config_defaults(c, a, arena) < 0)
		return -1;
	c->context = r->preset ? r->preset->context : CONTEXT;
	c->vocab_size = r->preset ? r->preset->vocabulary : VOCABULARY;
	c->tie_word_embeddings = true;
	c->bos = c->eos = c->pad = no_ids;
	c->window_given = c->window = 0;
	if (a == HF_GEMMA3) {
		set_window(c, GEMMA3_WINDOW);
		return 0;
	}
	full = arena_alloc(arena, c->n_layers, sizeof(*full));
	if (!full)
		return -1;
	memset(full, HF_FULL, c->n_layers);
	c->layer_attention = full;
	return 0;
}

/* --- what is given beside --- */

static int change_window(struct hf_config *c, struct arena *arena, uint64_t window)
{
	uint8_t *kinds = arena_alloc(arena, c->n_layers, sizeof(*kinds));

	if (!kinds)
		return -1;
	if (c->architecture != HF_MISTRAL && c->architecture != HF_GEMMA3)
		return err_set(ERR_ARGUMENT, "a window is of mistral and gemma3, not of %s",
			       hf_architecture_name(c->architecture));
	set_window(c, window);
	if (c->architecture == HF_MISTRAL) {
		memset(kinds, HF_SLIDING, c->n_layers);
		c->layer_attention = kinds;
	}
	return 0;
}

static int change_theta(struct hf_config *c, double theta)
{
	if (c->position != HF_POSITION_ROPE)
		return err_set(ERR_ARGUMENT, "%s has no rope, and so no theta of it",
			       hf_architecture_name(c->architecture));
	c->rope[HF_FULL].theta = theta;
	if (c->architecture != HF_GEMMA3)
		c->rope[HF_SLIDING].theta = theta;
	return 0;
}

static int change_others(struct hf_config *c, struct arena *arena, const struct lm_request *r)
{
	if (r->vocabulary)
		c->vocab_size = r->vocabulary;
	if (r->context)
		c->context = r->context;
	if (r->tie != STATE_NULL)
		c->tie_word_embeddings = r->tie == STATE_TRUE;
	if (r->initializer_range > 0)
		c->initializer_range = r->initializer_range;
	if (r->norm_eps > 0)
		c->norm_eps = r->norm_eps;
	if (r->window && change_window(c, arena, r->window) < 0)
		return -1;
	return r->rope_theta > 0 ? change_theta(c, r->rope_theta) : 0;
}

/* What the request gives, and what of C it leaves as it is. */
static struct lm_shape shape_of(const struct lm_request *r, const struct hf_config *c)
{
	struct lm_shape s = r->shape, old = { 0 };

	if (r->config && !r->parameters)
		old = lm_shape_of(c);
	if (r->preset)
		old = (struct lm_shape){ .layers = r->preset->layers, .width = r->preset->width };
	s.layers = s.layers ? s.layers : old.layers;
	if (!s.width) {
		s.width = old.width;
		s.ffn = s.ffn ? s.ffn : old.ffn;
		if (!s.heads) {
			s.heads = old.heads;
			s.head_dim = s.head_dim ? s.head_dim : old.head_dim;
			s.kv_heads = s.kv_heads ? s.kv_heads : old.kv_heads;
		}
	}
	return s;
}

static int check_request(const struct lm_request *r, const struct lm_shape *s)
{
	if ((r->config != NULL) + (r->preset != NULL) > 1 || (r->preset && r->parameters))
		return err_set(ERR_ARGUMENT, "a preset goes with no file and no number of "
					     "parameters");
	if (r->parameters || (s->layers && s->width))
		return 0;
	return err_set(ERR_ARGUMENT, "layers and width are missing: give them, a number of "
				     "parameters, a preset or a file");
}

static int change_shape(struct hf_config *c, struct arena *arena, const struct lm_request *r)
{
	bool by_head = !r->config || c->query_pre_attn_scalar == c->head_dim;
	struct lm_shape s = shape_of(r, c);

	if (check_request(r, &s) < 0)
		return -1;
	if (r->parameters && lm_shape_solve(&s, c, r->parameters) < 0)
		return -1;
	if (s.heads && !s.head_dim && s.width % s.heads)
		return err_set(ERR_ARGUMENT,
			       "%" PRIu32 " heads do not divide a width of %" PRIu64
			       ", and no size of a head is given",
			       s.heads, s.width);
	lm_shape_complete(&s, c->architecture);
	if (c->position != HF_POSITION_ROPE &&
	    (s.kv_heads != s.heads || (uint64_t)s.heads * s.head_dim != s.width))
		return err_set(ERR_ARGUMENT,
			       "a %s has keys and values for each head, and heads that make up "
			       "the width",
			       hf_architecture_name(c->architecture));
	if (c->query_pre_attn_scalar > 0 && by_head)
		c->query_pre_attn_scalar = s.head_dim;
	return lm_shape_apply(&s, c, arena);
}

int lm_request_config(struct hf_config *out, struct arena *arena, const struct lm_request *r)
{
	int result = r->config ? from_file(out, arena, r) : from_defaults(out, arena, r);

	if (result < 0)
		return -1;
	out->class_name = bytes_of(hf_language_class(out->architecture));
	return change_others(out, arena, r) < 0 ? -1 : change_shape(out, arena, r);
}

/* --- roles --- */

static int set_role(struct hf_ids *ids, struct arena *arena, uint32_t id)
{
	uint32_t *value;

	*ids = no_ids;
	if (id == TOKEN_NONE)
		return 0;
	value = arena_alloc(arena, 1, sizeof(*value));
	if (!value)
		return -1;
	*value = id;
	*ids = (struct hf_ids){ .presence = HF_GIVEN, .n = 1, .ids = value };
	return 0;
}

int lm_request_roles(struct hf_config *c, struct arena *arena, const struct tokenizer_spec *spec)
{
	return set_role(&c->bos, arena, spec->bos) < 0 || set_role(&c->eos, arena, spec->eos) < 0 ||
			       set_role(&c->pad, arena, spec->pad) < 0
		       ? -1
		       : 0;
}
