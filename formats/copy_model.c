/* formats/copy_model.c - a model written again: by which half, and what all share */

#include "formats/copy_model.h"

#include <sys/stat.h>

#include "formats/copy_plan.h"
#include "lib/base/err.h"

bool copy_is_plain(const struct copy_options *o)
{
	return !o->n_only && !o->n_except && !o->n_renames && !o->dtype && !o->shard_bytes;
}

int copy_file(struct outfile *f, int fd, uint64_t size, struct progress *p)
{
	const uint64_t piece = UINT64_C(64) << 20;

	for (uint64_t at = 0; at < size; at += piece) {
		uint64_t n = size - at < piece ? size - at : piece;

		if (outfile_copy(f, fd, at, n) < 0)
			return -1;
		progress_add(p, n);
	}
	return 0;
}

int copy_model(const struct model *m, const char *target, const struct copy_options *o,
	       struct copy_report *report, struct progress *p)
{
	struct bytes name = bytes_of(target);

	*report = (struct copy_report){ 0 };
	if (model_reads(m, target))
		return err_set(ERR_ARGUMENT, "%s: is the source too", target);
	if (model_kind(m) == MODEL_GGUF) {
		if (bytes_end_with(name, ".safetensors"))
			return err_set(ERR_ARGUMENT,
				       "%s: a copy keeps its format; import-gguf makes safetensors",
				       target);
		return copy_gguf(m, target, o, report, p);
	}
	if (bytes_end_with(name, ".gguf"))
		return err_set(ERR_ARGUMENT, "%s: a copy keeps its format; export-gguf makes GGUF",
			       target);
	if (bytes_end_with(name, ".safetensors") || bytes_are(name, "-"))
		return copy_safetensors_file(m, target, o, report, p);
	return copy_folder(m, target, o, report, p);
}
