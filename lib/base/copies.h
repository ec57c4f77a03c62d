/*
 * lib/base/copies.h - many copies at once, by a team
 *
 * For what is copied into memory that nobody has touched yet: the system zeroes each page on its first touch, which takes longer than the
 * copy itself and goes as fast as there are threads.
 */
#ifndef LIB_BASE_COPIES_H
#define LIB_BASE_COPIES_H

#include <stddef.h>

#include "lib/base/team.h"

struct copy {
	void *to;
	const void *from;
	size_t size;
};

/* ALL of them, of any sizes, none overlapping another. T may be NULL for the caller alone. */
void copies_run(struct team *t, const struct copy *all, size_t n);

#endif
