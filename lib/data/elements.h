/*
 * lib/data/elements.h - the values of a tensor in a file, row by row
 */
#ifndef LIB_DATA_ELEMENTS_H
#define LIB_DATA_ELEMENTS_H

#include "formats/tensor_info.h"
#include "lib/base/number.h"
#include "lib/data/slice.h"

/*
 * Element I of plain values of type T, which may be unaligned: integers in full, floats as the shortest
 * text that reads back, bool as 0 or 1, c64 as `a+bj`. T must have a block of 1. Returns OUT.
 */
char *element_text(enum dtype t, const void *values, size_t i, char out[NUMBER_TEXT]);

/* The same for element I (row-major) of a whole tensor, blocks too; `?` where values are not decoded. */
char *tensor_element_text(const struct tensor_info *t, uint64_t i, char out[NUMBER_TEXT]);

/*
 * Rows of the part S of T, converted to OUT (T's own type: copied). Refuses by name a conversion
 * that no kernel does (f64 is reached in one step; f16 and bf16 by way of f32), and a part of a row of blocks left as blocks. T must outlive the reader.
 */
struct row_reader;

int row_reader_new(struct row_reader **out, const struct tensor_info *t, const struct slice *s,
		   enum dtype dtype);
void row_reader_free(struct row_reader *r); /* NULL is allowed */
/* Row I of the result, valid until the next call or the end of the reader. Never fails past new. */
void row_reader_get(struct row_reader *r, uint64_t i, const void **row, size_t *size);

#endif
