/*
 * lib/model/gguf_source_folder.c - a Hugging Face folder as the tensors and keys of a GGUF
 *
 * Order of keys: general.*, the architecture's, the tokenizer's, as llama.cpp's converter has it; ours after them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/gguf_config_write.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/model/gguf_source_parts.h"

#define NAMED 8 /* of tensors that a message lists */

/* --- tensors --- */

/* What llama.cpp computes with vectors asks for f32; a type that GGUF lacks is widened too. */
static enum dtype dtype_of(const struct rebound *r)
{
	bool plain = dtype_info(r->from->dtype)->block == 1;

	if (plain && (r->to.n_dims < 2 || dtype_info(r->from->dtype)->gguf < 0 ||
		      r->from->dtype == DTYPE_F64))
		return DTYPE_F32;
	return r->from->dtype;
}

static int add_rebound(struct gguf_source *s, struct rebound *r, uint64_t *inexact)
{
	struct source_tensor *t = &s->tensors[s->n++];
	uint64_t n = 0;

	if (!dtype_decodes(r->from->dtype))
		return err_set(
			ERR_UNSUPPORTED, "%s: tensor " BYTES_FMT ": values of %s are not read",
			model_path(s->model), BYTES_ARG(r->from->name), dtype_name(r->from->dtype));
	if (!rebind_retype(r, dtype_of(r)))
		return err_set(ERR_LIMIT, "%s: tensor " BYTES_FMT ": is too large",
			       model_path(s->model), BYTES_ARG(r->from->name));
	if (r->added != 0 && rebind_inexact(r, &n) < 0)
		return -1;
	*inexact += n;
	*t = (struct source_tensor){ .info = r->to, .rebound = r };
	if (rebind_is_plain(r)) {
		t->info.data = r->from->data;
		t->info.offset = r->from->offset;
		t->info.file = r->from->file;
	}
	return 0;
}

static void list_names(struct buffer *b, const struct tensor_info *const *tensors, size_t n)
{
	for (size_t i = 0; i < n && i < NAMED; i++)
		buffer_format(b, "%s" BYTES_FMT, i ? ", " : "", BYTES_ARG(tensors[i]->name));
	if (n > NAMED)
		buffer_format(b, " and %zu more", n - NAMED);
}

/* Tensors that no one has heard of are not left out by accident. */
static int tell_of_rest(struct gguf_source *s)
{
	const struct rebind *r = s->rebind;
	struct buffer b = { 0 };
	int result = 0;

	if (r->n_dropped) {
		buffer_format(&s->notes, "left out, since GGUF has no place for it: ");
		list_names(&s->notes, r->dropped, r->n_dropped);
		buffer_put_text(&s->notes, "\n");
	}
	if (!r->n_unknown)
		return 0;
	list_names(&b, r->unknown, r->n_unknown);
	buffer_put_u8(&b, 0);
	result = buffer_check(&b);
	if (result == 0)
		result = gguf_source_loss(s, "tensors",
					  "%zu tensor%s that a model of the kind " BYTES_FMT
					  " does not have: %s",
					  r->n_unknown, r->n_unknown == 1 ? "" : "s",
					  BYTES_ARG(s->config->model_type), b.data);
	buffer_free(&b);
	return result;
}

static int make_tensors(struct gguf_source *s)
{
	struct tensor_info rope[GGUF_ROPE_TENSORS];
	uint64_t inexact = 0;
	size_t n_rope;

	if (rebind_new(&s->rebind, s->model, s->config, MODEL_GGUF) < 0 || tell_of_rest(s) < 0 ||
	    gguf_config_rope_tensors(s->config, s->arena, rope, &n_rope) < 0)
		return -1;
	s->tensors = arena_alloc(s->arena, s->rebind->n + GGUF_ROPE_TENSORS, sizeof(*s->tensors));
	if (!s->tensors)
		return -1;
	for (size_t i = 0; i < n_rope; i++)
		s->tensors[s->n++].info = rope[i];
	for (size_t i = 0; i < s->rebind->n; i++)
		if (add_rebound(s, &s->rebind->items[i], &inexact) < 0)
			return -1;
	if (inexact)
		buffer_format(&s->notes,
			      "%" PRIu64
			      " values of norms with 1 added are not exact: the nearest f32 was "
			      "taken\n",
			      inexact);
	return 0;
}

/* --- files kept whole --- */

static bool is_text(struct bytes b)
{
	return utf8_valid_prefix(b.data, b.size) == b.size;
}

/* FOLDER/NAME as text under `nnutils.file.NAME`, when it is there, is UTF-8 and not large. */
static int keep_file(struct gguf_writer *w, const char *folder, const char *name)
{
	char *path = mem_format("%s/%s", folder, name),
	     *key = mem_format(GGUF_SOURCE_FILE "%s", name);
	struct mapfile *map = NULL;
	int result = path && key ? 0 : -1;

	if (result == 0 && access(path, F_OK) == 0)
		result = mapfile_open(&map, path);
	if (map && mapfile_bytes(map).size <= GGUF_SOURCE_FILE_MAX && is_text(mapfile_bytes(map)))
		gguf_put_string(w, key, mapfile_bytes(map));
	mapfile_close(map);
	free(path);
	free(key);
	return result;
}

/* The model's own, and what lies beside its tokenizer. */
static int keep_files(struct gguf_writer *w, const char *folder, const char *tokenizer)
{
	static const char *const names[] = { GGUF_SOURCE_FILES };

	if (keep_file(w, folder, "config.json") < 0 ||
	    keep_file(w, folder, "generation_config.json") < 0)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (keep_file(w, tokenizer, names[i]) < 0)
			return -1;
	return 0;
}

/* --- general.* --- */

/* The value of `license:` at the start of README.md, between its first two lines of dashes; empty: none. */
static struct bytes license_in(struct bytes text)
{
	static const char key[] = "license:";
	const char *at = text.data, *end = text.data + text.size;

	if (!bytes_start_with(text, "---\n"))
		return (struct bytes){ 0 };
	for (at += 4; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		struct bytes line = { at, (size_t)((line_end ? line_end : end) - at) };

		if (bytes_start_with(line, "---"))
			break;
		if (bytes_start_with(line, key)) {
			line.data += sizeof(key) - 1;
			line.size -= sizeof(key) - 1;
			while (line.size && line.data[0] == ' ')
				line.data++, line.size--;
			return line;
		}
		at = line_end ? line_end + 1 : end;
	}
	return (struct bytes){ 0 };
}

static int put_license(struct gguf_writer *w, const char *folder)
{
	char *path = mem_format("%s/README.md", folder);
	struct mapfile *map = NULL;
	struct bytes license;
	int result = path ? 0 : -1;

	if (path && access(path, F_OK) == 0)
		result = mapfile_open(&map, path);
	if (map) {
		license = license_in(mapfile_bytes(map));
		if (license.size && license.size < 100 && is_text(license))
			gguf_put_string(w, "general.license", license);
		mapfile_close(map);
	}
	free(path);
	return result;
}

/* The folder's own name. */
static int put_name(struct gguf_writer *w, const char *folder)
{
	char *path = realpath(folder, NULL), *slash;

	if (!path)
		return err_system("%s", folder);
	slash = strrchr(path, '/');
	if (slash && slash[1] && is_text(bytes_of(slash + 1)))
		gguf_put_string(w, "general.name", bytes_of(slash + 1));
	free(path);
	return 0;
}

/* ggml's number for what most bytes of the matrices are. */
static uint32_t file_type(const struct gguf_source *s)
{
	uint64_t bytes[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_F32;

	for (size_t i = 0; i < s->n; i++)
		if (s->tensors[i].info.n_dims > 1)
			bytes[s->tensors[i].info.dtype] += s->tensors[i].info.n_bytes;
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (bytes[t] > bytes[most])
			most = (enum dtype)t;
	return most == DTYPE_F16 ? 1 : most == DTYPE_BF16 ? 32 : 0;
}

static int put_general(struct gguf_source *s, struct gguf_writer *w)
{
	const char *folder = model_path(s->model);

	gguf_put_string(w, "general.architecture", bytes_of(gguf_architecture(s->config)));
	gguf_put_string(w, "general.type", bytes_of("model"));
	if (put_name(w, folder) < 0 || put_license(w, folder) < 0)
		return -1;
	gguf_put_u32(w, "general.file_type", file_type(s));
	gguf_put_u32(w, "general.quantization_version", 2);
	return 0;
}

/* --- keys --- */

/* What the keys declared so far say, beside our tensors. */
static int read_back(struct gguf_source *s, struct gguf_writer *w, struct hf_config *said)
{
	const struct tensor_info **list = mem_new(s->n + 1, sizeof(*list));
	struct buffer b = { 0 };
	struct gguf *g = NULL;
	int result = -1;

	for (size_t i = 0; list && i < s->n; i++)
		list[i] = &s->tensors[i].info;
	if (list && gguf_writer_preview(w, &b) == 0 &&
	    gguf_open_memory(&g, b.data, b.size, model_path(s->model)) == 0)
		result = gguf_config_said(g, list, s->n, said, s->arena);
	gguf_close(g);
	buffer_free(&b);
	free(list);
	return result;
}

/* What is kept besides, unless nothing but llama.cpp's own keys is asked for. */
static int put_rest(struct gguf_source *s, struct gguf_writer *w, const struct hf_config *said)
{
	const char *tokenizer = s->options.tokenizer;
	enum dtype vectors = DTYPE_UNKNOWN;

	if (s->options.plain)
		return 0;
	if (gguf_config_put_rest(w, s->config, said) < 0)
		return -1;
	/* Vectors are f32 in a GGUF; their own type, where they had one. */
	for (size_t i = 0; i < s->n; i++)
		if (s->tensors[i].rebound && s->tensors[i].info.n_dims < 2)
			vectors = s->tensors[i].rebound->from->dtype;
	if (vectors != DTYPE_UNKNOWN)
		gguf_put_string(w, GGUF_SOURCE_VECTORS, bytes_of(dtype_name(vectors)));
	return keep_files(w, model_path(s->model), tokenizer ? tokenizer : model_path(s->model));
}

static int put_keys(struct gguf_source *s, struct gguf_writer *w)
{
	const char *tokenizer = s->options.tokenizer;
	struct hf_config said;

	if (put_general(s, w) < 0 || gguf_config_put(w, s->config) < 0 ||
	    gguf_source_put_tokenizer(s, w, tokenizer ? tokenizer : model_path(s->model),
				      s->config->vocab_size) < 0 ||
	    read_back(s, w, &said) < 0)
		return -1;
	return gguf_source_losses(s, s->config, &said) < 0 ? -1 : put_rest(s, w, &said);
}

/* --- the whole --- */

/* Of a model that sees, the text model alone. */
static int take_config(struct gguf_source *s)
{
	struct hf_config *c;

	if (model_config(s->model, &s->config) < 0)
		return -1;
	if (!s->config->nested)
		return 0;
	c = arena_alloc(s->arena, 1, sizeof(*c));
	if (!c)
		return -1;
	*c = *s->config;
	c->nested = false;
	c->class_name = bytes_of(hf_language_class(c->architecture));
	s->config = c;
	return 0;
}

int gguf_source_folder(struct gguf_source *s)
{
	struct gguf_writer *w = NULL;
	int result = -1;

	if (take_config(s) < 0)
		return -1;
	if (!gguf_architecture(s->config))
		return err_set(ERR_UNSUPPORTED, "%s: GGUF has no architecture " BYTES_FMT,
			       model_path(s->model), BYTES_ARG(s->config->model_type));
	if (make_tensors(s) == 0 && gguf_writer_new(&w, 32) == 0 && put_keys(s, w) == 0)
		result = gguf_source_take_keys(s, w);
	gguf_writer_free(w);
	return result;
}
