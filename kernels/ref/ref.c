/* kernels/ref/ref.c - elements of any dtype as doubles, and walks over strided tensors */

#include "kernels/ref/ref.h"

#include <math.h>

#define BLOCK_MAX 256

/* An element of a block: the whole block is decoded. */
static double get_from_block(const struct kernel_tensor *t, ptrdiff_t at)
{
	const struct dtype_info *info = dtype_info(t->dtype);
	const unsigned char *block =
		(const unsigned char *)t->data + (size_t)at / info->block * info->bytes;
	float values[BLOCK_MAX];

	dtype_to_f32(t->dtype, block, values, info->block);
	return values[(size_t)at % info->block];
}

double ref_get(const struct kernel_tensor *t, ptrdiff_t at)
{
	const struct dtype_info *info = dtype_info(t->dtype);
	const char *p = (const char *)t->data + at * (ptrdiff_t)info->bytes;
	union {
		double f64;
		float f32;
		int64_t i64;
		uint64_t u64;
		int32_t i32;
		uint32_t u32;
	} v;

	if (info->block > 1)
		return get_from_block(t, at);
	switch (t->dtype) {
	case DTYPE_F64:
	case DTYPE_I64:
	case DTYPE_U64:
		memcpy(&v, p, 8);
		return t->dtype == DTYPE_F64   ? v.f64
		       : t->dtype == DTYPE_I64 ? (double)v.i64
					       : (double)v.u64;
	case DTYPE_I32:
	case DTYPE_U32:
		memcpy(&v, p, 4);
		return t->dtype == DTYPE_I32 ? (double)v.i32 : (double)v.u32;
	default: dtype_to_f32(t->dtype, p, &v.f32, 1); return v.f32;
	}
}

/* Double to f32 rounds once; a second rounding to 16 bits would round twice, so the low bits are made sticky. */
static float to_f32_odd(double x)
{
	float f = (float)x;
	uint32_t bits;

	if (!isfinite(x) || (double)f == x)
		return f;
	/* Toward zero, then the last bit set: round to odd (Boldo and Melquiond 2008). */
	if (fabs((double)f) > fabs(x))
		f = nextafterf(f, 0);
	memcpy(&bits, &f, sizeof(bits));
	bits |= 1;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static double saturated(double x, double low, double high)
{
	if (isnan(x))
		return 0;
	x = nearbyint(x);
	return x < low ? low : x > high ? high : x;
}

void ref_put(const struct kernel_tensor *t, ptrdiff_t at, double value)
{
	const struct dtype_info *info = dtype_info(t->dtype);
	char *p = (char *)t->data + at * (ptrdiff_t)info->bytes;
	float f;
	int64_t i;
	uint64_t u;

	switch (t->dtype) {
	case DTYPE_F64: memcpy(p, &value, sizeof(value)); return;
	case DTYPE_F32:
		f = (float)value;
		memcpy(p, &f, sizeof(f));
		return;
	case DTYPE_I64:
		value = saturated(value, -0x1p63, 0x1p63);
		i = value >= 0x1p63 ? INT64_MAX : (int64_t)value;
		memcpy(p, &i, sizeof(i));
		return;
	case DTYPE_U64:
		value = saturated(value, 0, 0x1p64);
		u = value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
		memcpy(p, &u, sizeof(u));
		return;
	case DTYPE_I32:
	case DTYPE_U32:
		i = (int64_t)(t->dtype == DTYPE_I32 ? saturated(value, INT32_MIN, INT32_MAX)
						    : saturated(value, 0, UINT32_MAX));
		u = (uint64_t)i;
		memcpy(p, &u, 4); /* little-endian, as all that we build for */
		return;
	default: f = to_f32_odd(value); dtype_from_f32(t->dtype, &f, p, 1);
	}
}

double ref_rounded(enum dtype dtype, double x)
{
	double room = 0;
	struct kernel_tensor t = { .data = &room, .dtype = dtype };

	ref_put(&t, 0, x);
	return ref_get(&t, 0);
}

void ref_index(const struct kernel_tensor *t, size_t i, struct ref_index *out)
{
	for (int axis = t->n_axes - 1; axis >= 0; axis--) {
		out->at[axis] = i % t->shape[axis];
		i /= t->shape[axis];
	}
}

ptrdiff_t ref_offset(const struct kernel_tensor *t, const struct ref_index *index)
{
	ptrdiff_t at = 0;

	for (int axis = 0; axis < t->n_axes; axis++)
		at += (ptrdiff_t)index->at[axis] * t->stride[axis];
	return at;
}
