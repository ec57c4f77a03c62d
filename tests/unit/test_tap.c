/*
 * tests/unit/test_tap.c - the checks themselves: that a failed one fails
 *
 * Each part runs in a child of this program, whose output goes to a file. Expected lines follow the
 * TAP 13 specification.
 */
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"

static char output[16384];

/* Runs FN in a child, its stdout into OUTPUT; the child's exit status. */
static int run_apart(void (*fn)(void))
{
	const char *path = tap_path("output");
	int status = -1;
	pid_t child;
	size_t n = 0;
	char *text;

	child = fork();
	if (child == 0) {
		if (!freopen(path, "w", stdout))
			_exit(99);
		fn();
		exit(tap_done());
	}
	waitpid(child, &status, 0);
	text = tap_fixture(path, &n);
	n = n < sizeof(output) ? n : sizeof(output) - 1;
	memcpy(output, text, n);
	output[n] = '\0';
	free(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *part)
{
	return strstr(output, part) != NULL;
}

static int fails(void)
{
	return err_set(ERR_FORMAT, "f: byte 3: bad\n");
}

static void all_good(void)
{
	tap_ok(true, "one #1\nline");
	tap_is_u64(UINT64_MAX, UINT64_MAX, "u64");
	tap_is_i64(-1, -1, "i64");
	tap_is_text("a", "a", "text");
	tap_is_text(NULL, NULL, "no text");
	tap_is_bytes(((struct bytes){ "a\0b", 3 }), ((struct bytes){ "a\0b", 3 }), "bytes");
	tap_fails(fails(), ERR_FORMAT, "byte 3", "fails");
	tap_works(1, "works");
}

static void test_good(void)
{
	tap_is_i64(run_apart(all_good), 0, "a program whose checks hold exits with 0");
	tap_ok(says("ok 1 - one \\#1 line\n"), "a name is one line without a directive");
	tap_ok(says("\nok 8 - works\n1..8\n"), "checks are counted, the plan comes last");
	tap_ok(!says("not ok"), "nothing has failed");
}

/* The children's counts go on from this program's. */
static void one_bad_ok(void)
{
	tap_ok(1 == 2, "bad");
}

static void one_bad_u64(void)
{
	tap_is_u64(1, 2, "bad");
}

static void one_bad_i64(void)
{
	tap_is_i64(-1, -2, "bad");
}

static void one_bad_text(void)
{
	tap_is_text("a\nb", "a\nc", "bad");
}

static void one_null_text(void)
{
	tap_is_text(NULL, "", "bad");
}

static void one_bad_bytes(void)
{
	tap_is_bytes(((struct bytes){ "a\0b", 3 }), ((struct bytes){ "a\0c", 3 }), "bad");
}

static void one_long_text(void)
{
	char a[2001], b[2001];

	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[2000] = b[2000] = '\0';
	b[1500] = 'y';
	tap_is_text(a, b, "bad");
}

static void fails_with_another_code(void)
{
	tap_fails(fails(), ERR_IO, "byte 3", "bad");
}

static void fails_with_another_text(void)
{
	tap_fails(fails(), ERR_FORMAT, "byte 4", "bad");
}

static void fails_not_at_all(void)
{
	fails();
	tap_fails(0, ERR_FORMAT, "byte 3", "bad");
}

static void works_not(void)
{
	tap_works(fails(), "bad");
}

static void no_check(void)
{
	exit(0); /* before its plan */
}

static void test_bad(void)
{
	static const struct {
		void (*fn)(void);
		const char *part;
	} rows[] = {
		{ one_bad_ok, ": 1 == 2\n" },
		{ one_bad_u64, "#   got:  1 (0x1)\n#   want: 2 (0x2)\n" },
		{ one_bad_i64, "#   got:  -1\n#   want: -2\n" },
		{ one_bad_text, "#   got:  \"a\\nb\" (3 bytes)\n#   want: \"a\\nc\" (3 bytes)\n" },
		{ one_null_text, "#   got:  \"(NULL)\"" },
		{ one_bad_bytes, "\"a\\x00c\" (3 bytes)" },
		{ one_long_text, "first difference at byte 1500" },
		{ fails_with_another_code, "returned -1, error 2, wanted error 1 with \"byte 3\"" },
		{ fails_with_another_text, "#   text: \"f: byte 3: bad\\\\x0a\"" },
		{ fails_not_at_all, "returned 0" },
		{ works_not, "#   error: \"f: byte 3: bad\\\\x0a\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_is_i64(run_apart(rows[i].fn), 1, "bad check %zu: exit status 1", i);
		tap_ok(bytes_match(bytes_of(output), "not ok * - bad\n#   *test_tap.c:*"),
		       "bad check %zu: not ok, with file and line", i);
		if (!tap_ok(says(rows[i].part), "bad check %zu: says what was wrong", i))
			tap_is_text(output, rows[i].part, "output and the part that it lacks");
	}
	tap_is_i64(run_apart(no_check), 0, "a program that ends early");
	tap_ok(!says("1.."), "has no plan");
}

static void skip_one(void)
{
	tap_skip("peer: not installed", "against the peer");
}

static void test_skip(void)
{
	static const char *const others[] = { "", "gpu", "gpu,slow", "peers", "pee", "xpeer" },
				 *const same[] = { "peer", "gpu,peer", "peer,gpu",
						   "gpu,peer,slow" };

	unsetenv("NNUTILS_REQUIRE");
	tap_is_i64(run_apart(skip_one), 0, "a skip is no failure");
	tap_ok(bytes_match(bytes_of(output),
			   "ok * - against the peer # SKIP peer: not installed\n1..*"),
	       "and tells its reason");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("NNUTILS_REQUIRE", others[i], 1);
		tap_is_i64(run_apart(skip_one), 0, "NNUTILS_REQUIRE=%s does not want it",
			   others[i]);
	}
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		setenv("NNUTILS_REQUIRE", same[i], 1);
		tap_is_i64(run_apart(skip_one), 1, "NNUTILS_REQUIRE=%s wants it", same[i]);
		tap_ok(bytes_match(bytes_of(output), "not ok * - against the peer\n*"),
		       "NNUTILS_REQUIRE=%s makes it fail", same[i]);
	}
	unsetenv("NNUTILS_REQUIRE");
}

static void write_file(void)
{
	tap_ok(true, "so that there is a check");
	tap_file("x", "abc", 3);
}

static void test_folder(void)
{
	const char *first = tap_path("0");
	size_t n = 0;
	char *data;

	for (int i = 1; i < 16; i++)
		tap_path("1");
	tap_ok(bytes_end_with(bytes_of(first), "/0"), "a path is valid until the 16th further one");
	tap_ok(bytes_start_with(bytes_of(first), tap_folder()), "and lies in the folder");
	data = tap_fixture(tap_file("a", "x\0y", 3), &n);
	tap_is_bytes(((struct bytes){ data, n + 1 }), ((struct bytes){ "x\0y", 4 }),
		     "a file is read whole, a NUL after it");
	free(data);
	run_apart(write_file);
	tap_ok(access(tap_path("x"), R_OK) == 0, "a child that exits leaves the folder");
}

int main(void)
{
	/* First, while no check has been counted and numbers start at 1. */
	test_good();
	tap_run(test_bad);
	tap_run(test_skip);
	tap_run(test_folder);
	return tap_done();
}
