/*
 * formats/safetensors_write.c - writing one safetensors file
 *
 * The bytes are those of the reference implementation for the same tensors: its order of dtypes, then
 * names as bytes; compact JSON with the escapes of serde_json; spaces to a multiple of 8. Its
 * metadata comes in no fixed order; ours comes as it was given.
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/safetensors_parts.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* The reference sorts by its enumeration of dtypes, backwards: this list. */
static const enum dtype dtype_order[] = {
	DTYPE_U64,     DTYPE_I64,	  DTYPE_F64,	     DTYPE_C64,	    DTYPE_F32,
	DTYPE_U32,     DTYPE_I32,	  DTYPE_BF16,	     DTYPE_F16,	    DTYPE_U16,
	DTYPE_I16,     DTYPE_F8_E5M2FNUZ, DTYPE_F8_E4M3FNUZ, DTYPE_F8_E8M0, DTYPE_F8_E4M3,
	DTYPE_F8_E5M2, DTYPE_I8,	  DTYPE_U8,	     DTYPE_F6_E3M2, DTYPE_F6_E2M3,
	DTYPE_F4,      DTYPE_BOOL,
};

#define DTYPE_ORDER_SIZE (sizeof dtype_order / sizeof *dtype_order)

struct declared {
	struct tensor_info info;
	size_t place;  /* among the declarations */
	uint32_t rank; /* of the dtype; unknown ones last */
};

struct safetensors_writer {
	struct arena *arena;
	struct names *names, *keys;
	bool keep_order;

	struct declared *tensors;
	size_t n_tensors, tensors_capacity;
	struct safetensors_pair *pairs;
	size_t n_pairs, pairs_capacity;

	struct outfile *file; /* from begin on */
	uint64_t total, written;

	enum err_code failed;
	char error[ERR_TEXT_MAX + 1];
};

int safetensors_writer_new(struct safetensors_writer **out, bool keep_order)
{
	struct safetensors_writer *w = mem_new(1, sizeof *w);

	if (!w)
		return -1;
	w->keep_order = keep_order;
	if (arena_new(&w->arena) < 0 || names_new(&w->names) < 0 || names_new(&w->keys) < 0) {
		safetensors_writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void safetensors_writer_free(struct safetensors_writer *w)
{
	if (!w)
		return;
	names_free(w->names);
	names_free(w->keys);
	arena_free(w->arena);
	free(w->tensors);
	free(w->pairs);
	free(w);
}

/* Keeps the first error of the declarations for begin. */
static void keep_error(struct safetensors_writer *w)
{
	if (w->failed)
		return;
	w->failed = err_last();
	snprintf(w->error, sizeof w->error, "%s", err_text());
}

static int check_text(struct bytes text, const char *what)
{
	if (utf8_valid_prefix(text.data, text.size) == text.size)
		return 0;
	return err_set(ERR_ARGUMENT, "%s \"" BYTES_FMT "\" is not UTF-8", what, BYTES_ARG(text));
}

static int add_pair(struct safetensors_writer *w, struct bytes key, struct bytes value)
{
	struct safetensors_pair pair = { key, value };
	int got;

	if (check_text(key, "metadata key") < 0 || check_text(value, "metadata value") < 0)
		return -1;
	pair.key.data = arena_copy(w->arena, key);
	pair.value.data = arena_copy(w->arena, value);
	if (!pair.key.data || !pair.value.data)
		return -1;
	got = names_add(w->keys, pair.key, 0, NULL);
	if (got == 0)
		return err_set(ERR_ARGUMENT, "duplicate metadata key " BYTES_FMT, BYTES_ARG(key));
	if (got < 0 || mem_grow(&w->pairs, &w->pairs_capacity, w->n_pairs + 1, sizeof pair) < 0)
		return -1;
	w->pairs[w->n_pairs++] = pair;
	return 0;
}

void safetensors_put_pair(struct safetensors_writer *w, struct bytes key, struct bytes value)
{
	if (!w->failed && add_pair(w, key, value) < 0)
		keep_error(w);
}

static int tensor_error(const struct tensor_info *t, enum err_code code, const char *what)
{
	return err_set(code, "tensor " BYTES_FMT ": %s", BYTES_ARG(t->name), what);
}

/* What a reader would refuse must not be written. */
static int check_tensor(const struct tensor_info *t)
{
	size_t elements, bytes;

	if (check_text(t->name, "tensor") < 0)
		return -1;
	if (bytes_are(t->name, SAFETENSORS_METADATA))
		return tensor_error(t, ERR_ARGUMENT, "the format keeps this name for itself");
	if (t->n_dims > TENSOR_DIMS_MAX)
		return tensor_error(t, ERR_LIMIT, "more than 8 dimensions");
	if (!size_product(t->shape, t->n_dims, &elements))
		return tensor_error(t, ERR_ARGUMENT, "the shape's product does not fit in 64 bits");
	if (t->dtype == DTYPE_UNKNOWN)
		return check_text(t->dtype_name, "dtype");
	if (!dtype_info(t->dtype)->safetensors)
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": safetensors has no type %s",
			       BYTES_ARG(t->name), dtype_name(t->dtype));
	if (!dtype_size(t->dtype, elements, &bytes) || bytes != t->n_bytes)
		return tensor_error(t, ERR_ARGUMENT, "its bytes do not fit shape and dtype");
	return 0;
}

static uint32_t dtype_rank(enum dtype t)
{
	uint32_t i = 0;

	while (i < DTYPE_ORDER_SIZE && dtype_order[i] != t)
		i++;
	return i;
}

static int add_tensor(struct safetensors_writer *w, const struct tensor_info *t)
{
	struct declared d = { .info = *t, .place = w->n_tensors, .rank = dtype_rank(t->dtype) };
	const char *known = dtype_info(t->dtype)->safetensors;
	int got;

	if (check_tensor(t) < 0)
		return -1;
	if (t->dtype != DTYPE_UNKNOWN)
		d.info.dtype_name = bytes_of(known);
	else if (!(d.info.dtype_name.data = arena_copy(w->arena, t->dtype_name)))
		return -1;
	d.info.name.data = arena_copy(w->arena, t->name);
	if (!d.info.name.data)
		return -1;
	got = names_add(w->names, d.info.name, 0, NULL);
	if (got == 0)
		return tensor_error(t, ERR_ARGUMENT, "duplicate name");
	if (got < 0 || mem_grow(&w->tensors, &w->tensors_capacity, w->n_tensors + 1, sizeof d) < 0)
		return -1;
	if (__builtin_add_overflow(w->total, t->n_bytes, &w->total))
		return tensor_error(t, ERR_LIMIT,
				    "the data of all tensors does not fit in 64 bits");
	w->tensors[w->n_tensors++] = d;
	return 0;
}

void safetensors_put_tensor(struct safetensors_writer *w, const struct tensor_info *t)
{
	if (!w->failed && add_tensor(w, t) < 0)
		keep_error(w);
}

/* Types that we do not know come last, by their names, since they too must have a fixed order. */
static int by_reference(const void *a, const void *b)
{
	const struct declared *x = a, *y = b;
	int order;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	order = bytes_compare(x->info.dtype_name, y->info.dtype_name);
	return order ? order : bytes_compare(x->info.name, y->info.name);
}

static void put_metadata(struct buffer *b, const struct safetensors_writer *w)
{
	if (w->n_pairs == 0)
		return;
	buffer_put_text(b, "\"" SAFETENSORS_METADATA "\":{");
	for (size_t i = 0; i < w->n_pairs; i++) {
		json_put_comma(b);
		json_put_string(b, w->pairs[i].key);
		buffer_put_u8(b, ':');
		json_put_string(b, w->pairs[i].value);
	}
	buffer_put_u8(b, '}');
}

static void put_entry(struct buffer *b, const struct tensor_info *t, uint64_t begin)
{
	json_put_comma(b);
	json_put_string(b, t->name);
	buffer_put_text(b, ":{\"dtype\":");
	json_put_string(b, t->dtype_name);
	buffer_put_text(b, ",\"shape\":[");
	for (uint32_t i = 0; i < t->n_dims; i++) {
		json_put_comma(b);
		json_put_u64(b, t->shape[i]);
	}
	buffer_format(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
		      begin + t->n_bytes);
}

/* Stops as soon as the header is too long, so that memory stays within the limit too. */
static int make_header(struct buffer *b, const struct safetensors_writer *w)
{
	uint64_t begin = 0;
	size_t padded;

	buffer_put_u8(b, '{');
	put_metadata(b, w);
	for (size_t i = 0; i < w->n_tensors && b->size <= SAFETENSORS_HEADER_MAX; i++) {
		put_entry(b, &w->tensors[i].info, begin);
		begin += w->tensors[i].info.n_bytes;
	}
	buffer_put_u8(b, '}');
	if (buffer_check(b) < 0 || !size_round_up(b->size, 8, &padded))
		return -1;
	if (padded > SAFETENSORS_HEADER_MAX)
		return err_set(ERR_LIMIT,
			       "%s: %zu tensors need a header of more than %" PRIu64
			       " bytes, which readers refuse: write shards",
			       outfile_path(w->file), w->n_tensors, SAFETENSORS_HEADER_MAX);
	while (b->size < padded && !b->failed)
		buffer_put_u8(b, ' ');
	return buffer_check(b);
}

static int write_header(const struct safetensors_writer *w)
{
	struct buffer header = { 0 }, length = { 0 };
	int rc = -1;

	if (make_header(&header, w) < 0)
		goto out;
	buffer_put_u64(&length, header.size);
	if (buffer_check(&length) < 0 || outfile_write(w->file, length.data, length.size) < 0)
		goto out;
	rc = outfile_write(w->file, header.data, header.size);
out:
	buffer_free(&header);
	buffer_free(&length);
	return rc;
}

int safetensors_writer_begin(struct safetensors_writer *w, struct outfile *f)
{
	if (w->failed)
		return err_set(w->failed, "%s: %s", outfile_path(f), w->error);
	if (w->file)
		return err_set(ERR_ARGUMENT, "%s: writing has begun before", outfile_path(f));
	w->file = f;
	if (!w->keep_order && w->n_tensors > 1)
		qsort(w->tensors, w->n_tensors, sizeof *w->tensors, by_reference);
	return write_header(w);
}

size_t safetensors_writer_order(const struct safetensors_writer *w, size_t i)
{
	return w->tensors[i].place;
}

/* N more bytes of data, but no more than was declared. */
static int count_data(struct safetensors_writer *w, uint64_t n)
{
	if (!w->file)
		return err_set(ERR_ARGUMENT, "safetensors: data before the header");
	if (n > w->total - w->written)
		return err_set(ERR_ARGUMENT,
			       "%s: %" PRIu64
			       " bytes of data more than the tensors were said to have",
			       outfile_path(w->file), n - (w->total - w->written));
	w->written += n;
	return 0;
}

int safetensors_writer_data(struct safetensors_writer *w, const void *data, size_t n)
{
	return count_data(w, n) < 0 ? -1 : outfile_write(w->file, data, n);
}

int safetensors_writer_copy(struct safetensors_writer *w, int fd, uint64_t offset, uint64_t n)
{
	return count_data(w, n) < 0 ? -1 : outfile_copy(w->file, fd, offset, n);
}

int safetensors_writer_end(struct safetensors_writer *w)
{
	if (!w->file)
		return err_set(ERR_ARGUMENT, "safetensors: the end before the header");
	if (w->written != w->total)
		return err_set(ERR_ARGUMENT,
			       "%s: %" PRIu64
			       " bytes of data are missing: the tensors were said to "
			       "have %" PRIu64,
			       outfile_path(w->file), w->total - w->written, w->total);
	return 0;
}
