/*
 * formats/tensor_info.h - a tensor as it lies in a file
 *
 * What the readers of GGUF and safetensors fill in alike. Everything that it points to lives
 * as long as the reader that gave it.
 */
#ifndef FORMATS_TENSOR_INFO_H
#define FORMATS_TENSOR_INFO_H

#include "kernels/dtype.h"
#include "lib/base/bytes.h"

#define TENSOR_DIMS_MAX 8

struct tensor_info {
	struct bytes name;
	enum dtype dtype;
	struct bytes dtype_name;	 /* as the file spells it: `BF16`, `XYZ`; GGUF: our name */
	uint32_t n_dims;		 /* 0: a scalar */
	uint64_t shape[TENSOR_DIMS_MAX]; /* shape[0] the slowest axis, whatever the file's order */
	uint64_t n_elements;		 /* the product of the shape; it fits */
	const unsigned char *data;	 /* in the map; any alignment; N_BYTES long */
	uint64_t n_bytes;
	uint64_t offset; /* of DATA from the start of its file */
	uint32_t file;	 /* which of the reader's files */
};

#endif
