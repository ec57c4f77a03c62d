/* lib/infer/ends.c - the tokens that end a text */

#include "lib/infer/ends.h"

#include <stdlib.h>
#include <unistd.h>

#include "formats/json_tree.h"
#include "lib/base/memory.h"

int text_ends_add(struct text_ends *e, uint32_t id)
{
	if (id == TOKEN_NONE)
		return 0;
	for (size_t i = 0; i < e->n; i++)
		if (e->ids[i] == id)
			return 0;
	if (mem_grow(&e->ids, &e->room, e->n + 1, sizeof(*e->ids)) < 0)
		return -1;
	e->ids[e->n++] = id;
	return 0;
}

void text_ends_free(struct text_ends *e)
{
	free(e->ids);
	*e = (struct text_ends){ 0 };
}

static int add_value(struct text_ends *e, const struct json_tree *t, const cJSON *value)
{
	uint64_t id;

	if (json_tree_as_u64(t, value, &id) < 0)
		return -1;
	return id < TOKEN_NONE ? text_ends_add(e, (uint32_t)id) : 0;
}

/* A number, or an array of them. */
static int add_key(struct text_ends *e, const struct json_tree *t)
{
	const cJSON *value = json_tree_find(t, NULL, "eos_token_id");

	if (!value || cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsArray(value))
		return add_value(e, t, value);
	for (const cJSON *item = value->child; item; item = item->next)
		if (add_value(e, t, item) < 0)
			return -1;
	return 0;
}

static int add_generation(struct text_ends *e, const char *folder)
{
	char *path = mem_format("%s/generation_config.json", folder);
	struct json_tree *t = NULL;
	int result = path ? 0 : -1;

	if (path && access(path, F_OK) == 0)
		result = json_tree_open(&t, path);
	if (result == 0 && t)
		result = add_key(e, t);
	json_tree_free(t);
	free(path);
	return result;
}

int text_ends_find(struct text_ends *out, const struct hf_config *c, const struct tokenizer_spec *s,
		   const char *path)
{
	*out = (struct text_ends){ 0 };
	for (uint32_t i = 0; i < c->eos.n; i++)
		if (text_ends_add(out, c->eos.ids[i]) < 0)
			return -1;
	if (add_generation(out, path) < 0 || text_ends_add(out, s->eos) < 0) {
		text_ends_free(out);
		return -1;
	}
	return 0;
}
