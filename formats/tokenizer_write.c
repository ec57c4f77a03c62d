/* formats/tokenizer_write.c - a tokenizer as the files that a Hugging Face folder has of it */

#include "formats/tokenizer_write.h"

#include <stdio.h>
#include <sys/stat.h>

#include "formats/tokenizer_folder.h"
#include "formats/tokenizer_json.h"
#include "lib/text/tokenizer.h"

static int write_json(struct outdir *d, const struct tokenizer_spec *spec)
{
	struct buffer b = { 0 };
	int result = tokenizer_json_put(&b, spec);

	buffer_put_text(&b, "\n");
	if (result == 0)
		result = buffer_check(&b);
	if (result == 0)
		result = outdir_text(d, "tokenizer.json", buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

static int write_config(struct outdir *d, const struct tokenizer_spec *spec,
			const struct tokenizer_config_role *others, size_t n)
{
	struct buffer b = { 0 };
	int result = tokenizer_config_put(&b, spec, others, n);

	if (result == 0)
		result = outdir_text(d, "tokenizer_config.json", buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

int tokenizer_write(struct outdir *d, const struct tokenizer_spec *spec,
		    const struct tokenizer_config_role *others, size_t n)
{
	struct tokenizer *t;

	if (tokenizer_new(&t, spec) < 0)
		return -1;
	tokenizer_free(t);
	return write_json(d, spec) < 0 ? -1 : write_config(d, spec, others, n);
}

/* --- the roles that a spec does not know --- */

static const char *const other_names[TOKENIZER_OTHERS] = { "cls", "sep", "mask" };

static bool has_role(const struct tokenizer_config_role *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return true;
	return false;
}

static int add_role(struct tokenizer_config_role out[TOKENIZER_OTHERS], size_t *n,
		    struct arena *arena, const struct json_tree *t, const char *name)
{
	const char *text;
	char *copy;
	int got = tokenizer_role_text(t, name, &text);

	if (got <= 0 || has_role(out, *n, name))
		return got < 0 ? -1 : 0;
	copy = arena_copy(arena, bytes_of(text));
	if (!copy)
		return -1;
	out[(*n)++] = (struct tokenizer_config_role){ name, (struct bytes){ copy, strlen(text) } };
	return 0;
}

int tokenizer_other_roles(struct tokenizer_config_role out[TOKENIZER_OTHERS], size_t *n,
			  struct arena *arena, const char *path)
{
	static const char *const files[] = { "tokenizer_config.json", "special_tokens_map.json" };
	struct stat st;
	int result = 0;

	*n = 0;
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	for (size_t i = 0; i < 2 && result == 0; i++) {
		struct json_tree *t;

		result = tokenizer_beside_open(&t, path, files[i]);
		for (size_t k = 0; k < TOKENIZER_OTHERS && t && result == 0; k++)
			result = add_role(out, n, arena, t, other_names[k]);
		json_tree_free(t);
	}
	return result;
}
