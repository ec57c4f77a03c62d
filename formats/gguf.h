/*
 * formats/gguf.h - GGUF models, version 2 and 3, whole or split
 *
 * man/man5/gguf.5 describes the bytes, the limits and what is refused. The source is ggml's
 * specification (docs/gguf.md). Little-endian files only; a big-endian file and version 1 are
 * refused by name.
 *
 * Opening reads the header alone: the metadata and the tensor table are walked once and checked
 * in full (types, sizes, nesting, duplicate names, alignment, offsets inside the file and apart from
 * each other), no tensor is touched, and no string or array is copied. So what is given out lives
 * as long as the struct gguf.
 */
#ifndef FORMATS_GGUF_H
#define FORMATS_GGUF_H

#include "formats/tensor_info.h"
#include "lib/base/buffer.h"
#include "lib/base/outfile.h"

enum gguf_type {
	GGUF_U8,
	GGUF_I8,
	GGUF_U16,
	GGUF_I16,
	GGUF_U32,
	GGUF_I32,
	GGUF_F32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_U64,
	GGUF_I64,
	GGUF_F64,
	GGUF_TYPE_COUNT
};

/* A metadata value where it lies in the file. */
struct gguf_value {
	struct bytes key; /* empty for an item of an array */
	enum gguf_type type;
	enum gguf_type item_type; /* of an array */
	uint64_t n;		  /* items of an array; 1 otherwise */
	struct bytes raw; /* the value's bytes: of an array, its items without type and count */
};

struct gguf;

/*
 * Opens PATH. When it is one part of a split model (`split.count` > 1 and the name ends in
 * -00001-of-00003.gguf), all parts are opened from beside it and checked against each other.
 */
int gguf_open(struct gguf **out, const char *path);
/* The parts as given, in any order: each must be there once. */
int gguf_open_parts(struct gguf **out, const char *const *paths, size_t n);
/* A file that lies in memory (one part, unsplit), which must outlive it; NAME for messages. */
int gguf_open_memory(struct gguf **out, const void *data, size_t size, const char *name);
void gguf_close(struct gguf *g); /* NULL is allowed */

uint32_t gguf_version(const struct gguf *g);
uint32_t gguf_alignment(const struct gguf *g); /* of the first part */
size_t gguf_n_files(const struct gguf *g);
const char *gguf_file_path(const struct gguf *g, size_t i);
int gguf_file_fd(const struct gguf *g, size_t i); /* -1 for memory */
uint64_t gguf_file_size(const struct gguf *g, size_t i);

/* Tensors in file order, parts one after the other. */
size_t gguf_n_tensors(const struct gguf *g);
const struct tensor_info *gguf_tensor(const struct gguf *g, size_t i);
const struct tensor_info *gguf_find(const struct gguf *g, struct bytes name); /* or NULL */

/* Metadata of the first part, in its order. */
size_t gguf_n_keys(const struct gguf *g);
const struct gguf_value *gguf_key(const struct gguf *g, size_t i);
const struct gguf_value *gguf_get(const struct gguf *g, const char *key); /* or NULL */

/*
 * Typed reading: 1 and the value, 0 when the key is not there (*OUT as it was), -1 with the error
 * `FILE: key K: is T, not U` when its type is another. gguf_get_u64 takes every integer type whose
 * value is not negative, gguf_get_real every integer and float.
 */
int gguf_get_u64(const struct gguf *g, const char *key, uint64_t *out);
int gguf_get_real(const struct gguf *g, const char *key, double *out);
int gguf_get_bool(const struct gguf *g, const char *key, bool *out);
int gguf_get_string(const struct gguf *g, const char *key, struct bytes *out);
/* The array itself, whose items must be of TYPE. */
int gguf_get_array(const struct gguf *g, const char *key, enum gguf_type type,
		   struct gguf_value *out);

/* Walks an array of any item type: 1 and the next item, 0 after the last. Never fails: opening
   has checked the bytes. */
struct gguf_items {
	const unsigned char *at;
	uint64_t left;
	enum gguf_type type;
};
void gguf_items(struct gguf_items *it, const struct gguf_value *array);
int gguf_items_next(struct gguf_items *it, struct gguf_value *item);

/* The value of a scalar, as it is typed; the caller has looked at v->type. */
uint64_t gguf_value_u64(const struct gguf_value *v); /* U8 U16 U32 U64 BOOL */
int64_t gguf_value_i64(const struct gguf_value *v);  /* I8 I16 I32 I64 */
double gguf_value_f64(const struct gguf_value *v);   /* F32 F64 */
struct bytes gguf_value_string(const struct gguf_value *v);

const char *gguf_type_name(enum gguf_type t); /* `u32`, `string`, … */

/* --- writing ---
 *
 * Keys and tensors are declared first, then gguf_writer_begin writes the header, then each
 * tensor's bytes follow in the order of their declaration. Offsets are always computed anew. The same
 * declarations give the same bytes.
 */
struct gguf_writer;

int gguf_writer_new(struct gguf_writer **out,
		    uint32_t alignment); /* a power of two, 8..2^16; 32 is usual */
void gguf_writer_free(struct gguf_writer *w);

/* The first error (duplicate key, bad type, memory) sticks and comes out of gguf_writer_begin. */
void gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t v);
void gguf_put_u64(struct gguf_writer *w, const char *key, uint64_t v);
void gguf_put_i32(struct gguf_writer *w, const char *key, int32_t v);
void gguf_put_u16(struct gguf_writer *w, const char *key, uint16_t v);
void gguf_put_f32(struct gguf_writer *w, const char *key, float v);
void gguf_put_bool(struct gguf_writer *w, const char *key, bool v);
void gguf_put_string(struct gguf_writer *w, const char *key, struct bytes v);
/* N items of a fixed-size type, little-endian as they lie in the file. */
void gguf_put_array(struct gguf_writer *w, const char *key, enum gguf_type type, uint64_t n,
		    const void *items);
void gguf_put_strings(struct gguf_writer *w, const char *key, uint64_t n,
		      const struct bytes *items);
/* A value of another file, whatever its type, byte for byte. */
void gguf_put_value(struct gguf_writer *w, const struct gguf_value *v);

/* Only name, dtype, n_dims, shape (slowest first) and n_bytes of T are looked at, and copied. */
void gguf_put_tensor(struct gguf_writer *w, const struct tensor_info *t);

/* Appends to B a whole file of the keys declared so far, without tensors: what a reader will find in them. */
int gguf_writer_preview(struct gguf_writer *w, struct buffer *b);

/* 0, or -1 with the error set. F stays the caller's, and must outlive the writer. */
int gguf_writer_begin(struct gguf_writer *w, struct outfile *f);
/* Bytes of the present tensor; padding follows by itself after its last. More than N_BYTES is an error. */
int gguf_writer_data(struct gguf_writer *w, const void *data, size_t n);
/* The same, from a file. */
int gguf_writer_copy(struct gguf_writer *w, int fd, uint64_t offset, uint64_t n);
/* -1 unless every declared tensor was written in full. */
int gguf_writer_end(struct gguf_writer *w);

#endif
