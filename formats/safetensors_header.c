/*
 * formats/safetensors_header.c - the header of one safetensors file
 *
 * Source: the format's description and its reference implementation (huggingface/safetensors
 * 0.8). Each tensor is checked by itself here; how the tensors lie beside each other is checked
 * in safetensors_read.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/safetensors_parts.h"
#include "lib/base/cursor.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

/* Objects in an object, and an array in that. */
#define HEADER_DEPTH 4

int safetensors_fail(const char *file, struct bytes name, enum err_code code, const char *format,
		     ...)
{
	char what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return err_set(code, "%s: tensor " BYTES_FMT ": %s", file, BYTES_ARG(name), what);
}

bool safetensors_keep(struct safetensors *s, struct bytes within, struct bytes *b)
{
	uintptr_t start = (uintptr_t)within.data, at = (uintptr_t)b->data;

	if (at >= start && at - start < within.size)
		return true;
	b->data = arena_copy(s->arena, *b);
	return b->data != NULL;
}

/* The entry of one tensor, and which of its keys have been seen. */
struct entry {
	struct tensor_info info;
	uint64_t begin, end;
	bool has_dtype, has_shape, has_offsets;
};

static int read_dtype(struct json *j, struct entry *e)
{
	if (json_string(j, &e->info.dtype_name) < 0)
		return -1;
	e->info.dtype = dtype_by_safetensors(e->info.dtype_name.data, e->info.dtype_name.size);
	e->has_dtype = true;
	return 0;
}

static int read_shape(struct json *j, const char *file, struct entry *e)
{
	struct tensor_info *t = &e->info;
	uint64_t dim;
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0) {
		if (json_u64(j, &dim) < 0)
			return -1;
		if (t->n_dims == TENSOR_DIMS_MAX)
			return safetensors_fail(file, t->name, ERR_LIMIT, "more than %d dimensions",
						TENSOR_DIMS_MAX);
		t->shape[t->n_dims++] = dim;
	}
	e->has_shape = true;
	return got;
}

static int read_offsets(struct json *j, const char *file, struct entry *e)
{
	uint64_t value[2];
	size_t n = 0;
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0 && n < 2)
		if (json_u64(j, &value[n++]) < 0)
			return -1;
	if (got < 0)
		return -1;
	if (got > 0 || n != 2)
		return safetensors_fail(file, e->info.name, ERR_FORMAT,
					"data_offsets is not a pair of numbers");
	e->begin = value[0];
	e->end = value[1];
	e->has_offsets = true;
	return 0;
}

static int read_entry(struct json *j, const char *file, struct entry *e)
{
	struct bytes key;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "dtype"))
			got = read_dtype(j, e);
		else if (bytes_are(key, "shape"))
			got = read_shape(j, file, e);
		else if (bytes_are(key, "data_offsets"))
			got = read_offsets(j, file, e);
		else
			return safetensors_fail(file, e->info.name, ERR_FORMAT,
						"unknown key \"" BYTES_FMT "\"", BYTES_ARG(key));
		if (got < 0)
			return -1;
	}
	if (got < 0)
		return -1;
	if (!e->has_dtype || !e->has_shape || !e->has_offsets)
		return safetensors_fail(file, e->info.name, ERR_FORMAT, "no %s",
					!e->has_dtype	? "dtype"
					: !e->has_shape ? "shape"
							: "data_offsets");
	return 0;
}

/* The offsets against the shape and the dtype; for a type that we do not know, against themselves. */
static int check_extent(const char *file, struct entry *e)
{
	struct tensor_info *t = &e->info;
	size_t elements, bytes;

	if (e->begin > e->end)
		return safetensors_fail(file, t->name, ERR_FORMAT,
					"data begins at %" PRIu64 ", after its end at %" PRIu64,
					e->begin, e->end);
	if (!size_product(t->shape, t->n_dims, &elements))
		return safetensors_fail(file, t->name, ERR_FORMAT,
					"the shape's product does not fit in 64 bits");
	t->n_elements = elements;
	t->offset = e->begin;
	t->n_bytes = e->end - e->begin;
	if (t->dtype == DTYPE_UNKNOWN)
		return 0;
	if (!dtype_size(t->dtype, elements, &bytes))
		return safetensors_fail(file, t->name, ERR_FORMAT,
					"%zu elements of " BYTES_FMT
					" are no whole number of bytes, "
					"or too many",
					elements, BYTES_ARG(t->dtype_name));
	if (bytes != t->n_bytes)
		return safetensors_fail(
			file, t->name, ERR_FORMAT,
			"shape and dtype need %zu bytes, data_offsets give %" PRIu64, bytes,
			t->n_bytes);
	return 0;
}

static int add_tensor(struct safetensors *s, const struct safetensors_file *f, struct bytes name,
		      uint32_t place)
{
	struct entry e = { .info.name = name, .info.file = place };

	if (read_entry(s->json, f->path, &e) < 0 || check_extent(f->path, &e) < 0)
		return -1;
	if (!safetensors_keep(s, f->bytes, &e.info.name) ||
	    !safetensors_keep(s, f->bytes, &e.info.dtype_name))
		return -1;
	if (mem_grow(&s->tensors, &s->tensors_capacity, s->n_tensors + 1, sizeof *s->tensors) < 0)
		return -1;
	s->tensors[s->n_tensors++] = e.info;
	return 0;
}

/* Strings to strings; those of the first file are kept. null stands for none, as in the reference. */
static int read_metadata(struct safetensors *s, const struct safetensors_file *f)
{
	struct safetensors_pair pair;
	int got;

	if (json_peek(s->json) == JSON_NULL)
		return json_skip(s->json, NULL);
	if (json_object(s->json) < 0)
		return -1;
	while ((got = json_key(s->json, &pair.key)) > 0) {
		if (json_string(s->json, &pair.value) < 0)
			return -1;
		if (s->n_files > 1)
			continue;
		if (!safetensors_keep(s, f->bytes, &pair.key) ||
		    !safetensors_keep(s, f->bytes, &pair.value) ||
		    mem_grow(&s->pairs, &s->pairs_capacity, s->n_pairs + 1, sizeof pair) < 0)
			return -1;
		s->pairs[s->n_pairs++] = pair;
	}
	return got;
}

static int read_entries(struct safetensors *s, const struct safetensors_file *f)
{
	struct bytes key;
	uint32_t place = 0;
	int got;

	if (json_object(s->json) < 0)
		return -1;
	while ((got = json_key(s->json, &key)) > 0) {
		if (bytes_are(key, SAFETENSORS_METADATA))
			got = read_metadata(s, f);
		else
			got = add_tensor(s, f, key, place++);
		if (got < 0)
			return -1;
	}
	return got < 0 ? -1 : json_end(s->json);
}

/* Whether what follows begins as every header does. */
static bool is_brace(const struct cursor *c)
{
	return cursor_left(c) > 0 && c->at[0] == '{';
}

/* The JSON text of the header, by its length in the first eight bytes. */
static int find_header(const struct safetensors_file *f, struct bytes *header)
{
	struct cursor c;
	uint64_t size;

	cursor_init(&c, f->bytes.data, f->bytes.size, f->path);
	if (cursor_u64(&c, &size, "length of the header") < 0)
		return -1;
	if (size > SAFETENSORS_HEADER_MAX && !is_brace(&c))
		return err_set(ERR_FORMAT, "%s: is neither a safetensors file nor a GGUF", f->path);
	if (size > SAFETENSORS_HEADER_MAX)
		return err_set(ERR_LIMIT,
			       "%s: byte 0: a header of %" PRIu64 " bytes, the limit is %" PRIu64,
			       f->path, size, SAFETENSORS_HEADER_MAX);
	if (size > cursor_left(&c))
		return err_set(ERR_FORMAT,
			       "%s: the file is cut short: its header takes %" PRIu64
			       " bytes, %zu are there",
			       f->path, size, cursor_left(&c));
	if (cursor_bytes(&c, size, header, "header") < 0)
		return -1;
	if (size == 0 || header->data[0] != '{')
		return cursor_fail(&c, "the header does not begin with {");
	return 0;
}

int safetensors_read_header(struct safetensors *s, uint64_t *data)
{
	const struct safetensors_file *f = &s->files[s->n_files - 1];
	struct json_limits limits = { .depth = HEADER_DEPTH };
	struct bytes header;
	char *name;
	int rc;

	if (find_header(f, &header) < 0)
		return -1;
	name = mem_format("%s: header", f->path);
	if (!name)
		return -1;
	json_init(s->json, header.data, header.size, name, &limits);
	rc = read_entries(s, f);
	free(name);
	*data = sizeof(uint64_t) + header.size;
	return rc;
}
