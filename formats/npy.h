/*
 * formats/npy.h - NumPy's file for one array
 *
 * man/man5/npy.5 has the byte table and what is refused. The source is the format's description
 * in NumPy (numpy.lib.format); headers are written byte for byte as NumPy 2 writes them.
 */
#ifndef FORMATS_NPY_H
#define FORMATS_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/tensor_info.h"
#include "kernels/dtype.h"
#include "lib/base/buffer.h"

#define NPY_HEADER_MAX \
 10000 /* bytes of the dictionary; NumPy's own limit for files it does not trust */

struct npy {
	enum dtype dtype;
	bool fortran;			 /* the first axis varies fastest in DATA */
	uint32_t n_dims;		 /* 0: a scalar */
	uint64_t shape[TENSOR_DIMS_MAX]; /* as the file says it, in either order */
	uint64_t n_elements;
	const unsigned char *data; /* little-endian; any alignment; N_BYTES long */
	uint64_t n_bytes;
	uint64_t offset; /* of DATA from the start */
};

/*
 * Reads a file that lies in memory. OUT->data points into DATA. Versions 1.0, 2.0 and 3.0. The
 * data must end where the file does. -1 with `FILE: byte N: what`: ERR_UNSUPPORTED, with the
 * descr, for types that have no dtype here and for big-endian items of more than a byte.
 */
int npy_read(struct npy *out, const void *data, size_t size, const char *file);

/* NumPy's spelling, `<f4`; NULL for the types that NumPy does not have: bf16, F8 and the blocks. */
const char *npy_descr(enum dtype t);

/*
 * Appends the header, after which the elements follow, little-endian. -1 with ERR_UNSUPPORTED for a
 * type without a descr: the caller decides what to write instead (f32 holds bf16 and F8), or
 * ERR_LIMIT past TENSOR_DIMS_MAX.
 */
int npy_put_header(struct buffer *b, enum dtype t, bool fortran, const uint64_t *shape,
		   uint32_t n_dims);

#endif
