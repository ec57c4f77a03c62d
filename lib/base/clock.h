/* lib/base/clock.h - time that only goes forward */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment (CLOCK_MONOTONIC). */
uint64_t clock_ns(void);

static inline double clock_seconds(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) * 1e-9;
}

#endif
