/* lib/model/gguf_source.c - any model on disk, seen as the GGUF that it would be */

#include "lib/model/gguf_source_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

/* --- what GGUF cannot say --- */

bool gguf_source_allows(const struct gguf_source *s, const char *name)
{
	for (size_t i = 0; i < s->options.n_allow; i++)
		if (strcmp(s->options.allow[i], name) == 0)
			return true;
	return false;
}

int gguf_source_loss(struct gguf_source *s, const char *name, const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!gguf_source_allows(s, name))
		return err_set(ERR_UNSUPPORTED, "%s: %s; --allow %s writes it all the same",
			       model_path(s->model), text, name);
	buffer_format(&s->notes, "%s (allowed: %s)\n", text, name);
	return 0;
}

/* --- keys --- */

int gguf_source_take_keys(struct gguf_source *s, struct gguf_writer *w)
{
	if (gguf_writer_preview(w, &s->header) < 0 ||
	    gguf_open_memory(&s->made, s->header.data, s->header.size, model_path(s->model)) < 0)
		return -1;
	s->keys = s->made;
	return 0;
}

/* Keys that the options put others in the place of. */
static bool is_replaced(const struct gguf_source *s, struct bytes key)
{
	const struct gguf_source_options *o = &s->options;

	if (o->plain &&
	    (bytes_start_with(key, "nnutils.") || bytes_are(key, "tokenizer.huggingface.json")))
		return true;
	if (o->tokenizer &&
	    (bytes_start_with(key, "tokenizer.") || bytes_start_with(key, "nnutils.tokenizer.")))
		return true;
	return o->pre && bytes_are(key, "tokenizer.ggml.pre");
}

static int remake_keys(struct gguf_source *s, struct gguf_writer *w)
{
	const struct gguf *g = model_gguf(s->model);
	const struct tensor_info *t = gguf_find(g, bytes_of("token_embd.weight"));

	for (size_t i = 0; i < gguf_n_keys(g); i++)
		if (!is_replaced(s, gguf_key(g, i)->key) &&
		    !bytes_are(gguf_key(g, i)->key, "general.alignment"))
			gguf_put_value(w, gguf_key(g, i));
	if (s->options.pre && !s->options.tokenizer)
		gguf_put_string(w, "tokenizer.ggml.pre", bytes_of(s->options.pre));
	if (s->options.tokenizer && gguf_source_put_tokenizer(s, w, s->options.tokenizer,
							      t && t->n_dims ? t->shape[0] : 0) < 0)
		return -1;
	return gguf_source_take_keys(s, w);
}

static int open_gguf(struct gguf_source *s)
{
	const struct gguf *g = model_gguf(s->model);
	struct gguf_writer *w = NULL;
	int result = 0;

	s->keys = model_gguf(s->model);
	s->n = gguf_n_tensors(g);
	s->tensors = arena_alloc(s->arena, s->n + 1, sizeof(*s->tensors));
	if (!s->tensors)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		s->tensors[i].info = *gguf_tensor(g, i);
	if (!s->options.tokenizer && !s->options.pre && !s->options.plain)
		return 0;
	result = gguf_writer_new(&w, 32);
	if (result == 0)
		result = remake_keys(s, w);
	gguf_writer_free(w);
	return result;
}

int gguf_source_put_keys(const struct gguf_source *s, struct gguf_writer *w,
			 const char *const *left_out, size_t n_left_out)
{
	for (size_t i = 0; i < gguf_n_keys(s->keys); i++) {
		const struct gguf_value *v = gguf_key(s->keys, i);
		bool out = bytes_start_with(v->key, "split.") ||
			   bytes_are(v->key, "general.alignment") ||
			   (s->options.plain && bytes_start_with(v->key, "nnutils."));

		for (size_t k = 0; k < n_left_out && !out; k++)
			out = bytes_are(v->key, left_out[k]);
		if (!out)
			gguf_put_value(w, v);
	}
	return 0;
}

/* --- the whole --- */

static int open_source(struct gguf_source *s, const char *path)
{
	if (arena_new(&s->arena) < 0 || model_open(&s->model, path) < 0)
		return -1;
	switch (model_kind(s->model)) {
	case MODEL_GGUF:
		/* An architecture that is not known is passed on as it is. */
		if (model_config(s->model, &s->config) < 0 && err_last() != ERR_UNSUPPORTED)
			return -1;
		return open_gguf(s);
	case MODEL_FOLDER: return gguf_source_folder(s);
	default: break;
	}
	return err_set(ERR_ARGUMENT, "%s: has no configuration; give the folder with config.json",
		       path);
}

int gguf_source_open(struct gguf_source **out, const char *path,
		     const struct gguf_source_options *o)
{
	struct gguf_source *s = mem_new(1, sizeof(*s));
	int result;

	*out = NULL;
	if (!s)
		return -1;
	if (o)
		s->options = *o;
	result = open_source(s, path);
	if (result == 0)
		result = buffer_check(&s->notes);
	if (result < 0) {
		gguf_source_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void gguf_source_close(struct gguf_source *s)
{
	if (!s)
		return;
	gguf_close(s->made);
	buffer_free(&s->header);
	buffer_free(&s->notes);
	rebind_free(s->rebind);
	model_close(s->model);
	arena_free(s->arena);
	free(s);
}

struct model *gguf_source_model(const struct gguf_source *s)
{
	return s->model;
}

const struct hf_config *gguf_source_config(const struct gguf_source *s)
{
	return s->config;
}

size_t gguf_source_n(const struct gguf_source *s)
{
	return s->n;
}

const struct tensor_info *gguf_source_tensor(const struct gguf_source *s, size_t i)
{
	return &s->tensors[i].info;
}

const struct buffer *gguf_source_notes(const struct gguf_source *s)
{
	return &s->notes;
}

/* --- rows --- */

/* What lies in the file as it is to be, as if it were rebound. */
static struct rebound bare(const struct source_tensor *t)
{
	return (struct rebound){ .to = t->info, .from = &t->info };
}

int gguf_source_rows(const struct gguf_source *s, size_t i, uint64_t first, uint64_t n, void *out)
{
	const struct source_tensor *t = &s->tensors[i];
	struct rebound plain = bare(t);

	return rebind_rows(t->rebound ? t->rebound : &plain, first, n, out);
}

int gguf_source_rows_f32(const struct gguf_source *s, size_t i, uint64_t first, uint64_t n,
			 float *out)
{
	const struct source_tensor *t = &s->tensors[i];
	struct rebound plain = bare(t);

	return rebind_rows_f32(t->rebound ? t->rebound : &plain, first, n, out);
}
