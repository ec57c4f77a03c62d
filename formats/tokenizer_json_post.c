/* formats/tokenizer_json_post.c - the post-processors of a tokenizer.json */

#include "formats/tokenizer_json_parts.h"

static int read_byte_level(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct post_spec *s = spec;

	s->use_regex = true;
	return json_tree_bool(p->tree, at, "use_regex", &s->use_regex) < 0 ||
			       tokenizer_json_bool(p, at, "add_prefix_space",
						   &s->add_prefix_space) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "trim_offsets", &s->trim_offsets);
}

/* ["[SEP]", 102] */
static int read_pair(struct tokenizer_json *p, const cJSON *at, const char *key, struct bytes *text,
		     uint32_t *id)
{
	const cJSON *items;
	const char *s;
	uint64_t v;
	int got = json_tree_array(p->tree, at, key, &items);

	if (got <= 0)
		return got < 0 ? -1 : json_tree_missing(p->tree, at, key);
	if (cJSON_GetArraySize(items) != 2)
		return json_tree_fail(p->tree, items, ERR_FORMAT, "is not a text and an id");
	if (json_tree_as_string(p->tree, items->child, &s) < 0 ||
	    json_tree_as_u64(p->tree, items->child->next, &v) < 0)
		return -1;
	if (v > TOKENIZER_ID_MAX)
		return json_tree_fail(p->tree, items->child->next, ERR_FORMAT,
				      "is past 2147483647");
	*id = (uint32_t)v;
	*text = tokenizer_copy(p->arena, bytes_of(s));
	return text->data ? 0 : -1;
}

static int read_bert(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct post_spec *s = spec;

	return read_pair(p, at, "sep", &s->sep.text, &s->sep.id) < 0
		       ? -1
		       : read_pair(p, at, "cls", &s->cls.text, &s->cls.id);
}

static int read_roberta(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct post_spec *s = spec;

	return read_bert(p, at, spec) < 0 ||
			       tokenizer_json_bool(p, at, "trim_offsets", &s->trim_offsets) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "add_prefix_space", &s->add_prefix_space);
}

/* The ids of a special token, from the processor's own table. */
static int read_ids(struct tokenizer_json *p, const cJSON *at, struct template_item *item)
{
	static const char *const fields[] = { "id", "ids", "tokens", NULL };
	const cJSON *ids;
	uint32_t *out;
	int got;

	if (tokenizer_json_fields(p, at, fields) < 0)
		return -1;
	got = json_tree_array(p->tree, at, "ids", &ids);
	if (got <= 0)
		return got < 0 ? -1 : json_tree_missing(p->tree, at, "ids");
	item->n_ids = (size_t)cJSON_GetArraySize(ids);
	out = arena_alloc(p->arena, item->n_ids ? item->n_ids : 1, sizeof(*out));
	if (!out)
		return -1;
	item->ids = out;
	for (ids = ids->child; ids; ids = ids->next) {
		uint64_t v;

		if (json_tree_as_u64(p->tree, ids, &v) < 0)
			return -1;
		if (v > TOKENIZER_ID_MAX)
			return json_tree_fail(p->tree, ids, ERR_FORMAT, "is past 2147483647");
		*out++ = (uint32_t)v;
	}
	return 0;
}

static int read_special(struct tokenizer_json *p, const cJSON *specials, const cJSON *at,
			struct template_item *item)
{
	const cJSON *special;
	char name[4096];

	if (tokenizer_json_text(p, at, "id", &item->name) < 0)
		return -1;
	if (item->name.size >= sizeof(name))
		return json_tree_fail(p->tree, at, ERR_LIMIT, "a name of %zu bytes",
				      item->name.size);
	memcpy(name, item->name.data, item->name.size + 1);
	special = specials ? json_tree_find(p->tree, specials, name) : NULL;
	if (!special)
		return json_tree_fail(p->tree, at, ERR_MISSING, "\"%s\" is not in special_tokens",
				      name);
	return json_tree_as_object(p->tree, special, &special) < 0 ? -1
								   : read_ids(p, special, item);
}

/* {"SpecialToken": {"id": …, "type_id": …}} or {"Sequence": …} */
static int read_item(struct tokenizer_json *p, const cJSON *specials, const cJSON *at,
		     struct template_item *item)
{
	static const char *const fields[] = { "id", "type_id", NULL };
	static const char *const sequences[] = { "A", "B", NULL };
	const cJSON *inner;
	unsigned which;

	if (json_tree_as_object(p->tree, at, &at) < 0)
		return -1;
	inner = at->child;
	if (!inner || inner->next ||
	    (strcmp(inner->string, "SpecialToken") != 0 && strcmp(inner->string, "Sequence") != 0))
		return json_tree_fail(p->tree, at, ERR_UNSUPPORTED,
				      "is neither one SpecialToken nor one Sequence");
	item->is_sequence = strcmp(inner->string, "Sequence") == 0;
	if (json_tree_as_object(p->tree, inner, &inner) < 0 ||
	    tokenizer_json_fields(p, inner, fields) < 0 ||
	    tokenizer_json_u32(p, inner, "type_id", &item->type_id) < 0)
		return -1;
	if (!item->is_sequence)
		return read_special(p, specials, inner, item);
	if (tokenizer_json_word(p, inner, "id", sequences, &which) < 0)
		return -1;
	item->is_pair = which == 1;
	return 0;
}

static int read_template_list(struct tokenizer_json *p, const cJSON *at, const char *key,
			      const struct template_item **out, size_t *n)
{
	const cJSON *items, *specials = NULL;
	struct template_item *list;
	int got = json_tree_array(p->tree, at, key, &items);

	if (got <= 0)
		return got < 0 ? -1 : json_tree_missing(p->tree, at, key);
	if (json_tree_object(p->tree, at, "special_tokens", &specials) < 0)
		return -1;
	*n = (size_t)cJSON_GetArraySize(items);
	list = arena_alloc(p->arena, *n ? *n : 1, sizeof(*list));
	if (!list)
		return -1;
	*out = list;
	for (items = items->child; items; items = items->next)
		if (read_item(p, specials, items, list++) < 0)
			return -1;
	return 0;
}

static int read_template(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct post_spec *s = spec;

	return read_template_list(p, at, "single", &s->single, &s->n_single) < 0
		       ? -1
		       : read_template_list(p, at, "pair", &s->pair, &s->n_pair);
}

static const char *const bert_fields[] = { "sep", "cls", NULL };
static const char *const roberta_fields[] = { "sep", "cls", "trim_offsets", "add_prefix_space",
					      NULL };
static const char *const template_fields[] = { "single", "pair", "special_tokens", NULL };

static const struct json_part table[] = {
	{ "TemplateProcessing", POST_TEMPLATE, template_fields, read_template },
	{ "ByteLevel", POST_BYTE_LEVEL, tokenizer_json_byte_level, read_byte_level },
	{ "BertProcessing", POST_BERT, bert_fields, read_bert },
	{ "RobertaProcessing", POST_ROBERTA, roberta_fields, read_roberta },
};

static void set_kind(void *item, int kind)
{
	((struct post_spec *)item)->kind = (enum post_kind)kind;
}

int tokenizer_json_posts(struct tokenizer_json *p)
{
	static const struct json_family family = {
		"post_processor",	  "processors", table, sizeof(table) / sizeof(table[0]),
		sizeof(struct post_spec), set_kind
	};

	p->out->posts = tokenizer_json_family(p, &family, &p->out->n_posts);
	return p->out->posts ? 0 : -1;
}
