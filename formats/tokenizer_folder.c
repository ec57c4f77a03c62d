/* formats/tokenizer_folder.c - what the files beside a tokenizer say */

#include "formats/tokenizer_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

#define TEMPLATE_MAX ((size_t)4 << 20)

static const char *const role_names[] = { "bos", "eos", "pad", "unk" };
#define ROLES 4

char *tokenizer_beside(const char *folder, const char *name)
{
	return mem_format("%s/%s", folder, name);
}

int tokenizer_beside_open(struct json_tree **out, const char *folder, const char *name)
{
	char *path = tokenizer_beside(folder, name);
	int result = 0;

	*out = NULL;
	if (!path)
		return -1;
	if (access(path, F_OK) == 0)
		result = json_tree_open(out, path);
	free(path);
	return result;
}

int tokenizer_config_open(struct json_tree **out, const char *folder)
{
	return tokenizer_beside_open(out, folder, "tokenizer_config.json");
}

uint32_t tokenizer_find_text(const struct tokenizer_spec *spec, struct bytes text)
{
	for (size_t i = 0; i < spec->n_added; i++)
		if (bytes_equal(spec->added[i].text, text))
			return spec->added[i].id;
	for (size_t i = 0; i < spec->model.n_pieces; i++)
		if (bytes_equal(spec->model.pieces[i].text, text))
			return spec->model.pieces[i].id;
	return TOKEN_NONE;
}

static uint32_t *role(struct tokenizer_spec *spec, size_t i)
{
	uint32_t *all[ROLES] = { &spec->bos, &spec->eos, &spec->pad, &spec->unk };

	return all[i];
}

int tokenizer_role_text(const struct json_tree *t, const char *name, const char **text)
{
	char key[16];
	const cJSON *value;

	*text = NULL;
	snprintf(key, sizeof(key), "%s_token", name);
	value = json_tree_find(t, NULL, key);
	if (!value || cJSON_IsNull(value))
		return 0;
	if (cJSON_IsObject(value)) {
		if (json_tree_string(t, value, "content", text) < 0)
			return -1;
	} else if (json_tree_as_string(t, value, text) < 0) {
		return -1;
	}
	return *text && **text;
}

static int text_role(struct tokenizer_spec *out, const struct json_tree *t, size_t i)
{
	const char *text;
	int got = *role(out, i) == TOKEN_NONE ? tokenizer_role_text(t, role_names[i], &text) : 0;

	if (got > 0)
		*role(out, i) = tokenizer_find_text(out, bytes_of(text));
	return got < 0 ? -1 : 0;
}

/* A role by its id; of a list the first. */
static int id_role(struct tokenizer_spec *out, const struct json_tree *t, size_t i)
{
	char key[16] = { 0 };
	const cJSON *value;
	uint64_t id;

	memcpy(key, role_names[i], 3);
	memcpy(key + 3, "_token_id", 9);
	value = json_tree_find(t, NULL, key);
	if (value && cJSON_IsArray(value))
		value = value->child;
	if (!value || cJSON_IsNull(value) || *role(out, i) != TOKEN_NONE)
		return 0;
	/* Some configurations say -1 for none. */
	if (cJSON_IsNumber(value) && value->valuedouble < 0)
		return 0;
	if (json_tree_as_u64(t, value, &id) < 0)
		return -1;
	if (id <= TOKENIZER_ID_MAX)
		*role(out, i) = (uint32_t)id;
	return 0;
}

static int each_role(struct tokenizer_spec *out, const struct json_tree *t,
		     int (*take)(struct tokenizer_spec *out, const struct json_tree *t, size_t i))
{
	for (size_t i = 0; t && i < ROLES; i++)
		if (take(out, t, i) < 0)
			return -1;
	return 0;
}

/* The roles of one more file of FOLDER. */
static int more_roles(struct tokenizer_spec *out, const char *folder, const char *name,
		      int (*take)(struct tokenizer_spec *out, const struct json_tree *t, size_t i))
{
	struct json_tree *tree;
	int result;

	if (tokenizer_beside_open(&tree, folder, name) < 0)
		return -1;
	result = each_role(out, tree, take);
	json_tree_free(tree);
	return result;
}

/* A post-processor adds its own tokens: the flags speak for files without one. */
static int read_flags(struct tokenizer_spec *out, const struct json_tree *config)
{
	if (json_tree_bool(config, NULL, "add_bos_token", &out->add_bos) < 0 ||
	    json_tree_bool(config, NULL, "add_eos_token", &out->add_eos) < 0)
		return -1;
	out->add_bos &= out->bos != TOKEN_NONE && !out->n_posts;
	out->add_eos &= out->eos != TOKEN_NONE && !out->n_posts;
	return 0;
}

static int keep_template(struct tokenizer_spec *out, struct arena *arena, struct bytes text)
{
	out->chat_template = tokenizer_copy(arena, text);
	return out->chat_template.data ? 0 : -1;
}

/* chat_template.jinja, else the string in the configuration, or its entry named `default`. */
static int config_template(struct tokenizer_spec *out, struct arena *arena,
			   const struct json_tree *config)
{
	const cJSON *value = json_tree_find(config, NULL, "chat_template");
	const char *text, *name;

	if (!value || cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsArray(value))
		return json_tree_as_string(config, value, &text) < 0
			       ? -1
			       : keep_template(out, arena, bytes_of(text));
	for (value = value->child; value; value = value->next) {
		if (json_tree_string(config, value, "name", &name) <= 0 ||
		    json_tree_string(config, value, "template", &text) <= 0)
			return json_tree_fail(config, value, ERR_FORMAT,
					      "is not a name and a template");
		if (strcmp(name, "default") == 0)
			return keep_template(out, arena, bytes_of(text));
	}
	return 0;
}

static int read_template(struct tokenizer_spec *out, struct arena *arena, const char *folder,
			 const struct json_tree *config)
{
	char *path = tokenizer_beside(folder, "chat_template.jinja"), *text;
	size_t size;
	int result = -1;

	if (!path)
		return -1;
	if (access(path, F_OK) != 0) {
		result = config ? config_template(out, arena, config) : 0;
	} else if (file_read(path, TEMPLATE_MAX, &text, &size) == 0) {
		result = keep_template(out, arena, (struct bytes){ text, size });
		free(text);
	}
	free(path);
	return result;
}

int tokenizer_folder_roles(struct tokenizer_spec *out, struct arena *arena, const char *folder,
			   const struct json_tree *config)
{
	if (each_role(out, config, text_role) < 0 ||
	    more_roles(out, folder, "special_tokens_map.json", text_role) < 0 ||
	    more_roles(out, folder, "generation_config.json", id_role) < 0 ||
	    more_roles(out, folder, "config.json", id_role) < 0)
		return -1;
	if (config && read_flags(out, config) < 0)
		return -1;
	return read_template(out, arena, folder, config);
}
