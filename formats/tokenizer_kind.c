/* formats/tokenizer_kind.c - which kind of tokenizer lies with a model */

#include "formats/tokenizer_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"

static int gguf_kind(const struct gguf *g, struct buffer *out)
{
	const struct gguf_value *tokens = gguf_get(g, "tokenizer.ggml.tokens");
	struct bytes model, pre = { 0 };
	int got = gguf_get_string(g, "tokenizer.ggml.model", &model);

	if (got <= 0)
		return got;
	if (gguf_get_string(g, "tokenizer.ggml.pre", &pre) < 0)
		return -1;
	quote_name(out, model);
	if (pre.size) {
		buffer_put_text(out, ", pre ");
		quote_name(out, pre);
	}
	if (tokens && tokens->type == GGUF_ARRAY)
		buffer_format(out, ", %" PRIu64 " pieces", tokens->n);
	return 1;
}

/* `model.type` of a tokenizer.json. */
static int json_kind(struct json *j, struct buffer *out)
{
	struct bytes key, type;
	int outer, inner, found = 0;

	if (json_object(j) < 0)
		return -1;
	while ((outer = json_key(j, &key)) > 0) {
		if (!bytes_are(key, "model")) {
			json_skip(j, NULL);
			continue;
		}
		json_object(j);
		while ((inner = json_key(j, &key)) > 0) {
			if (!bytes_are(key, "type")) {
				json_skip(j, NULL);
			} else if (json_string(j, &type) == 0) {
				quote_name(out, type);
				found = 1;
			}
		}
	}
	if (json_end(j) < 0)
		return -1;
	if (!found)
		buffer_put_text(out, "of no type");
	buffer_put_text(out, " (tokenizer.json)");
	return 1;
}

static int read_tokenizer_json(const char *path, struct buffer *out)
{
	struct mapfile *map;
	struct json *j;
	int result = -1;

	if (mapfile_open(&map, path) < 0)
		return -1;
	if (json_new(&j) == 0) {
		struct bytes text = mapfile_bytes(map);

		json_init(j, text.data, text.size, path, NULL);
		result = json_kind(j, out);
		json_free(j);
	}
	mapfile_close(map);
	return result;
}

static int folder_kind(const char *folder, struct buffer *out)
{
	static const struct {
		const char *file, *kind;
	} files[] = {
		{ "tokenizer.json", NULL },
		{ "tekken.json", "Tekken (tekken.json)" },
		{ "tokenizer.model", "SentencePiece (tokenizer.model)" },
		{ "merges.txt", "BPE (vocab.json, merges.txt)" },
		{ "vocab.txt", "WordPiece (vocab.txt)" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_format("%s/%s", folder, files[i].file);
		bool there = path && access(path, F_OK) == 0;
		int result = path ? 1 : -1;

		if (there && !files[i].kind)
			result = read_tokenizer_json(path, out);
		else if (there)
			buffer_put_text(out, files[i].kind);
		free(path);
		if (there || result < 0)
			return result;
	}
	return 0;
}

int tokenizer_kind(const struct model *m, struct buffer *out)
{
	if (model_kind(m) == MODEL_GGUF)
		return gguf_kind(model_gguf(m), out);
	if (model_kind(m) == MODEL_FOLDER)
		return folder_kind(model_path(m), out);
	return 0;
}
