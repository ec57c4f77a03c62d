/* lib/model/gguf_import_tokenizer.c - the tokenizer of a GGUF as the files of a folder: as they were, or made anew */

#include "formats/json.h"
#include "formats/json_tree.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_write.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/gguf_import_parts.h"
#include "lib/model/gguf_source_parts.h"

#define JSON "tokenizer.huggingface.json"

/* --- files that were kept --- */

static int check_json(struct bytes text, const char *name)
{
	struct json *j;
	int result;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, name, NULL);
	result = json_skip(j, NULL);
	if (result == 0)
		result = json_end(j);
	json_free(j);
	return result;
}

int gguf_import_kept(const struct gguf_import *i, const char *name, struct bytes *out)
{
	char *key = mem_format(GGUF_SOURCE_FILE "%s", name);
	int got = key ? gguf_get_string(model_gguf(i->model), key, out) : -1;

	if (got > 0 && check_json(*out, key) < 0)
		got = err_prefix("%s", model_path(i->model));
	free(key);
	return got;
}

static int write_kept(const struct gguf_import *i, struct outdir *d, const char *name)
{
	struct bytes text;
	int got = gguf_import_kept(i, name, &text);

	return got <= 0 ? got : outdir_text(d, name, text) < 0 ? -1 : 1;
}

/* --- the template --- */

/* Whether tokenizer_config.json, as it was kept, has the template TEXT. */
static int has_template(const struct gguf_import *i, struct bytes text, bool *has)
{
	const char *there = NULL;
	struct json_tree *t;
	struct bytes config;
	int got = gguf_import_kept(i, "tokenizer_config.json", &config);

	*has = false;
	if (got <= 0)
		return got;
	if (json_tree_parse(&t, config.data, config.size,
			    GGUF_SOURCE_FILE "tokenizer_config.json") < 0)
		return -1;
	if (json_tree_find(t, NULL, "chat_template") &&
	    cJSON_IsString(json_tree_find(t, NULL, "chat_template")))
		got = json_tree_string(t, NULL, "chat_template", &there);
	*has = there && bytes_are(text, there);
	json_tree_free(t);
	return got < 0 ? -1 : 0;
}

static int write_template(const struct gguf_import *i, struct outdir *d, struct bytes text)
{
	bool has;

	if (!text.size)
		return 0;
	if (has_template(i, text, &has) < 0)
		return -1;
	return has ? 0 : outdir_text(d, "chat_template.jinja", text);
}

/* --- the whole --- */

/* The config of a tokenizer, from its roles: none was kept. */
static int write_config(struct gguf_import *i, struct outdir *d, struct tokenizer_spec *spec)
{
	struct buffer b = { 0 };
	int result = write_kept(i, d, "tokenizer_config.json");

	if (result != 0)
		return result < 0 ? -1 : 0;
	/* The template has a file of its own. */
	spec->chat_template.size = 0;
	result = tokenizer_config_put(&b, spec, NULL, 0);
	if (result == 0)
		result = outdir_text(d, "tokenizer_config.json", buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

static int write_exact(struct gguf_import *i, struct outdir *d, struct bytes json)
{
	return outdir_text(d, "tokenizer.json", json) < 0 ||
			       write_kept(i, d, "special_tokens_map.json") < 0
		       ? -1
		       : 0;
}

/* --- a file made anew --- */

static struct bytes text_of(const struct tokenizer_spec *spec, uint32_t id)
{
	for (size_t i = 0; i < spec->n_added; i++)
		if (spec->added[i].id == id)
			return spec->added[i].text;
	return (struct bytes){ 0 };
}

static void put_special(struct template_item *item, const struct tokenizer_spec *spec,
			const uint32_t *id, uint32_t type)
{
	*item = (struct template_item){
		.ids = id, .n_ids = 1, .type_id = type, .name = text_of(spec, *id)
	};
}

/* `bos? $A eos?`, and after it `bos? $B eos?` where it is a pair. The number of items. */
static size_t put_items(struct template_item *items, const struct tokenizer_spec *spec,
			uint32_t sequences)
{
	size_t n = 0;

	for (uint32_t k = 0; k < sequences; k++) {
		if (spec->add_bos)
			put_special(&items[n++], spec, &spec->bos, k);
		items[n++] = (struct template_item){ .is_sequence = true,
						     .is_pair = k > 0,
						     .type_id = k };
		if (spec->add_eos)
			put_special(&items[n++], spec, &spec->eos, k);
	}
	return n;
}

/*
 * What llama.cpp adds by two flags, a tokenizer.json does by a template; a token that is no added one cannot stand there.
 */
static int add_template(struct tokenizer_spec *spec, struct arena *arena)
{
	struct template_item *single, *pair;
	struct post_spec *post;

	if (spec->n_posts || (!spec->add_bos && !spec->add_eos))
		return 0;
	if ((spec->add_bos && !text_of(spec, spec->bos).size) ||
	    (spec->add_eos && !text_of(spec, spec->eos).size))
		return err_set(ERR_UNSUPPORTED,
			       "the token that begins or ends a text is an ordinary piece, which "
			       "tokenizer.json cannot add");
	post = arena_alloc(arena, 1, sizeof(*post));
	single = arena_alloc(arena, 3, sizeof(*single));
	pair = arena_alloc(arena, 6, sizeof(*pair));
	if (!post || !single || !pair)
		return -1;
	*post = (struct post_spec){ .kind = POST_TEMPLATE, .single = single, .pair = pair };
	post->n_single = put_items(single, spec, 1);
	post->n_pair = put_items(pair, spec, 2);
	spec->posts = post;
	spec->n_posts = 1;
	return 0;
}

static int write_made(struct gguf_import *i, struct outdir *d, const struct tokenizer_spec *spec)
{
	struct bytes model = { 0 }, pre = { 0 };
	const struct gguf *g = model_gguf(i->model);
	struct buffer b = { 0 };
	int result = tokenizer_json_put(&b, spec);

	if (result == 0)
		result = outdir_text(d, "tokenizer.json", buffer_bytes(&b));
	buffer_free(&b);
	if (result < 0 || gguf_get_string(g, "tokenizer.ggml.model", &model) < 0 ||
	    gguf_get_string(g, "tokenizer.ggml.pre", &pre) < 0)
		return -1;
	buffer_format(
		&i->notes,
		"tokenizer.json: made of the vocabulary " BYTES_FMT "%s" BYTES_FMT
		": its steps, flags of added tokens and class are those that llama.cpp's name "
		"implies\n",
		BYTES_ARG(model), pre.size ? ", pre " : "", BYTES_ARG(pre));
	return 0;
}

static int write_tokenizer(struct gguf_import *i, struct outdir *d, struct tokenizer_spec *spec,
			   struct arena *arena)
{
	struct bytes template = spec->chat_template, json;
	int got = gguf_get_string(model_gguf(i->model), JSON, &json);

	if (got < 0)
		return -1;
	if (got ? write_exact(i, d, json) < 0
		: add_template(spec, arena) < 0 || write_made(i, d, spec) < 0)
		return -1;
	return write_template(i, d, template) < 0 ? -1 : write_config(i, d, spec);
}

static bool has_none(const struct gguf *g)
{
	struct bytes model = { 0 };

	return gguf_get_string(g, "tokenizer.ggml.model", &model) <= 0 ||
	       bytes_are(model, "none") || bytes_are(model, "no_vocab");
}

int gguf_import_tokenizer(struct gguf_import *i, struct outdir *d)
{
	struct tokenizer_spec spec;
	struct arena *arena;
	int result;

	if (has_none(model_gguf(i->model))) {
		buffer_format(&i->notes, "no tokenizer: the file has none\n");
		return 0;
	}
	if (arena_new(&arena) < 0)
		return -1;
	result = tokenizer_gguf_read(&spec, arena, model_gguf(i->model));
	if (result == 0)
		result = write_tokenizer(i, d, &spec, arena);
	arena_free(arena);
	if (result < 0 && err_last() == ERR_UNSUPPORTED && i->options.no_tokenizer) {
		buffer_format(&i->notes, "no tokenizer, as allowed: %s\n", err_text());
		return 0;
	}
	return result;
}
