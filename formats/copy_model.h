/*
 * formats/copy_model.h - a model written again: whole, in part, renamed, converted, split or joined
 *
 * When nothing is asked, files are copied byte for byte. Otherwise the headers are written anew, with
 * every metadata key kept in its order, and offsets computed anew; tensors that are not
 * converted are copied byte for byte. Output appears whole or not at all.
 */
#ifndef FORMATS_COPY_MODEL_H
#define FORMATS_COPY_MODEL_H

#include "formats/model.h"
#include "lib/base/progress.h"

/* FROM and TO may hold one `*` each: what it matched goes in its place. */
struct copy_rename {
	const char *from, *to;
};

struct copy_options {
	const char *const *only; /* shell patterns; a tensor must match one, when there are any */
	size_t n_only;
	const char *const *except; /* … and none of these */
	size_t n_except;
	const struct copy_rename *renames; /* the first whose FROM matches is used */
	size_t n_renames;
	enum dtype dtype;    /* of floating-point tensors, blocks too; DTYPE_UNKNOWN: as they are */
	bool allow_overflow; /* finite values that become infinite are counted, not refused */
	uint64_t
		shard_bytes; /* data a file at most (a larger tensor has one alone); 0: no splitting */
	bool join;	     /* one file, where a folder would keep its shards */
};

struct copy_report {
	uint64_t n_tensors, n_left_out, n_converted, n_overflows, bytes;
	uint32_t n_files; /* with weights */
};

/*
 * Writes M to TARGET: a GGUF to a file (split: TARGET without `.gguf` gives the parts their names),
 * safetensors to `*.safetensors`, or to a folder, which must not exist or be empty; a
 * Hugging Face folder's other files go with it. `-` is stdout, for one file. Refuses a target
 * that is one of the sources. P may be NULL; it counts bytes of copy_bytes.
 */
int copy_model(const struct model *m, const char *target, const struct copy_options *o,
	       struct copy_report *report, struct progress *p);

/* What --rename gives: FROM=TO is cut in place at its first `=`. */
int copy_rename_parse(struct copy_rename *out, char *text);

#endif
