/* formats/logits_file.c - kept logits: what they are of, and their rows */

#include "formats/logits_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FORMAT	   "nnutils-logits"
#define VERSION	   "1"
#define ENCODED_AT 8192 /* values that are rounded at a time */

static uint64_t n_tokens(const struct logits_tokens *t)
{
	return t->starts[t->n_windows];
}

/* --- what it is --- */

static void put_text(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text) + 1);
}

int logits_key(struct hash128 *out, const struct logits_origin *o, const struct logits_tokens *t)
{
	struct buffer b = { 0 };
	int result;

	put_text(&b, FORMAT " " VERSION);
	buffer_put(&b, o->model.digest, sizeof(o->model.digest));
	buffer_put(&b, o->tokenizer.digest, sizeof(o->tokenizer.digest));
	put_text(&b, o->compute);
	put_text(&b, o->cache);
	put_text(&b, o->kernels);
	put_text(&b, dtype_name(o->dtype));
	buffer_format(&b, "%" PRIu32 " %" PRIu32 " %zu", o->context, o->vocab, t->n_windows);
	for (size_t i = 0; i < t->n_windows; i++)
		buffer_format(&b, " %" PRIu64, t->starts[i + 1]);
	for (uint64_t i = 0; i < n_tokens(t); i++)
		buffer_format(&b, " %" PRIu32, t->ids[i]);
	result = buffer_check(&b);
	if (result == 0)
		result = hash_memory(NULL, b.data, b.size, out);
	buffer_free(&b);
	return result;
}

/* --- writing --- */

struct logits_writer {
	struct safetensors_writer *file; /* owned */
	size_t vocab;
	enum dtype dtype;
	unsigned char *encoded; /* owned: room for ENCODED_AT values */
};

static void declare(struct safetensors_writer *w, const char *name, enum dtype dtype,
		    uint32_t n_dims, uint64_t rows, uint64_t columns)
{
	struct tensor_info t = { .name = bytes_of(name), .dtype = dtype, .n_dims = n_dims };

	t.shape[0] = rows;
	t.shape[1] = columns;
	t.n_elements = rows * (n_dims > 1 ? columns : 1);
	t.n_bytes = t.n_elements * dtype_info(dtype)->bytes;
	safetensors_put_tensor(w, &t);
}

static void put_pair(struct safetensors_writer *w, const char *key, const char *value)
{
	safetensors_put_pair(w, bytes_of(key), bytes_of(value));
}

static void put_hash(struct safetensors_writer *w, const char *key, const struct hash128 *h)
{
	char hex[HASH_HEX];

	hash_hex(h, hex);
	put_pair(w, key, hex);
}

static void describe(struct safetensors_writer *w, const struct logits_origin *o)
{
	char context[16];

	snprintf(context, sizeof(context), "%" PRIu32, o->context);
	put_pair(w, "format", FORMAT);
	put_pair(w, "version", VERSION);
	put_hash(w, "model", &o->model);
	put_pair(w, "model_name", o->name);
	put_pair(w, "weights", o->weights);
	put_hash(w, "tokenizer", &o->tokenizer);
	put_pair(w, "context", context);
	put_pair(w, "compute", o->compute);
	put_pair(w, "cache", o->cache);
	put_pair(w, "kernels", o->kernels);
}

static int put_tokens(struct logits_writer *w, const struct logits_tokens *t)
{
	return safetensors_writer_data(w->file, t->starts,
				       (t->n_windows + 1) * sizeof(*t->starts)) < 0
		       ? -1
		       : safetensors_writer_data(w->file, t->ids,
						 (size_t)n_tokens(t) * sizeof(*t->ids));
}

static int start(struct logits_writer *w, struct outfile *f, const struct logits_origin *o,
		 const struct logits_tokens *t)
{
	w->vocab = o->vocab;
	w->dtype = o->dtype;
	w->encoded = mem_new(ENCODED_AT, sizeof(float));
	if (!w->encoded || safetensors_writer_new(&w->file, true) < 0)
		return -1;
	describe(w->file, o);
	declare(w->file, "starts", DTYPE_U64, 1, t->n_windows + 1, 0);
	declare(w->file, "ids", DTYPE_U32, 1, n_tokens(t), 0);
	declare(w->file, "logits", o->dtype, 2, n_tokens(t), o->vocab);
	return safetensors_writer_begin(w->file, f) < 0 ? -1 : put_tokens(w, t);
}

int logits_writer_new(struct logits_writer **out, struct outfile *f, const struct logits_origin *o,
		      const struct logits_tokens *t)
{
	struct logits_writer *w = mem_new(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return -1;
	if (start(w, f, o, t) < 0) {
		logits_writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void logits_writer_free(struct logits_writer *w)
{
	if (!w)
		return;
	safetensors_writer_free(w->file);
	free(w->encoded);
	free(w);
}

int logits_writer_rows(struct logits_writer *w, const float *rows, size_t n)
{
	const size_t all = n * w->vocab;

	for (size_t i = 0; i < all; i += ENCODED_AT) {
		size_t some = all - i < ENCODED_AT ? all - i : ENCODED_AT;

		dtype_from_f32(w->dtype, rows + i, w->encoded, some);
		if (safetensors_writer_data(w->file, w->encoded,
					    some * dtype_info(w->dtype)->bytes) < 0)
			return -1;
	}
	return 0;
}

int logits_writer_end(struct logits_writer *w)
{
	return safetensors_writer_end(w->file);
}

/* --- reading --- */

struct logits_file {
	struct safetensors *file; /* owned */
	const char *path;
	struct logits_origin origin;
	struct logits_tokens tokens;
	const struct tensor_info *logits;
	char *texts[5]; /* owned: copies of pairs */
	size_t n_texts;
	void *ids, *starts; /* owned: aligned copies */
};

static int fail(const struct logits_file *f, const char *what)
{
	return err_set(ERR_FORMAT, "%s: %s", f->path, what);
}

static const struct bytes *pair(const struct logits_file *f, const char *key)
{
	for (size_t i = 0; i < safetensors_n_pairs(f->file); i++)
		if (bytes_equal(safetensors_pair(f->file, i)->key, bytes_of(key)))
			return &safetensors_pair(f->file, i)->value;
	return NULL;
}

/* A copy that ends with a NUL; F owns it. */
static const char *text_of(struct logits_file *f, const char *key)
{
	const struct bytes *b = pair(f, key);

	if (!b) {
		err_set(ERR_FORMAT, "%s: metadata: no %s", f->path, key);
		return NULL;
	}
	f->texts[f->n_texts] = mem_copy(b->data, b->size);
	return f->texts[f->n_texts] ? f->texts[f->n_texts++] : NULL;
}

static int read_hash(const struct logits_file *f, const char *key, struct hash128 *out)
{
	const struct bytes *b = pair(f, key);
	char hex[HASH_HEX];

	if (!b || b->size != HASH_HEX - 1)
		return err_set(ERR_FORMAT, "%s: metadata: %s is no hash", f->path, key);
	memcpy(hex, b->data, b->size);
	hex[b->size] = 0;
	return hash_parse(hex, out) < 0 ? err_prefix("%s: metadata: %s", f->path, key) : 0;
}

static int read_origin(struct logits_file *f)
{
	struct logits_origin *o = &f->origin;
	const struct bytes *version = pair(f, "version");

	if (!version || !bytes_equal(*version, bytes_of(VERSION)))
		return err_set(ERR_UNSUPPORTED, "%s: not version " VERSION " of kept logits",
			       f->path);
	if (read_hash(f, "model", &o->model) < 0 || read_hash(f, "tokenizer", &o->tokenizer) < 0)
		return -1;
	o->name = text_of(f, "model_name");
	o->weights = o->name ? text_of(f, "weights") : NULL;
	o->compute = o->weights ? text_of(f, "compute") : NULL;
	o->cache = o->compute ? text_of(f, "cache") : NULL;
	o->kernels = o->cache ? text_of(f, "kernels") : NULL;
	return o->kernels ? 0 : -1;
}

static const struct tensor_info *tensor(const struct logits_file *f, const char *name,
					uint32_t n_dims)
{
	const struct tensor_info *t = safetensors_find(f->file, bytes_of(name));

	if (!t)
		err_set(ERR_FORMAT, "%s: no tensor %s", f->path, name);
	else if (t->n_dims != n_dims)
		err_set(ERR_FORMAT, "%s: tensor %s has %" PRIu32 " axes, not %" PRIu32, f->path,
			name, t->n_dims, n_dims);
	else
		return t;
	return NULL;
}

static void *copy_of(const struct tensor_info *t)
{
	void *copy = mem_new(t->n_bytes + 1, 1);

	if (copy)
		memcpy(copy, t->data, t->n_bytes);
	return copy;
}

static int check_starts(struct logits_file *f, uint64_t all)
{
	const struct logits_tokens *t = &f->tokens;
	uint64_t longest = 0;

	for (size_t i = 0; i < t->n_windows; i++) {
		if (t->starts[i + 1] <= t->starts[i] || t->starts[i + 1] > all)
			return fail(f, "tensor starts: windows are not in order");
		if (t->starts[i + 1] - t->starts[i] > longest)
			longest = t->starts[i + 1] - t->starts[i];
	}
	if (t->starts[0] != 0 || t->starts[t->n_windows] != all || longest > INT32_MAX)
		return fail(f, "tensor starts: the windows are not all of the ids");
	f->origin.context = (uint32_t)longest;
	return 0;
}

static int read_tokens(struct logits_file *f)
{
	const struct tensor_info *starts = tensor(f, "starts", 1), *ids;

	ids = starts ? tensor(f, "ids", 1) : NULL;
	if (!ids)
		return -1;
	if (starts->dtype != DTYPE_U64 || ids->dtype != DTYPE_U32 || starts->n_elements < 2)
		return fail(f, "tensors starts and ids are not U64 and U32");
	f->starts = copy_of(starts);
	f->ids = copy_of(ids);
	if (!f->starts || !f->ids)
		return -1;
	f->tokens = (struct logits_tokens){ f->ids, f->starts, (size_t)starts->n_elements - 1 };
	return check_starts(f, ids->n_elements);
}

static int read_logits(struct logits_file *f)
{
	const struct tensor_info *t = f->logits = tensor(f, "logits", 2);

	if (!t)
		return -1;
	if (t->shape[0] != n_tokens(&f->tokens) || t->shape[1] == 0 || t->shape[1] > INT32_MAX ||
	    (t->dtype != DTYPE_F32 && t->dtype != DTYPE_F16))
		return fail(f, "tensor logits is not F32 or F16 with a row for each id");
	f->origin.vocab = (uint32_t)t->shape[1];
	f->origin.dtype = t->dtype;
	for (uint64_t i = 0; i < n_tokens(&f->tokens); i++)
		if (f->tokens.ids[i] >= f->origin.vocab)
			return fail(f, "tensor ids: an id past the vocabulary");
	return 0;
}

/* F and its safetensors are taken over. */
static int open_from(struct logits_file **out, struct logits_file *f)
{
	const struct bytes *format = pair(f, "format");
	int result = format && bytes_equal(*format, bytes_of(FORMAT));

	if (result && (read_origin(f) < 0 || read_tokens(f) < 0 || read_logits(f) < 0))
		result = -1;
	if (result > 0)
		*out = f;
	else
		logits_file_close(f);
	return result;
}

int logits_file_open(struct logits_file **out, const char *path)
{
	struct logits_file *f = mem_new(1, sizeof(*f));

	*out = NULL;
	if (!f || safetensors_open(&f->file, path) < 0) {
		free(f);
		return -1;
	}
	f->path = path;
	return open_from(out, f);
}

int logits_file_open_memory(struct logits_file **out, const void *data, size_t size,
			    const char *name)
{
	struct logits_file *f = mem_new(1, sizeof(*f));

	*out = NULL;
	if (!f || safetensors_open_memory(&f->file, data, size, name) < 0) {
		free(f);
		return -1;
	}
	f->path = name;
	return open_from(out, f);
}

void logits_file_close(struct logits_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_texts; i++)
		free(f->texts[i]);
	free(f->ids);
	free(f->starts);
	safetensors_close(f->file);
	free(f);
}

const struct logits_origin *logits_file_origin(const struct logits_file *f)
{
	return &f->origin;
}

const struct logits_tokens *logits_file_tokens(const struct logits_file *f)
{
	return &f->tokens;
}

void logits_file_rows(const struct logits_file *f, uint64_t first, size_t n, float *out)
{
	const size_t row = f->origin.vocab * (size_t)dtype_info(f->origin.dtype)->bytes;

	dtype_to_f32(f->origin.dtype, f->logits->data + first * row, out, n * f->origin.vocab);
}
