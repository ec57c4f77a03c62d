/*
 * tests/tap.c - a unit program that prints TAP
 *
 * Output is line-buffered, so that a child made by fork never prints a parent's lines again. The
 * plan comes last: a program that dies before has none, and prove calls that a failure.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "tests/tap.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"

#define SHOWN	   400 /* bytes of a value in a diagnostic */
#define PATHS	   16
#define PATH_BYTES 4096

static unsigned checks, failures;
static char folder[PATH_BYTES / 2];
static pid_t folder_owner;

/* Before the first byte of output; setvbuf allows no later call. */
static void start(void)
{
	static bool started;

	if (!started)
		setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	started = true;
}

static void fatal(const char *what, const char *name)
{
	fflush(stdout);
	fprintf(stderr, "# %s: ", what);
	perror(name);
	exit(EXIT_FAILURE);
}

/* The text of a line: no line break, and no # that TAP would take for a directive. */
static void put_name(const char *name)
{
	for (; *name; name++) {
		if (*name == '#')
			putchar('\\');
		putchar(*name == '\n' ? ' ' : *name);
	}
	putchar('\n');
}

static bool report(bool ok, const char *expr, const char *file, int line, const char *fmt,
		   va_list args)
{
	char name[1024];

	start();
	checks++;
	failures += !ok;
	vsnprintf(name, sizeof(name), fmt, args);
	printf("%sok %u - ", ok ? "" : "not ", checks);
	put_name(name);
	if (!ok)
		printf("#   %s:%d: %s\n", file, line, expr);
	return ok;
}

void tap_run_(void (*fn)(void), const char *name)
{
	tap_note("%s", name);
	fn();
}

bool tap_ok_(bool ok, const char *expr, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report(ok, expr, file, line, fmt, args);
	va_end(args);
	return ok;
}

bool tap_is_u64_(uint64_t got, uint64_t want, const char *expr, const char *file, int line,
		 const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!report(got == want, expr, file, line, fmt, args))
		printf("#   got:  %" PRIu64 " (0x%" PRIx64 ")\n#   want: %" PRIu64 " (0x%" PRIx64
		       ")\n",
		       got, got, want, want);
	va_end(args);
	return got == want;
}

bool tap_is_i64_(int64_t got, int64_t want, const char *expr, const char *file, int line,
		 const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!report(got == want, expr, file, line, fmt, args))
		printf("#   got:  %" PRId64 "\n#   want: %" PRId64 "\n", got, want);
	va_end(args);
	return got == want;
}

/* B from byte FROM on, as a C string; a cut is told. */
static void show(const char *label, struct bytes b, size_t from)
{
	printf("#   %s \"", label);
	for (size_t i = from; i < b.size && i < from + SHOWN; i++) {
		unsigned char c = (unsigned char)b.data[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c == '\n')
			printf("\\n");
		else if (c < 0x20 || c == 0x7F)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	printf("\"%s (%zu bytes)\n", b.size > from + SHOWN ? "..." : "", b.size);
}

/* Both values, from a little before the first difference when it lies far in. */
static void show_both(struct bytes got, struct bytes want)
{
	size_t at = 0, from;

	while (at < got.size && at < want.size && got.data[at] == want.data[at])
		at++;
	from = at > SHOWN / 2 ? at - SHOWN / 4 : 0;
	if (from)
		printf("#   first difference at byte %zu; shown from byte %zu\n", at, from);
	show("got: ", got, from);
	show("want:", want, from);
}

bool tap_is_bytes_(struct bytes got, struct bytes want, const char *expr, const char *file,
		   int line, const char *fmt, ...)
{
	bool same = bytes_equal(got, want);
	va_list args;

	va_start(args, fmt);
	if (!report(same, expr, file, line, fmt, args))
		show_both(got, want);
	va_end(args);
	return same;
}

bool tap_is_text_(const char *got, const char *want, const char *expr, const char *file, int line,
		  const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list args;

	va_start(args, fmt);
	if (!report(same, expr, file, line, fmt, args))
		show_both(bytes_of(got ? got : "(NULL)"), bytes_of(want ? want : "(NULL)"));
	va_end(args);
	return same;
}

bool tap_fails_(int result, int code, const char *part, const char *expr, const char *file,
		int line, const char *fmt, ...)
{
	bool ok = result < 0 && (int)err_last() == code && strstr(err_text(), part);
	va_list args;

	va_start(args, fmt);
	if (!report(ok, expr, file, line, fmt, args)) {
		printf("#   returned %d, error %d, wanted error %d with \"%s\" in it\n", result,
		       (int)err_last(), code, part);
		show("text:", bytes_of(err_text()), 0);
	}
	va_end(args);
	return ok;
}

bool tap_works_(int result, const char *expr, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!report(result >= 0, expr, file, line, fmt, args))
		show("error:", bytes_of(err_text()), 0);
	va_end(args);
	return result >= 0;
}

/* Whether the comma-separated LIST holds the first word of REASON. */
static bool is_required(const char *list, const char *reason)
{
	size_t n = strcspn(reason, " \t:,;");

	while (list && *list) {
		size_t length = strcspn(list, ",");

		if (length == n && strncmp(list, reason, n) == 0)
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

void tap_skip(const char *reason, const char *what)
{
	bool wanted = is_required(getenv("NNUTILS_REQUIRE"), reason);

	start();
	checks++;
	failures += wanted;
	if (wanted)
		printf("not ok %u - %s\n#   NNUTILS_REQUIRE forbids to skip it: %s\n", checks, what,
		       reason);
	else
		printf("ok %u - %s # SKIP %s\n", checks, what, reason);
}

void tap_note(const char *fmt, ...)
{
	va_list args;

	start();
	fputs("# ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

int tap_done(void)
{
	printf("1..%u\n", checks);
	if (failures)
		tap_note("%u of %u checks failed", failures, checks);
	return fflush(stdout) != 0 || failures || checks == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

/* A child that was forked and exits leaves its parent's folder alone. */
static void remove_folder(void)
{
	if (folder_owner == getpid())
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tap_folder(void)
{
	const char *base = getenv("TMPDIR");

	if (folder_owner)
		return folder;
	snprintf(folder, sizeof(folder), "%s/nnutils-test-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder))
		fatal("no folder for the test", folder);
	folder_owner = getpid();
	atexit(remove_folder);
	return folder;
}

const char *tap_path(const char *name)
{
	static char paths[PATHS][PATH_BYTES];
	static unsigned next;
	char *path = paths[next++ % PATHS];

	snprintf(path, PATH_BYTES, "%s/%s", tap_folder(), name);
	return path;
}

const char *tap_file(const char *name, const void *data, size_t n)
{
	const char *path = tap_path(name);
	FILE *f = fopen(path, "wb");

	if (!f || (n && fwrite(data, 1, n, f) != n) || fclose(f))
		fatal("cannot write", path);
	return path;
}

char *tap_fixture(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat status;
	char *data;

	if (!f || fstat(fileno(f), &status))
		fatal("cannot read fixture", path);
	data = malloc((size_t)status.st_size + 1);
	if (!data)
		fatal("cannot read fixture", path);
	*n = fread(data, 1, (size_t)status.st_size, f);
	if (*n != (size_t)status.st_size || fclose(f))
		fatal("cannot read fixture", path);
	data[*n] = '\0';
	return data;
}
