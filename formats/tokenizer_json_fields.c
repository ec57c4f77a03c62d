/* formats/tokenizer_json_fields.c - components of a tokenizer.json, and their fields */

#include <stdlib.h>

#include "formats/tokenizer_json_parts.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

const char *const tokenizer_json_behaviors[] = {
	"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", NULL
};
const char *const tokenizer_json_schemes[] = { "always", "first", "never", NULL };
const char *const tokenizer_json_byte_level[] = { "add_prefix_space", "trim_offsets", "use_regex",
						  NULL };
const char *const tokenizer_json_metaspace_fields[] = { "replacement",	  "str_rep",
							"prepend_scheme", "add_prefix_space",
							"split",	  NULL };

static bool listed(const char *key, const char *const *fields)
{
	for (; fields && *fields; fields++)
		if (strcmp(key, *fields) == 0)
			return true;
	return false;
}

int tokenizer_json_fields(struct tokenizer_json *p, const cJSON *object, const char *const *fields)
{
	const cJSON *child;

	for (child = object->child; child; child = child->next)
		if (strcmp(child->string, "type") != 0 && !listed(child->string, fields))
			return json_tree_fail(p->tree, child, ERR_UNSUPPORTED, "unknown field");
	return 0;
}

static int part_type(struct tokenizer_json *p, const cJSON *at, const char **type)
{
	const cJSON *object;
	int got;

	if (json_tree_as_object(p->tree, at, &object) < 0)
		return -1;
	got = json_tree_string(p->tree, at, "type", type);
	return got == 0 ? json_tree_missing(p->tree, at, "type") : got;
}

const struct json_part *tokenizer_json_part(struct tokenizer_json *p, const cJSON *at,
					    const struct json_part *table, size_t n)
{
	const char *type;

	if (part_type(p, at, &type) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].type, type) == 0)
			return tokenizer_json_fields(p, at, table[i].fields) < 0 ? NULL : &table[i];
	json_tree_fail(p->tree, at, ERR_UNSUPPORTED, "unknown type \"%s\"", type);
	return NULL;
}

/* Components that are no Sequence, in their order. */
struct leaves {
	const cJSON **items;
	size_t n, capacity;
};

/* Depth is at most JSON_DEPTH_MAX, as the reader has checked. */
static int flatten(struct tokenizer_json *p, const cJSON *at, const char *list, struct leaves *out)
{
	const char *const fields[] = { list, NULL };
	const cJSON *items;
	const char *type;
	int got;

	if (part_type(p, at, &type) < 0)
		return -1;
	if (strcmp(type, "Sequence") != 0) {
		if (mem_grow(&out->items, &out->capacity, out->n + 1, sizeof(*out->items)) < 0)
			return -1;
		out->items[out->n++] = at;
		return 0;
	}
	if (tokenizer_json_fields(p, at, fields) < 0)
		return -1;
	got = json_tree_array(p->tree, at, list, &items);
	if (got <= 0)
		return got < 0 ? -1 : json_tree_missing(p->tree, at, list);
	for (items = items->child; items; items = items->next)
		if (flatten(p, items, list, out) < 0)
			return -1;
	return 0;
}

static int read_leaves(struct tokenizer_json *p, const struct json_family *f,
		       const struct leaves *leaves, char *items)
{
	for (size_t i = 0; i < leaves->n; i++) {
		const struct json_part *part =
			tokenizer_json_part(p, leaves->items[i], f->table, f->n_table);

		void *item = items + i * f->item_size;

		if (!part)
			return -1;
		f->set_kind(item, part->kind);
		if (part->read && part->read(p, leaves->items[i], item) < 0)
			return -1;
	}
	return 0;
}

const void *tokenizer_json_family(struct tokenizer_json *p, const struct json_family *f, size_t *n)
{
	const cJSON *at = json_tree_find(p->tree, NULL, f->key);
	struct leaves leaves = { 0 };
	char *out = NULL;

	if (at && !cJSON_IsNull(at) && flatten(p, at, f->list, &leaves) < 0)
		goto out;
	out = arena_alloc(p->arena, leaves.n ? leaves.n : 1, f->item_size);
	if (out && read_leaves(p, f, &leaves, out) < 0)
		out = NULL;
	*n = leaves.n;
out:
	free(leaves.items);
	return out;
}

/* What a getter of json_tree.h said: absent is an error here. */
static int required(struct tokenizer_json *p, const cJSON *object, const char *key, int got)
{
	return got == 0 ? json_tree_missing(p->tree, object, key) : got < 0 ? -1 : 0;
}

int tokenizer_json_bool(struct tokenizer_json *p, const cJSON *object, const char *key, bool *out)
{
	return required(p, object, key, json_tree_bool(p->tree, object, key, out));
}

int tokenizer_json_text(struct tokenizer_json *p, const cJSON *object, const char *key,
			struct bytes *out)
{
	const char *text;

	if (required(p, object, key, json_tree_string(p->tree, object, key, &text)) < 0)
		return -1;
	*out = tokenizer_copy(p->arena, bytes_of(text));
	return out->data ? 0 : -1;
}

int tokenizer_json_char(struct tokenizer_json *p, const cJSON *object, const char *key,
			uint32_t *out)
{
	const char *text;

	if (required(p, object, key, json_tree_string(p->tree, object, key, &text)) < 0)
		return -1;
	if (!*text || utf8_decode(text, strlen(text), out) != strlen(text))
		return json_tree_fail(p->tree, json_tree_find(p->tree, object, key), ERR_FORMAT,
				      "is not one character");
	return 0;
}

int tokenizer_json_u32(struct tokenizer_json *p, const cJSON *object, const char *key,
		       uint32_t *out)
{
	uint64_t v;

	if (required(p, object, key, json_tree_u64(p->tree, object, key, &v)) < 0)
		return -1;
	if (v > UINT32_MAX - 1)
		return json_tree_fail(p->tree, json_tree_find(p->tree, object, key), ERR_FORMAT,
				      "is past 4294967294");
	*out = (uint32_t)v;
	return 0;
}

int tokenizer_json_word(struct tokenizer_json *p, const cJSON *object, const char *key,
			const char *const *words, unsigned *out)
{
	const char *text;

	if (required(p, object, key, json_tree_string(p->tree, object, key, &text)) < 0)
		return -1;
	for (unsigned i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
	return json_tree_fail(p->tree, json_tree_find(p->tree, object, key), ERR_UNSUPPORTED,
			      "unknown value \"%s\"", text);
}

int tokenizer_json_pattern(struct tokenizer_json *p, const cJSON *object, struct pattern_spec *out)
{
	const cJSON *pattern;
	const char *key;

	if (required(p, object, "pattern", json_tree_object(p->tree, object, "pattern", &pattern)) <
	    0)
		return -1;
	key = pattern->child ? pattern->child->string : "";
	if ((strcmp(key, "String") != 0 && strcmp(key, "Regex") != 0) || pattern->child->next)
		return json_tree_fail(p->tree, pattern, ERR_UNSUPPORTED,
				      "is neither one String nor one Regex");
	out->is_regex = strcmp(key, "Regex") == 0;
	out->dialect = REGEX_ONIGURUMA;
	return tokenizer_json_text(p, pattern, key, &out->text);
}

/* add_prefix_space is the older way to say it: false goes with `never` alone, as in tokenizers. */
int tokenizer_json_metaspace(struct tokenizer_json *p, const cJSON *object, uint32_t *replacement,
			     enum prepend_scheme *scheme)
{
	unsigned said = PREPEND_ALWAYS;
	bool prefix = true;

	if (tokenizer_json_char(p, object, "replacement", replacement) < 0 ||
	    json_tree_bool(p->tree, object, "add_prefix_space", &prefix) < 0)
		return -1;
	if (json_tree_find(p->tree, object, "prepend_scheme") &&
	    tokenizer_json_word(p, object, "prepend_scheme", tokenizer_json_schemes, &said) < 0)
		return -1;
	if (!prefix && said != PREPEND_NEVER)
		return json_tree_fail(p->tree, json_tree_find(p->tree, object, "add_prefix_space"),
				      ERR_FORMAT, "false does not go with prepend_scheme %s",
				      tokenizer_json_schemes[said]);
	*scheme = (enum prepend_scheme)said;
	return 0;
}
