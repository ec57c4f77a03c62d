/* lib/eval/bench_limits.c - peaks of the units, and streams over each cache and memory */

#include "lib/base/machine.h"
#include "lib/eval/bench.h"

#define MEMORY_BYTES ((size_t)256 << 20)

struct bench_row bench_row_of(const struct bench *b, size_t level, const char *op, const char *name)
{
	return (struct bench_row){
		.op = op,
		.name = name,
		.device = "cpu",
		.level = level_name(b->levels[level].level),
		.threads = team_size(b->team),
	};
}

/* --- peak --- */

static void bench_unit(const struct bench *b, size_t level, enum peak_unit unit)
{
	static const char *const names[] = { "fma", "bf16-dot", "int8-dot" };
	static const char *const of[] = { "f32", "bf16", "int8" };
	struct bench_row r = bench_row_of(b, level, "peak", names[unit]);
	struct spread rate;

	if (!b->wanted("peak", names[unit]))
		return;
	r.dtype = of[unit];
	rate = roof_operations(b->levels[level].roof, unit);
	if (rate.n == 0)
		r.note = "not on this machine";
	/* Of as many operations as take a second. */
	else
		r.seconds = (struct spread){ 1, rate.median / rate.high, rate.median / rate.low,
					     rate.n };
	r.operations = rate.n ? rate.median : 0;
	b->row(&r);
}

int bench_peaks(const struct bench *b)
{
	for (size_t i = 0; i < b->n_levels; i++)
		for (int unit = 0; unit < PEAK_UNITS; unit++)
			bench_unit(b, i, (enum peak_unit)unit);
	return 0;
}

/* --- memory --- */

/* A core's prefetch may bring several streams faster than one: of Zen 3 one 22 GB/s, four 35. */
static const struct {
	const char *name;
	int counts[3]; /* reads, updates, writes */
	bool stream;
} mixes[] = {
	{ "read", { 1, 0, 0 }, false },
	{ "read by four", { 4, 0, 0 }, false },
	{ "write", { 0, 0, 1 }, false },
	{ "write streaming", { 0, 0, 1 }, true },
	{ "copy", { 1, 0, 1 }, false },
	{ "copy streaming", { 1, 0, 1 }, true },
	{ "a += b", { 1, 1, 0 }, false },
	{ "c = a + b", { 2, 0, 1 }, false },
	{ "c = a + b streaming", { 2, 0, 1 }, true },
};
#define N_MIXES (sizeof(mixes) / sizeof(mixes[0]))

/* All mixes take turns. */
static int bench_memory_of(const struct bench *b, size_t level, const char *cache, size_t bytes)
{
	static double samples[N_MIXES][BENCH_RUNS];
	struct roof_floor floors[N_MIXES];
	struct timing_runner runners[N_MIXES];
	size_t which[N_MIXES], n = 0, runs;

	for (size_t i = 0; i < N_MIXES; i++) {
		if (!b->wanted("memory", mixes[i].name) ||
		    (mixes[i].stream && bytes < MEMORY_BYTES))
			continue;
		if (roof_streams(b->levels[level].roof, mixes[i].counts, bytes, mixes[i].stream,
				 &floors[n]) < 0)
			return -1;
		runners[n] = (struct timing_runner){ roof_floor_run, &floors[n], samples[n] };
		which[n++] = i;
	}
	/* The memory that they share may have grown. */
	for (size_t i = 0; i < n; i++) {
		if (roof_streams(b->levels[level].roof, mixes[which[i]].counts, bytes,
				 mixes[which[i]].stream, &floors[i]) < 0)
			return -1;
		roof_floor_run(&floors[i]);
	}
	runs = n ? timing_interleave(
			   runners, n,
			   &(struct timing_limits){ b->least_runs, BENCH_RUNS, 5 * b->seconds })
		 : 0;
	for (size_t i = 0; i < n; i++) {
		struct bench_row r = bench_row_of(b, level, "memory", mixes[which[i]].name);

		r.cache = cache;
		r.moved = floors[i].moved;
		r.seconds = timing_spread(samples[i], runs);
		b->row(&r);
	}
	return 0;
}

/* Half of a cache: each thread's part of what is a thread's own, all of what they share. */
int bench_memory(const struct bench *b)
{
	struct machine_caches caches = machine_caches();
	size_t threads = (size_t)team_size(b->team), level = b->n_levels - 1;

	if (caches.l1 && bench_memory_of(b, level, "L1", caches.l1 / 2 * threads) < 0)
		return -1;
	if (caches.l2 && bench_memory_of(b, level, "L2", caches.l2 / 2 * threads) < 0)
		return -1;
	if (caches.l3 && bench_memory_of(b, level, "L3", caches.l3 / 2) < 0)
		return -1;
	return bench_memory_of(b, level, "memory",
			       4 * caches.l3 > MEMORY_BYTES ? 4 * caches.l3 : MEMORY_BYTES);
}
