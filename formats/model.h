/*
 * formats/model.h - a model on disk, whatever its format
 *
 * What the tools that look at models share: the tensors, the metadata and the configuration
 * of a .gguf file (whole or split), a .safetensors file, a shard index, or a Hugging Face
 * folder (config.json beside model.safetensors or model.safetensors.index.json).
 */
#ifndef FORMATS_MODEL_H
#define FORMATS_MODEL_H

#include "formats/gguf.h"
#include "formats/hf_config.h"
#include "formats/safetensors.h"

enum model_kind {
	MODEL_GGUF,
	MODEL_SAFETENSORS, /* a file or an index, no configuration */
	MODEL_FOLDER,	   /* Hugging Face: configuration and safetensors */
};

struct model;

/* The kind is told by the bytes (GGUF's magic) or by what the folder holds, not by the name. */
int model_open(struct model **out, const char *path);
/* Several paths: the parts of one split GGUF, in any order; one path is model_open. */
int model_open_parts(struct model **out, const char *const *paths, size_t n);
/* A GGUF that lies in memory, which must outlive it; NAME for messages. */
int model_open_memory(struct model **out, const void *data, size_t size, const char *name);
void model_close(struct model *m); /* NULL is allowed */

enum model_kind model_kind(const struct model *m);
const char *model_path(const struct model *m);
const char *model_kind_name(enum model_kind k); /* `gguf`, `safetensors`, `folder` */

/* The reader underneath; NULL when the model is of the other kind. */
struct gguf *model_gguf(const struct model *m);
struct safetensors *model_safetensors(const struct model *m);

size_t model_n_tensors(const struct model *m);
const struct tensor_info *model_tensor(const struct model *m, size_t i);
const struct tensor_info *model_find(const struct model *m, struct bytes name); /* or NULL */

size_t model_n_files(const struct model *m);
const char *model_file_path(const struct model *m, size_t i);
int model_file_fd(const struct model *m, size_t i);
uint64_t model_file_size(const struct model *m, size_t i);

/* Whether PATH is one of its files, or itself, under whatever name: not to be written to. */
bool model_reads(const struct model *m, const char *path);

/*
 * The configuration: of a folder its config.json, of a GGUF its metadata. 1 and *OUT; 0 when the
 * model carries none (safetensors files); -1 when it cannot be understood (the error names the
 * key or the architecture), which leaves tensors and metadata usable all the same.
 */
int model_config(struct model *m, const struct hf_config **out);

#endif
