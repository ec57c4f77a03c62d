/*
 * lib/graph/cost.h - how many operations a node takes, for rooflines and the census
 *
 * A multiplication and an addition are two. What costs more (exp, division) counts as one operation an element all the same.
 */
#ifndef LIB_GRAPH_COST_H
#define LIB_GRAPH_COST_H

#include "lib/graph/op_table.h"

op_cost_fn cost_elements, cost_input, cost_matmul, cost_matmul_acc, cost_grouped_matmul,
	cost_grouped_matmul_dw, cost_norm, cost_attention, cost_attention_grad, cost_linear_ce,
	cost_linear_ce_grad, cost_linear_ce_sum, cost_conv2d, cost_conv2d_dx, cost_conv2d_dw,
	cost_pool, cost_resize, cost_optimizer, cost_kv_write;

/*
 * Bytes that the operands of N hold, read and written once each: what must be moved at least. Of a table that is used by index
 * (gather_rows, take_along, scatter_acc, kv_write), the rows that the indices name.
 */
double cost_bytes(const struct node *n);
/* The same of input or output I alone. What is updated in place is both. */
double cost_in_bytes(const struct node *n, int i);
double cost_out_bytes(const struct node *n, int i);

#endif
