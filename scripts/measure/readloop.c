/*
 * scripts/measure/readloop.c - the floor that scans of models are held to
 *
 *	readloop make FILE MB f32|bf16	writes a safetensors file of a few tensors with normal-like values
 *	readloop file FILE THREADS	maps FILE, adds up its 64-bit words, prints bytes and seconds
 *	readloop memory MB THREADS	the same over memory that is touched already
 *
 * The loop does nothing but loads and adds on vectors, so it runs at the memory's rate. `file` takes
 * the time from before the map to after the last word, page faults included, as a tool must.
 */
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef uint64_t words __attribute__((vector_size(64), aligned(1), may_alias));

static uint64_t add_piece(const unsigned char *p, size_t n)
{
	const words *w = (const void *)p;
	words a = { 0 }, b = { 0 };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i + 2 <= n / sizeof(words); i += 2) {
		a += w[i];
		b += w[i + 1];
	}
	a += b;
	for (i = 0; i < 8; i++)
		sum += a[i];
	return sum;
}

static uint64_t add_all(const unsigned char *p, size_t n, int threads)
{
	uint64_t sum = 0;

#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(dynamic)
	for (size_t at = 0; at < n; at += PIECE)
		sum += add_piece(p + at, n - at < PIECE ? n - at : PIECE);
	return sum;
}

static int read_file(const char *path, int threads)
{
	double start = now();
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned char *p;
	volatile uint64_t sink;

	if (fd < 0 || fstat(fd, &st) != 0)
		return perror(path), 2;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return perror(path), 2;
	sink = add_all(p, (size_t)st.st_size, threads);
	(void)sink;
	printf("%lld %.6f\n", (long long)st.st_size, now() - start);
	return 0;
}

static int read_memory(size_t n, int threads)
{
	unsigned char *p = aligned_alloc(PIECE, n);
	volatile uint64_t sink;
	double best = 1e9;

	if (!p)
		return perror("memory"), 2;
	memset(p, 1, n);
	for (int round = 0; round < 5; round++) {
		double start = now();

		sink = add_all(p, n, threads);
		if (now() - start < best)
			best = now() - start;
	}
	(void)sink;
	printf("%zu %.6f\n", n, best);
	return 0;
}

/* Sums of four uniform numbers, near enough to what weights look like. */
static float value(uint64_t *state)
{
	float sum = 0;

	for (int i = 0; i < 4; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (float)(*state >> 40) / 16777216.0f - 0.5f;
	}
	return sum * 0.05f;
}

static int make(const char *path, size_t bytes, int wide)
{
	size_t width = wide ? 4 : 2, n_tensors = 8, each = bytes / n_tensors / 4096 * 4096;
	char header[4096];
	size_t at = 0;
	uint64_t size, state = 1;
	static unsigned char block[1 << 20];
	FILE *f = fopen(path, "wb");

	if (!f)
		return perror(path), 2;
	for (size_t i = 0; i < n_tensors; i++)
		at += (size_t)snprintf(header + at, sizeof(header) - at,
				       "%s\"w%zu\":{\"dtype\":\"%s\",\"shape\":[%zu],"
				       "\"data_offsets\":[%zu,%zu]}",
				       i ? "," : "{", i, wide ? "F32" : "BF16", each / width,
				       i * each, (i + 1) * each);
	header[at++] = '}';
	while (at % 8)
		header[at++] = ' ';
	size = at;
	fwrite(&size, 8, 1, f);
	fwrite(header, 1, at, f);
	for (size_t done = 0; done < n_tensors * each;) {
		size_t n = n_tensors * each - done < sizeof(block) ? n_tensors * each - done
								   : sizeof(block);

		for (size_t i = 0; i < n; i += width) {
			float v = value(&state);
			uint32_t bits;

			memcpy(&bits, &v, 4);
			if (wide)
				memcpy(block + i, &bits, 4);
			else
				memcpy(block + i, (char *)&bits + 2, 2);
		}
		fwrite(block, 1, n, f);
		done += n;
	}
	return fclose(f) ? perror(path), 2 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "make"))
		return make(argv[2], strtoull(argv[3], NULL, 10) << 20, !strcmp(argv[4], "f32"));
	if (argc == 4 && !strcmp(argv[1], "file"))
		return read_file(argv[2], (int)strtol(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "memory"))
		return read_memory(strtoull(argv[2], NULL, 10) << 20,
				   (int)strtol(argv[3], NULL, 10));
	fprintf(stderr,
		"usage: readloop make FILE MB f32|bf16 | file FILE THREADS | memory MB THREADS\n");
	return 2;
}
