/*
 * formats/hf_config_read.c - config.json into struct hf_config
 *
 * Source: the configuration classes of transformers 4.56 and 5. Here: what kind of model it is,
 * words and token ids. Sizes and flags are in hf_fields.c, layers in hf_layers.c, rope in hf_rope.c.
 */
#include <stdlib.h>

#include "formats/hf_parts.h"
#include "lib/base/mapfile.h"

/* --- words --- */

static int read_activation(const struct hf_reader *r)
{
	const char *key = r->c->architecture == HF_GPT2	    ? "activation_function"
			  : r->c->architecture == HF_GEMMA3 ? "hidden_activation"
							    : "hidden_act";
	const cJSON *v = hf_find_given(r, key);
	const char *word;
	int a;

	if (!v)
		return 0;
	if (json_tree_as_string(r->tree, v, &word) < 0)
		return -1;
	a = hf_activation_of(word);
	if (a < 0)
		return json_tree_fail(r->tree, v, ERR_UNSUPPORTED, "the activation %s is not known",
				      word);
	r->c->activation = (enum hf_activation)a;
	return 0;
}

static int read_dtype(const struct hf_reader *r)
{
	const cJSON *now = hf_find_given(r, "dtype"), *before = hf_find_given(r, "torch_dtype");
	const cJSON *v = now ? now : before;
	const char *word;

	if (now && before && hf_agree(r, now, before, "torch_dtype") < 0)
		return -1;
	if (!v)
		return 0;
	if (json_tree_as_string(r->tree, v, &word) < 0)
		return -1;
	r->c->dtype = hf_dtype_of(word);
	if (r->c->dtype == DTYPE_UNKNOWN)
		return json_tree_fail(r->tree, v, ERR_UNSUPPORTED, "the type %s is not known",
				      word);
	return 0;
}

static int read_position(const struct hf_reader *r)
{
	static const struct {
		const char *word;
		enum hf_position position;
	} words[] = {
		{ "absolute", HF_POSITION_ABSOLUTE },
		{ "relative_key", HF_POSITION_RELATIVE_KEY },
		{ "relative_key_query", HF_POSITION_RELATIVE_KEY_QUERY },
	};
	const cJSON *v = hf_find_given(r, "position_embedding_type");
	const char *word;

	if (!v)
		return 0;
	if (json_tree_as_string(r->tree, v, &word) < 0)
		return -1;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i].word) == 0) {
			r->c->position = words[i].position;
			return 0;
		}
	return json_tree_fail(r->tree, v, ERR_UNSUPPORTED, "%s positions are not known", word);
}

static int refuse_true(const struct hf_reader *r, const char *key, const char *what)
{
	const cJSON *v = hf_find_given(r, key);
	bool on;

	if (!v)
		return 0;
	if (json_tree_as_bool(r->tree, v, &on) < 0)
		return -1;
	return on ? json_tree_fail(r->tree, v, ERR_UNSUPPORTED, "%s", what) : 0;
}

/* What is peculiar to gpt2 and bert. */
static int read_learned(const struct hf_reader *r)
{
	const cJSON *pruned = hf_find_given(r, "pruned_heads");
	const cJSON *decoder;
	bool causal;

	if (refuse_true(r, "add_cross_attention", "cross attention is not supported") < 0)
		return -1;
	if (pruned && pruned->child)
		return json_tree_fail(r->tree, pruned, ERR_UNSUPPORTED,
				      "pruned heads are not supported");
	if (r->c->architecture != HF_BERT)
		return 0;
	decoder = hf_find_given(r, "is_decoder");
	if (decoder) {
		if (json_tree_as_bool(r->tree, decoder, &causal) < 0)
			return -1;
		r->c->bidirectional = !causal;
	}
	return read_position(r);
}

/* --- token ids --- */

static int read_id(const struct hf_reader *r, const cJSON *v, uint32_t *out)
{
	uint64_t id;

	if (json_tree_as_u64(r->tree, v, &id) < 0)
		return -1;
	if (id >= HF_SIZE_MAX)
		return json_tree_fail(r->tree, v, ERR_FORMAT, "is %llu, must be below %llu",
				      (unsigned long long)id, (unsigned long long)HF_SIZE_MAX);
	*out = (uint32_t)id;
	return 0;
}

static int read_ids(const struct hf_reader *r, const char *key, bool list, struct hf_ids *ids)
{
	const cJSON *v = hf_find(r, key);
	uint32_t *id;
	size_t n;

	if (!v)
		return 0;
	*ids = (struct hf_ids){ .presence = HF_NULL };
	/* Files of the first LLaMA have a pad id of -1, which stands for none. */
	if (cJSON_IsNull(v) || (cJSON_IsNumber(v) && v->valuedouble == -1))
		return 0;
	ids->presence = HF_GIVEN;
	n = list && cJSON_IsArray(v) ? (size_t)cJSON_GetArraySize(v) : 1;
	id = arena_alloc(r->arena, n, sizeof *id);
	if (!id)
		return -1;
	if (list && cJSON_IsArray(v))
		v = v->child;
	for (size_t i = 0; i < n; i++, v = v->next)
		if (read_id(r, v, &id[i]) < 0)
			return -1;
	ids->n = (uint32_t)n;
	ids->ids = id;
	return 0;
}

/* --- what kind of model it is --- */

static int keep_text(struct arena *arena, const char *text, struct bytes *out)
{
	struct bytes b = bytes_of(text);

	b.data = arena_copy(arena, b);
	*out = b;
	return b.data ? 0 : -1;
}

static int first_class(const struct json_tree *t, const char **out)
{
	const cJSON *list = NULL;

	*out = "";
	if (json_tree_array(t, NULL, "architectures", &list) < 0)
		return -1;
	return list && list->child ? json_tree_as_string(t, list->child, out) : 0;
}

/* The text part of a model with vision. */
static int enter_text_config(struct hf_reader *r)
{
	const cJSON *text = NULL, *type;
	const char *word;

	if (json_tree_object(r->tree, NULL, "text_config", &text) < 0)
		return -1;
	if (!text)
		return err_set(ERR_UNSUPPORTED,
			       "%s: key model_type: gemma3 without a text_config is not supported",
			       json_tree_file(r->tree));
	type = json_tree_find(r->tree, text, "model_type");
	if (type) {
		if (json_tree_as_string(r->tree, type, &word) < 0)
			return -1;
		if (strcmp(word, hf_model_type(HF_GEMMA3)) != 0)
			return json_tree_fail(r->tree, type, ERR_UNSUPPORTED,
					      "architecture %s is not supported", word);
	}
	r->outer = json_tree_root(r->tree);
	r->object = text;
	return 0;
}

static int find_architecture(struct hf_reader *r, enum hf_architecture *a, const char **class_name)
{
	const char *type = NULL;

	if (json_tree_string(r->tree, NULL, "model_type", &type) < 0 ||
	    first_class(r->tree, class_name) < 0)
		return -1;
	if (!type && !**class_name)
		return json_tree_missing(r->tree, NULL, "model_type");
	*a = type ? hf_architecture_of_type(type) : hf_architecture_of_class(*class_name);
	if (*a == HF_UNKNOWN)
		return err_set(ERR_UNSUPPORTED, "%s: architecture %s%s%s%s is not supported",
			       json_tree_file(r->tree), type ? type : *class_name,
			       type && **class_name ? " (" : "", type ? *class_name : "",
			       type && **class_name ? ")" : "");
	if (type && strcmp(type, "gemma3") == 0)
		return enter_text_config(r);
	return 0;
}

/* --- the whole --- */

static int read_values(struct hf_reader *r)
{
	struct hf_config *c = r->c;
	bool learned = c->position != HF_POSITION_ROPE;

	if (hf_read_fields(r) < 0 || hf_derive_sizes(c, json_tree_file(r->tree)) < 0 ||
	    read_activation(r) < 0 || read_dtype(r) < 0 || (learned && read_learned(r) < 0))
		return -1;
	if (read_ids(r, "bos_token_id", false, &c->bos) < 0 ||
	    read_ids(r, "eos_token_id", true, &c->eos) < 0 ||
	    read_ids(r, "pad_token_id", false, &c->pad) < 0)
		return -1;
	/* Before memory is asked for by the number of layers. */
	if (c->n_layers > HF_LAYERS_MAX)
		return err_set(ERR_LIMIT, "%s: key %s: %u layers, the limit is %d",
			       json_tree_file(r->tree), HF_KEY(c, n_layers), c->n_layers,
			       HF_LAYERS_MAX);
	return hf_read_layers(r) < 0 ? -1 : hf_read_ropes(r);
}

static int read_tree(struct hf_config *out, struct arena *arena, const struct json_tree *t)
{
	struct hf_reader r = { .tree = t, .object = json_tree_root(t), .c = out, .arena = arena };
	enum hf_architecture a = HF_UNKNOWN;
	const char *class_name = "";

	if (!cJSON_IsObject(r.object))
		return err_set(ERR_FORMAT, "%s: is no JSON object", json_tree_file(t));
	if (find_architecture(&r, &a, &class_name) < 0 || hf_scalar_defaults(out, a, arena) < 0 ||
	    keep_text(arena, class_name, &out->class_name) < 0)
		return -1;
	out->nested = r.outer != NULL;
	return read_values(&r);
}

int hf_config_parse(struct hf_config *out, struct arena *arena, struct bytes text, const char *name)
{
	struct json_tree *t;
	int rc;

	if (text.size > HF_CONFIG_BYTES_MAX)
		return err_set(ERR_LIMIT, "%s: %zu bytes, the limit is %zu", name, text.size,
			       HF_CONFIG_BYTES_MAX);
	if (json_tree_parse(&t, text.data, text.size, name) < 0)
		return -1;
	rc = read_tree(out, arena, t);
	json_tree_free(t);
	if (rc < 0 || hf_config_check(out, name) < 0)
		return -1;
	return hf_read_others(out, arena, text, name);
}

int hf_config_read(struct hf_config *out, struct arena *arena, const char *path)
{
	struct bytes text;
	char *data;
	int rc;

	if (file_read(path, HF_CONFIG_BYTES_MAX, &data, &text.size) < 0)
		return -1;
	text.data = data;
	rc = hf_config_parse(out, arena, text, path);
	free(data);
	return rc;
}
