/* lib/model/gguf_export.c - a model written as a GGUF: a few rows at a time, or bytes as they lie */

#include "lib/model/gguf_export.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/rebind.h"

#define AT_ONCE ((uint64_t)1 << 20) /* values that are in memory, or at least one row */
#define ROWS	64		    /* at least, of what lies the other way round */

struct job {
	const struct gguf_source *source;
	const struct gguf_export_options *options;
	struct gguf_export_report *report;
	struct gguf_writer *writer;
	struct progress *progress;
};

enum dtype gguf_export_dtype(const struct tensor_info *t, const struct gguf_export_options *o)
{
	if (!o->dtype || t->n_dims < 2)
		return t->dtype;
	return o->dtype;
}

/* T as it is written; false: no such size. */
static bool target_info(const struct tensor_info *t, const struct gguf_export_options *o,
			struct tensor_info *out)
{
	size_t size;

	*out = *t;
	out->dtype = gguf_export_dtype(t, o);
	if (!dtype_size(out->dtype, t->n_elements, &size))
		return false;
	out->n_bytes = size;
	return true;
}

uint64_t gguf_export_bytes(const struct gguf_source *s, const struct gguf_export_options *o)
{
	struct tensor_info t;
	uint64_t bytes = 0;

	for (size_t i = 0; i < gguf_source_n(s); i++)
		if (target_info(gguf_source_tensor(s, i), o, &t))
			bytes += t.n_bytes;
	return bytes;
}

/* --- a tensor --- */

static int write_copy(const struct job *j, const struct tensor_info *t)
{
	int fd = model_file_fd(gguf_source_model(j->source), t->file);
	const uint64_t piece = UINT64_C(64) << 20;

	for (uint64_t at = 0; at < t->n_bytes; at += piece) {
		uint64_t n = t->n_bytes - at < piece ? t->n_bytes - at : piece;

		if (gguf_writer_copy(j->writer, fd, t->offset + at, n) < 0)
			return -1;
		progress_add(j->progress, n);
	}
	return 0;
}

static int write_rows(const struct job *j, size_t i, const struct tensor_info *to, void *bytes,
		      float *values, uint64_t at_once)
{
	const struct tensor_info *from = gguf_source_tensor(j->source, i);
	uint64_t rows = rebind_n_rows(from), columns = rebind_row_values(from);

	for (uint64_t at = 0; at < rows; at += at_once) {
		uint64_t n = rows - at < at_once ? rows - at : at_once;
		size_t size = 0;

		dtype_size(to->dtype, n * columns, &size);
		if (to->dtype == from->dtype) {
			if (gguf_source_rows(j->source, i, at, n, bytes) < 0)
				return -1;
		} else if (gguf_source_rows_f32(j->source, i, at, n, values) < 0 ||
			   narrow_values(&j->report->narrow, to->dtype, values, n * columns, bytes,
					 from->name) < 0) {
			return -1;
		}
		if (gguf_writer_data(j->writer, bytes, size) < 0)
			return -1;
		progress_add(j->progress, size);
	}
	return 0;
}

static int write_tensor(const struct job *j, size_t i)
{
	const struct tensor_info *from = gguf_source_tensor(j->source, i);
	uint64_t columns = rebind_row_values(from), rows = rebind_n_rows(from);
	uint64_t at_once = columns && AT_ONCE / columns > ROWS ? AT_ONCE / columns : ROWS;
	struct tensor_info to;
	float *values;
	void *bytes;
	int result = -1;

	target_info(from, j->options, &to);
	j->report->bytes += to.n_bytes;
	j->report->n_converted += to.dtype != from->dtype;
	/* What has no file is data of the source's own. */
	if (to.dtype == from->dtype && from->data && from->offset)
		return write_copy(j, from);
	if (to.dtype == from->dtype && from->data)
		return gguf_writer_data(j->writer, from->data, from->n_bytes);
	at_once = at_once < rows ? at_once : rows ? rows : 1;
	values = mem_new((size_t)(at_once * columns), sizeof(*values));
	bytes = mem_new((size_t)(at_once * columns), sizeof(float));
	if (values && bytes)
		result = write_rows(j, i, &to, bytes, values, at_once);
	free(values);
	free(bytes);
	return result;
}

/* --- the whole --- */

static uint32_t file_type(enum dtype t)
{
	return t == DTYPE_F16 ? 1 : t == DTYPE_BF16 ? 32 : 0;
}

static int declare(const struct job *j)
{
	static const char *const own[] = { "general.file_type" };
	const struct gguf_export_options *o = j->options;
	struct tensor_info t;

	if (gguf_source_put_keys(j->source, j->writer, own, o->dtype ? 1 : 0) < 0)
		return -1;
	if (o->dtype)
		gguf_put_u32(j->writer, own[0], file_type(o->dtype));
	for (size_t i = 0; i < gguf_source_n(j->source); i++) {
		if (!target_info(gguf_source_tensor(j->source, i), o, &t))
			return err_set(ERR_LIMIT, "tensor " BYTES_FMT ": is too large",
				       BYTES_ARG(t.name));
		gguf_put_tensor(j->writer, &t);
	}
	return 0;
}

static int write_all(const struct job *j, struct outfile *f)
{
	if (declare(j) < 0 || gguf_writer_begin(j->writer, f) < 0)
		return -1;
	for (size_t i = 0; i < gguf_source_n(j->source); i++)
		if (write_tensor(j, i) < 0)
			return -1;
	return gguf_writer_end(j->writer);
}

int gguf_export(const struct gguf_source *s, const char *target,
		const struct gguf_export_options *o, struct gguf_export_report *report,
		struct progress *p)
{
	struct job j = { .source = s, .options = o, .report = report, .progress = p };
	struct outfile *f = NULL;
	int result = -1;

	*report = (struct gguf_export_report){ .n_tensors = gguf_source_n(s),
					       .narrow = { .clamp = o->clamp } };
	if (outfile_new(&f, target) == 0 && gguf_writer_new(&j.writer, 32) == 0)
		result = write_all(&j, f);
	gguf_writer_free(j.writer);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}
