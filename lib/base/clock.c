/* lib/base/clock.c - time that only goes forward */
#include "lib/base/clock.h"

#include <time.h>

uint64_t clock_ns(void)
{
	struct timespec now = { 0, 0 };

	/* Cannot fail: POSIX.1-2008 with the monotonic clock is what we build on. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
