/* lib/eval/bench_quantize.c - rows of f32 to narrower types, which the tool quantize does outside any graph */

#include <stdlib.h>

#include "kernels/quantize.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/eval/bench.h"

#define ROW	4096 /* values: whole blocks of every type */
#define ROWS	8192 /* 128 MiB, past the caches */
#define FEW	256  /* rows of a type that is searched for: the search is what takes time */
#define MOST	2    /* floors: plain, streaming */
#define RUNNERS (MOST + 1)

/* What a run does, and what its threads have. */
struct quantizing {
	struct team *team;
	enum level level;
	enum dtype to;
	size_t rows, row_bytes;
	const float *x;
	uint8_t *out;
};

static const enum dtype types[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1,
				    DTYPE_Q8_0, DTYPE_F16,  DTYPE_BF16, DTYPE_Q2_K,
				    DTYPE_Q3_K, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K };

#define N_TYPES (sizeof(types) / sizeof(*types))

static bool is_searched(enum dtype t)
{
	return dtype_info(t)->block == 256;
}

static void quantize_part(void *arg, int part, int parts)
{
	const struct quantizing *q = arg;
	size_t from = q->rows * (size_t)part / (size_t)parts;
	size_t to = q->rows * ((size_t)part + 1) / (size_t)parts;

	for (size_t i = from; i < to; i++)
		quantize_row(q->level, q->to, q->x + i * ROW, NULL, ROW, q->out + i * q->row_bytes);
}

static double run(void *arg)
{
	struct quantizing *q = arg;
	uint64_t start = clock_ns();

	team_run(q->team, quantize_part, q);
	return clock_seconds(start, clock_ns());
}

/* Values as weights have them: of both signs, most of them small. */
static void fill_part(void *arg, int part, int parts)
{
	const struct quantizing *q = arg;
	size_t from = q->rows * (size_t)part / (size_t)parts * ROW;
	size_t to = q->rows * ((size_t)part + 1) / (size_t)parts * ROW;
	float *x = (float *)(uintptr_t)q->x;

	for (size_t i = from; i < to; i++) {
		uint32_t word = (uint32_t)i * 0x9e3779b1u;
		float a = (float)(int32_t)(word ^ word >> 15) * 0x1p-31f;

		x[i] = a * a * a;
	}
}

static int measure(const struct bench *b, size_t level, struct quantizing *q)
{
	static double samples[RUNNERS][BENCH_RUNS];
	struct roof_bytes bytes = { .read = (double)q->rows * ROW * sizeof(float),
				    .written = (double)q->rows * (double)q->row_bytes };
	struct bench_row r = bench_row_of(b, level, "quantize", dtype_name(q->to));
	struct timing_runner runners[RUNNERS] = { { run, q, samples[0] } };
	struct roof_floor floors[MOST];
	size_t n = 1, runs;

	for (size_t i = 0; i < MOST && !is_searched(q->to); i++, n++) {
		if (roof_floor(b->levels[level].roof, &bytes, i > 0, b->cold, &floors[i]) < 0)
			return -1;
		runners[n] = (struct timing_runner){ roof_floor_run, &floors[i], samples[n] };
	}
	run(q);
	runs = timing_interleave(runners, n,
				 &(struct timing_limits){ b->least_runs, BENCH_RUNS, b->seconds });
	r.dtype = "f32";
	r.cache = "memory";
	r.moved = roof_moved(&bytes);
	r.seconds = timing_spread(samples[0], runs);
	for (size_t i = 1; i < n; i++) {
		double took =
			timing_spread(samples[i], runs).median * r.moved / floors[i - 1].moved;

		r.roof = i == 1 || took < r.roof ? took : r.roof;
		r.bound = "bytes";
	}
	b->row(&r);
	return 0;
}

/* Types whose integers follow from the largest value move bytes; those of super-blocks are searched for. */
int bench_quantize(const struct bench *b)
{
	struct quantizing q = { .team = b->team, .rows = ROWS };
	float *x = NULL;
	int result = 0;

	for (size_t i = 0; i < N_TYPES; i++) {
		if (!b->wanted("quantize", dtype_name(types[i])))
			continue;
		if (!x) {
			x = mem_pages((size_t)2 * ROWS * ROW * sizeof(*x));
			if (!x)
				return -1;
			q.x = x;
			q.out = (uint8_t *)(x + (size_t)ROWS * ROW);
			team_run(q.team, fill_part, &q);
		}
		q.to = types[i];
		q.rows = is_searched(q.to) ? FEW : ROWS;
		q.row_bytes = ROW / dtype_info(q.to)->block * dtype_info(q.to)->bytes;
		for (size_t level = 0; level < b->n_levels && result == 0; level++) {
			q.level = b->levels[level].level;
			result = measure(b, level, &q);
		}
	}
	free(x);
	return result;
}
