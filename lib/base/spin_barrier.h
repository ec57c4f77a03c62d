/*
 * lib/base/spin_barrier.h - where the threads of a region meet, without the kernel
 *
 * Waiting threads spin for a tenth of a millisecond, then give their core away, and after two milliseconds sleep: a tenth of a
 * microsecond where each has a core of its own, and no standstill where several share one with others.
 */
#ifndef LIB_BASE_SPIN_BARRIER_H
#define LIB_BASE_SPIN_BARRIER_H

#include <stdatomic.h>

struct spin_barrier {
	_Alignas(64) atomic_uint arrived;
	_Alignas(64) atomic_uint turn;
};

void spin_barrier_init(struct spin_barrier *b);
/* No thread of PARTS returns before all have come. What each wrote before is seen by all after. */
void spin_barrier_wait(struct spin_barrier *b, int parts);

#endif
