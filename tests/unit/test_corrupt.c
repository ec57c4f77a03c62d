/*
 * tests/unit/test_corrupt.c - the corruption engine catches readers that are wrong
 *
 * Each bad reader runs in a child whose TAP is captured: it must hold `not ok`, and name the mutation and
 * the reason.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/corrupt_mutate.h"
#include "tests/tap.h"

#define LIMIT ((size_t)4 << 20)

/* The format of these tests: a byte N, N bytes of data, and nothing after them. */
static const char good_file[] = "\x20"
				"0123456789abcdefghijklmnopqrstuv";
static const char other_file[] = "\x0A"
				 "ABCDEFGHIJ";

static struct bytes good(void)
{
	return (struct bytes){ good_file, sizeof(good_file) - 1 };
}

static struct bytes other(void)
{
	return (struct bytes){ other_file, sizeof(other_file) - 1 };
}

static volatile unsigned sink;
/* Volatile, or the compiler would drop the leak. */
static void *volatile held[1 << 14];
static size_t n_held;

/* --- readers --------------------------------------------------------------------------------- */

static int honest(void *arg, const void *data, size_t size)
{
	const unsigned char *p = data;

	if (size == 0)
		return err_set(ERR_FORMAT, "file: byte 0: the length is missing");
	if (p[0] != size - 1)
		return err_set(ERR_FORMAT, "file: byte 0: the length is %u", p[0]);
	for (size_t i = 0; i < p[0]; i++)
		sink += p[1 + i];
	return 0;
}

/* Believes the length. */
static int reads_past_end(void *arg, const void *data, size_t size)
{
	const unsigned char *p = data;

	for (size_t i = 0; size && i < p[0]; i++)
		sink += p[1 + i];
	return 0;
}

static int loops(void *arg, const void *data, size_t size)
{
	while (size)
		sink++;
	return 0;
}

/* Asks for what the file says, and reports that it was not given. */
static int asks_too_much(void *arg, const void *data, size_t size)
{
	size_t want = size == good().size ? 64 : (size_t)64 << 20;
	void *volatile p = malloc(want);

	if (!p)
		return err_memory(want);
	free(p);
	return 0;
}

static int leaks(void *arg, const void *data, size_t size)
{
	size_t n = 16384;
	void *p = malloc(n);

	if (!p || n_held == sizeof(held) / sizeof(held[0]))
		return err_memory(n);
	held[n_held++] = p;
	return 0;
}

static int fails_in_silence(void *arg, const void *data, size_t size)
{
	return honest(arg, data, size) == 0 ? 0 : (err_set(ERR_FORMAT, "%s", ""), -1);
}

/* -1 without any err_set since the call. */
static int fails_without_error(void *arg, const void *data, size_t size)
{
	return size == good().size ? 0 : -1;
}

static int fails_with_a_prefix_only(void *arg, const void *data, size_t size)
{
	return size == good().size ? 0 : err_prefix("file");
}

static int returns_seven(void *arg, const void *data, size_t size)
{
	return size == good().size ? 0 : 7;
}

static int exits(void *arg, const void *data, size_t size)
{
	if (size != good().size)
		_exit(0);
	return 0;
}

static int refuses_all(void *arg, const void *data, size_t size)
{
	return err_set(ERR_FORMAT, "file: no");
}

/* --- running one in a child -------------------------------------------------------------------- */

/* What corrupt_run prints for READ; COUNT and ONLY go into its environment where they are not NULL. */
static const char *output_of(corrupt_reader *read, const char *count, const char *only)
{
	static char text[16384];
	FILE *f = tmpfile();
	size_t n;
	pid_t child;

	fflush(NULL);
	child = f ? fork() : -1;
	if (child == 0) {
		/* Sanitizers tell of what is meant here; prove need not see it. */
		if (dup2(fileno(f), 1) < 0 || !freopen("/dev/null", "w", stderr))
			_exit(1);
		unsetenv("CORRUPT_SEED");
		unsetenv("CORRUPT_ONLY");
		setenv("CORRUPT_COUNT", count ? count : "2000", 1);
		if (only)
			setenv("CORRUPT_ONLY", only, 1);
		corrupt_run("reader", good(), other(), read, NULL, LIMIT);
		fflush(NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0) {
		fprintf(stderr, "test_corrupt: %s\n", strerror(errno));
		exit(1);
	}
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

/* Whether PART is in TEXT; shows TEXT, as one line, when it is not. */
static bool has(const char *text, const char *part)
{
	char line[400];
	size_t i;

	if (strstr(text, part))
		return true;
	for (i = 0; text[i] && i + 1 < sizeof(line); i++)
		line[i] = text[i] == '\n' ? '|' : text[i];
	line[i] = '\0';
	tap_note("no \"%s\" in: %s", part, line);
	return false;
}

static void catches(const char *what, corrupt_reader *read, const char *count, const char *reason)
{
	const char *text = output_of(read, count, NULL);

	tap_ok(has(text, "not ok "), "a reader that %s fails the check", what);
	tap_ok(has(text, reason), "and the reason is told: %s", reason);
}

/* --- the tests ---------------------------------------------------------------------------------- */

static struct corrupt_source source(uint64_t seed)
{
	return (struct corrupt_source){ good(), other(), seed };
}

/* The first mutation whose length byte says more than is there, by at most MOST. */
static uint64_t first_lie(size_t most)
{
	struct corrupt_source s = source(1);
	unsigned char *m = malloc(corrupt_capacity(&s));
	size_t size;
	uint64_t number = 0;

	do
		size = corrupt_mutate(&s, ++number, m);
	while (!size || m[0] <= size - 1 || m[0] - (size - 1) > most);
	free(m);
	return number;
}

static void test_honest_reader_passes(void)
{
	const char *text = output_of(honest, "10000", NULL);
	unsigned long read = 0, refused = 0;
	const char *note = strstr(text, "reader: ");

	tap_ok(has(text, "ok ") && !strstr(text, "not ok"), "an honest reader passes");
	if (note)
		sscanf(note, "reader: %lu read, %lu refused", &read, &refused);
	tap_is_u64(read + refused, 10001, "the file and 10,000 mutations were tried");
	tap_ok(read > 1000 && refused > 1000, "some were read (%lu), some refused (%lu)", read,
	       refused);
}

static void test_crash_is_attributed(void)
{
	uint64_t number = first_lie(255);
	char line[64], only[32];
	const char *text, *first;

	text = output_of(reads_past_end, NULL, NULL);
	tap_ok(has(text, "not ok "), "a reader that reads past the end fails the check");
	snprintf(line, sizeof(line), "mutation %" PRIu64 ":", number);
	first = strstr(text, "mutation ");
	tap_ok(first && strncmp(first, line, strlen(line)) == 0,
	       "the first one named is the first that makes it do so: %s", line);

	snprintf(only, sizeof(only), "%" PRIu64, number - 1);
	text = output_of(reads_past_end, NULL, only);
	tap_ok(has(text, "ok ") && !strstr(text, "not ok"), "the one before it is harmless");

	number = first_lie(1);
	snprintf(only, sizeof(only), "%" PRIu64, number);
	snprintf(line, sizeof(line), "mutation %" PRIu64 ":", number);
	text = output_of(reads_past_end, NULL, only);
	tap_ok(has(text, "not ok ") && has(text, line),
	       "one byte past the end is enough (CORRUPT_ONLY=%s)", only);
}

/* Some emulators accept the limit and do not hold it. */
static bool memory_limit_holds(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#else
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct rlimit l = { (size_t)1 << 20, (size_t)1 << 20 };
		void *p;

		setrlimit(RLIMIT_AS, &l);
		p = mmap(NULL, (size_t)64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(p == MAP_FAILED ? 0 : 1);
	}
	return child > 0 && waitpid(child, &status, 0) > 0 && status == 0;
#endif
}

static void test_memory(void)
{
	if (!memory_limit_holds()) {
		tap_skip("native: RLIMIT_AS is not held here", "readers that take too much memory");
		return;
	}
	catches("asks for too much", asks_too_much, NULL, "more memory than its limit");
	catches("leaves memory behind", leaks, NULL, "memory");
}

static void test_bad_readers(void)
{
	catches("loops", loops, "0", "mutation 0: took more than");
	catches("fails in silence", fails_in_silence, NULL, "without an error text");
	catches("fails and sets no error", fails_without_error, NULL, "without an error text");
	catches("only prefixes an old error", fails_with_a_prefix_only, NULL,
		"without an error text");
	catches("returns 7", returns_seven, NULL, "neither 0 nor -1");
	catches("exits", exits, NULL, "ended the process");
	catches("refuses the unharmed file", refuses_all, NULL, "the unharmed file is refused");
}

static void test_mutations_are_reproducible(void)
{
	struct corrupt_source s = source(1), t = source(2);
	size_t capacity = corrupt_capacity(&s), a, b, same = 0, unlike = 0, longer = 0, shorter = 0;
	unsigned char *one = malloc(capacity), *two = malloc(capacity);

	for (uint64_t number = 1; number <= 2000; number++) {
		a = corrupt_mutate(&s, number, one);
		b = corrupt_mutate(&s, number, two);
		same += a == b && memcmp(one, two, a) == 0;
		longer += a > good().size;
		shorter += a < good().size;
		b = corrupt_mutate(&t, number, two);
		unlike += a != b || memcmp(one, two, a) != 0;
	}
	tap_is_u64(same, 2000, "a number gives the same bytes again");
	tap_ok(unlike > 1900, "another seed gives others (%zu of 2,000)", unlike);
	tap_ok(longer > 200 && shorter > 200, "some are longer (%zu), some shorter (%zu)", longer,
	       shorter);
	a = corrupt_mutate(&s, 0, one);
	tap_is_bytes(((struct bytes){ (char *)one, a }), good(), "number 0 is the file itself");
	free(one);
	free(two);
}

/* Whether touching P ends a process. */
static bool faults(const volatile char *p)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		sink += (unsigned char)*p;
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) > 0 && status != 0;
}

static void test_guards(void)
{
	static const size_t sizes[] = { 0, 1, 100, 4096, 4097, 70000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];
		char *end = guard_new(n), *start = guard_new_before(n);

		memset(end, 1, n);
		memset(start, 1, n);
		tap_ok(faults(end + n), "%zu bytes: one past the end faults", n);
		tap_ok(faults(start - 1), "%zu bytes: one before the start faults", n);
		guard_free(end);
		guard_free(start);
	}
	guard_free(NULL);
}

int main(void)
{
	tap_run(test_mutations_are_reproducible);
	tap_run(test_guards);
	tap_run(test_honest_reader_passes);
	tap_run(test_crash_is_attributed);
	tap_run(test_memory);
	tap_run(test_bad_readers);
	return tap_done();
}
