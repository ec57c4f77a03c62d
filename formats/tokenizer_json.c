/* formats/tokenizer_json.c - tokenizer.json: the file as a whole */

#include "formats/tokenizer_json_parts.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"

/* The keys of the file that go into the tree; the others are read apart, or say nothing about ids. */
static bool is_component(struct bytes key)
{
	return bytes_are(key, "version") || bytes_are(key, "normalizer") ||
	       bytes_are(key, "pre_tokenizer") || bytes_are(key, "post_processor") ||
	       bytes_are(key, "decoder") || bytes_are(key, "truncation") ||
	       bytes_are(key, "padding");
}

static void put_member(struct buffer *tree, struct bytes key, struct bytes raw)
{
	json_put_comma(tree);
	json_put_string(tree, key);
	buffer_put_text(tree, ":");
	buffer_put(tree, raw.data, raw.size);
}

/* The model: its vocabulary and merges are left where they lie, the rest goes into the tree. */
static int collect_model(struct tokenizer_json *p, struct json *j, struct buffer *tree)
{
	struct bytes key, raw;
	int got;

	if (json_object(j) < 0)
		return -1;
	json_put_key(tree, "model");
	buffer_put_text(tree, "{");
	while ((got = json_key(j, &key)) > 0) {
		if (json_skip(j, &raw) < 0)
			return -1;
		if (bytes_are(key, "vocab"))
			p->vocab = raw;
		else if (bytes_are(key, "merges"))
			p->merges = raw;
		else
			put_member(tree, key, raw);
	}
	buffer_put_text(tree, "}");
	return got;
}

static int collect_key(struct tokenizer_json *p, struct json *j, struct bytes key,
		       struct buffer *tree)
{
	struct bytes raw;

	if (bytes_are(key, "model"))
		return collect_model(p, j, tree);
	if (!is_component(key) && !bytes_are(key, "added_tokens")) {
		err_set(ERR_UNSUPPORTED, "%s: unknown key \"" BYTES_FMT "\"", p->file,
			BYTES_ARG(key));
		return -1;
	}
	if (json_skip(j, &raw) < 0)
		return -1;
	if (bytes_are(key, "added_tokens"))
		p->added = raw;
	else
		put_member(tree, key, raw);
	return 0;
}

static int collect(struct tokenizer_json *p, struct json *j, struct buffer *tree)
{
	struct bytes key;
	int got;

	if (json_object(j) < 0)
		return -1;
	buffer_put_text(tree, "{");
	while ((got = json_key(j, &key)) > 0)
		if (collect_key(p, j, key, tree) < 0)
			return -1;
	buffer_put_text(tree, "}");
	return got < 0 || json_end(j) < 0 ? -1 : buffer_check(tree);
}

/* How batches are cut and filled changes no text's ids: any object will do. */
static int check_header(struct tokenizer_json *p)
{
	const char *version = "1.0";
	const cJSON *ignored;

	if (json_tree_string(p->tree, NULL, "version", &version) < 0 ||
	    json_tree_object(p->tree, NULL, "truncation", &ignored) < 0 ||
	    json_tree_object(p->tree, NULL, "padding", &ignored) < 0)
		return -1;
	if (strcmp(version, "1.0") != 0)
		return err_set(ERR_UNSUPPORTED, "%s: version: \"%s\" is not 1.0", p->file, version);
	return 0;
}

static int read_parts(struct tokenizer_json *p)
{
	return check_header(p) < 0 || tokenizer_json_model(p) < 0 || tokenizer_json_added(p) < 0 ||
			       tokenizer_json_normalizers(p) < 0 ||
			       tokenizer_json_pretokenizers(p) < 0 || tokenizer_json_posts(p) < 0 ||
			       tokenizer_json_decoders(p) < 0
		       ? -1
		       : 0;
}

int tokenizer_json_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes text,
			 const char *name)
{
	struct tokenizer_json p = { .file = name, .arena = arena, .out = out };
	struct buffer tree = { 0 };
	struct json *j = NULL;
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, name, NULL);
	if (collect(&p, j, &tree) < 0)
		goto out;
	if (json_tree_parse(&p.tree, tree.data, tree.size, name) < 0)
		goto out;
	result = read_parts(&p);
out:
	json_tree_free(p.tree);
	json_free(j);
	buffer_free(&tree);
	return result;
}

int tokenizer_json_read(struct tokenizer_spec *out, struct arena *arena, const char *path)
{
	struct mapfile *map;
	int result;

	if (mapfile_open(&map, path) < 0)
		return -1;
	result = tokenizer_json_parse(out, arena, mapfile_bytes(map), path);
	mapfile_close(map);
	return result;
}
