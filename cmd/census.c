/* census - count the nodes, operations and bytes of a graph */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/cmd_example.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_table.h"
#include "formats/json.h"
#include "lib/eval/census.h"
#include "lib/graph/op_table.h"

static bool as_json, recompute, show_eager;

static const struct cmd_option options[] = {
	CMD_EXAMPLE,
	CMD_FLAG(0, "recompute", &recompute, "compute each block again in the backward half"),
	CMD_FLAG('e', "eager", &show_eager, "what eager PyTorch calls for the same model instead"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_GRAPH,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "census",
	.operands = "[model]",
	.summary = "count the nodes, operations and bytes of a graph",
	.options = options,
	.notes = "MODEL is a folder or a .gguf. Nothing is run.",
	.max_operands = 1,
};

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* --- the plan --- */

static struct census_row sum_of(const struct census_row *rows, size_t n)
{
	struct census_row sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.nodes += rows[i].nodes;
		sum.operations += rows[i].operations;
		sum.bytes += rows[i].bytes;
	}
	return sum;
}

static void print_row(struct cmd_table *t, const char *part, const char *op,
		      const struct census_row *r, const struct census_row *sum)
{
	cmd_table_cell(t, "%s", part);
	cmd_table_cell(t, "%s", op);
	cmd_table_cell(t, "%zu", r->nodes);
	cmd_table_cell(t, "%.0f", r->operations);
	cmd_table_cell(t, "%.1f%%", 100 * share(r->operations, sum->operations));
	cmd_table_cell(t, "%.0f", r->bytes);
	cmd_table_cell(t, "%.1f%%", 100 * share(r->bytes, sum->bytes));
	cmd_table_cell(t, "%.2f", share(r->operations, r->bytes));
}

static void print_table(const struct census_row *rows, size_t n)
{
	static const char *const headings[] = { "part",	  "op",	    ">nodes", ">operations",
						">share", ">bytes", ">share", ">operations a byte",
						NULL };
	struct census_row sum = sum_of(rows, n);
	struct cmd_table *t = cmd_table_new(headings);

	for (size_t i = 0; i < n; i++)
		print_row(t, census_part_name(rows[i].part), op_info(rows[i].op)->name, &rows[i],
			  &sum);
	print_row(t, "all", "-", &sum, &sum);
	cmd_table_end(t);
}

static void print_json(const char *part, const char *op, const struct census_row *r)
{
	cmd_printf("{\"part\":\"%s\",\"op\":%s%s%s,\"nodes\":%zu,\"operations\":%.0f,\"bytes\":%."
		   "0f}\n",
		   part, op ? "\"" : "", op ? op : "null", op ? "\"" : "", r->nodes, r->operations,
		   r->bytes);
}

static void print_all_json(const struct census_row *rows, size_t n)
{
	struct census_row sum = sum_of(rows, n);

	for (size_t i = 0; i < n; i++)
		print_json(census_part_name(rows[i].part), op_info(rows[i].op)->name, &rows[i]);
	print_json("all", NULL, &sum);
}

/* --- eager PyTorch --- */

struct eager {
	struct eager_row *rows; /* NULL: not known */
	size_t n, calls;
	double bytes;
};

/* What the Transformers library composes is known of llama alone; it has no weights in blocks. */
static bool comparable(const struct cmd_example_model *m)
{
	return m->made_up ||
	       (m->lm.config->architecture == HF_LLAMA && model_kind(m->lm.model) == MODEL_FOLDER &&
		m->length == m->config.tokens);
}

static struct eager count_eager(const struct cmd_example_model *m)
{
	struct eager e = { 0 };

	if (!comparable(m) && !show_eager)
		return e;
	if (!comparable(m))
		cmd_die("%s: what eager PyTorch calls is known of folders of llama alone, and of "
			"one sequence",
			model_path(m->lm.model));
	if (eager_collect(m->graph, m->forward, m->example.loss != NULL, &e.rows, &e.n) < 0)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < e.n; i++) {
		e.calls += e.rows[i].calls;
		e.bytes += e.rows[i].bytes;
	}
	return e;
}

static void print_eager(const struct eager *e)
{
	static const char *const headings[] = { "operator", ">calls", ">bytes", ">share", NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (size_t i = 0; i <= e->n; i++) {
		bool last = i == e->n;
		const char *name = last ? "all" : e->rows[i].name;
		size_t calls = last ? e->calls : e->rows[i].calls;
		double bytes = last ? e->bytes : e->rows[i].bytes;

		if (as_json) {
			cmd_printf("{\"operator\":\"%s\",\"calls\":%zu,\"bytes\":%.0f}\n", name,
				   calls, bytes);
			continue;
		}
		cmd_table_cell(t, "%s", name);
		cmd_table_cell(t, "%zu", calls);
		cmd_table_cell(t, "%.0f", bytes);
		cmd_table_cell(t, "%.1f%%", 100 * share(bytes, e->bytes));
	}
	if (t)
		cmd_table_end(t);
}

/* The last line: both sums, and their ratio. */
static void print_ratio(const struct eager *e, double bytes)
{
	if (as_json)
		cmd_printf("{\"eager\":{\"calls\":%zu,\"bytes\":%.0f},\"bytes\":%.0f,\"ratio\":%."
			   "4f}\n",
			   e->calls, e->bytes, bytes, share(bytes, e->bytes));
	else
		cmd_printf("# eager PyTorch: %.0f bytes in %zu calls; here %.0f: %.3f of it\n",
			   e->bytes, e->calls, bytes, share(bytes, e->bytes));
}

/* The plan changes the graph, so eager is counted before. */
static void print_census(struct cmd_example_model *m, const struct eager *e)
{
	struct plan_options o = { .recompute = recompute };
	struct census_row *rows;
	struct plan *p;
	size_t n;

	cmd_plan_options(&o);
	cmd_check(plan_new(&p, m->graph, &o));
	cmd_check(census_collect(p, m->graph, &rows, &n));
	if (as_json)
		print_all_json(rows, n);
	else
		print_table(rows, n);
	if (e->rows)
		print_ratio(e, sum_of(rows, n).bytes);
	free(rows);
	plan_free(p);
}

int main(int argc, char **argv)
{
	struct cmd_example_model m;
	struct eager e;

	cmd_begin(&spec, &argc, &argv);
	cmd_example_build(&m, argv[0]);
	e = count_eager(&m);
	if (show_eager)
		print_eager(&e);
	else
		print_census(&m, &e);
	free(e.rows);
	cmd_example_free(&m);
	return cmd_end();
}
