/*
 * formats/safetensors.h - safetensors files and sharded sets
 *
 * man/man5/safetensors.5 describes the bytes, the limits and what is refused. The source is
 * the format's own description and its reference implementation (huggingface/safetensors).
 *
 * Opening reads and checks the header in full: every offset against shape, dtype and file
 * size, no overlap, no hole, no bytes behind the last, no duplicate name; no tensor is touched.
 * A dtype that the table does not have is listed (DTYPE_UNKNOWN, with its name), and its offsets
 * are checked all the same. Values may lie at any address: read them with memcpy.
 */
#ifndef FORMATS_SAFETENSORS_H
#define FORMATS_SAFETENSORS_H

#include "formats/tensor_info.h"
#include "lib/base/outfile.h"

/* Limits of the reference reader: a longer header is refused there, so we do not write one. */
#define SAFETENSORS_HEADER_MAX ((uint64_t)100000000)

struct safetensors_pair {
	struct bytes key, value;
};

struct safetensors;

/*
 * Opens PATH: a file, or an index (`*.index.json`) with all the shards that it names beside it: every
 * tensor must be in the shard that the index says, and in no other. Shards come sorted by name.
 */
int safetensors_open(struct safetensors **out, const char *path);
/* One file that lies in memory, which must outlive it; NAME for messages. */
int safetensors_open_memory(struct safetensors **out, const void *data, size_t size,
			    const char *name);
void safetensors_close(struct safetensors *s); /* NULL is allowed */

size_t safetensors_n_files(const struct safetensors *s);
const char *safetensors_file_path(const struct safetensors *s, size_t i);
int safetensors_file_fd(const struct safetensors *s, size_t i); /* -1 for memory */
uint64_t safetensors_file_size(const struct safetensors *s, size_t i);

/* Tensors in the order of their data, shard after shard. Everything lives until close. */
size_t safetensors_n_tensors(const struct safetensors *s);
const struct tensor_info *safetensors_tensor(const struct safetensors *s, size_t i);
const struct tensor_info *safetensors_find(const struct safetensors *s, struct bytes name);

/* `__metadata__` of the first shard, in its order. */
size_t safetensors_n_pairs(const struct safetensors *s);
const struct safetensors_pair *safetensors_pair(const struct safetensors *s, size_t i);

/* --- writing ---
 *
 * Declared first, laid out as the reference does (by its order of dtypes, wider ones first, then by
 * name), or as declared where keep_order is asked for; metadata before the tensors, in the order given;
 * compact JSON padded with spaces to a multiple of 8.
 * safetensors_writer_tensor tells the order in which data must follow.
 */
struct safetensors_writer;

int safetensors_writer_new(struct safetensors_writer **out, bool keep_order);
void safetensors_writer_free(struct safetensors_writer *w);
/* The first error (duplicate, not UTF-8, no such dtype here, memory) sticks and comes out of begin. */
void safetensors_put_pair(struct safetensors_writer *w, struct bytes key, struct bytes value);
/*
 * name, dtype, dtype_name (used when dtype is unknown), n_dims, shape and n_bytes are looked at. The
 * data that follow are the logical tensor in rows: there are no strides, and a weight that two
 * layers share is declared once.
 */
void safetensors_put_tensor(struct safetensors_writer *w, const struct tensor_info *t);
/* Sorts and writes the header; refuses one past SAFETENSORS_HEADER_MAX before a byte is written. F
   stays the caller's, and must outlive the writer. */
int safetensors_writer_begin(struct safetensors_writer *w, struct outfile *f);
/* After begin: the declaration (0, 1, … in the order of put_tensor) whose data comes I-th. */
size_t safetensors_writer_order(const struct safetensors_writer *w, size_t i);
int safetensors_writer_data(struct safetensors_writer *w, const void *data, size_t n);
int safetensors_writer_copy(struct safetensors_writer *w, int fd, uint64_t offset, uint64_t n);
int safetensors_writer_end(struct safetensors_writer *w); /* -1 unless all was written */

/*
 * The shard index: {"metadata":{"total_size":N},"weight_map":{name:file,…}}, sorted by name, indented
 * by two as huggingface_hub writes it. FILES[i] is the file of NAMES[i].
 */
int safetensors_write_index(struct outfile *f, const struct bytes *names, const struct bytes *files,
			    size_t n, uint64_t total_size);

#endif
