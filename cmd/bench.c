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
#include "lib/eval/bench.h"

#define LEVELS_MOST 64
#define DTYPES_MOST 16

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
	CMD_SIZE('n', "runs", &least_runs, 1, BENCH_RUNS, "runs of each at least (default 5)"),
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
		 "overhead, quantize. Without one all are measured.",
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
	if (levels.n > LEVELS_MOST || dtypes.n > DTYPES_MOST)
		cmd_misuse("more than %d levels or %d types", LEVELS_MOST, DTYPES_MOST);
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

/* Everything that is asked for, on so many threads. */
static void bench_with(int threads)
{
	struct bench_level at[LEVELS_MOST];
	enum dtype types[DTYPES_MOST];
	struct bench b = {
		.levels = at,
		.n_levels = n_levels(),
		.dtypes = types,
		.n_dtypes = n_dtypes(),
		.variants = variants.items,
		.n_variants = variants.n,
		.cpu = device_wanted("cpu"),
		.ref = device_wanted("ref"),
		.cold = cold,
		.least_runs = (size_t)least_runs,
		.seconds = seconds,
		.wanted = wanted,
		.row = print_row,
	};

	cmd_check(team_new(&b.team, threads));
	for (size_t i = 0; i < b.n_dtypes; i++)
		types[i] = dtype_at(i);
	for (size_t i = 0; i < b.n_levels; i++) {
		at[i] = (struct bench_level){ level_at(i), cpu_of(i), NULL };
		cmd_check(roof_new(&at[i].roof, at[i].level, b.team));
	}
	if (!own_shapes.n) {
		cmd_check(bench_peaks(&b));
		cmd_check(bench_memory(&b));
		cmd_check(bench_overheads(&b));
		cmd_check(bench_quantize(&b));
	}
	for (int op = 0; op < OP_COUNT; op++)
		if (!(op_info((enum op)op)->flags & OP_VIEW))
			cmd_check(bench_op(&b, (enum op)op, own_shapes.items, own_shapes.n));
	for (size_t i = 0; i < b.n_levels; i++)
		roof_free(at[i].roof);
	team_free(b.team);
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
