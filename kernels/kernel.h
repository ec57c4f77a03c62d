/*
 * kernels/kernel.h - what a kernel is given, and what it says of itself
 *
 * A kernel computes its share of one op on tensors whose memory is there. It allocates nothing, prints nothing, knows no
 * globals and cannot fail: what it cannot do it does not claim. Every backend's kernels have this shape; those of
 * kernels/ref are the definition of correct, take any strides and every dtype that has values, and sum in double.
 *
 * Same bits for any number of parts: work is cut by shape, a part takes whole pieces of it, and what is summed over pieces is
 * summed in their order, in a later phase.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

#define KERNEL_AXES    5  /* that a kernel sees at most */
#define KERNEL_TENSORS 14 /* inputs of an op at most; outputs too */

/*
 * Strides are in elements. A quantized tensor has whole blocks along one axis, whose stride is 1; the others' strides are
 * multiples of the block.
 */
struct kernel_tensor {
	void *data; /* of the first element; NULL: an optional operand that is not there (its dtype is DTYPE_UNKNOWN) */
	enum dtype dtype;
	int n_axes;		       /* 0: a scalar */
	size_t shape[KERNEL_AXES];     /* slowest first; 0 is allowed */
	ptrdiff_t stride[KERNEL_AXES]; /* 0: broadcast (inputs only) */
};

/* Bytes of each that one thread can count on; 0: not known. They may decide how work is cut, never a bit of a result. */
struct kernel_caches {
	size_t l1, l2, l3;
};

struct kernel_call {
	const struct kernel_tensor *in, *out;
	int n_in, n_out;
	const void *attributes; /* the op's struct of kernels/attributes.h; NULL when it has none */
	void *scratch; /* what the kernel asked for, aligned to 64, shared by all parts, not cleared */
	void *kept;    /* the same, of what phase 0 makes of one operand alone */
	int part, parts; /* this thread's share: 0 <= part < parts */
	int phase;	 /* 0 to phases - 1; every part ends a phase before any begins the next */
	/*
	 * A row-wise op may be given a tile of its rows: rows ROW to ROW + shape[0] - 1 of ROWS. A variant that depends on the
	 * number of rows, and a random draw, go by these, not by the tile.
	 */
	size_t row, rows;
	const struct kernel_caches *caches; /* NULL: not known */
	uint32_t key[2]; /* of random draws (kernels/random.h): seed, step and scope are in it */
	/* Of a device: its queue, and where the key lies when the kernel comes to run. NULL on the host. */
	void *queue;
	const uint32_t *key_at;
};

struct kernel {
	const char *op; /* its name in ops.def */
	const char *
		variant; /* for people: `ref`, `tiles`, `few-rows`; with the level's name in tables of levels */
	/*
	 * Whether it computes this call: dtypes, shapes, strides, attributes; data and part are not looked at. NULL: all calls.
	 */
	bool (*claims)(const struct kernel_call *c);
	size_t (*scratch)(const struct kernel_call *c); /* bytes; looks at parts too. NULL: none */
	/*
	 * Bytes of what phase 0 writes to c->kept from operand *IN alone (a weight packed for the products to come), which later
	 * phases only read. While that operand stays as it is a plan may leave phase 0 out and give the same c->kept. NULL, or 0
	 * bytes: phase 0 is as any other.
	 */
	size_t (*kept)(const struct kernel_call *c, int *in);
	int phases;				       /* 0 is 1 */
	int (*phases_of)(const struct kernel_call *c); /* NULL: phases, whatever the shapes */
	void (*run)(const struct kernel_call *c);
};

static inline int kernel_phases(const struct kernel *k, const struct kernel_call *c)
{
	return k->phases_of ? k->phases_of(c) : k->phases ? k->phases : 1;
}

/* Items FROM to TO - 1 of N are PART's, whole multiples of STEP (1 or more) but for the end. */
static inline void kernel_share(size_t n, size_t step, int part, int parts, size_t *from,
				size_t *to)
{
	size_t steps = n / step + (n % step != 0);
	size_t each = steps / (size_t)parts, more = steps % (size_t)parts, p = (size_t)part;
	size_t first = p * each + (p < more ? p : more);
	size_t last = first + each + (p < more);

	*from = first * step < n ? first * step : n;
	*to = last * step < n ? last * step : n;
}

static inline size_t kernel_elements(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 0; i < t->n_axes; i++)
		n *= t->shape[i];
	return n;
}

/* Whether the elements lie side by side in the order of the axes. */
static inline bool kernel_dense(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = t->n_axes - 1; i >= 0; i--) {
		if (t->shape[i] != 1 && t->stride[i] != (ptrdiff_t)n)
			return false;
		n *= t->shape[i];
	}
	return true;
}

#endif
