/* show-graph - show a graph as it will run: nodes, memory, a picture */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/cmd_example.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_table.h"
#include "lib/eval/census.h"
#include "lib/eval/graph_dot.h"
#include "lib/eval/picture.h"
#include "lib/eval/roof.h"
#include "lib/graph/op_table.h"

#define ROOF_BYTES ((size_t)96 << 20)

static bool as_json, as_dot, show_memory, show_arena, recompute;
static const char *picture;
static uint64_t runs = 5;

static const struct cmd_option options[] = {
	CMD_EXAMPLE,
	CMD_FLAG(0, "recompute", &recompute, "compute each block again in the backward half"),
	CMD_FLAG('m', "memory-plan", &show_memory, "what it needs, kind by kind"),
	CMD_FLAG('a', "arena", &show_arena,
		 "a line a tensor of the arena: when it lives, and where"),
	CMD_FLAG(0, "dot", &as_dot, "the graph for graphviz"),
	CMD_PATH('p', "picture", &picture, "FILE",
		 "the arena over time, drawn: FILE.png or FILE.svg"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_GRAPH,
	CMD_GRAPH_RUN,
	CMD_SIZE(0, "runs", &runs, 1, 1000000,
		 "runs that --op-stats takes the mean of (default 5)"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "show-graph",
	.operands = "[model]",
	.summary = "show a graph as it will run",
	.options = options,
	.notes = "MODEL is a folder or a .gguf. Nothing is run but for --op-stats.",
	.max_operands = 1,
};

static void print_buffer(struct buffer *b)
{
	cmd_check(buffer_check(b));
	cmd_print_bytes(buffer_bytes(b));
	buffer_free(b);
}

/* `f32[512, 768]` */
static const char *tensor_text(const struct tensor *t, char *out, size_t size)
{
	snprintf(out, size, "%s%s", dtype_name(t->dtype), shape_string(&t->shape));
	return out;
}

/* --- nodes --- */

static void inputs_text(const struct node *n, struct buffer *b)
{
	char text[160];

	for (int i = 0; i < n->n_in; i++)
		if (n->in[i])
			buffer_format(b, "%s%s", b->size ? " " : "",
				      tensor_text(n->in[i], text, sizeof(text)));
	buffer_put_u8(b, 0);
	cmd_check(buffer_check(b));
}

static void print_node_json(size_t i, const struct plan_node_stats *s)
{
	char out[160];
	struct buffer in = { 0 };

	inputs_text(s->node, &in);
	cmd_printf("{\"step\":%zu,\"part\":\"%s\",\"op\":\"%s\",\"scope\":\"%s\",\"device\":\"%s\","
		   "\"variant\":\"%s\","
		   "\"chain\":%d,\"again\":%s,\"in\":\"%s\",\"out\":\"%s\",\"operations\":%.0f,"
		   "\"bytes\":%.0f}\n",
		   i, census_part_name(census_part_of(s->node)), op_info(s->node->op)->name,
		   s->node->scope, s->backend, s->kernel->variant, s->chain,
		   s->node->again ? "true" : "false", in.data,
		   tensor_text(s->node->out[0], out, sizeof(out)), s->operations, s->bytes);
	buffer_free(&in);
}

static void print_node(struct cmd_table *t, size_t i, const struct plan_node_stats *s)
{
	char out[160];
	struct buffer in = { 0 };

	inputs_text(s->node, &in);
	cmd_table_cell(t, "%zu", i);
	cmd_table_cell(t, "%s",
		       s->node->again ? "again" : census_part_name(census_part_of(s->node)));
	cmd_table_cell(t, "%s", op_info(s->node->op)->name);
	cmd_table_cell(t, "%s", *s->node->scope ? s->node->scope : "-");
	cmd_table_cell(t, "%s/%s", s->backend, s->kernel->variant);
	cmd_table_cell(t, "%.0f", s->operations);
	cmd_table_cell(t, "%.0f", s->bytes);
	cmd_table_cell(t, "%s", tensor_text(s->node->out[0], out, sizeof(out)));
	cmd_table_cell(t, "%s", in.data);
	if (s->chain >= 0)
		cmd_table_cell(t, "%d", s->chain);
	else
		cmd_table_cell(t, "-");
	buffer_free(&in);
}

static void print_nodes(const struct plan *p)
{
	static const char *const headings[] = { "step",	    "part",	   "op",     "scope",
						"kernel",   ">operations", ">bytes", "result",
						"operands", "chain",	   NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);

		if (as_json)
			print_node_json(i, &s);
		else
			print_node(t, i, &s);
	}
	if (t)
		cmd_table_end(t);
}

/* --- memory --- */

static void print_memory(const struct plan *p)
{
	static const char *const headings[] = { "kind", ">bytes", NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (int i = 0; i <= PLAN_MEMORY_COUNT; i++) {
		bool last = i == PLAN_MEMORY_COUNT;
		const char *name = last ? "all" : plan_memory_name((enum plan_memory)i);
		uint64_t bytes = last ? plan_bytes_total(p) : plan_bytes(p, (enum plan_memory)i);

		if (as_json) {
			cmd_printf("{\"memory\":\"%s\",\"bytes\":%" PRIu64 "}\n", name, bytes);
			continue;
		}
		cmd_table_cell(t, "%s", name);
		cmd_table_cell(t, "%" PRIu64, bytes);
	}
	if (t)
		cmd_table_end(t);
}

static const char *life_name(const struct graph *g, const struct plan_life *life)
{
	const char *name = life->tensor ? graph_name_of(g, life->tensor) : "scratch";

	return name ? name : op_info(life->tensor->node->op)->name;
}

static void print_life_json(const char *name, const char *kind, const struct plan_life *life,
			    const char *what)
{
	cmd_printf("{\"tensor\":\"%s\",\"kind\":\"%s\",\"scope\":\"%s\",\"first\":%zu,\"last\":%zu,"
		   "\"from\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"what\":\"%s\"}\n",
		   name, kind, life->tensor ? life->tensor->node->scope : "", life->first,
		   life->last, life->from, life->to - life->from, what);
}

static void print_life(struct cmd_table *t, const char *name, const char *kind,
		       const struct plan_life *life, const char *what)
{
	cmd_table_cell(t, "%s", name);
	cmd_table_cell(t, "%s", kind);
	cmd_table_cell(t, "%zu", life->first);
	cmd_table_cell(t, "%zu", life->last);
	cmd_table_cell(t, "%" PRIu64, life->from);
	cmd_table_cell(t, "%" PRIu64, life->to - life->from);
	cmd_table_cell(t, "%s", what);
	cmd_table_cell(t, "%s",
		       life->tensor && *life->tensor->node->scope ? life->tensor->node->scope
								  : "-");
}

static void print_arena(const struct plan *p, const struct graph *g)
{
	static const char *const headings[] = { "tensor", "kind", ">first", ">last", ">from",
						">bytes", "what", "scope",  NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (size_t i = 0; i < plan_n_lives(p); i++) {
		struct plan_life life = plan_life(p, i);
		const char *kind = arena_kind_name(arena_kind_of(p, &life)),
			   *name = life_name(g, &life);
		char text[160] = "-";

		if (life.tensor)
			tensor_text(life.tensor, text, sizeof(text));
		if (as_json)
			print_life_json(name, kind, &life, text);
		else
			print_life(t, name, kind, &life, text);
	}
	if (t)
		cmd_table_end(t);
}

/* --- the picture, the run --- */

static void draw_picture(const struct plan *p, const struct cmd_example_model *m)
{
	char title[200];

	snprintf(title, sizeof(title), "%s; %zu steps", m->title, plan_n_steps(p));
	cmd_check(picture_arena(p, title, picture));
}

/* Of this machine, measured here: the unit's rate, and bytes read past the caches by the whole team. */
static struct stats_limits limits_of(void)
{
	struct stats_limits limits = { 0 };
	struct roof_floor floor;
	struct roof *roof;
	enum level level;
	const char *word;

	if (level_choose(&level, &word) < 0)
		return limits;
	cmd_check(roof_new(&roof, level, cmd_team()));
	limits.operations = roof_operations(roof, PEAK_F32).median;
	if (roof_operations(roof, PEAK_BF16).n)
		limits.operations_half = roof_operations(roof, PEAK_BF16).median;
	cmd_check(roof_streams(roof, (const int[]){ 2, 0, 1 }, ROOF_BYTES, true, &floor));
	for (int i = 0; i < 3; i++) {
		double rate = floor.moved / roof_floor_run(&floor);

		limits.bytes = rate > limits.bytes ? rate : limits.bytes;
	}
	roof_free(roof);
	return limits;
}

/* One run more than is measured: the first touches its memory. */
static void run(struct plan *p, struct cmd_example_model *m)
{
	struct stats_limits limits = limits_of();

	if (m->made_up)
		cmd_check(example_fill_store(m->store, cmd_graph.seed));
	cmd_check(example_fill_inputs(p, m->graph, &m->config, cmd_graph.seed));
	cmd_check(plan_run(p, cmd_graph.seed, 0));
	plan_measure(p, true);
	for (uint64_t i = 1; i <= runs && !cmd_stop_asked(); i++)
		cmd_check(plan_run(p, cmd_graph.seed, i));
	cmd_op_stats(p, &limits);
}

static void show(struct plan *p, struct cmd_example_model *m)
{
	struct buffer dot = { 0 };

	if (show_memory)
		print_memory(p);
	if (show_arena)
		print_arena(p, m->graph);
	if (as_dot) {
		cmd_check(graph_dot(p, m->graph, &dot));
		print_buffer(&dot);
	}
	if (picture)
		draw_picture(p, m);
	if (!show_memory && !show_arena && !as_dot && !picture)
		print_nodes(p);
	if (cmd_graph.op_stats)
		run(p, m);
}

int main(int argc, char **argv)
{
	struct plan_options o = { 0 };
	struct cmd_example_model m;
	struct plan *p;

	cmd_begin(&spec, &argc, &argv);
	if (show_memory + show_arena + as_dot > 1)
		cmd_misuse("one of --memory-plan, --arena and --dot at a time");
	cmd_example_build(&m, argv[0]);
	o.recompute = recompute;
	cmd_plan_options(&o);
	cmd_check(plan_new(&p, m.graph, &o));
	show(p, &m);
	plan_free(p);
	cmd_example_free(&m);
	return cmd_end();
}
