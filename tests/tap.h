/*
 * tests/tap.h - a unit program that prints TAP
 *
 *	static void test_adds(void) { tap_is_u64(size_sum(2, 3), 5, "2 + 3"); }
 *	int main(void) { tap_run(test_adds); return tap_done(); }
 *
 * Each check prints one `ok`/`not ok` line; a failed one also prints file, line and both values as
 * a diagnostic. prove reads it. Strings are compared to the byte.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

#define tap_run(fn)		   tap_run_(fn, #fn)
#define tap_ok(cond, ...)	   tap_ok_((cond), #cond, __FILE__, __LINE__, __VA_ARGS__)
#define tap_is_u64(got, want, ...) tap_is_u64_((got), (want), #got, __FILE__, __LINE__, __VA_ARGS__)
#define tap_is_i64(got, want, ...) tap_is_i64_((got), (want), #got, __FILE__, __LINE__, __VA_ARGS__)
#define tap_is_text(got, want, ...) \
 tap_is_text_((got), (want), #got, __FILE__, __LINE__, __VA_ARGS__)
#define tap_is_bytes(got, want, ...) \
 tap_is_bytes_((got), (want), #got, __FILE__, __LINE__, __VA_ARGS__)
/* A library call that must fail with CODE and whose err_text() must contain PART. */
#define tap_fails(call, code, part, ...) \
 tap_fails_((call), (code), (part), #call, __FILE__, __LINE__, __VA_ARGS__)
/* A call that must return 0 or more; prints err_text() when it does not. */
#define tap_works(call, ...) tap_works_((call), #call, __FILE__, __LINE__, __VA_ARGS__)

void tap_run_(void (*fn)(void), const char *name); /* a diagnostic line with its name, then FN */
bool tap_ok_(bool ok, const char *expr, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
bool tap_is_u64_(uint64_t got, uint64_t want, const char *expr, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
bool tap_is_i64_(int64_t got, int64_t want, const char *expr, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
bool tap_is_text_(const char *got, const char *want, const char *expr, const char *file, int line,
		  const char *fmt, ...) __attribute__((format(printf, 6, 7)));
bool tap_is_bytes_(struct bytes got, struct bytes want, const char *expr, const char *file,
		   int line, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
bool tap_fails_(int result, int code, const char *part, const char *expr, const char *file,
		int line, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
bool tap_works_(int result, const char *expr, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* One skipped check. REASON's first word is the lane that would run it (peer, gpu, slow, …): when
   NNUTILS_REQUIRE lists it, this is a failure. */
void tap_skip(const char *reason, const char *what);
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* `# …` */

/* Prints the plan; main's exit status. */
int tap_done(void);

/* A folder of this program's own, made at the first call, removed at exit. */
const char *tap_folder(void);
/* `FOLDER/NAME`; valid until the 16th further call. */
const char *tap_path(const char *name);
/* Writes a file into the folder and returns its path (as tap_path). Ends the program on failure. */
const char *tap_file(const char *name, const void *data, size_t n);
/* A committed file, read whole; ends the program when it is not there. The caller frees. */
char *tap_fixture(const char *path, size_t *n);

#endif
