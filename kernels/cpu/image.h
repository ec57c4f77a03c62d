/*
 * kernels/cpu/image.h - what the taps of a convolution see of an image, line by line
 *
 * A convolution, its gradient by the image and its gradient by the kernel all need, for a channel and a tap, the elements of an
 * image under a grid of places: place i of an axis sees element i step + base + t slope for tap t of it. For the
 * convolution step is the stride and slope the dilation. For the gradient by the image the places whose (i + pad) has one remainder by the
 * stride see the taps of that remainder only: a class of places, of which each has a grid with steps of 1.
 */
#ifndef KERNELS_CPU_IMAGE_H
#define KERNELS_CPU_IMAGE_H

#include "kernels/attributes.h"
#include "kernels/cpu/operand.h"

struct image_axis {
	size_t places, length; /* of the grid; of the image that it sees */
	int64_t step, base, slope;
	size_t taps, first_tap, tap_step; /* which of the kernel's */
	size_t first_place, place_step;	  /* where the grid lies in the result */
};

struct image_grid {
	const struct kernel_tensor *x; /* what it sees */
	struct image_axis h, w;
};

SIMD_INLINE struct image_axis image_forward(const struct conv_attributes *a, int axis,
					    size_t length, size_t taps, size_t places)
{
	return (struct image_axis){ .places = places,
				    .length = length,
				    .step = a->stride[axis],
				    .base = -(int64_t)a->pad[axis],
				    .slope = a->dilation[axis],
				    .taps = taps,
				    .tap_step = 1,
				    .place_step = 1 };
}

/* Class WHICH, below the stride: LENGTH is that of dy, PLACES that of dx. Without taps where none has that remainder. */
SIMD_INLINE struct image_axis image_backward(const struct conv_attributes *a, int axis,
					     size_t length, size_t taps, size_t places,
					     size_t which)
{
	size_t stride = a->stride[axis], pad = a->pad[axis], dilation = a->dilation[axis];
	struct image_axis x = { .length = length, .step = 1, .place_step = stride };

	x.first_place = (which + stride - pad % stride) % stride;
	x.places = x.first_place < places ? (places - 1 - x.first_place) / stride + 1 : 0;
	for (x.tap_step = 1; x.tap_step * dilation % stride != 0;)
		x.tap_step++;
	while (x.first_tap < taps && x.first_tap * dilation % stride != which &&
	       x.first_tap < x.tap_step)
		x.first_tap++;
	if (x.first_tap >= taps || x.first_tap == x.tap_step)
		return x;
	x.taps = (taps - 1 - x.first_tap) / x.tap_step + 1;
	x.base = ((int64_t)(x.first_place + pad) - (int64_t)(x.first_tap * dilation)) /
		 (int64_t)stride;
	x.slope = -(int64_t)(x.tap_step * dilation / stride);
	return x;
}

/* Every second of the 2 N - 1 floats at P, but for the last few: how many. */
#if SIMD_WIDTH >= 8
SIMD_INLINE size_t image_halve(const float *p, float *out, size_t n)
{
	size_t i = 0;

	for (; i + 8 < n; i += 8) {
		__m256 low = _mm256_loadu_ps(p + 2 * i), high = _mm256_loadu_ps(p + 2 * i + 8);

		low = _mm256_shuffle_ps(low, high, 0x88); /* within each half of 16 bytes */
		_mm256_storeu_ps(out + i, _mm256_castpd_ps(_mm256_permute4x64_pd(
						  _mm256_castps_pd(low), 0xd8)));
	}
	return i;
}
#else
typedef float image_four __attribute__((vector_size(16)));

SIMD_INLINE size_t image_halve(const float *p, float *out, size_t n)
{
	size_t i = 0;

	for (; i + 4 < n; i += 4) {
		image_four low, high;

		memcpy(&low, p + 2 * i, sizeof(low));
		memcpy(&high, p + 2 * i + 4, sizeof(high));
		low = __builtin_shufflevector(low, high, 0, 2, 4, 6);
		memcpy(out + i, &low, sizeof(low));
	}
	return i;
}
#endif

/* N elements STEP apart as f32. */
SIMD_INLINE void image_gather(enum dtype t, const uint8_t *p, ptrdiff_t step, float *out, size_t n)
{
	if (step == 1 && t == DTYPE_F32) {
		simd_copy(out, p, n * sizeof(float));
	} else if (step == 1) {
		operand_load(t, p, out, n);
	} else if (t == DTYPE_F32) {
		size_t i = step == 2 ? image_halve((const float *)(const void *)p, out, n) : 0;

		for (; i < n; i++)
			memcpy(out + i, p + (ptrdiff_t)i * step * 4, sizeof(float));
	} else {
		for (size_t i = 0; i < n; i++)
			operand_load(t, p + (ptrdiff_t)i * step * 2, out + i, 1);
	}
}

/* How many of a run of places see what is before the image, the image from element AT on, and what is after it. */
struct image_span {
	size_t before, n, after;
	int64_t at;
};

/* Of places J to J + N - 1 of a row; FIRST is what place 0 sees. */
SIMD_INLINE struct image_span image_span(const struct image_grid *g, int64_t first, size_t j,
					 size_t n)
{
	int64_t step = g->w.step, length = (int64_t)g->w.length;
	int64_t from = first < 0 ? (-first + step - 1) / step : 0;
	int64_t to = first < length ? (length - first + step - 1) / step : 0;
	size_t a = from < (int64_t)j ? j : (size_t)from, b;

	a = a > j + n ? j + n : a;
	b = to < (int64_t)a ? a : (size_t)to > j + n ? j + n : (size_t)to;
	return (struct image_span){ a - j, b - a, j + n - b, first + (int64_t)a * step };
}

SIMD_INLINE void image_zeros(float *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = 0;
}

/* Those places, of the row of the image at P. */
SIMD_INLINE void image_see(const struct image_grid *g, const uint8_t *p, const struct image_span *s,
			   float *out)
{
	image_zeros(out, s->before);
	out += s->before;
	if (s->n)
		image_gather(g->x->dtype, p + operand_bytes(g->x->dtype, s->at),
			     (ptrdiff_t)g->w.step, out, s->n);
	image_zeros(out + s->n, s->after);
}

SIMD_INLINE void image_row(const struct image_grid *g, const uint8_t *p, int64_t first, size_t j,
			   size_t n, float *out)
{
	struct image_span s = image_span(g, first, j, n);

	image_see(g, p, &s, out);
}

/* Whether each place sees the element at itself, and rows lie side by side: a 1x1 kernel. */
SIMD_INLINE bool image_is_itself(const struct image_grid *g)
{
	return g->h.step == 1 && g->w.step == 1 && g->h.taps == 1 && g->w.taps == 1 &&
	       g->h.base == 0 && g->w.base == 0 && g->w.places == g->w.length &&
	       g->h.places <= g->h.length && g->x->stride[2] == (ptrdiff_t)g->w.length;
}

/*
 * Line K of channels FIRST on of image IMAGE, k counting channels and then taps: what places PLACE to PLACE + N - 1 see.
 */
SIMD_INLINE void image_line(const struct image_grid *g, size_t image, size_t first, size_t k,
			    size_t place, size_t n, float *out)
{
	size_t taps = g->h.taps * g->w.taps, channel = first + k / taps;
	int64_t r = (int64_t)(k % taps / g->w.taps), s = (int64_t)(k % g->w.taps);
	ptrdiff_t plane = (ptrdiff_t)image * g->x->stride[0] + (ptrdiff_t)channel * g->x->stride[1];
	size_t i = place / g->w.places, j = place % g->w.places;

	if (image_is_itself(g)) {
		operand_load(g->x->dtype, operand_at(g->x, plane + (ptrdiff_t)place), out, n);
		return;
	}
	for (; n; i++, j = 0) {
		size_t many = g->w.places - j < n ? g->w.places - j : n;
		int64_t h = (int64_t)i * g->h.step + g->h.base + r * g->h.slope;

		if (h < 0 || h >= (int64_t)g->h.length)
			memset(out, 0, many * sizeof(float));
		else
			image_row(g, operand_at(g->x, plane + (ptrdiff_t)h * g->x->stride[2]),
				  g->w.base + s * g->w.slope, j, many, out);
		out += many;
		n -= many;
	}
}

#endif
