/*
 * Any bytes as an npy file. What is taken lies within the input, and a header written for it
 * says the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/npy.h"
#include "lib/base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct npy *n)
{
	struct buffer b = { 0 };
	struct npy again;

	if (npy_put_header(&b, n->dtype, n->fortran, n->shape, n->n_dims))
		abort();
	buffer_put(&b, n->data, (size_t)n->n_bytes);
	if (npy_read(&again, b.data, b.size, "again"))
		abort();
	if (again.dtype != n->dtype || again.fortran != n->fortran || again.n_dims != n->n_dims ||
	    memcmp(again.shape, n->shape, n->n_dims * sizeof n->shape[0]) != 0)
		abort();
	buffer_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npy n;

	if (npy_read(&n, data, size, "fuzz"))
		return 0;
	if (n.data != data + n.offset || n.n_bytes != size - n.offset)
		abort();
	write_again(&n);
	return 0;
}
