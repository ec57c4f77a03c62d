/* lib/eval/bench_overheads.c - nodes that do nothing, and the planning of a training graph */

#include "lib/eval/bench.h"
#include "lib/eval/graph_bench.h"

#define PLANNED_LAYERS 24

static int bench_empty(const struct bench *b, size_t level, bool shared)
{
	static double samples[BENCH_RUNS];
	const char *name = shared ? "empty node, shared" : "empty node, alone";
	struct bench_row r = bench_row_of(b, level, "overhead", name);
	struct empty_bench *e;
	struct timing_runner runner = { empty_bench_run, NULL, samples };
	/* A sample is a thousandth of what was measured. */
	struct timing_limits l = { b->least_runs < 50 ? 50 : b->least_runs, BENCH_RUNS,
				   1e-3 * b->seconds };

	if (!b->wanted("overhead", name))
		return 0;
	if (empty_bench_new(&e, b->levels[level].backend, b->team, shared) < 0)
		return -1;
	runner.arg = e;
	r.seconds = timing_spread(samples, timing_interleave(&runner, 1, &l));
	empty_bench_free(e);
	b->row(&r);
	return 0;
}

static int bench_planning(const struct bench *b, size_t level)
{
	static double build[BENCH_RUNS], plan[BENCH_RUNS];
	static const char *const names[] = { "building 24 layers", "planning 24 layers" };
	struct decoder_bench d = { b->levels[level].backend, b->team, PLANNED_LAYERS, 0, 0, 0 };
	double total = 0;
	size_t n = 0;

	if (!b->wanted("overhead", names[0]) && !b->wanted("overhead", names[1]))
		return 0;
	if (decoder_bench_run(&d) < 0) /* warms up */
		return -1;
	for (; n < BENCH_RUNS && (n < b->least_runs || total < b->seconds); n++) {
		if (decoder_bench_run(&d) < 0)
			return -1;
		build[n] = d.build_seconds;
		plan[n] = d.plan_seconds;
		total += build[n] + plan[n];
	}
	for (int i = 0; i < 2; i++) {
		struct bench_row r = bench_row_of(b, level, "overhead", names[i]);

		r.seconds = timing_spread(i ? plan : build, n);
		if (b->wanted("overhead", names[i]))
			b->row(&r);
	}
	return 0;
}

int bench_overheads(const struct bench *b)
{
	for (size_t i = 0; i < b->n_levels; i++)
		if (bench_empty(b, i, true) < 0 || bench_empty(b, i, false) < 0 ||
		    bench_planning(b, i) < 0)
			return -1;
	return 0;
}
