/*
 * lib/eval/graph_dot.h - a planned graph as text for graphviz
 */
#ifndef LIB_EVAL_GRAPH_DOT_H
#define LIB_EVAL_GRAPH_DOT_H

#include "lib/base/buffer.h"
#include "lib/graph/plan.h"

/*
 * Appends a digraph in the DOT language: a box a step, an ellipse an input or a parameter, an edge an operand with its type and
 * shape (in both directions where it is updated); scopes are clusters, one for each half. One statement a line. 0 or -1.
 */
int graph_dot(const struct plan *p, const struct graph *g, struct buffer *out);

#endif
