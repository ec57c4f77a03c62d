/*
 * formats/gguf_private.h - what the files of the GGUF reader and writer share
 *
 * A struct gguf is one or more struct gguf_file, in the order of split.no, and one table of
 * all their tensors.
 */
#ifndef FORMATS_GGUF_PRIVATE_H
#define FORMATS_GGUF_PRIVATE_H

#include "formats/gguf.h"
#include "lib/base/cursor.h"
#include "lib/base/mapfile.h"
#include "lib/base/names.h"

#define GGUF_VERSION	   3
#define GGUF_ALIGNMENT	   32 /* where general.alignment is not there */
#define GGUF_ALIGNMENT_KEY "general.alignment"
#define GGUF_ALIGNMENT_MIN 8
#define GGUF_NAME_MAX	   65535 /* bytes of a key or of a tensor's name */
#define GGUF_NEST_MAX	   8	 /* arrays inside each other */
#define GGUF_DIMS_MAX	   4	 /* ggml's GGML_MAX_DIMS */
#define GGUF_COUNT_MAX	   INT32_MAX

/* Least bytes that a thing takes, to check counts before anything is allocated. */
#define GGUF_KEY_MIN	14 /* length, one byte of name, type, one byte of value */
#define GGUF_TENSOR_MIN 25 /* length, one byte of name, n_dims 0, type, offset */
#define GGUF_STRING_MIN 8  /* length */
#define GGUF_ARRAY_MIN	12 /* type and count */

/* One file. A zeroed struct is one that is not open. */
struct gguf_file {
	struct mapfile *map; /* NULL for memory */
	char *path;	     /* owned; for messages */
	struct bytes data;   /* the whole file */
	uint32_t version, alignment;
	struct gguf_value *keys;
	size_t n_keys;
	struct names *key_names;
	struct tensor_info *tensors; /* NULL once the struct gguf has taken them */
	size_t n_tensors;
};

struct gguf {
	struct gguf_file *files;
	size_t n_files;
	struct tensor_info *tensors;
	size_t n_tensors;
	struct names *tensor_names;
};

/* gguf_read.c. Both leave F closed when they fail. */
int gguf_file_open(struct gguf_file *f, const char *path);
int gguf_file_open_memory(struct gguf_file *f, struct bytes data, const char *name);
void gguf_file_close(struct gguf_file *f); /* and makes it zero again */

/* gguf_value.c. Bytes of a value; 0 for strings and arrays, which have no fixed size. */
size_t gguf_type_size(enum gguf_type t);
/* Reads and checks a type and its value, in full; V->key is set, for messages. */
int gguf_value_read(struct cursor *c, struct gguf_value *v);
/* What keeps NAME from being a key or a tensor's name, or NULL: `is empty`, `is not UTF-8`, … */
const char *gguf_name_fault(struct bytes name);

/* gguf_get.c. gguf_get and gguf_get_u64 of one file. */
const struct gguf_value *gguf_file_get(const struct gguf_file *f, const char *key);
int gguf_file_get_u64(const struct gguf_file *f, const char *key, uint64_t *out);

#endif
