/* lib/model/gguf_source_tokenizer.c - a tokenizer, its ids and its template as the keys of a GGUF */

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/json_tree.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_folder.h"
#include "formats/tokenizer_gguf_write.h"
#include "formats/tokenizer_json.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/model/gguf_source_parts.h"

#define ENDS_MAX 16

/* --- ids that end a text --- */

struct ends {
	uint32_t ids[ENDS_MAX];
	size_t n;
};

static void add_end(struct ends *e, uint64_t id, uint64_t n_tokens)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->ids[i] == id)
			return;
	if (e->n < ENDS_MAX && id < n_tokens)
		e->ids[e->n++] = (uint32_t)id;
}

/* V: an id or a list of them; anything else says nothing. */
static int add_ends(struct ends *e, const struct json_tree *t, const cJSON *v, uint64_t n_tokens)
{
	bool list = v && cJSON_IsArray(v);
	uint64_t id;

	for (v = list ? v->child : v; v; v = list ? v->next : NULL) {
		if (!cJSON_IsNumber(v) || v->valuedouble < 0)
			continue;
		if (json_tree_as_u64(t, v, &id) < 0)
			return -1;
		add_end(e, id, n_tokens);
	}
	return 0;
}

/* The tokenizer's, then generation_config.json's, then the configuration's. */
static int find_ends(const struct gguf_source *s, const struct tokenizer_spec *spec,
		     uint64_t n_tokens, struct ends *e)
{
	const struct hf_config *c = s->config;
	struct json_tree *t = NULL;
	int result = 0;

	if (spec->eos != TOKEN_NONE)
		add_end(e, spec->eos, n_tokens);
	if (model_kind(s->model) == MODEL_FOLDER) {
		if (tokenizer_beside_open(&t, model_path(s->model), "generation_config.json") < 0)
			return -1;
		result = t ? add_ends(e, t, json_tree_find(t, NULL, "eos_token_id"), n_tokens) : 0;
		json_tree_free(t);
	}
	for (uint32_t i = 0; c && i < c->eos.n; i++)
		add_end(e, c->eos.ids[i], n_tokens);
	return result;
}

/* --- roles --- */

/* What the tokenizer's files do not say, the model's do. */
static void take_roles(struct tokenizer_spec *spec, const struct hf_config *c, const struct ends *e,
		       uint64_t n_tokens)
{
	spec->eos = e->n ? e->ids[0] : spec->eos;
	if (!c)
		return;
	if (spec->bos == TOKEN_NONE && c->bos.n && c->bos.ids[0] < n_tokens)
		spec->bos = c->bos.ids[0];
	if (spec->pad == TOKEN_NONE && c->pad.n && c->pad.ids[0] < n_tokens)
		spec->pad = c->pad.ids[0];
}

/* GGUF has a name for three of them. */
static void put_ends(struct gguf_source *s, struct gguf_writer *w, const struct ends *e)
{
	static const char *const keys[] = { NULL, "tokenizer.ggml.eot_token_id",
					    "tokenizer.ggml.eom_token_id" };

	if (e->n > 1)
		buffer_format(&s->notes, "a text ends at the tokens ");
	for (size_t i = 0; e->n > 1 && i < e->n; i++)
		buffer_format(&s->notes, "%" PRIu32 "%s", e->ids[i], i + 1 < e->n ? ", " : "\n");
	for (size_t i = 1; i < e->n; i++) {
		if (i < sizeof(keys) / sizeof(*keys))
			gguf_put_u32(w, keys[i], e->ids[i]);
		else
			buffer_format(&s->notes,
				      "token %" PRIu32
				      ": llama.cpp has keys for three ends alone\n",
				      e->ids[i]);
	}
}

/* --- tokenizer.json --- */

/* The text that FILE, a folder or a tokenizer.json, has of it; or none. */
static int open_json(struct mapfile **out, const char *file)
{
	struct stat st;
	char *path;
	int result = 0;

	*out = NULL;
	if (stat(file, &st) != 0)
		return err_system("%s", file);
	path = S_ISDIR(st.st_mode) ? tokenizer_beside(file, "tokenizer.json")
				   : mem_copy(file, strlen(file));
	if (!path)
		return -1;
	if (bytes_end_with(bytes_of(path), "tokenizer.json") && access(path, F_OK) == 0)
		result = mapfile_open(out, path);
	free(path);
	return result;
}

/* Whether there is such a file for SPEC at all: tokenizer.json has no words for SentencePiece's own rules. */
static int can_say(struct gguf_source *s, const struct tokenizer_spec *spec, bool *can)
{
	struct buffer b = { 0 };

	*can = tokenizer_json_put(&b, spec) == 0;
	buffer_free(&b);
	if (*can)
		return 0;
	if (err_last() != ERR_UNSUPPORTED)
		return -1;
	buffer_format(&s->notes, "no tokenizer.huggingface.json: %s\n", err_text());
	return 0;
}

/* --- the whole --- */

/* Lines of B, said to be of the tokenizer. */
static void tell_of_differences(struct gguf_source *s, const struct buffer *b)
{
	const char *at = b->data, *end = b->size ? at + b->size : at;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		int n = (int)((line_end ? line_end : end) - at);

		buffer_format(&s->notes, "tokenizer, not in llama.cpp's keys: %.*s\n", n, at);
		at += n + 1;
	}
}

static int put_spec(struct gguf_source *s, struct gguf_writer *w, const char *file,
		    struct tokenizer_spec *spec, uint64_t n_tokens)
{
	struct buffer differences = { 0 };
	struct tokenizer_gguf_options o = {
		.pre = s->options.pre,
		.inexact = gguf_source_allows(s, "tokenizer"),
		.with_json = !s->options.plain,
		.differences = &differences,
		.n_ids = n_tokens,
	};
	struct ends ends = { .n = 0 };
	struct mapfile *json = NULL;
	int result = -1;

	if (find_ends(s, spec, n_tokens, &ends) < 0 || open_json(&json, file) < 0)
		return -1;
	take_roles(spec, s->config, &ends, n_tokens);
	if (json)
		o.json = mapfile_bytes(json);
	if (json || !o.with_json || can_say(s, spec, &o.with_json) == 0)
		result = tokenizer_gguf_put(w, spec, &o);
	if (result < 0 && err_last() == ERR_UNSUPPORTED && !o.inexact) {
		err_prefix("%s", file);
		result = err_set(ERR_UNSUPPORTED, "%s; --allow tokenizer writes it all the same",
				 err_text());
	}
	tell_of_differences(s, &differences);
	buffer_free(&differences);
	put_ends(s, w, &ends);
	mapfile_close(json);
	return result;
}

/* llama.cpp's word for a model whose tokens have no texts. */
static int put_none(struct gguf_source *s, struct gguf_writer *w)
{
	if (!gguf_source_allows(s, "no-tokenizer"))
		return err_set(
			ERR_MISSING,
			"%s; -t names one, and --allow no-tokenizer writes the model without",
			err_text());
	buffer_format(&s->notes, "no tokenizer: the model knows ids alone\n");
	gguf_put_string(w, "tokenizer.ggml.model", bytes_of("none"));
	return 0;
}

int gguf_source_put_tokenizer(struct gguf_source *s, struct gguf_writer *w, const char *file,
			      uint64_t n_tokens)
{
	struct tokenizer_spec spec;

	if (tokenizer_file_read(&spec, s->arena, file, NULL) < 0)
		return !s->options.tokenizer && err_last() == ERR_MISSING ? put_none(s, w) : -1;
	spec.stated_plain = spec.stated_whole = NULL;
	return put_spec(s, w, file, &spec, n_tokens);
}
