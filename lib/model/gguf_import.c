/* lib/model/gguf_import.c - a GGUF written as a Hugging Face folder: its weights */

#include "lib/model/gguf_import_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/gguf_source_parts.h"
#include "lib/model/lm_save.h"

#define AT_ONCE ((uint64_t)1 << 20) /* values in memory, or at least some rows */
#define ROWS	64

/* --- types --- */

static bool is_blocks(const struct tensor_info *t)
{
	return dtype_info(t->dtype)->block > 1;
}

static enum dtype dtype_of_blocks(const struct gguf_import *i)
{
	if (i->options.dtype)
		return i->options.dtype;
	return i->config->architecture == HF_GEMMA3 ? DTYPE_BF16 : DTYPE_F16;
}

static bool is_plain_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

static enum dtype dtype_of_matrix(const struct gguf_import *i, const struct tensor_info *t)
{
	if (i->options.dtype)
		return i->options.dtype;
	return is_plain_float(t->dtype) ? t->dtype : dtype_of_blocks(i);
}

enum dtype gguf_import_dtype(const struct gguf_import *i)
{
	uint64_t elements[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_F32;

	for (size_t k = 0; k < i->rebind->n; k++) {
		const struct tensor_info *t = i->rebind->items[k].from;

		if (t->n_dims > 1)
			elements[dtype_of_matrix(i, t)] += t->n_elements;
	}
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (elements[t] > elements[most])
			most = (enum dtype)t;
	return most;
}

/* What the key says that vectors were, before a GGUF had to have them in f32. */
static int dtype_of_vectors(const struct gguf_import *i, enum dtype *out)
{
	struct bytes name;
	int got = gguf_get_string(model_gguf(i->model), GGUF_SOURCE_VECTORS, &name);
	enum dtype t = DTYPE_UNKNOWN;

	*out = i->options.dtype ? i->options.dtype : gguf_import_dtype(i);
	if (got <= 0 || i->options.dtype)
		return got < 0 ? -1 : 0;
	for (int k = 1; k < DTYPE_COUNT; k++)
		if (bytes_are(name, dtype_name((enum dtype)k)))
			t = (enum dtype)k;
	if (!is_plain_float(t))
		return err_set(ERR_FORMAT,
			       "%s: key " GGUF_SOURCE_VECTORS ": is " BYTES_FMT
			       ", not f32, f16 or bf16",
			       model_path(i->model), BYTES_ARG(name));
	*out = t;
	return 0;
}

static int set_types(struct gguf_import *i)
{
	enum dtype vectors;

	if (dtype_of_vectors(i, &vectors) < 0)
		return -1;
	for (size_t k = 0; k < i->rebind->n; k++) {
		struct rebound *r = &i->rebind->items[k];
		const struct tensor_info *t = r->from;

		if (!dtype_decodes(t->dtype))
			return err_set(ERR_UNSUPPORTED,
				       "%s: tensor " BYTES_FMT ": values of %s are not read",
				       model_path(i->model), BYTES_ARG(t->name),
				       dtype_name(t->dtype));
		if (!rebind_retype(r, t->n_dims > 1 ? dtype_of_matrix(i, t) : vectors))
			return err_set(ERR_LIMIT, "%s: tensor " BYTES_FMT ": is too large",
				       model_path(i->model), BYTES_ARG(t->name));
		i->report.n_decoded += is_blocks(t);
	}
	i->report.blocks = dtype_of_blocks(i);
	return 0;
}

/* --- opening --- */

static int refuse_unknown(const struct gguf_import *i)
{
	const struct rebind *r = i->rebind;

	if (!r->n_unknown || i->options.unknown_tensors)
		return 0;
	return err_set(ERR_UNSUPPORTED,
		       "%s: %zu tensor%s that a model of the kind " BYTES_FMT
		       " does not have, the first " BYTES_FMT "; --allow tensors leaves %s out",
		       model_path(i->model), r->n_unknown, r->n_unknown == 1 ? "" : "s",
		       BYTES_ARG(i->config->model_type), BYTES_ARG(r->unknown[0]->name),
		       r->n_unknown == 1 ? "it" : "them");
}

static int open_import(struct gguf_import *i)
{
	if (model_kind(i->model) != MODEL_GGUF)
		return err_set(ERR_ARGUMENT, "%s: is no GGUF; copy-model copies a folder",
			       model_path(i->model));
	if (model_config(i->model, &i->config) < 0 ||
	    rebind_new(&i->rebind, i->model, i->config, MODEL_FOLDER) < 0)
		return -1;
	return refuse_unknown(i) < 0 ? -1 : set_types(i);
}

int gguf_import_new(struct gguf_import **out, struct model *m, const struct gguf_import_options *o)
{
	struct gguf_import *i = mem_new(1, sizeof(*i));

	*out = NULL;
	if (!i)
		return -1;
	i->model = m;
	if (o)
		i->options = *o;
	i->narrow.clamp = i->options.clamp;
	if (open_import(i) < 0) {
		gguf_import_free(i);
		return -1;
	}
	*out = i;
	return 0;
}

void gguf_import_free(struct gguf_import *i)
{
	if (!i)
		return;
	rebind_free(i->rebind);
	buffer_free(&i->notes);
	free(i);
}

uint64_t gguf_import_bytes(const struct gguf_import *i)
{
	uint64_t n = 0;

	for (size_t k = 0; k < i->rebind->n; k++)
		n += i->rebind->items[k].to.n_bytes;
	return n;
}

const struct buffer *gguf_import_notes(const struct gguf_import *i)
{
	return &i->notes;
}

struct gguf_import_report gguf_import_report(const struct gguf_import *i)
{
	struct gguf_import_report r = i->report;

	r.n_clamped = i->narrow.clamped;
	return r;
}

/* --- weights --- */

static int write_plain(const struct gguf_import *i, const struct rebound *r,
		       struct safetensors_writer *w, struct progress *p)
{
	int fd = model_file_fd(i->model, r->from->file);
	const uint64_t piece = UINT64_C(64) << 20;

	for (uint64_t at = 0; at < r->to.n_bytes; at += piece) {
		uint64_t n = r->to.n_bytes - at < piece ? r->to.n_bytes - at : piece;

		if (safetensors_writer_copy(w, fd, r->from->offset + at, n) < 0)
			return -1;
		progress_add(p, n);
	}
	return 0;
}

static int write_rows(struct gguf_import *i, const struct rebound *r, struct safetensors_writer *w,
		      float *values, void *bytes, uint64_t at_once, struct progress *p)
{
	uint64_t rows = rebind_n_rows(&r->to), columns = rebind_row_values(&r->to);
	size_t width = dtype_info(r->to.dtype)->bytes;

	for (uint64_t at = 0; at < rows; at += at_once) {
		uint64_t n = rows - at < at_once ? rows - at : at_once;
		size_t size = (size_t)(n * columns) * width;

		if (rebind_rows_f32(r, at, n, values) < 0 ||
		    narrow_values(&i->narrow, r->to.dtype, values, n * columns, bytes,
				  r->from->name) < 0 ||
		    safetensors_writer_data(w, bytes, size) < 0)
			return -1;
		progress_add(p, size);
	}
	return 0;
}

static int write_tensor(struct gguf_import *i, const struct rebound *r,
			struct safetensors_writer *w, struct progress *p)
{
	uint64_t columns = rebind_row_values(&r->to), rows = rebind_n_rows(&r->to);
	uint64_t at_once = columns && AT_ONCE / columns > ROWS ? AT_ONCE / columns : ROWS;
	uint64_t rounded = i->narrow.rounded;
	float *values;
	void *bytes;
	int result = -1;

	i->report.n_tensors++;
	i->report.bytes += r->to.n_bytes;
	if (rebind_is_plain(r))
		return write_plain(i, r, w, p);
	at_once = at_once < rows ? at_once : rows ? rows : 1;
	values = mem_new((size_t)(at_once * columns), sizeof(*values));
	bytes = mem_new((size_t)(at_once * columns), sizeof(float));
	if (values && bytes)
		result = write_rows(i, r, w, values, bytes, at_once, p);
	free(values);
	free(bytes);
	if (!is_blocks(r->from))
		i->report.n_rounded += i->narrow.rounded - rounded;
	return result;
}

static int write_tensors(struct gguf_import *i, struct safetensors_writer *w, struct outfile *f,
			 struct progress *p)
{
	size_t n = i->rebind->n;
	uint64_t inexact;

	safetensors_put_pair(w, bytes_of("format"), bytes_of("pt"));
	for (size_t k = 0; k < n; k++)
		safetensors_put_tensor(w, &i->rebind->items[k].to);
	if (safetensors_writer_begin(w, f) < 0)
		return -1;
	for (size_t k = 0; k < n; k++) {
		const struct rebound *r = &i->rebind->items[safetensors_writer_order(w, k)];

		if (r->added != 0) {
			if (rebind_inexact(r, &inexact) < 0)
				return -1;
			i->report.n_inexact += inexact;
		}
		if (write_tensor(i, r, w, p) < 0)
			return -1;
	}
	return safetensors_writer_end(w);
}

static int write_weights(struct gguf_import *i, struct outdir *d, struct progress *p)
{
	struct safetensors_writer *w = NULL;
	struct outfile *f = NULL;
	int result = -1;

	if (safetensors_writer_new(&w, false) == 0 && outdir_file(d, LM_WEIGHTS, &f) == 0)
		result = write_tensors(i, w, f, p);
	safetensors_writer_free(w);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

/* Rope's factors are part of the configuration. */
static void tell_of_rest(struct gguf_import *i)
{
	const struct rebind *r = i->rebind;

	for (size_t k = 0; k < r->n_dropped; k++)
		if (!bytes_start_with(r->dropped[k]->name, "rope_f"))
			buffer_format(&i->notes, "tensor " BYTES_FMT ": is left out\n",
				      BYTES_ARG(r->dropped[k]->name));
	for (size_t k = 0; k < r->n_unknown; k++)
		buffer_format(&i->notes, "tensor " BYTES_FMT ": is left out, as allowed\n",
			      BYTES_ARG(r->unknown[k]->name));
}

int gguf_import_write(struct gguf_import *i, const char *target, struct progress *p)
{
	struct outdir *d;
	int result = -1;

	if (outdir_new(&d, target) < 0)
		return -1;
	tell_of_rest(i);
	if (gguf_import_config(i, d) == 0 && gguf_import_tokenizer(i, d) == 0 &&
	    write_weights(i, d, p) == 0)
		result = buffer_check(&i->notes);
	if (result == 0)
		return outdir_commit(d);
	outdir_discard(d);
	return -1;
}
