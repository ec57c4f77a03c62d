/*
 * lib/eval/op_shapes.h - the shapes of real models at which each op is measured
 *
 * Operands are written as words, one an input of the op: `4096x768 768x2048T`.
 *   -        an optional input that is not there
 *   4x5      axes, slowest first; of the dtype that is asked for
 *   i32:4x5  of this dtype, whatever is asked for
 * and at the end of a word, in any number:
 *   T        the last two axes lie the other way round in memory: the shape is what the op sees, a transposed view
 *   W        a weight that does not change: what kernels make of it alone (packed, say) is made once, and not timed
 *   +        values above 0 (else normal ones; integers: see below)
 *   <N       integers from 0 to N - 1 (bool, u8 and i8: any bytes, unless said)
 *   #        0, 1, 2, ...: positions
 *   ^N       rising evenly from 0 to N: offsets of groups
 * In a transposed weight [out, in] the product of training, x Wt, reads `TxK KxNT`.
 */
#ifndef LIB_EVAL_OP_SHAPES_H
#define LIB_EVAL_OP_SHAPES_H

#include "lib/graph/op_table.h"

struct op_operand_shape {
	bool there, transposed, weight;
	enum dtype dtype; /* DTYPE_UNKNOWN: what is asked for */
	struct shape shape;
	char fill; /* 0, or + < # ^ */
	uint64_t limit;
};

struct op_operands {
	struct op_operand_shape at[KERNEL_TENSORS];
	int n;
};

struct op_shape {
	enum op op;
	const char *name;	/* the model and the place: `100M.up` */
	const char *operands;	/* "" for none */
	const void *attributes; /* or NULL */
};

/* All rows; those of one op lie side by side. */
extern const struct op_shape op_shapes[];
extern const size_t n_op_shapes;

/* The shape as it lies in memory: of a transposed operand the last two axes are the other way round. */
struct shape op_operand_memory(const struct op_operand_shape *o);

/* -1 with the error set: the word that is wrong, and what with it. */
int op_operands_parse(const char *text, struct op_operands *out);

#endif
