/*
 * lib/graph/rules.h - the functions that ops.def names, declared from it
 *
 * A rule that ops.def names and no file defines does not link; nor does an op without its kernel in kernels/ref.
 */
#ifndef LIB_GRAPH_RULES_H
#define LIB_GRAPH_RULES_H

#include "lib/graph/graph_parts.h"

#define OP(id, op, low, high, places, attr, shape_rule, grad_rule, ...) \
 op_shape_fn shape_##shape_rule;                                        \
 op_grad_fn grad_##grad_rule;                                           \
 extern const struct kernel ref_##op;
#define VIEW(id, op, shape_rule, grad_rule, ...) op_grad_fn grad_##grad_rule;
#include "lib/graph/ops.def"
#undef OP
#undef VIEW

#endif
