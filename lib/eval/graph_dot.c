/*
 * lib/eval/graph_dot.c - a planned graph as text for graphviz
 *
 * The DOT language: graphviz.org/doc/info/lang.html. Identifiers are quoted; views are followed to what they look at.
 */
#include "lib/eval/graph_dot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/eval/census.h"
#include "lib/graph/op_table.h"

struct dot {
	const struct plan *p;
	const struct graph *g;
	struct buffer *out;
	bool *declared; /* by a tensor's id: its source has a statement */
};

static void put_quoted(struct buffer *out, const char *text)
{
	buffer_put_text(out, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buffer_put_u8(out, '\\');
		buffer_put_u8(out, (uint8_t)*text);
	}
	buffer_put_text(out, "\"");
}

static const struct tensor *source(const struct tensor *t)
{
	while ((op_info(t->node->op)->flags & OP_VIEW) && t->node->n_in)
		t = t->node->in[0];
	return t;
}

static bool is_source(const struct tensor *t)
{
	return op_info(t->node->op)->flags & OP_VIEW;
}

static const char *source_name(const struct dot *d, const struct tensor *t)
{
	const char *name = graph_name_of(d->g, t);

	return name ? name : op_info(t->node->op)->name;
}

static void put_tensor(struct buffer *out, const struct tensor *t)
{
	buffer_format(out, "%s %s", dtype_name(t->dtype), shape_string(&t->shape));
}

/* --- statements --- */

static void put_source(struct dot *d, const struct tensor *t)
{
	bool parameter = t->node->op == OP_PARAMETER;

	if (d->declared[t->id])
		return;
	d->declared[t->id] = true;
	buffer_format(d->out, "\ts%" PRIu32 " [shape=ellipse, fillcolor=\"%s\", label=", t->id,
		      parameter ? "#f2e6c9" : "#e4e4e4");
	put_quoted(d->out, source_name(d, t));
	buffer_put_text(d->out, "];\n");
}

static void put_step(struct dot *d, const struct node *n)
{
	static const char *const colors[] = { "#cfe6f7", "#fbe0b3", "#cdeadf" };

	buffer_format(d->out, "\t\tn%" PRIu32 " [fillcolor=\"%s\", label=\"%s\\n", n->id,
		      colors[census_part_of(n)], op_info(n->op)->name);
	put_tensor(d->out, n->out[0]);
	buffer_put_text(d->out, "\"];\n");
}

static void put_edge(struct dot *d, const struct node *n, int i)
{
	const struct tensor *from = source(n->in[i]);

	if (is_source(from))
		buffer_format(d->out, "\ts%" PRIu32, from->id);
	else
		buffer_format(d->out, "\tn%" PRIu32, from->node->id);
	buffer_format(d->out, " -> n%" PRIu32 " [label=\"", n->id);
	put_tensor(d->out, n->in[i]);
	buffer_format(d->out, "\"%s];\n", op_info(n->op)->in_place >> i & 1 ? ", dir=both" : "");
}

/* --- clusters: runs of steps of one scope and part would split a scope, so each is gathered --- */

static bool same_cluster(const struct node *a, const struct node *b)
{
	return census_part_of(a) == census_part_of(b) && strcmp(a->scope, b->scope) == 0;
}

static void put_cluster(struct dot *d, size_t first, bool *done)
{
	const struct node *n = plan_step(d->p, first).node;

	buffer_format(d->out, "\tsubgraph cluster_%zu {\n\t\tlabel=", first);
	put_quoted(d->out, *n->scope ? n->scope : census_part_name(census_part_of(n)));
	buffer_put_text(d->out, ";\n");
	for (size_t i = first; i < plan_n_steps(d->p); i++) {
		const struct node *other = plan_step(d->p, i).node;

		if (done[i] || !same_cluster(n, other))
			continue;
		put_step(d, other);
		done[i] = true;
	}
	buffer_put_text(d->out, "\t}\n");
}

static void put_all(struct dot *d, bool *done)
{
	size_t n = plan_n_steps(d->p);

	buffer_put_text(d->out,
			"digraph plan {\n"
			"\tgraph [fontname=\"sans-serif\", color=\"#b0b0b0\"];\n"
			"\tnode [shape=box, style=filled, color=\"#707070\", "
			"fontname=\"sans-serif\", fontsize=11];\n"
			"\tedge [color=\"#505050\", fontname=\"sans-serif\", fontsize=9];\n");
	for (size_t i = 0; i < n; i++)
		if (!done[i])
			put_cluster(d, i, done);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = plan_step(d->p, i).node;

		for (int j = 0; j < node->n_in; j++) {
			if (!node->in[j])
				continue;
			if (is_source(source(node->in[j])))
				put_source(d, source(node->in[j]));
			put_edge(d, node, j);
		}
	}
	buffer_put_text(d->out, "}\n");
}

int graph_dot(const struct plan *p, const struct graph *g, struct buffer *out)
{
	bool *done = mem_new(plan_n_steps(p) + 1, sizeof(*done));
	struct dot d = { p, g, out, mem_new(graph_n_tensors(g) + 1, sizeof(*d.declared)) };
	int result = done && d.declared ? 0 : -1;

	if (result == 0)
		put_all(&d, done);
	free(done);
	free(d.declared);
	return result < 0 ? -1 : buffer_check(out);
}
