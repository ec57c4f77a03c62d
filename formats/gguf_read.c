/*
 * formats/gguf_read.c - the header of one GGUF file, read and checked in full
 *
 * ggml's specification, docs/gguf.md, versions 2 and 3: magic, version, two counts, the keys, the
 * tensor table, zeros up to the alignment, the tensors' data. man/man5/gguf.5 has the limits.
 */
#include "formats/gguf_private.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- the fixed part --- */

static int refuse_version(const struct cursor *c, uint32_t version)
{
	if (version != 0 && (version & 0x00FFFFFF) == 0)
		return err_set(ERR_UNSUPPORTED, "%s: unsupported byte order (big-endian)", c->file);
	return err_set(ERR_UNSUPPORTED,
		       "%s: unsupported version %" PRIu32 " of GGUF (2 and 3 are read)", c->file,
		       version);
}

/* A count that is checked against the bytes that its things need at the least. */
static int read_count(struct cursor *c, size_t least, const char *things, size_t *out)
{
	struct cursor at = *c;
	uint64_t n = 0;

	if (cursor_u64(c, &n, things))
		return -1;
	if (n > cursor_left(c) / least)
		return cursor_fail(&at, "%" PRIu64 " %s cannot be in the %zu bytes that follow", n,
				   things, cursor_left(c));
	if (n > GGUF_COUNT_MAX)
		return err_set(ERR_LIMIT, "%s: %" PRIu64 " %s, at most %d are read", c->file, n,
			       things, GGUF_COUNT_MAX);
	*out = (size_t)n;
	return 0;
}

static int read_start(struct cursor *c, struct gguf_file *f)
{
	struct bytes magic;

	if (cursor_left(c) < 4 || cursor_bytes(c, 4, &magic, "magic") || !bytes_are(magic, "GGUF"))
		return err_set(ERR_FORMAT, "%s: not a GGUF file", c->file);
	if (cursor_u32(c, &f->version, "version"))
		return -1;
	if (f->version != 2 && f->version != 3)
		return refuse_version(c, f->version);
	if (read_count(c, GGUF_TENSOR_MIN, "tensors", &f->n_tensors))
		return -1;
	return read_count(c, GGUF_KEY_MIN, "keys", &f->n_keys);
}

static int read_name(struct cursor *c, const char *what, size_t i, struct bytes *out)
{
	struct cursor at = *c;
	uint64_t size = 0;
	const char *fault;

	if (cursor_u64(c, &size, what) || cursor_bytes(c, size, out, what))
		return -1;
	fault = gguf_name_fault(*out);
	if (fault)
		return cursor_fail(&at, "the name of %s %zu %s", what, i, fault);
	return 0;
}

/* --- keys --- */

static int read_keys(struct cursor *c, struct gguf_file *f)
{
	f->keys = mem_new(f->n_keys, sizeof(*f->keys));
	if (!f->keys || names_new(&f->key_names))
		return -1;
	for (size_t i = 0; i < f->n_keys; i++) {
		struct gguf_value *v = &f->keys[i];
		struct cursor at = *c;
		int added;

		if (read_name(c, "key", i, &v->key))
			return -1;
		added = names_add(f->key_names, v->key, (uint32_t)i, NULL);
		if (added == 0)
			return cursor_fail(&at, "key " BYTES_FMT ": is there twice",
					   BYTES_ARG(v->key));
		if (added < 0 || gguf_value_read(c, v))
			return -1;
	}
	return 0;
}

static int read_alignment(struct gguf_file *f)
{
	const struct gguf_value *v = gguf_file_get(f, GGUF_ALIGNMENT_KEY);
	uint64_t n;

	f->alignment = GGUF_ALIGNMENT;
	if (!v)
		return 0;
	if (v->type != GGUF_U32)
		return err_set(ERR_FORMAT, "%s: key %s: is %s, not u32", f->path,
			       GGUF_ALIGNMENT_KEY, gguf_type_name(v->type));
	n = gguf_value_u64(v);
	if (n < GGUF_ALIGNMENT_MIN || (n & (n - 1)) != 0)
		return err_set(ERR_FORMAT,
			       "%s: key %s: is %" PRIu64 ", not a power of two from %d on", f->path,
			       GGUF_ALIGNMENT_KEY, n, GGUF_ALIGNMENT_MIN);
	f->alignment = (uint32_t)n;
	return 0;
}

/* --- the tensor table --- */

/* The file has the fastest axis first, struct tensor_info last. */
static int read_shape(struct cursor *c, struct tensor_info *t)
{
	struct cursor at = *c;
	size_t n_elements;

	if (cursor_u32(c, &t->n_dims, "n_dims"))
		return -1;
	if (t->n_dims > GGUF_DIMS_MAX)
		return cursor_fail(&at, "tensor " BYTES_FMT ": %" PRIu32 " dimensions, at most %d",
				   BYTES_ARG(t->name), t->n_dims, GGUF_DIMS_MAX);
	for (uint32_t i = t->n_dims; i-- > 0;) {
		at = *c;
		if (cursor_u64(c, &t->shape[i], "dimension"))
			return -1;
		if (t->shape[i] > INT64_MAX)
			return cursor_fail(&at, "tensor " BYTES_FMT ": a dimension of %" PRIu64,
					   BYTES_ARG(t->name), t->shape[i]);
	}
	if (!size_product(t->shape, t->n_dims, &n_elements))
		return cursor_fail(&at, "tensor " BYTES_FMT ": more elements than 64 bits count",
				   BYTES_ARG(t->name));
	t->n_elements = n_elements;
	return 0;
}

static int refuse_type(const struct cursor *c, struct bytes name, uint32_t number)
{
	const char *removed = dtype_removed_gguf(number);

	if (removed)
		return err_set(ERR_UNSUPPORTED,
			       "%s: tensor " BYTES_FMT ": type %" PRIu32
			       " (%s), which ggml has removed",
			       c->file, BYTES_ARG(name), number, removed);
	return err_set(ERR_UNSUPPORTED, "%s: tensor " BYTES_FMT ": unknown ggml type %" PRIu32,
		       c->file, BYTES_ARG(name), number);
}

static int read_dtype(struct cursor *c, struct tensor_info *t)
{
	struct cursor at = *c;
	uint64_t row = t->n_dims ? t->shape[t->n_dims - 1] : 1;
	const struct dtype_info *info;
	uint32_t number = 0;
	size_t n_bytes;

	if (cursor_u32(c, &number, "tensor type"))
		return -1;
	t->dtype = dtype_by_gguf(number);
	if (t->dtype == DTYPE_UNKNOWN)
		return refuse_type(c, t->name, number);
	info = dtype_info(t->dtype);
	t->dtype_name = bytes_of(info->name);
	if (row % info->block != 0)
		return cursor_fail(&at,
				   "tensor " BYTES_FMT ": rows of %" PRIu64
				   ", no multiple of the %" PRIu32 " of a %s block",
				   BYTES_ARG(t->name), row, info->block, info->name);
	if (!dtype_size(t->dtype, t->n_elements, &n_bytes))
		return cursor_fail(&at, "tensor " BYTES_FMT ": more bytes than 64 bits count",
				   BYTES_ARG(t->name));
	t->n_bytes = n_bytes;
	return 0;
}

/* T->offset is left as the file has it, from the start of the data. */
static int read_tensor(struct cursor *c, struct gguf_file *f, size_t i)
{
	struct tensor_info *t = &f->tensors[i];
	struct cursor at;

	if (read_name(c, "tensor", i, &t->name) || read_shape(c, t) || read_dtype(c, t))
		return -1;
	at = *c;
	if (cursor_u64(c, &t->offset, "tensor offset"))
		return -1;
	if (t->offset % f->alignment != 0)
		return cursor_fail(&at,
				   "tensor " BYTES_FMT ": offset %" PRIu64
				   ", no multiple of the alignment %" PRIu32,
				   BYTES_ARG(t->name), t->offset, f->alignment);
	return 0;
}

/* --- the data --- */

/* Turns offsets from START, where the data begins, into offsets in the file. */
static int place_tensors(struct gguf_file *f, size_t start)
{
	for (size_t i = 0; i < f->n_tensors; i++) {
		struct tensor_info *t = &f->tensors[i];
		size_t begin, end;

		if (!size_add(start, t->offset, &begin) || !size_add(begin, t->n_bytes, &end))
			return err_set(ERR_FORMAT,
				       "%s: tensor " BYTES_FMT ": offset %" PRIu64 " and %" PRIu64
				       " bytes are more than 64 bits count",
				       f->path, BYTES_ARG(t->name), t->offset, t->n_bytes);
		if (end > f->data.size)
			return err_set(ERR_FORMAT,
				       "%s: tensor " BYTES_FMT
				       ": data ends at byte %zu, the file at "
				       "%zu: the file is cut short",
				       f->path, BYTES_ARG(t->name), end, f->data.size);
		t->offset = begin;
		t->data = (const unsigned char *)f->data.data + begin;
	}
	return 0;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct tensor_info *x = *(const struct tensor_info *const *)a;
	const struct tensor_info *y = *(const struct tensor_info *const *)b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int refuse_overlap(const struct gguf_file *f, const struct tensor_info *a,
			  const struct tensor_info *b)
{
	return err_set(
		ERR_FORMAT,
		"%s: tensor " BYTES_FMT ": data from byte %" PRIu64
		" overlaps that of tensor " BYTES_FMT " (%" PRIu64 " bytes from %" PRIu64 ")",
		f->path, BYTES_ARG(b->name), b->offset, BYTES_ARG(a->name), a->n_bytes, a->offset);
}

/* Tensors that hold bytes, in the order of the table. */
static size_t list_filled(const struct gguf_file *f, const struct tensor_info **list)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_tensors; i++) {
		if (f->tensors[i].n_bytes)
			list[n++] = &f->tensors[i];
	}
	return n;
}

/* Most files have them in order, so that one look is enough; others are sorted. */
static int check_apart(const struct gguf_file *f)
{
	const struct tensor_info **list = mem_new(f->n_tensors, sizeof(const struct tensor_info *));
	bool in_order = true;
	int result = 0;
	size_t n;

	if (!list)
		return -1;
	n = list_filled(f, list);
	for (size_t i = 1; i < n && in_order; i++)
		in_order = list[i - 1]->offset <= list[i]->offset;
	if (!in_order)
		qsort(list, n, sizeof(const struct tensor_info *), compare_offsets);
	for (size_t i = 1; i < n && result == 0; i++) {
		if (list[i]->offset - list[i - 1]->offset < list[i - 1]->n_bytes)
			result = refuse_overlap(f, list[i - 1], list[i]);
	}
	free(list);
	return result;
}

static int read_tensors(struct cursor *c, struct gguf_file *f)
{
	size_t start;

	f->tensors = mem_new(f->n_tensors, sizeof(*f->tensors));
	if (!f->tensors)
		return -1;
	for (size_t i = 0; i < f->n_tensors; i++) {
		if (read_tensor(c, f, i))
			return -1;
	}
	if (!size_round_up(cursor_offset(c), f->alignment, &start))
		return cursor_fail(c, "no place for the data");
	if (place_tensors(f, start))
		return -1;
	return check_apart(f);
}

/* --- a file --- */

static int read_file(struct gguf_file *f)
{
	struct cursor c;

	cursor_init(&c, f->data.data, f->data.size, f->path);
	if (read_start(&c, f) || read_keys(&c, f) || read_alignment(f))
		return -1;
	return read_tensors(&c, f);
}

int gguf_file_open_memory(struct gguf_file *f, struct bytes data, const char *name)
{
	*f = (struct gguf_file){ .data = data, .path = mem_copy(name, strlen(name)) };
	if (f->path && read_file(f) == 0)
		return 0;
	gguf_file_close(f);
	return -1;
}

int gguf_file_open(struct gguf_file *f, const char *path)
{
	struct mapfile *map;

	*f = (struct gguf_file){ 0 };
	if (mapfile_open(&map, path))
		return -1;
	if (gguf_file_open_memory(f, mapfile_bytes(map), path)) {
		mapfile_close(map);
		return -1;
	}
	mapfile_expect(map);
	f->map = map;
	return 0;
}

void gguf_file_close(struct gguf_file *f)
{
	names_free(f->key_names);
	free(f->keys);
	free(f->tensors);
	free(f->path);
	mapfile_close(f->map);
	*f = (struct gguf_file){ 0 };
}
