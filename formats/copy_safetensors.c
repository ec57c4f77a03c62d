/* formats/copy_safetensors.c - safetensors written again, as one file */

#include <stdlib.h>

#include "formats/copy_plan.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

static int writer_data(void *w, const void *data, size_t n)
{
	return safetensors_writer_data(w, data, n);
}

static int writer_copy(void *w, int fd, uint64_t offset, uint64_t n)
{
	return safetensors_writer_copy(w, fd, offset, n);
}

static int write_tensors(const struct copy_plan *p, const struct model *m, const size_t *chosen,
			 size_t n, struct safetensors_writer *w)
{
	struct copy_sink sink = { w, writer_data, writer_copy };

	for (size_t i = 0; i < n; i++) {
		size_t item = chosen[safetensors_writer_order(w, i)];

		if (copy_item_write(p, &p->items[item], m, &sink) < 0)
			return -1;
	}
	return safetensors_writer_end(w);
}

int copy_write_shard(const struct copy_plan *p, const struct model *m, uint32_t shard,
		     struct outfile *f)
{
	const struct safetensors *s = model_safetensors(m);
	size_t *chosen = mem_new(p->n, sizeof(*chosen));
	struct safetensors_writer *w = NULL;
	size_t n = 0;
	int result = -1;

	if (!chosen || safetensors_writer_new(&w, false) < 0)
		goto out;
	for (size_t i = 0; i < safetensors_n_pairs(s); i++)
		safetensors_put_pair(w, safetensors_pair(s, i)->key, safetensors_pair(s, i)->value);
	for (size_t i = 0; i < p->n; i++) {
		if (p->items[i].shard == shard) {
			safetensors_put_tensor(w, &p->items[i].to);
			chosen[n++] = i;
		}
	}
	if (safetensors_writer_begin(w, f) == 0)
		result = write_tensors(p, m, chosen, n, w);
out:
	safetensors_writer_free(w);
	free(chosen);
	return result;
}

static int write_one(const struct copy_plan *p, const struct model *m, struct outfile *f)
{
	if (copy_is_plain(p->options) && model_n_files(m) == 1)
		return copy_file(f, model_file_fd(m, 0), model_file_size(m, 0), p->progress);
	return copy_write_shard(p, m, 0, f);
}

int copy_safetensors_file(const struct model *m, const char *target, const struct copy_options *o,
			  struct copy_report *report, struct progress *progress)
{
	struct copy_plan *p;
	struct outfile *f;
	int result = -1;

	if (o->shard_bytes)
		return err_set(ERR_ARGUMENT, "%s: shards need a folder as the target", target);
	if (copy_plan_new(&p, m, o, COPY_JOIN, report, progress) < 0)
		return -1;
	if (outfile_new(&f, target) == 0) {
		result = write_one(p, m, f);
		if (result < 0)
			outfile_discard(f);
		else
			result = outfile_commit(f);
	}
	copy_plan_free(p);
	return result;
}
