/* lib/graph/stats.c - what a plan's steps cost, op by op */

#include "lib/graph/stats.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/op_table.h"

static bool is_half(const struct node *n)
{
	enum dtype d = n->n_in && n->in[0] ? n->in[0]->dtype : n->out[0]->dtype;

	return d == DTYPE_BF16 || d == DTYPE_F16;
}

/* At the limits; 0 when none is known. */
static double least_seconds(const struct plan_node_stats *s, const struct stats_limits *l)
{
	double rate, compute, move;

	if (!l)
		return 0;
	rate = is_half(s->node) && l->operations_half > 0 ? l->operations_half : l->operations;
	compute = rate > 0 ? s->operations / rate : 0;
	move = l->bytes > 0 ? s->bytes / l->bytes : 0;
	return compute > move ? compute : move;
}

static struct stats_row *find(struct stats_row *rows, size_t *n, const struct plan_node_stats *s)
{
	for (size_t i = 0; i < *n; i++)
		if (rows[i].op == s->node->op && rows[i].kernel == s->kernel &&
		    rows[i].backward == s->node->backward)
			return &rows[i];
	rows[*n] = (struct stats_row){
		.op = s->node->op,
		.backend = s->backend,
		.kernel = s->kernel,
		.backward = s->node->backward,
	};
	return &rows[(*n)++];
}

/* Equal kernels of one op and half follow the order in which they came: the sort must not depend on addresses. */
static int dearer_first(const void *a, const void *b)
{
	const struct stats_row *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->backward != y->backward)
		return x->backward ? 1 : -1;
	return strcmp(x->kernel->variant, y->kernel->variant);
}

int stats_collect(const struct plan *p, const struct stats_limits *limits, struct stats_row **rows,
		  size_t *n)
{
	*n = 0;
	*rows = mem_new(plan_n_steps(p) + 1, sizeof(**rows));
	if (!*rows)
		return -1;
	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);
		struct stats_row *r = find(*rows, n, &s);

		r->nodes++;
		r->operations += s.operations;
		r->bytes += s.bytes;
		r->seconds += s.runs ? s.seconds / (double)s.runs : 0;
		r->least += least_seconds(&s, limits);
	}
	qsort(*rows, *n, sizeof(**rows), dearer_first);
	return 0;
}

/* --- the table --- */

static void put_ratio(struct buffer *out, int width, double a, double b, double unit,
		      const char *after)
{
	if (a > 0 && b > 0)
		buffer_format(out, " %*.1f%s", width - (int)strlen(after), a / b / unit, after);
	else
		buffer_format(out, " %*s", width, "-");
}

static void put_row(struct buffer *out, const struct stats_row *r, double seconds)
{
	if (r->seconds > 0)
		buffer_format(out, " %10.3f", r->seconds * 1e3);
	else
		buffer_format(out, " %10s", "-");
	put_ratio(out, 7, r->seconds, seconds, 0.01, "%");
	put_ratio(out, 9, r->operations, r->seconds, 1e9, "");
	put_ratio(out, 8, r->bytes, r->seconds, 1e9, "");
	put_ratio(out, 9, r->least, r->seconds, 0.01, "%");
	buffer_put_text(out, "\n");
}

static void put_rows(struct buffer *out, const struct stats_row *rows, size_t n)
{
	struct stats_row sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.nodes += rows[i].nodes;
		sum.operations += rows[i].operations;
		sum.bytes += rows[i].bytes;
		sum.seconds += rows[i].seconds;
		sum.least += rows[i].least;
	}
	buffer_format(out, "%-19s %-8s %-4s %-10s %5s %10s %7s %9s %8s %9s\n", "op", "half", "on",
		      "variant", "nodes", "ms", "time", "GFLOP/s", "GB/s", "roofline");
	for (size_t i = 0; i < n; i++) {
		buffer_format(out, "%-19s %-8s %-4s %-10s %5zu", op_info(rows[i].op)->name,
			      rows[i].backward ? "backward" : "forward", rows[i].backend,
			      rows[i].kernel->variant, rows[i].nodes);
		put_row(out, &rows[i], sum.seconds);
	}
	buffer_format(out, "%-19s %-8s %-4s %-10s %5zu", "in all", "", "", "", sum.nodes);
	put_row(out, &sum, sum.seconds);
}

int stats_print(const struct plan *p, const struct stats_limits *limits, struct buffer *out)
{
	struct stats_row *rows;
	size_t n;

	if (stats_collect(p, limits, &rows, &n) < 0)
		return -1;
	put_rows(out, rows, n);
	free(rows);
	return buffer_check(out);
}
