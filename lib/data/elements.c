/* lib/data/elements.c - the values of a tensor in a file, row by row */

#include "lib/data/elements.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

/* Elements of the longest block. */
#define ELEMENT_BLOCK_MAX 256

struct row_reader {
	const struct tensor_info *tensor;
	struct slice slice;
	enum dtype dtype;
	size_t row_elements; /* of the tensor's last axis */
	size_t row_bytes;    /* the same, as it lies in the file */
	size_t picked;	     /* elements of a row of the result */
	size_t picked_bytes; /* the same, converted */
	char *gathered;	     /* the picked elements in the tensor's own type */
	float *values;	     /* a whole row of blocks, or the picked elements, decoded */
	char *row;	     /* the result */
};

static int64_t signed_element(enum dtype t, const char *at)
{
	int8_t i8;
	int16_t i16;
	int32_t i32;
	int64_t i64;

	switch (t) {
	case DTYPE_I8: memcpy(&i8, at, 1); return i8;
	case DTYPE_I16: memcpy(&i16, at, 2); return i16;
	case DTYPE_I32: memcpy(&i32, at, 4); return i32;
	default: memcpy(&i64, at, 8); return i64;
	}
}

static uint64_t unsigned_element(enum dtype t, const char *at)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (t) {
	case DTYPE_BOOL:
	case DTYPE_U8: memcpy(&u8, at, 1); return u8;
	case DTYPE_U16: memcpy(&u16, at, 2); return u16;
	case DTYPE_U32: memcpy(&u32, at, 4); return u32;
	default: memcpy(&u64, at, 8); return u64;
	}
}

static char *complex_text(const char *at, char out[NUMBER_TEXT])
{
	char re[NUMBER_TEXT], im[NUMBER_TEXT];
	float parts[2];

	memcpy(parts, at, sizeof(parts));
	number_f32(parts[0], re);
	number_f32(parts[1], im);
	snprintf(out, NUMBER_TEXT, "%.14s%s%.14sj", re, im[0] == '-' ? "" : "+", im);
	return out;
}

char *element_text(enum dtype t, const void *values, size_t i, char out[NUMBER_TEXT])
{
	const char *at = (const char *)values + i * dtype_info(t)->bytes;
	double f64;
	float f32;

	switch (t) {
	case DTYPE_I8:
	case DTYPE_I16:
	case DTYPE_I32:
	case DTYPE_I64: snprintf(out, NUMBER_TEXT, "%" PRId64, signed_element(t, at)); return out;
	case DTYPE_BOOL:
	case DTYPE_U8:
	case DTYPE_U16:
	case DTYPE_U32:
	case DTYPE_U64: snprintf(out, NUMBER_TEXT, "%" PRIu64, unsigned_element(t, at)); return out;
	case DTYPE_C64: return complex_text(at, out);
	case DTYPE_F64: memcpy(&f64, at, sizeof(f64)); return number_f64(f64, out);
	default: dtype_to_f32(t, at, &f32, 1); return number_f32(f32, out);
	}
}

char *tensor_element_text(const struct tensor_info *t, uint64_t i, char out[NUMBER_TEXT])
{
	const struct dtype_info *info = dtype_info(t->dtype);
	float block[ELEMENT_BLOCK_MAX];

	if (info->block == 1 && (dtype_decodes(t->dtype) || t->dtype == DTYPE_C64))
		return element_text(t->dtype, t->data, i, out);
	if (!dtype_decodes(t->dtype) || info->block > ELEMENT_BLOCK_MAX) {
		snprintf(out, NUMBER_TEXT, "?");
		return out;
	}
	dtype_to_f32(t->dtype, t->data + i / info->block * info->bytes, block, info->block);
	return number_f32(block[i % info->block], out);
}

static int check(const struct tensor_info *t, const struct slice *s, enum dtype dtype)
{
	const char *name = dtype_name(t->dtype);

	if (dtype == t->dtype && dtype_info(dtype)->block > 1 && !slice_whole_rows(s, t->shape))
		return err_set(ERR_ARGUMENT,
			       "tensor " BYTES_FMT ": %s is stored in blocks, so a part of a row "
			       "needs a conversion (f32, say)",
			       BYTES_ARG(t->name), name);
	if (dtype == t->dtype)
		return 0;
	if (!dtype_decodes(t->dtype))
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": %s has no conversion here",
			       BYTES_ARG(t->name), name);
	if (!dtype_encodes(dtype))
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": no conversion to %s",
			       BYTES_ARG(t->name), dtype_name(dtype));
	return 0;
}

static int allocate(struct row_reader *r)
{
	bool blocks = dtype_info(r->tensor->dtype)->block > 1;

	r->values = mem_new(blocks ? r->row_elements : r->picked, sizeof(float));
	r->row = mem_new(r->picked_bytes, 1);
	if (!blocks)
		r->gathered = mem_new(r->picked, dtype_info(r->tensor->dtype)->bytes);
	return r->values && r->row && (blocks || r->gathered) ? 0 : -1;
}

int row_reader_new(struct row_reader **out, const struct tensor_info *t, const struct slice *s,
		   enum dtype dtype)
{
	struct row_reader *r;

	*out = NULL;
	if (check(t, s, dtype) < 0)
		return -1;
	r = mem_new(1, sizeof(*r));
	if (!r)
		return -1;
	r->tensor = t;
	r->slice = *s;
	r->dtype = dtype;
	r->row_elements = t->n_dims ? t->shape[t->n_dims - 1] : 1;
	r->picked = s->n_axes ? s->axis[s->n_axes - 1].n : 1;
	if (!dtype_size(t->dtype, r->row_elements, &r->row_bytes) ||
	    !dtype_size(dtype, r->picked, &r->picked_bytes)) {
		row_reader_free(r);
		return err_set(ERR_FORMAT,
			       "tensor " BYTES_FMT ": a row is no whole number of blocks",
			       BYTES_ARG(t->name));
	}
	if (allocate(r) < 0) {
		row_reader_free(r);
		return -1;
	}
	*out = r;
	return 0;
}

void row_reader_free(struct row_reader *r)
{
	if (!r)
		return;
	free(r->gathered);
	free(r->values);
	free(r->row);
	free(r);
}

/* Exact for every plain type but integers past 2^53; C has no wider float that every machine keeps. */
static double element_f64(enum dtype t, const char *at)
{
	double f64;
	float f32;

	switch (t) {
	case DTYPE_I8:
	case DTYPE_I16:
	case DTYPE_I32:
	case DTYPE_I64: return (double)signed_element(t, at);
	case DTYPE_BOOL:
	case DTYPE_U8:
	case DTYPE_U16:
	case DTYPE_U32:
	case DTYPE_U64: return (double)unsigned_element(t, at);
	case DTYPE_F64: memcpy(&f64, at, sizeof(f64)); return f64;
	default: dtype_to_f32(t, at, &f32, 1); return f32;
	}
}

/* The picked elements of a row of plain values, side by side in their own type. */
static const char *gather(struct row_reader *r, const unsigned char *row)
{
	size_t size = dtype_info(r->tensor->dtype)->bytes;
	const struct slice_axis *last;

	if (r->slice.n_axes == 0)
		return (const char *)row;
	last = &r->slice.axis[r->slice.n_axes - 1];
	if (last->step == 1)
		return (const char *)row + last->start * size;
	for (size_t i = 0; i < r->picked; i++)
		memcpy(r->gathered + i * size, row + (last->start + i * last->step) * size, size);
	return r->gathered;
}

static void convert_f64(struct row_reader *r, const char *from)
{
	size_t size = dtype_info(r->tensor->dtype)->bytes;

	for (size_t i = 0; i < r->picked; i++) {
		double value = element_f64(r->tensor->dtype, from + i * size);

		memcpy(r->row + i * sizeof(value), &value, sizeof(value));
	}
}

/* The picked elements of a row of blocks, decoded. */
static const float *decode_blocks(struct row_reader *r, const unsigned char *row)
{
	const struct slice_axis *last = &r->slice.axis[r->slice.n_axes - 1];

	dtype_to_f32(r->tensor->dtype, row, r->values, r->row_elements);
	for (size_t i = 0; i < r->picked; i++)
		r->values[i] = r->values[last->start + i * last->step];
	return r->values;
}

void row_reader_get(struct row_reader *r, uint64_t i, const void **row, size_t *size)
{
	const struct tensor_info *t = r->tensor;
	const unsigned char *from = t->data + slice_row(&r->slice, t->shape, i) * r->row_bytes;

	*size = r->picked_bytes;
	if (dtype_info(t->dtype)->block > 1) {
		*row = from;
		if (r->dtype == t->dtype)
			return;
		dtype_from_f32(r->dtype, decode_blocks(r, from), r->row, r->picked);
		*row = r->row;
		return;
	}
	*row = gather(r, from);
	if (r->dtype == t->dtype)
		return;
	if (r->dtype == DTYPE_F64) {
		convert_f64(r, *row);
		*row = r->row;
		return;
	}
	dtype_to_f32(t->dtype, *row, r->values, r->picked);
	dtype_from_f32(r->dtype, r->values, r->row, r->picked);
	*row = r->row;
}
