/*
 * scripts/bench-stats.c - tensor_stats and tensor_compare beside a plain read of the same memory
 *
 * Build and run by hand, after make:
 *	gcc -O3 -fopenmp -I. -o /tmp/bench-stats scripts/bench-stats.c build/libcore.a -lxxhash -lm
 *	OMP_PROC_BIND=true /tmp/bench-stats [threads [MiB [rounds]]]
 *
 * One line a kernel: GB/s as the median of the rounds, the spread, and the median of its ratio to the
 * read loop of the same round. Kernels take turns within a round. `same`: two buffers of equal bytes;
 * `close`: the lowest bit of every other element differs. NNUTILS_ISA lowers the level.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kernels/tensor_compare.h"

#define PIECE	   ((size_t)1 << 19) /* bytes handed to a thread at a time */
#define ROUNDS_MAX 100

static enum level level;
static uint8_t *a, *same, *close_f32, *close_bf16, *bf16, *bf16_same;
static size_t size;
static uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Four accumulators of 32 bytes, as wide as the machine reads. */
__attribute__((target_clones("default", "avx2"))) static uint64_t read_piece(const uint8_t *p)
{
	typedef uint64_t v4 __attribute__((vector_size(32), aligned(8), may_alias));
	v4 s[4] = { { 0 } };

	for (size_t i = 0; i < PIECE; i += 128)
		for (int k = 0; k < 4; k++)
			s[k] ^= *(const v4 *)(p + i + 32 * k);
	s[0] ^= s[1] ^ s[2] ^ s[3];
	return s[0][0] ^ s[0][1] ^ s[0][2] ^ s[0][3];
}

struct job {
	const char *name;
	enum dtype dtype;
	uint8_t **left, **right; /* right NULL: statistics; left NULL: the read loop */
	double atol;
};

static void run_piece(const struct job *job, size_t offset)
{
	struct tensor_stats s;
	struct tensor_compare c;

	if (!job->left) {
		__atomic_fetch_xor(&sink, read_piece(a + offset), __ATOMIC_RELAXED);
		return;
	}
	for (size_t done = 0; done < PIECE;) {
		size_t n = (PIECE - done) / dtype_info(job->dtype)->bytes;
		size_t some = n < TENSOR_CHUNK ? n : TENSOR_CHUNK;
		const uint8_t *p = *job->left + offset + done;

		if (job->right)
			tensor_compare_chunk(level, job->dtype, p, job->dtype,
					     *job->right + offset + done, some,
					     (struct tensor_tolerance){ job->atol, 0 }, &c);
		else
			tensor_stats_chunk(level, job->dtype, p, some, &s);
		done += some * dtype_info(job->dtype)->bytes;
	}
}

/* GB/s. */
static double measure(const struct job *job)
{
	double start = now();

#pragma omp parallel for schedule(dynamic)
	for (size_t offset = 0; offset < size; offset += PIECE)
		run_piece(job, offset);
	return 1e-9 * (double)size * (job->right ? 2 : 1) / (now() - start);
}

static int by_value(const void *x, const void *y)
{
	double d = *(const double *)x - *(const double *)y;

	return (d > 0) - (d < 0);
}

static void report(const char *name, double *speed, double *ratio, int rounds)
{
	qsort(speed, (size_t)rounds, sizeof(*speed), by_value);
	qsort(ratio, (size_t)rounds, sizeof(*ratio), by_value);
	printf("%-22s %6.1f GB/s (%.1f to %.1f)  ratio to read %.2f (%.2f to %.2f)\n", name,
	       speed[rounds / 2], speed[0], speed[rounds - 1], ratio[rounds / 2], ratio[0],
	       ratio[rounds - 1]);
}

static uint8_t *new_buffer(void)
{
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

static void fill(void)
{
	a = new_buffer(), same = new_buffer(), close_f32 = new_buffer();
	bf16 = new_buffer(), bf16_same = new_buffer(), close_bf16 = new_buffer();
#pragma omp parallel for
	for (size_t i = 0; i < size / 4; i++) {
		float f = (float)((i * 2654435761u % 4001) * 0.001 - 2);

		memcpy(a + 4 * i, &f, 4);
	}
	memcpy(same, a, size);
	memcpy(close_f32, a, size);
#pragma omp parallel for
	for (size_t i = 0; i < size / 2; i++) {
		float f = (float)((i * 2654435761u % 4001) * 0.001 - 2);
		uint16_t h = bf16_from_f32(f);

		memcpy(bf16 + 2 * i, &h, 2);
	}
	memcpy(bf16_same, bf16, size);
	memcpy(close_bf16, bf16, size);
	for (size_t i = 0; i < size; i += 8)
		close_f32[i] ^= 1;
	for (size_t i = 0; i < size; i += 4)
		close_bf16[i] ^= 1;
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{ "read", DTYPE_F32, NULL, NULL, 0 },
		{ "stats f32", DTYPE_F32, &a, NULL, 0 },
		{ "stats bf16", DTYPE_BF16, &bf16, NULL, 0 },
		{ "stats f16", DTYPE_F16, &bf16, NULL, 0 },
		{ "compare f32 same", DTYPE_F32, &a, &same, 0 },
		{ "compare f32 close", DTYPE_F32, &a, &close_f32, 0 },
		{ "compare f32 atol", DTYPE_F32, &a, &close_f32, 1e-5 },
		{ "compare bf16 same", DTYPE_BF16, &bf16, &bf16_same, 0 },
		{ "compare bf16 close", DTYPE_BF16, &bf16, &close_bf16, 0 },
		{ "compare bf16 atol", DTYPE_BF16, &bf16, &close_bf16, 1e-2 },
	};
	enum { JOBS = sizeof(jobs) / sizeof(*jobs) };
	static double speed[JOBS][ROUNDS_MAX], ratio[JOBS][ROUNDS_MAX];
	int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 7;
	const char *word;

	omp_set_num_threads(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2);
	size = (size_t)(argc > 2 ? strtol(argv[2], NULL, 10) : 1024) << 20;
	if (level_choose(&level, &word) || rounds < 1 || rounds > ROUNDS_MAX || !size)
		return 2;
	fill();
	for (int r = 0; r < rounds; r++)
		for (int j = 0; j < JOBS; j++) {
			speed[j][r] = measure(&jobs[j]);
			ratio[j][r] = speed[j][r] / speed[0][r];
		}
	printf("level %s, %d threads, %zu MiB a buffer, %d rounds\n", level_name(level),
	       omp_get_max_threads(), size >> 20, rounds);
	for (int j = 0; j < JOBS; j++)
		report(jobs[j].name, speed[j], ratio[j], rounds);
	return 0;
}
