/*
 * formats/hf_layers.c - which layers slide, and which have rope
 *
 * `layer_types` is the newer spelling. Before it, each architecture had its own: mistral slides in
 * all layers or none, qwen2 and qwen3 from max_window_layers on, gemma3 in all but every
 * sliding_window_pattern-th, smollm3 in the layers without rope.
 */
#include "formats/hf_parts.h"

#define GEMMA3_PATTERN	   6  /* the default of sliding_window_pattern */
#define SMOLLM3_INTERVAL   4  /* of no_rope_layer_interval */
#define QWEN_WINDOW_LAYERS 28 /* of max_window_layers */

static int read_u64(const struct hf_reader *r, const cJSON *v, uint64_t low, uint64_t *out)
{
	uint64_t n;

	if (!v)
		return 0;
	if (json_tree_as_u64(r->tree, v, &n) < 0)
		return -1;
	if (n < low || n >= HF_SIZE_MAX)
		return json_tree_fail(r->tree, v, ERR_FORMAT, "is %llu, must be from %llu to %llu",
				      (unsigned long long)n, (unsigned long long)low,
				      (unsigned long long)HF_SIZE_MAX - 1);
	*out = n;
	return 0;
}

static bool is_qwen(const struct hf_config *c)
{
	return c->architecture == HF_QWEN2 || c->architecture == HF_QWEN3;
}

/* --- the window --- */

/* *ON: whether the window is used at all; false by default where there is a key for it. */
static int read_use_window(const struct hf_reader *r, bool *on)
{
	const cJSON *v;

	*on = true;
	if (!is_qwen(r->c) && r->c->architecture != HF_SMOLLM3)
		return 0;
	*on = false;
	v = hf_find_given(r, "use_sliding_window");
	return v ? json_tree_as_bool(r->tree, v, on) : 0;
}

static int read_window(const struct hf_reader *r, bool *on)
{
	const cJSON *v = hf_find(r, "sliding_window");

	if (r->c->architecture == HF_LLAMA) {
		*on = false;
		return 0;
	}
	if (v && cJSON_IsNull(v))
		r->c->window_given = 0;
	else if (read_u64(r, v, 1, &r->c->window_given) < 0)
		return -1;
	if (read_use_window(r, on) < 0)
		return -1;
	*on = *on && r->c->window_given > 0;
	return 0;
}

/* transformers halves the window of a model that looks both ways. */
static uint64_t effective_window(const struct hf_config *c)
{
	return c->bidirectional ? c->window_given / 2 + 1 : c->window_given;
}

/* --- the older spelling --- */

/*
 * *GIVEN tells the key for messages, or is NULL. `_sliding_window_pattern` is not looked at: it is
 * transformers' own note of the default, 6 also where layer_types say something else.
 */
static int read_pattern(const struct hf_reader *r, uint64_t *pattern, const char **given)
{
	static const char key[] = "sliding_window_pattern";
	const cJSON *v = hf_find_given(r, key);

	*pattern = GEMMA3_PATTERN;
	*given = v ? key : NULL;
	return read_u64(r, v, 1, pattern);
}

/* How many layers from the first on are full; *GIVEN is NULL where the default decides. */
static int read_window_layers(const struct hf_reader *r, bool on, uint64_t *full,
			      const char **given)
{
	const cJSON *v = hf_find_given(r, "max_window_layers");

	*full = QWEN_WINDOW_LAYERS;
	*given = !on ? "use_sliding_window" : v ? "max_window_layers" : NULL;
	if (read_u64(r, v, 0, full) < 0)
		return -1;
	if (!on)
		*full = r->c->n_layers;
	return 0;
}

/*
 * KIND as the older keys tell it. *GIVEN: the key that says so, when layer_types must agree with
 * it, else NULL.
 */
static int derive_kinds(const struct hf_reader *r, bool on, uint8_t *kind, const char **given)
{
	const struct hf_config *c = r->c;
	uint64_t n = 0;

	*given = NULL;
	if (c->architecture == HF_GEMMA3 && read_pattern(r, &n, given) < 0)
		return -1;
	if (is_qwen(c) && read_window_layers(r, on, &n, given) < 0)
		return -1;
	if (c->architecture == HF_MISTRAL)
		*given = "sliding_window";
	if (c->architecture == HF_LLAMA)
		*given = "model_type";
	for (uint32_t i = 0; i < c->n_layers; i++) {
		bool slides = false;

		switch (c->architecture) {
		case HF_MISTRAL: slides = on; break;
		case HF_QWEN2:
		case HF_QWEN3: slides = i >= n; break;
		case HF_GEMMA3: slides = (i + 1) % n != 0; break;
		case HF_SMOLLM3: slides = on && !c->layer_rope[i]; break;
		default: break;
		}
		kind[i] = slides ? HF_SLIDING : HF_FULL;
	}
	return 0;
}

/* --- layer_types --- */

static int read_kind(const struct hf_reader *r, const cJSON *v, uint8_t *kind)
{
	const char *word;

	if (json_tree_as_string(r->tree, v, &word) < 0)
		return -1;
	/* `attention` is what transformers 4 called it for a while. */
	if (strcmp(word, hf_attention_name(HF_FULL)) == 0 || strcmp(word, "attention") == 0)
		*kind = HF_FULL;
	else if (strcmp(word, hf_attention_name(HF_SLIDING)) == 0)
		*kind = HF_SLIDING;
	else
		return json_tree_fail(r->tree, v, ERR_UNSUPPORTED, "%s is not supported", word);
	return 0;
}

static int read_layer_types(const struct hf_reader *r, const cJSON *list, uint8_t *kind,
			    const char *given)
{
	const cJSON *v;
	uint32_t i = 0;
	uint8_t k = HF_FULL;

	if (json_tree_as_array(r->tree, list, &list) < 0)
		return -1;
	for (v = list->child; v; v = v->next, i++) {
		if (i == r->c->n_layers)
			break;
		if (read_kind(r, v, &k) < 0)
			return -1;
		if (given && k != kind[i])
			return json_tree_fail(r->tree, v, ERR_MISMATCH, "is unlike what %s says",
					      given);
		kind[i] = k;
	}
	if (v || i != r->c->n_layers)
		return json_tree_fail(r->tree, list, ERR_MISMATCH, "has %d items for %u layers",
				      cJSON_GetArraySize(list), r->c->n_layers);
	return 0;
}

static bool any_slides(const uint8_t *kind, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (kind[i] == HF_SLIDING)
			return true;
	return false;
}

static int read_kinds(const struct hf_reader *r, uint8_t *kind)
{
	const cJSON *list = hf_find_given(r, "layer_types");
	const char *given;
	bool on;

	if (read_window(r, &on) < 0 || derive_kinds(r, on, kind, &given) < 0)
		return -1;
	if (list && read_layer_types(r, list, kind, given) < 0)
		return -1;
	if (!any_slides(kind, r->c->n_layers))
		return 0;
	if (!on)
		return err_set(ERR_FORMAT,
			       "%s: key sliding_window: is null or not used, but layers slide",
			       r->tree ? json_tree_file(r->tree) : "defaults");
	r->c->window = effective_window(r->c);
	return 0;
}

/* --- rope per layer (smollm3) --- */

static int read_rope_list(const struct hf_reader *r, const cJSON *list, bool *rope)
{
	const cJSON *v;
	uint32_t i = 0;
	uint64_t has;

	if (json_tree_as_array(r->tree, list, &list) < 0)
		return -1;
	for (v = list->child; v && i < r->c->n_layers; v = v->next, i++) {
		if (json_tree_as_u64(r->tree, v, &has) < 0)
			return -1;
		if (has > 1)
			return json_tree_fail(r->tree, v, ERR_FORMAT, "is %llu, must be 0 or 1",
					      (unsigned long long)has);
		rope[i] = has == 1;
	}
	if (v || i != r->c->n_layers)
		return json_tree_fail(r->tree, list, ERR_MISMATCH, "has %d items for %u layers",
				      cJSON_GetArraySize(list), r->c->n_layers);
	return 0;
}

/* The list says it; without one every INTERVAL-th layer has none. */
static int read_smollm3_rope(const struct hf_reader *r, bool *rope)
{
	const cJSON *list = hf_find_given(r, "no_rope_layers");
	uint64_t interval = SMOLLM3_INTERVAL;

	if (read_u64(r, hf_find_given(r, "no_rope_layer_interval"), 1, &interval) < 0)
		return -1;
	if (list)
		return read_rope_list(r, list, rope);
	for (uint32_t i = 0; i < r->c->n_layers; i++)
		rope[i] = (i + 1) % interval != 0;
	return 0;
}

int hf_read_layers(const struct hf_reader *r)
{
	struct hf_config *c = r->c;
	uint8_t *kind = arena_alloc(r->arena, c->n_layers, sizeof *kind);
	bool *rope = arena_alloc(r->arena, c->n_layers, sizeof *rope);

	if (!kind || !rope)
		return -1;
	c->layer_attention = kind;
	c->layer_rope = rope;
	if (c->position != HF_POSITION_ROPE)
		return 0; /* full, and no rope: the arena's zeros */
	for (uint32_t i = 0; i < c->n_layers; i++)
		rope[i] = true;
	if (c->architecture == HF_SMOLLM3 && read_smollm3_rope(r, rope) < 0)
		return -1;
	return read_kinds(r, kind);
}
