/* lib/data/slice.c - a part of a tensor, written as in NumPy */

#include "lib/data/slice.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

#define BOUND_TEXT 32

/* One of the up to three numbers of an axis: -1 an error, 0 left out, 1 read. */
static int parse_bound(const char *text, size_t n, uint32_t axis, int64_t *out)
{
	char copy[BOUND_TEXT];

	if (n == 0)
		return 0;
	if (n >= sizeof(copy))
		return err_set(ERR_ARGUMENT, "slice: axis %u: a number is too long", axis);
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (number_i64(copy, INT64_MIN, INT64_MAX, out) < 0)
		return err_prefix("slice: axis %u", axis);
	return 1;
}

/* Where a bound that counts from the end, or past it, lies in 0..size. */
static uint64_t place(int64_t bound, uint64_t size)
{
	if (bound >= 0)
		return (uint64_t)bound < size ? (uint64_t)bound : size;
	return size < 0 - (uint64_t)bound ? 0 : size + (uint64_t)bound;
}

static int parse_index(struct slice_axis *a, int64_t index, uint64_t size, uint32_t axis)
{
	bool inside = index >= 0 ? (uint64_t)index < size : size >= 0 - (uint64_t)index;

	if (!inside)
		return err_set(ERR_ARGUMENT, "slice: axis %u: index %lld, but the axis has %llu",
			       axis, (long long)index, (unsigned long long)size);
	*a = (struct slice_axis){ .start = place(index, size), .step = 1, .n = 1, .dropped = true };
	return 0;
}

/* TEXT is one axis, N bytes. */
static int parse_axis(struct slice_axis *a, const char *text, size_t n, uint64_t size,
		      uint32_t axis)
{
	int64_t bound[3] = { 0, 0, 1 };
	int given[3] = { 0 };
	int parts = 0;

	for (size_t from = 0;; parts++) {
		const char *colon = memchr(text + from, ':', n - from);
		size_t to = colon ? (size_t)(colon - text) : n;

		if (parts == 3)
			return err_set(ERR_ARGUMENT, "slice: axis %u: more than START:STOP:STEP",
				       axis);
		given[parts] = parse_bound(text + from, to - from, axis, &bound[parts]);
		if (given[parts] < 0)
			return -1;
		from = to + 1;
		if (!colon)
			break;
	}
	if (parts == 0 && !given[0])
		return err_set(ERR_ARGUMENT, "slice: axis %u: empty; `:` takes it whole", axis);
	if (parts == 0)
		return parse_index(a, bound[0], size, axis);
	if (bound[2] < 1)
		return err_set(ERR_ARGUMENT, "slice: axis %u: the step must be positive", axis);
	a->start = given[0] ? place(bound[0], size) : 0;
	a->step = (uint64_t)bound[2];
	size = given[1] ? place(bound[1], size) : size;
	a->n = size > a->start ? (size - a->start - 1) / a->step + 1 : 0;
	a->dropped = false;
	return 0;
}

int slice_parse(struct slice *s, const char *text, const uint64_t *shape, uint32_t n_dims)
{
	uint32_t axis = 0;

	s->n_axes = n_dims;
	for (uint32_t i = 0; i < n_dims; i++)
		s->axis[i] = (struct slice_axis){ .step = 1, .n = shape[i] };
	while (text && *text) {
		size_t n = strcspn(text, ",");

		if (axis == n_dims)
			return err_set(ERR_ARGUMENT, "slice: names more axes than the tensor's %u",
				       n_dims);
		if (parse_axis(&s->axis[axis], text, n, shape[axis], axis) < 0)
			return -1;
		axis++;
		text += n;
		if (*text == ',' && *++text == '\0')
			return err_set(ERR_ARGUMENT, "slice: ends in a comma");
	}
	return 0;
}

uint32_t slice_shape(const struct slice *s, uint64_t shape[TENSOR_DIMS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_axes; i++)
		if (!s->axis[i].dropped)
			shape[n++] = s->axis[i].n;
	return n;
}

uint64_t slice_n_elements(const struct slice *s)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < s->n_axes; i++)
		n *= s->axis[i].n;
	return n;
}

bool slice_whole_rows(const struct slice *s, const uint64_t *shape)
{
	const struct slice_axis *last = &s->axis[s->n_axes ? s->n_axes - 1 : 0];

	return s->n_axes == 0 || (last->step == 1 && last->n == shape[s->n_axes - 1]);
}

uint64_t slice_n_rows(const struct slice *s)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i + 1 < s->n_axes; i++)
		n *= s->axis[i].n;
	return n;
}

uint64_t slice_row(const struct slice *s, const uint64_t *shape, uint64_t r)
{
	uint64_t row = 0, scale = 1;

	for (uint32_t i = s->n_axes ? s->n_axes - 1 : 0; i-- > 0;) {
		const struct slice_axis *a = &s->axis[i];

		row += (a->start + (r % a->n) * a->step) * scale;
		r /= a->n;
		scale *= shape[i];
	}
	return row;
}
