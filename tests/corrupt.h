/*
 * tests/corrupt.h - what a reader does with damaged input
 *
 * corrupt_run feeds READ thousands of seeded mutations of a good file: bit flips, bytes
 * set to 0, 0x7F, 0x80, 0xFF, cuts at the end and in the middle, repeated and swapped runs, splices with
 * SECOND (another good file, or NULL), and 1, 2, 4 and 8-byte integers overwritten with values that
 * length fields fall for (0, 1, size ± few, 2^31, 2^32 - 1, 2^62, 2^63, 2^64 - 1). Each mutation lies in
 * a buffer that ends at a guard page, so that one byte past the end is a fault. READ returns 0, or -1
 * with the error set; anything else, an empty error text, a text of more than one line, a signal, more
 * than LIMIT bytes of memory, or more than a second fails the check, which names the mutation's number.
 * CORRUPT_ONLY=N reruns one alone; CORRUPT_COUNT and CORRUPT_SEED change the 10,000 and the 1.
 */
#ifndef TESTS_CORRUPT_H
#define TESTS_CORRUPT_H

#include <stddef.h>

#include "lib/base/bytes.h"

typedef int corrupt_reader(void *arg, const void *data, size_t size);

/* One TAP check named NAME. LIMIT in bytes beyond what the program holds now (RLIMIT_AS in a child). */
void corrupt_run(const char *name, struct bytes good, struct bytes second, corrupt_reader *read,
		 void *arg, size_t limit);

/* N bytes that end at an unreadable page (guard_new_before: that start after one); free with guard_free. */
void *guard_new(size_t n);
void *guard_new_before(size_t n);
void guard_free(void *p);

#endif
