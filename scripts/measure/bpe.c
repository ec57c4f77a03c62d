/*
 * scripts/measure/bpe.c - how fast BPE is, and what it gives, from a model in the lines of tests/bpe_file.h
 *
 *	bpe MODEL load		seconds to load, several times
 *	bpe MODEL check		holds the cases in the file against what comes out, twice
 *	bpe MODEL words		reads lines of hexadecimal words, writes `ID:FROM:TO …` a line (for comparison)
 *	bpe MODEL speed FILE [MB]	MB/s over FILE, cut before spaces and between kinds of characters
 *	bpe MODEL whole FILE	the same with the file as one piece
 *	bpe MODEL run TEXT N	one piece of N bytes made of TEXT (`random`: letters), and of 2 N
 * Times are the thread's own (CPU time), since machines are shared.
 *
 * gcc -O3 -I. scripts/measure/bpe.c tests/bpe_file.c BUILD/libcore.a -lxxhash -lm -fopenmp
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "tests/bpe_file.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int result)
{
	if (result < 0) {
		fprintf(stderr, "%s\n", err_text());
		exit(2);
	}
}

static struct bytes slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	size_t n = 0, capacity = 0, got;

	if (!f) {
		perror(path);
		exit(2);
	}
	do {
		capacity = capacity * 2 + 65536;
		data = realloc(data, capacity);
		got = data ? fread(data + n, 1, capacity - n, f) : 0;
		n += got;
	} while (n == capacity);
	fclose(f);
	return (struct bytes){ data, n };
}

/* Letters, digits, others, spaces; bytes past ASCII count as letters. */
static int kind(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0x80 || isalpha(u) ? 1 : isdigit(u) ? 2 : isspace(u) ? 3 : 4;
}

static size_t cut(struct bytes t, size_t at)
{
	size_t i = at;

	if (t.data[i] == ' ' && i + 1 < t.size && kind(t.data[i + 1]) != 3)
		i++;
	for (int k = kind(t.data[i]); i < t.size && kind(t.data[i]) == k; i++)
		if (k == 3 && i > at && i + 1 < t.size && t.data[i] == ' ' &&
		    kind(t.data[i + 1]) != 3)
			break;
	return i;
}

static void speed(const struct text_model *m, struct bytes t, bool whole)
{
	struct model_tokens out = { 0 };
	size_t *ends = malloc((t.size + 1) * sizeof(*ends)), n = 0;

	for (size_t at = 0; at < t.size; at = ends[n++])
		ends[n] = whole ? t.size : cut(t, at);
	for (int round = 0; round < 5; round++) {
		struct model_scratch *s;
		size_t tokens = 0, at = 0;
		double start;

		check(model_scratch_new(&s, m));
		start = now();
		for (size_t i = 0; i < n; at = ends[i++]) {
			check(text_model_encode(m, s, (struct bytes){ t.data + at, ends[i] - at },
						&out));
			if (out.n > 65536 || i + 1 == n) {
				tokens += out.n;
				out.n = 0;
			}
		}
		start = now() - start;
		printf("%.1f MB/s\t%.3f s\t%zu pieces\t%zu tokens\n", (double)t.size / 1e6 / start,
		       start, n, tokens);
		model_scratch_free(s);
	}
	free(out.items);
	free(ends);
}

static double run_once(const struct text_model *m, const char *text, size_t n)
{
	struct model_tokens out = { 0 };
	struct model_scratch *s;
	char *data = malloc(n);
	uint64_t x = 1;
	double start;

	for (size_t i = 0; i < n; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = strcmp(text, "random") == 0 ? (char)('a' + (x >> 33) % 26)
						      : text[i % strlen(text)];
	}
	check(model_scratch_new(&s, m));
	start = now();
	check(text_model_encode(m, s, (struct bytes){ data, n }, &out));
	start = now() - start;
	printf("%zu bytes\t%.3f s\t%zu tokens\n", n, start, out.n);
	model_scratch_free(s);
	free(out.items);
	free(data);
	return start;
}

static void words(const struct text_model *m)
{
	struct model_tokens out = { 0 };
	struct model_scratch *s;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;

	check(model_scratch_new(&s, m));
	while ((n = getline(&line, &capacity, stdin)) > 1) {
		for (ssize_t i = 0; i + 1 < n; i += 2) {
			unsigned byte = 0;

			sscanf(line + i, "%2x", &byte);
			line[i / 2] = (char)byte;
		}
		out.n = 0;
		if (text_model_encode(m, s, (struct bytes){ line, (size_t)n / 2 }, &out) < 0) {
			puts("error");
			continue;
		}
		for (size_t i = 0; i < out.n; i++)
			printf("%s%u:%u:%u", i ? " " : "", out.items[i].id, out.items[i].from,
			       out.items[i].to);
		putchar('\n');
	}
	free(line);
	free(out.items);
	model_scratch_free(s);
}

static void holds(const struct bpe_file *f, const struct text_model *m)
{
	const struct bpe_file_case *wrong;
	struct model_scratch *s;
	size_t n;

	check(model_scratch_new(&s, m));
	n = bpe_file_check(f, m, s, &wrong) + bpe_file_check(f, m, s, &wrong);
	printf("%zu cases, %zu wrong\n", f->n_cases, n);
	for (size_t i = 0; n && i < wrong->text.size; i++)
		printf("%02x", (unsigned char)wrong->text.data[i]);
	model_scratch_free(s);
	if (n)
		exit(1);
}

static void loads(const struct bpe_file *f)
{
	for (int i = 0; i < 5; i++) {
		struct text_model *m;
		double start = now();

		check(text_model_new(&m, &f->spec, f->byte_level));
		printf("%.3f s\n", now() - start);
		text_model_free(m);
	}
}

int main(int argc, char **argv)
{
	struct bpe_file f;
	struct text_model *m;

	if (argc < 3)
		return 2;
	check(bpe_file_parse(&f, slurp(argv[1])));
	check(text_model_new(&m, &f.spec, f.byte_level));
	if (strcmp(argv[2], "load") == 0) {
		loads(&f);
	} else if (strcmp(argv[2], "check") == 0) {
		holds(&f, m);
	} else if (strcmp(argv[2], "words") == 0) {
		words(m);
	} else if (strcmp(argv[2], "run") == 0 && argc == 5) {
		size_t n = strtoull(argv[4], NULL, 10);
		double one = run_once(m, argv[3], n);

		printf("time(2n) / time(n) = %.2f\n", run_once(m, argv[3], 2 * n) / one);
	} else if (argc == 4) {
		speed(m, slurp(argv[3]), strcmp(argv[2], "whole") == 0);
	}
	text_model_free(m);
	bpe_file_clear(&f);
	return 0;
}
