/*
 * lib/eval/support.h - which kernels a backend has for an op, found by asking them
 *
 * Each op is planned, without memory, at the shapes of real models at which it is measured (lib/eval/op_shapes.h).
 */
#ifndef LIB_EVAL_SUPPORT_H
#define LIB_EVAL_SUPPORT_H

#include "lib/base/buffer.h"
#include "lib/graph/backend.h"

enum support {
	SUPPORT_NONE,	 /* no such operands: the op's rule refuses the type */
	SUPPORT_REF,	 /* at no shape by a kernel of the backend: ref serves it */
	SUPPORT_PARTLY,	 /* at some */
	SUPPORT_BACKEND, /* at all */
};

/*
 * Of OP on operands of type FLOATS, where an operand says none. Appends to NAMES the variants that serve it, with commas between,
 * each once, `ref` for what the backend does not claim. -1 with the error set: no memory.
 */
int support_of(const struct backend *b, enum op op, enum dtype floats, enum support *out,
	       struct buffer *names);

/*
 * Of OP with one operand in blocks, for which it must have one that it takes so: appends to NAMES the block types that a kernel of
 * the backend reads, with spaces between.
 */
int support_blocks(const struct backend *b, enum op op, enum support *out, struct buffer *names);

#endif
