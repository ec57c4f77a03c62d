/* kernels/ref/wide.c - element types to doubles */
#include "kernels/bits.h"
#include "kernels/wide.h"

bool dtype_is_wide(enum dtype t)
{
	return t == DTYPE_F64 || t == DTYPE_I64 || t == DTYPE_U64 || t == DTYPE_I32 ||
	       t == DTYPE_U32;
}

static double wide_at(enum dtype t, const uint8_t *src, size_t i)
{
	switch (t) {
	case DTYPE_F64: return f64_of_bits(load_u64(src + 8 * i));
	case DTYPE_I64: return (double)(int64_t)load_u64(src + 8 * i);
	case DTYPE_U64: return (double)load_u64(src + 8 * i);
	case DTYPE_I32: return (double)(int32_t)load_u32(src + 4 * i);
	default: return (double)load_u32(src + 4 * i);
	}
}

void wide_to_f64(enum dtype t, const void *src, double *dst, size_t n)
{
	float narrow[WIDE_MAX];

	if (dtype_is_wide(t)) {
		for (size_t i = 0; i < n; i++)
			dst[i] = wide_at(t, src, i);
		return;
	}
	dtype_to_f32(t, src, narrow, n);
	for (size_t i = 0; i < n; i++)
		dst[i] = narrow[i];
}
