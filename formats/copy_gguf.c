/* formats/copy_gguf.c - a GGUF written again, as one file or in parts */

#include <inttypes.h>
#include <stdlib.h>

#include "formats/copy_plan.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

/* general.file_type of a model whose matrices are all of one plain type (ggml's numbers). */
static int64_t file_type(enum dtype t)
{
	switch (t) {
	case DTYPE_F32: return 0;
	case DTYPE_F16: return 1;
	case DTYPE_BF16: return 32;
	default: return -1;
	}
}

/* The first part has every key but split.*, which each part gets anew when there are several. */
static void put_keys(struct gguf_writer *w, const struct gguf *g, const struct copy_options *o)
{
	for (size_t i = 0; i < gguf_n_keys(g); i++) {
		const struct gguf_value *v = gguf_key(g, i);

		if (bytes_start_with(v->key, "split."))
			continue;
		if (bytes_are(v->key, "general.file_type") && v->type == GGUF_U32 &&
		    file_type(o->dtype) >= 0)
			gguf_put_u32(w, "general.file_type", (uint32_t)file_type(o->dtype));
		else
			gguf_put_value(w, v);
	}
}

static int writer_data(void *w, const void *data, size_t n)
{
	return gguf_writer_data(w, data, n);
}

static int writer_copy(void *w, int fd, uint64_t offset, uint64_t n)
{
	return gguf_writer_copy(w, fd, offset, n);
}

static int write_part(const struct copy_plan *p, const struct model *m, uint32_t part,
		      struct gguf_writer *w, struct outfile *f)
{
	struct copy_sink sink = { w, writer_data, writer_copy };

	if (part == 0)
		put_keys(w, model_gguf(m), p->options);
	if (p->n_shards > 1) {
		gguf_put_u16(w, "split.no", (uint16_t)part);
		gguf_put_u16(w, "split.count", (uint16_t)p->n_shards);
		gguf_put_i32(w, "split.tensors.count", (int32_t)p->n);
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].shard == part)
			gguf_put_tensor(w, &p->items[i].to);
	if (gguf_writer_begin(w, f) < 0)
		return -1;
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].shard == part && copy_item_write(p, &p->items[i], m, &sink) < 0)
			return -1;
	return gguf_writer_end(w);
}

/* `TARGET` alone, or `NAME-00001-of-00003.gguf` for a target NAME.gguf. */
static char *part_path(const char *target, uint32_t part, uint32_t parts)
{
	size_t stem = strlen(target);

	if (parts == 1)
		return mem_copy(target, stem);
	if (bytes_end_with(bytes_of(target), ".gguf"))
		stem -= strlen(".gguf");
	return mem_format("%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)stem, target, part + 1,
			  parts);
}

static int make_part(const struct copy_plan *p, const struct model *m, const char *target,
		     uint32_t part, struct outfile **out)
{
	char *path = part_path(target, part, p->n_shards);
	struct gguf_writer *w = NULL;
	int result = -1;

	*out = NULL;
	if (path && gguf_writer_new(&w, gguf_alignment(model_gguf(m))) == 0 &&
	    outfile_new(out, path) == 0)
		result = write_part(p, m, part, w, *out);
	gguf_writer_free(w);
	free(path);
	return result;
}

/* All are written before the first appears under its name. */
static int write_parts(const struct copy_plan *p, const struct model *m, const char *target)
{
	struct outfile **files = mem_new(p->n_shards, sizeof(*files));
	int result = files ? 0 : -1;

	for (uint32_t i = 0; i < p->n_shards && result == 0; i++)
		result = make_part(p, m, target, i, &files[i]);
	for (uint32_t i = 0; files && i < p->n_shards; i++) {
		if (result < 0)
			outfile_discard(files[i]);
		else
			result = outfile_commit(files[i]);
	}
	free(files);
	return result;
}

static int check_parts(const struct copy_plan *p, const char *target)
{
	if (p->n_shards > UINT16_MAX || (p->n_shards > 1 && p->n > INT32_MAX))
		return err_set(ERR_LIMIT,
			       "%s: %" PRIu32 " parts are more than GGUF can number; ask for "
			       "larger ones",
			       target, p->n_shards);
	if (p->n_shards > 1 && strcmp(target, "-") == 0)
		return err_set(ERR_ARGUMENT, "stdout takes one file, not %" PRIu32 " parts",
			       p->n_shards);
	return 0;
}

/* One file in, one file out, nothing asked. */
static int copy_whole(const struct model *m, const char *target, struct copy_report *report,
		      struct progress *progress)
{
	struct outfile *f;

	report->n_tensors = model_n_tensors(m);
	report->bytes = model_file_size(m, 0);
	report->n_files = 1;
	if (outfile_new(&f, target) < 0)
		return -1;
	if (copy_file(f, model_file_fd(m, 0), model_file_size(m, 0), progress) < 0) {
		outfile_discard(f);
		return -1;
	}
	return outfile_commit(f);
}

int copy_gguf(const struct model *m, const char *target, const struct copy_options *o,
	      struct copy_report *report, struct progress *progress)
{
	struct copy_plan *p;
	int result;

	if (copy_is_plain(o) && model_n_files(m) == 1)
		return copy_whole(m, target, report, progress);
	if (copy_plan_new(&p, m, o, o->shard_bytes ? COPY_BY_SIZE : COPY_JOIN, report, progress) <
	    0)
		return -1;
	result = check_parts(p, target);
	if (result == 0)
		result = write_parts(p, m, target);
	copy_plan_free(p);
	return result;
}
