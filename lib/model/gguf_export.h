/*
 * lib/model/gguf_export.h - a model written as a GGUF
 */
#ifndef LIB_MODEL_GGUF_EXPORT_H
#define LIB_MODEL_GGUF_EXPORT_H

#include "lib/base/progress.h"
#include "lib/model/gguf_source.h"
#include "lib/model/narrow.h"

struct gguf_export_options {
	enum dtype dtype; /* of matrices: f32, f16 or bf16; DTYPE_UNKNOWN: as they are */
	bool clamp;	  /* see struct narrow */
};

struct gguf_export_report {
	uint64_t n_tensors, n_converted, bytes;
	struct narrow narrow;
};

/* The type that tensor T is written with: vectors stay. */
enum dtype gguf_export_dtype(const struct tensor_info *t, const struct gguf_export_options *o);
/* Bytes of all tensors. */
uint64_t gguf_export_bytes(const struct gguf_source *s, const struct gguf_export_options *o);

/* Writes S to TARGET, which appears when it is whole. P, which may be NULL, counts bytes. */
int gguf_export(const struct gguf_source *s, const char *target,
		const struct gguf_export_options *o, struct gguf_export_report *report,
		struct progress *p);

#endif
