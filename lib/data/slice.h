/*
 * lib/data/slice.h - a part of a tensor, written as in NumPy
 *
 * `0:10,5,:,::2` - an axis takes START:STOP:STEP, each of which may be left out, or one index, which
 * drops the axis. Negative numbers count from the end; STOP past the end is cut to it, as in
 * NumPy; STEP is positive; an index out of range is an error. Axes that are not named are whole.
 */
#ifndef LIB_DATA_SLICE_H
#define LIB_DATA_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/tensor_info.h"

struct slice_axis {
	uint64_t start, step, n; /* elements start, start + step, … : n of them */
	bool dropped;		 /* an index: n is 1 and the axis is not in the result's shape */
};

struct slice {
	uint32_t n_axes; /* of the tensor */
	struct slice_axis axis[TENSOR_DIMS_MAX];
};

/* TEXT may be NULL or empty: everything. 0, or -1 with the error set: `--slice: axis 1: …`. */
int slice_parse(struct slice *s, const char *text, const uint64_t *shape, uint32_t n_dims);

/* The result's shape; returns its number of axes. */
uint32_t slice_shape(const struct slice *s, uint64_t shape[TENSOR_DIMS_MAX]);
uint64_t slice_n_elements(const struct slice *s);

/* Whether the last axis is taken whole, as block types and raw bytes need. A scalar's is. */
bool slice_whole_rows(const struct slice *s, const uint64_t *shape);

/*
 * The result's rows in order: row R of the result is part of row slice_row(…, R) of the tensor, counted
 * in rows of the last axis. R < slice_n_rows. A scalar has one row of one element.
 */
uint64_t slice_n_rows(const struct slice *s);
uint64_t slice_row(const struct slice *s, const uint64_t *shape, uint64_t r);

#endif
