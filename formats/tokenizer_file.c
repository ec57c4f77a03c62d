/* formats/tokenizer_file.c - a tokenizer from whatever file holds one */

#include "formats/tokenizer_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/gguf.h"
#include "formats/tokenizer_folder.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_tekken.h"
#include "formats/tokenizer_wordpiece.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

#define UNPACKED_MAX ((size_t)64 << 20)

static const struct wordpiece_options bert_defaults = {
	.lowercase = true, .cls = TOKEN_NONE, .sep = TOKEN_NONE, .unk = TOKEN_NONE
};

/* --- one file, told by its bytes --- */

static int read_gguf(struct tokenizer_spec *out, struct arena *arena, const char *path)
{
	struct gguf *g;
	int result;

	if (gguf_open(&g, path) < 0)
		return -1;
	result = tokenizer_gguf_read(out, arena, g);
	gguf_close(g);
	return result;
}

static int read_gzip(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
		     const char *path)
{
	char *text;
	size_t size;
	int result;

	if (tokenizer_gunzip(data, path, UNPACKED_MAX, &text, &size) < 0)
		return -1;
	if (!bytes_start_with((struct bytes){ text, size }, "\"bpe_simple_vocab"))
		result = err_set(ERR_UNSUPPORTED, "%s: packed, but no bpe_simple_vocab of CLIP",
				 path);
	else
		result = tokenizer_clip(out, arena, (struct bytes){ text, size }, path);
	free(text);
	return result;
}

/* The folder of PATH, `.` when it names none; the caller frees. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mem_copy(path, slash == path ? 1 : (size_t)(slash - path))
		     : mem_copy(".", 1);
}

static int read_vocab_json(struct tokenizer_spec *out, struct arena *arena, const char *folder,
			   enum scanner split)
{
	char *vocab_path = tokenizer_beside(folder, "vocab.json");
	char *merges_path = tokenizer_beside(folder, "merges.txt");
	struct mapfile *vocab = NULL, *merges = NULL;
	int result = -1;

	if (!vocab_path || !merges_path || mapfile_open(&vocab, vocab_path) < 0 ||
	    mapfile_open(&merges, merges_path) < 0)
		goto out;
	if (split == SCANNER_NONE)
		err_set(ERR_ARGUMENT,
			"%s: the file does not say its split pattern: --split NAME does",
			vocab_path);
	else
		result = tokenizer_vocab_json(out, arena, mapfile_bytes(vocab),
					      mapfile_bytes(merges), vocab_path, split);
out:
	mapfile_close(vocab);
	mapfile_close(merges);
	free(vocab_path);
	free(merges_path);
	return result;
}

/* Whether PATH is FOLDER/NAME. */
static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, name) == 0;
}

static int read_beside(struct tokenizer_spec *out, struct arena *arena, const char *path,
		       enum scanner split)
{
	char *folder = folder_of(path);
	int result = folder ? read_vocab_json(out, arena, folder, split) : -1;

	free(folder);
	return result;
}

static struct bytes first_line(struct bytes data)
{
	const char *end = data.size ? memchr(data.data, '\n', data.size) : NULL;

	return (struct bytes){ data.data, end ? (size_t)(end - data.data) : data.size };
}

/* `BASE64 DIGITS` */
static bool is_rank_line(struct bytes line)
{
	const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	size_t left = space ? (size_t)(space - line.data) : 0;

	if (!space || left % 4 || !left || left + 1 == line.size)
		return false;
	for (size_t i = left + 1; i < line.size; i++)
		if ((line.data[i] < '0' || line.data[i] > '9') &&
		    !(line.data[i] == '\r' && i + 1 == line.size))
			return false;
	return true;
}

/* A message whose first field is a piece: its tag, a length, and the tag of the piece's text. */
static bool is_sentencepiece(struct bytes data)
{
	return data.size > 3 && data.data[0] == 0x0A && (data.data[1] & 0x80) == 0 &&
	       data.data[2] == 0x0A;
}

static bool is_object(struct bytes data)
{
	size_t i = 0;

	while (i < data.size && data.data[i] && strchr(" \t\r\n", data.data[i]))
		i++;
	return i < data.size && data.data[i] == '{';
}

static int read_text(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
		     const char *path, enum scanner split)
{
	if (bytes_start_with(data, "\"bpe_simple_vocab"))
		return tokenizer_clip(out, arena, data, path);
	if (is_named(path, "vocab.txt"))
		return tokenizer_vocab_txt(out, arena, data, path, &bert_defaults);
	if (is_named(path, "vocab.json") || bytes_start_with(data, "#version"))
		return read_beside(out, arena, path, split);
	if (is_object(data))
		return tokenizer_is_tekken(data) ? tokenizer_tekken_parse(out, arena, data, path)
						 : tokenizer_json_parse(out, arena, data, path);
	if (is_rank_line(first_line(data)))
		return tokenizer_tiktoken_parse(out, arena, data, path, split);
	return err_set(ERR_UNSUPPORTED, "%s: no kind of tokenizer that is known", path);
}

static int read_file(struct tokenizer_spec *out, struct arena *arena, const char *path,
		     enum scanner split)
{
	struct mapfile *map;
	struct bytes data;
	int result;

	if (mapfile_open(&map, path) < 0)
		return -1;
	data = mapfile_bytes(map);
	if (bytes_start_with(data, "GGUF"))
		result = read_gguf(out, arena, path);
	else if (bytes_start_with(data, "\x1F\x8B"))
		result = read_gzip(out, arena, data, path);
	else if (is_sentencepiece(data))
		result = tokenizer_sentencepiece_parse(out, arena, data, path);
	else
		result = read_text(out, arena, data, path, split);
	mapfile_close(map);
	return result;
}

/* --- a folder --- */

/* The pattern of vocab.json beside merges.txt, by the class that wrote them. */
static int class_split(const struct json_tree *config, enum scanner *split)
{
	const char *name = NULL;

	if (*split != SCANNER_NONE || !config)
		return 0;
	if (json_tree_string(config, NULL, "tokenizer_class", &name) < 0)
		return -1;
	if (name && (strcmp(name, "GPT2Tokenizer") == 0 || strcmp(name, "GPT2TokenizerFast") == 0))
		*split = SCANNER_GPT2;
	return 0;
}

static int read_vocab_txt(struct tokenizer_spec *out, struct arena *arena, const char *path,
			  const struct json_tree *config)
{
	struct wordpiece_options options = bert_defaults;
	bool strip = true, chinese = true;
	struct mapfile *map;
	int got = 0, result;

	if (config) {
		got = json_tree_bool(config, NULL, "strip_accents", &strip);
		if (got < 0 ||
		    json_tree_bool(config, NULL, "do_lower_case", &options.lowercase) < 0 ||
		    json_tree_bool(config, NULL, "tokenize_chinese_chars", &chinese) < 0)
			return -1;
	}
	options.keep_chinese = !chinese;
	options.strip_accents = !got ? STATE_NULL : strip ? STATE_TRUE : STATE_FALSE;
	if (mapfile_open(&map, path) < 0)
		return -1;
	result = tokenizer_vocab_txt(out, arena, mapfile_bytes(map), path, &options);
	mapfile_close(map);
	return result;
}

static int read_member(struct tokenizer_spec *out, struct arena *arena, const char *folder,
		       const char *name, const struct json_tree *config, enum scanner split)
{
	char *path = tokenizer_beside(folder, name);
	int result = -1;

	if (!path)
		return -1;
	if (strcmp(name, "vocab.txt") == 0)
		result = read_vocab_txt(out, arena, path, config);
	else if (strcmp(name, "vocab.json") != 0)
		result = read_file(out, arena, path, split);
	else if (class_split(config, &split) == 0)
		result = read_vocab_json(out, arena, folder, split);
	free(path);
	return result;
}

/* 1 when FOLDER has NAME, 0 when not, -1 with the error set. */
static int has(const char *folder, const char *name)
{
	char *path = tokenizer_beside(folder, name);
	int there = path ? access(path, F_OK) == 0 : -1;

	free(path);
	return there;
}

static int read_folder(struct tokenizer_spec *out, struct arena *arena, const char *folder,
		       enum scanner split)
{
	static const char *const names[] = { "tokenizer.json", "tekken.json", "tokenizer.model",
					     "vocab.json", "vocab.txt" };
	struct json_tree *config;
	int result = -1, there = 0;
	size_t i = 0;

	if (tokenizer_config_open(&config, folder) < 0)
		return -1;
	for (; i < sizeof(names) / sizeof(names[0]); i++) {
		there = has(folder, names[i]);
		if (there)
			break;
	}
	if (there > 0)
		result = read_member(out, arena, folder, names[i], config, split);
	else if (there == 0)
		err_set(ERR_MISSING,
			"%s: holds no tokenizer.json, tekken.json, tokenizer.model, vocab.json, "
			"vocab.txt",
			folder);
	if (result == 0)
		result = tokenizer_folder_roles(out, arena, folder, config);
	json_tree_free(config);
	return result;
}

int tokenizer_file_read(struct tokenizer_spec *out, struct arena *arena, const char *path,
			const struct tokenizer_file_options *options)
{
	enum scanner split = options ? options->split : SCANNER_NONE;
	struct stat st;

	if (stat(path, &st) < 0)
		return err_system("%s", path);
	return S_ISDIR(st.st_mode) ? read_folder(out, arena, path, split)
				   : read_file(out, arena, path, split);
}
