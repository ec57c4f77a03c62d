/* bench - measure this machine, and each op beside what the machine can do */

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "lib/base/cpus.h"
#include "lib/base/machine.h"
#include "lib/base/number.h"
#include "lib/eval/bench_rows.h"
#include "lib/eval/graph_bench.h"
#include "lib/eval/op_bench.h"

#define RUNS_MOST      1000
#define RUNNERS_MOST   24
#define MEMORY_BYTES   ((size_t)256 << 20)
#define PLANNED_LAYERS 24

static struct cmd_list thread_counts, levels, variants, devices, dtypes, own_shapes;
static uint64_t least_runs = 5;
static double seconds = 0.2;
static bool cold, as_json, list_only;

static const struct cmd_option options[] = {
	CMD_LIST('d', "dtype", &dtypes, "TYPES",
		 "of the operands that say none: f32, bf16, f16 (default f32,bf16)"),
	CMD_TEXTS('s', "shape", &own_shapes, "OPERANDS",
		  "instead of the models' shapes, as in '4096x768 768x2048T'"),
	CMD_LIST('j', "threads", &thread_counts, "LIST",
		 "numbers of threads (default 1 and what the machine allows)"),
	CMD_LIST(0, "level", &levels, "LEVELS",
		 "instruction sets (default the best, or NNUTILS_ISA)"),
	CMD_LIST(0, "variant", &variants, "NAMES",
		 "kernels instead of the one that is chosen; all: each that there is"),
	CMD_LIST(0, "device", &devices, "DEVICES", "cpu, ref (default cpu)"),
	CMD_SIZE('n', "runs", &least_runs, 1, RUNS_MOST, "runs of each at least (default 5)"),
	CMD_REAL(0, "time", &seconds, 0, 3600,
		 "further runs until a case took so many seconds (default 0.2)"),
	CMD_FLAG(0, "cold", &cold, "empty the caches before every run"),
	CMD_FLAG('l', "list", &list_only, "the cases alone, without running them"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "bench",
	.operands = "ops [pattern ...]",
	.summary = "measure this machine, and each op beside what the machine can do",
	.options = options,
	.notes = "A pattern names ops or cases: matmul, 'rms_norm*', 'matmul/SmolLM2*', or peak, "
		 "memory,\n"
		 "overhead. Without one all are measured.",
	.min_operands = 1,
	.max_operands = -1,
};

static char **patterns;
static int n_patterns;
static struct cmd_table *table;
static bool any; /* something was asked for that there is */

static bool wanted(const char *op, const char *name)
{
	char both[256];

	snprintf(both, sizeof(both), "%s/%s", op, name);
	for (int i = 0; i < n_patterns; i++)
		if (fnmatch(patterns[i], op, 0) == 0 || fnmatch(patterns[i], both, 0) == 0)
			return any = true;
	return n_patterns == 0 ? (any = true) : false;
}

static void print_row(const struct bench_row *r)
{
	struct buffer b = { 0 };

	if (as_json) {
		bench_json(r, &b);
		cmd_check(buffer_check(&b));
		cmd_print_bytes(buffer_bytes(&b));
	}
	for (size_t c = 0; !as_json && bench_headings[c]; c++) {
		buffer_clear(&b);
		bench_cell(r, c, &b);
		cmd_check(buffer_check(&b));
		cmd_table_cell(table, BYTES_FMT, BYTES_ARG(buffer_bytes(&b)));
	}
	buffer_free(&b);
}

/* --- what is asked for --- */

static enum level level_named(const char *name)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (strcmp(name, level_name((enum level)i)) == 0 && level_available((enum level)i))
			return (enum level)i;
	cmd_misuse("--level: %s is none of %s that this machine has", name, level_names());
}

static enum level default_level(void)
{
	enum level level;
	const char *word;

	if (level_choose(&level, &word) < 0)
		cmd_misuse("NNUTILS_ISA=%s: not one of %s that this machine has", word,
			   level_names());
	return level;
}

/* The kernels of the level, as they are chosen on this machine when none is named. */
static const struct backend *cpu_of(size_t i)
{
	const struct backend *b;

	if (levels.n)
		return backend_level(level_named(levels.items[i]));
	b = backend_cpu();
	if (!b)
		cmd_check(-1);
	return b;
}

static size_t n_levels(void)
{
	return levels.n ? levels.n : 1;
}

static enum level level_at(size_t i)
{
	return levels.n ? level_named(levels.items[i]) : default_level();
}

static int threads_at(size_t i)
{
	uint64_t n;

	if (!thread_counts.n)
		return i == 0 ? 1 : team_default_size();
	if (number_u64(thread_counts.items[i], 1, TEAM_MAX, &n) < 0)
		cmd_misuse("--threads: %s", err_text());
	return (int)n;
}

static size_t n_thread_counts(void)
{
	return thread_counts.n ? thread_counts.n : team_default_size() > 1 ? 2 : 1;
}

static enum dtype dtype_at(size_t i)
{
	static const enum dtype usual[] = { DTYPE_F32, DTYPE_BF16 };
	enum dtype t;

	if (!dtypes.n)
		return usual[i];
	t = dtype_by_name(dtypes.items[i]);
	if (t != DTYPE_F32 && t != DTYPE_BF16 && t != DTYPE_F16 && t != DTYPE_F64)
		cmd_misuse("--dtype: %s is none of f32, bf16, f16, f64", dtypes.items[i]);
	return t;
}

static size_t n_dtypes(void)
{
	return dtypes.n ? dtypes.n : 2;
}

static bool device_wanted(const char *name)
{
	for (size_t i = 0; i < devices.n; i++)
		if (strcmp(devices.items[i], name) == 0)
			return true;
	return devices.n == 0 && strcmp(name, "cpu") == 0;
}

/* Everything is looked at before anything is measured. */
static void check_options(void)
{
	for (size_t i = 0; i < n_levels(); i++)
		level_at(i);
	for (size_t i = 0; i < n_thread_counts(); i++)
		threads_at(i);
	for (size_t i = 0; i < n_dtypes(); i++)
		dtype_at(i);
	for (size_t i = 0; i < devices.n; i++)
		if (strcmp(devices.items[i], "cpu") != 0 && strcmp(devices.items[i], "ref") != 0)
			cmd_misuse("--device: %s is none of cpu, ref", devices.items[i]);
}

/* --- one number of threads --- */

struct context {
	struct team *team;
	struct roof **roofs; /* of each level */
};

static void open_context(struct context *c, int threads)
{
	cmd_check(team_new(&c->team, threads));
	c->roofs = calloc(n_levels(), sizeof(struct roof *));
	if (!c->roofs)
		cmd_die("no memory");
	for (size_t i = 0; i < n_levels(); i++)
		cmd_check(roof_new(&c->roofs[i], level_at(i), c->team));
}

static void close_context(struct context *c)
{
	for (size_t i = 0; i < n_levels(); i++)
		roof_free(c->roofs[i]);
	free(c->roofs);
	team_free(c->team);
}

static struct bench_row row_of(const struct context *c, size_t level, const char *op,
			       const char *name)
{
	return (struct bench_row){
		.op = op,
		.name = name,
		.device = "cpu",
		.level = level_name(level_at(level)),
		.threads = team_size(c->team),
	};
}

static struct timing_limits limits(void)
{
	return (struct timing_limits){ (size_t)least_runs, RUNS_MOST, seconds };
}

/* --- peak --- */

static void bench_unit(const struct context *c, size_t level, enum peak_unit unit)
{
	static const char *const names[] = { "fma", "bf16-dot", "int8-dot" };
	static const char *const of[] = { "f32", "bf16", "int8" };
	struct bench_row r = row_of(c, level, "peak", names[unit]);
	struct spread rate;

	if (!wanted("peak", names[unit]))
		return;
	r.dtype = of[unit];
	rate = roof_operations(c->roofs[level], unit);
	if (rate.n == 0)
		r.note = "not on this machine";
	/* Of as many operations as take a second. */
	else
		r.seconds = (struct spread){ 1, rate.median / rate.high, rate.median / rate.low,
					     rate.n };
	r.operations = rate.n ? rate.median : 0;
	print_row(&r);
}

static void bench_peaks(const struct context *c)
{
	for (size_t i = 0; i < n_levels(); i++)
		for (int unit = 0; unit < PEAK_UNITS; unit++)
			bench_unit(c, i, (enum peak_unit)unit);
}

/* --- memory --- */

static const struct {
	const char *name;
	int counts[3]; /* reads, updates, writes */
	bool stream;
} mixes[] = {
	{ "read", { 1, 0, 0 }, false },		  { "write", { 0, 0, 1 }, false },
	{ "write streaming", { 0, 0, 1 }, true }, { "copy", { 1, 0, 1 }, false },
	{ "copy streaming", { 1, 0, 1 }, true },  { "a += b", { 1, 1, 0 }, false },
	{ "c = a + b", { 2, 0, 1 }, false },	  { "c = a + b streaming", { 2, 0, 1 }, true },
};
#define N_MIXES (sizeof(mixes) / sizeof(mixes[0]))

/* All mixes take turns. */
static void bench_memory_of(const struct context *c, size_t level, const char *cache, size_t bytes)
{
	static double samples[N_MIXES][RUNS_MOST];
	struct roof_floor floors[N_MIXES];
	struct timing_runner runners[N_MIXES];
	size_t which[N_MIXES], n = 0, runs;

	for (size_t i = 0; i < N_MIXES; i++) {
		if (!wanted("memory", mixes[i].name) || (mixes[i].stream && bytes < MEMORY_BYTES))
			continue;
		cmd_check(roof_streams(c->roofs[level], mixes[i].counts, bytes, mixes[i].stream,
				       &floors[n]));
		runners[n] = (struct timing_runner){ roof_floor_run, &floors[n], samples[n] };
		which[n++] = i;
	}
	/* The memory that they share may have grown. */
	for (size_t i = 0; i < n; i++) {
		cmd_check(roof_streams(c->roofs[level], mixes[which[i]].counts, bytes,
				       mixes[which[i]].stream, &floors[i]));
		roof_floor_run(&floors[i]);
	}
	runs = n ? timing_interleave(runners, n,
				     &(struct timing_limits){ least_runs, RUNS_MOST, 5 * seconds })
		 : 0;
	for (size_t i = 0; i < n; i++) {
		struct bench_row r = row_of(c, level, "memory", mixes[which[i]].name);

		r.cache = cache;
		r.moved = floors[i].moved;
		r.seconds = timing_spread(samples[i], runs);
		print_row(&r);
	}
}

/* Half of a cache: each thread's part of what is a thread's own, all of what they share. */
static void bench_memory(const struct context *c)
{
	struct machine_caches caches = machine_caches();
	size_t threads = (size_t)team_size(c->team), level = n_levels() - 1;

	if (caches.l1)
		bench_memory_of(c, level, "L1", caches.l1 / 2 * threads);
	if (caches.l2)
		bench_memory_of(c, level, "L2", caches.l2 / 2 * threads);
	if (caches.l3)
		bench_memory_of(c, level, "L3", caches.l3 / 2);
	bench_memory_of(c, level, "memory",
			4 * caches.l3 > MEMORY_BYTES ? 4 * caches.l3 : MEMORY_BYTES);
}

/* --- overhead --- */

static void bench_empty(const struct context *c, size_t level, bool shared)
{
	static double samples[RUNS_MOST];
	const char *name = shared ? "empty node, shared" : "empty node, alone";
	struct bench_row r = row_of(c, level, "overhead", name);
	struct empty_bench *e;
	struct timing_runner runner = { empty_bench_run, NULL, samples };
	/* A sample is a thousandth of what was measured. */
	struct timing_limits l = { least_runs < 50 ? 50 : least_runs, RUNS_MOST, 1e-3 * seconds };

	if (!wanted("overhead", name))
		return;
	cmd_check(empty_bench_new(&e, cpu_of(level), c->team, shared));
	runner.arg = e;
	r.seconds = timing_spread(samples, timing_interleave(&runner, 1, &l));
	empty_bench_free(e);
	print_row(&r);
}

static void bench_planning(const struct context *c, size_t level)
{
	static double build[RUNS_MOST], plan[RUNS_MOST];
	static const char *const names[] = { "building 24 layers", "planning 24 layers" };
	struct decoder_bench d = { cpu_of(level), c->team, PLANNED_LAYERS, 0, 0, 0 };
	double total = 0;
	size_t n = 0;

	if (!wanted("overhead", names[0]) && !wanted("overhead", names[1]))
		return;
	cmd_check(decoder_bench_run(&d)); /* warms up */
	for (; n < RUNS_MOST && (n < least_runs || total < seconds); n++) {
		cmd_check(decoder_bench_run(&d));
		build[n] = d.build_seconds;
		plan[n] = d.plan_seconds;
		total += build[n] + plan[n];
	}
	for (int i = 0; i < 2; i++) {
		struct bench_row r = row_of(c, level, "overhead", names[i]);

		r.seconds = timing_spread(i ? plan : build, n);
		if (wanted("overhead", names[i]))
			print_row(&r);
	}
}

static void bench_overheads(const struct context *c)
{
	for (size_t i = 0; i < n_levels(); i++) {
		bench_empty(c, i, true);
		bench_empty(c, i, false);
		bench_planning(c, i);
	}
}

/* --- ops --- */

/* What takes turns on one case. */
struct runner {
	struct op_bench *bench;
	size_t level; /* place in the list of levels */
	bool ref;
};

struct turns {
	struct runner ops[RUNNERS_MOST];
	struct roof_floor floors[2]; /* plain, streaming */
	struct timing_runner runners[RUNNERS_MOST + 2];
	size_t n_ops, n_floors;
};

static double samples[RUNNERS_MOST + 2][RUNS_MOST];

/* Adds a runner. A kernel that does not do the case is passed over, when it is one of several. */
static void add_runner(struct turns *t, const struct context *c, const struct op_shape *s,
		       enum dtype floats, size_t level, const struct backend *b,
		       const char *variant)
{
	struct op_bench_options o = { .backend = b,
				      .variant = variant,
				      .roof = c->roofs[level],
				      .team = c->team,
				      .cold = cold };
	struct runner *r = &t->ops[t->n_ops];

	if (t->n_ops == RUNNERS_MOST)
		cmd_misuse("more than %d kernels at once", RUNNERS_MOST);
	if (op_bench_new(&r->bench, s, floats, &o) < 0) {
		if (variant && (err_last() == ERR_UNSUPPORTED || err_last() == ERR_ARGUMENT) &&
		    !own_shapes.n)
			return;
		cmd_check(-1);
	}
	r->level = level;
	r->ref = b == backend_ref();
	t->n_ops++;
}

static bool all_variants(void)
{
	return variants.n == 1 && strcmp(variants.items[0], "all") == 0;
}

static void add_cpu(struct turns *t, const struct context *c, const struct op_shape *s,
		    enum dtype floats, size_t level)
{
	const struct backend *b = cpu_of(level);
	const char *name;

	if (!variants.n)
		add_runner(t, c, s, floats, level, b, NULL);
	for (size_t i = 0; all_variants() && (name = op_bench_variant(b, s->op, i)); i++)
		add_runner(t, c, s, floats, level, b, name);
	for (size_t i = 0; !all_variants() && i < variants.n; i++)
		add_runner(t, c, s, floats, level, b, variants.items[i]);
}

/* The best unit for values of this type. */
static enum peak_unit best_unit(const struct context *c, size_t level, enum dtype t, double *rate)
{
	*rate = roof_operations(c->roofs[level], PEAK_F32).median;
	if (t == DTYPE_BF16) {
		struct spread s = roof_operations(c->roofs[level], PEAK_BF16);

		if (s.n && s.median > *rate) {
			*rate = s.median;
			return PEAK_BF16;
		}
	}
	return PEAK_F32;
}

/* Loops that move the same bytes, unless no memory could be slow enough to matter. */
static void add_floors(struct turns *t, const struct context *c)
{
	struct op_bench_facts f = op_bench_facts(t->ops[0].bench);
	size_t level = n_levels() - 1;
	bool stores = f.bytes.updated + f.bytes.written > 0;
	double rate;

	best_unit(c, level, f.dtype, &rate);
	if (f.operations / rate > roof_moved(&f.bytes) / 2e9)
		return;
	for (int stream = 0; stream <= stores; stream++)
		cmd_check(roof_floor(c->roofs[level], &f.bytes, stream, cold,
				     &t->floors[t->n_floors++]));
}

/* Seconds in which BYTES move in the faster of the ways; 0 when that was not measured. */
static double floor_seconds(const struct turns *t, size_t runs, double bytes)
{
	double best = 0;

	for (size_t i = 0; i < t->n_floors; i++) {
		struct spread s = timing_spread(samples[t->n_ops + i], runs);
		double took = s.median * bytes / t->floors[i].moved;

		best = i == 0 || took < best ? took : best;
	}
	return best;
}

static void print_op(const struct turns *t, const struct context *c, const struct op_shape *s,
		     size_t i, size_t runs)
{
	struct op_bench_facts f = op_bench_facts(t->ops[i].bench);
	struct bench_row r = row_of(c, t->ops[i].level, op_info(s->op)->name, s->name);
	double rate, by_bytes;
	enum peak_unit unit = best_unit(c, t->ops[i].level, f.dtype, &rate);

	r.dtype = dtype_name(f.dtype);
	r.operands = s->operands;
	r.device = f.backend;
	if (t->ops[i].ref || strcmp(f.backend, "ref") == 0)
		r.level = NULL;
	r.variant = f.variant;
	r.cache = cold ? "cold" : "warm";
	r.seconds = timing_spread(samples[i], runs);
	r.operations = f.operations;
	r.scratch = f.scratch;
	r.moved = roof_moved(&f.bytes);
	by_bytes = floor_seconds(t, runs, r.moved);
	r.roof = f.operations / rate;
	r.bound = unit == PEAK_BF16 ? "bf16-dot" : "fma";
	if (by_bytes > r.roof) {
		r.roof = by_bytes;
		r.bound = "bytes";
	}
	print_row(&r);
}

static void bench_case(const struct context *c, const struct op_shape *s, enum dtype floats)
{
	static struct turns t;
	struct timing_limits l = limits();
	size_t runs;

	t.n_ops = t.n_floors = 0;
	for (size_t i = 0; i < n_levels() && device_wanted("cpu"); i++)
		add_cpu(&t, c, s, floats, i);
	if (device_wanted("ref"))
		add_runner(&t, c, s, floats, n_levels() - 1, backend_ref(), NULL);
	if (t.n_ops == 0)
		return;
	add_floors(&t, c);
	for (size_t i = 0; i < t.n_ops; i++)
		t.runners[i] = (struct timing_runner){ op_bench_run, t.ops[i].bench, samples[i] };
	for (size_t i = 0; i < t.n_floors; i++)
		t.runners[t.n_ops + i] = (struct timing_runner){ roof_floor_run, &t.floors[i],
								 samples[t.n_ops + i] };
	runs = timing_interleave(t.runners, t.n_ops + t.n_floors, &l);
	for (size_t i = 0; i < t.n_ops; i++)
		print_op(&t, c, s, i, runs);
	for (size_t i = 0; i < t.n_ops; i++)
		op_bench_free(t.ops[i].bench);
}

static void bench_types(const struct context *c, const struct op_shape *s)
{
	size_t n = op_bench_takes_dtype(s) ? n_dtypes() : 1;

	for (size_t i = 0; i < n; i++)
		bench_case(c, s, dtype_at(i));
}

/* The user's operands, with the attributes of the op's first row. */
static void bench_own(const struct context *c, const struct op_shape *first)
{
	for (size_t i = 0; i < own_shapes.n; i++) {
		struct op_shape s = *first;

		s.name = "-";
		s.operands = own_shapes.items[i];
		bench_types(c, &s);
	}
}

static void bench_op(const struct context *c, enum op op)
{
	const char *name = op_info(op)->name;
	size_t i = 0;

	while (i < n_op_shapes && op_shapes[i].op != op)
		i++;
	if (i == n_op_shapes && wanted(name, "-")) {
		struct bench_row r = row_of(c, 0, name, NULL);

		r.note = "no shape";
		print_row(&r);
		return;
	}
	if (own_shapes.n && i < n_op_shapes && wanted(name, "-")) {
		bench_own(c, &op_shapes[i]);
		return;
	}
	for (; !own_shapes.n && i < n_op_shapes && op_shapes[i].op == op; i++)
		if (wanted(name, op_shapes[i].name))
			bench_types(c, &op_shapes[i]);
}

/* --- all of it --- */

static void list_cases(void)
{
	for (size_t i = 0; i < n_op_shapes; i++)
		if (wanted(op_info(op_shapes[i].op)->name, op_shapes[i].name))
			cmd_printf("%s/%s\t%s\n", op_info(op_shapes[i].op)->name, op_shapes[i].name,
				   op_shapes[i].operands);
	for (int op = 0; op < OP_COUNT; op++) {
		size_t i = 0;

		while (i < n_op_shapes && op_shapes[i].op != (enum op)op)
			i++;
		if (i == n_op_shapes && !(op_info((enum op)op)->flags & OP_VIEW) &&
		    wanted(op_info((enum op)op)->name, "-"))
			cmd_printf("%s\tno shape\n", op_info((enum op)op)->name);
	}
}

static void print_header(void)
{
	struct machine_caches caches = machine_caches();
	char name[MACHINE_NAME];

	if (as_json)
		return;
	cmd_printf("# bench ops, nnutils %s\n", cmd_version());
	cmd_printf("# %s, %d processors; L1 %zu KiB, L2 %zu KiB, L3 %zu KiB\n", machine_name(name),
		   cpus_online(), caches.l1 >> 10, caches.l2 >> 10, caches.l3 >> 10);
	cmd_printf("# level %s of %s; times in microseconds: median, and its 95 %% interval\n",
		   level_name(default_level()), level_names());
}

static void bench_with(int threads)
{
	struct context c;

	open_context(&c, threads);
	if (!own_shapes.n) {
		bench_peaks(&c);
		bench_memory(&c);
		bench_overheads(&c);
	}
	for (int op = 0; op < OP_COUNT; op++)
		if (!(op_info((enum op)op)->flags & OP_VIEW))
			bench_op(&c, (enum op)op);
	close_context(&c);
}

int main(int argc, char **argv)
{
	cmd_begin(&spec, &argc, &argv);
	if (strcmp(argv[0], "ops") != 0)
		cmd_misuse("no command '%s': ops is the one there is", argv[0]);
	patterns = argv + 1;
	n_patterns = argc - 1;
	check_options();
	if (own_shapes.n && n_patterns == 0)
		cmd_misuse("--shape: of which op?");
	if (list_only) {
		list_cases();
	} else {
		print_header();
		table = as_json ? NULL : cmd_table_new(bench_headings);
		for (size_t i = 0; i < n_thread_counts(); i++)
			bench_with(threads_at(i));
		if (table)
			cmd_table_end(table);
	}
	if (!any)
		cmd_die("nothing is named '%s': bench ops --list lists the cases", patterns[0]);
	return cmd_end();
}
