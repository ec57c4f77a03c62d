/* lib/base/spin_barrier.c - where the threads of a region meet, without the kernel */

#include "lib/base/spin_barrier.h"

#include <sched.h>

#define SPINS 20000 /* before the core is given away: some hundred microseconds */

void spin_barrier_init(struct spin_barrier *b)
{
	atomic_init(&b->arrived, 0);
	atomic_init(&b->turn, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void spin_barrier_wait(struct spin_barrier *b, int parts)
{
	unsigned turn = atomic_load_explicit(&b->turn, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 ==
	    (unsigned)parts) {
		atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&b->turn, turn + 1, memory_order_release);
		return;
	}
	for (unsigned i = 0; atomic_load_explicit(&b->turn, memory_order_acquire) == turn; i++) {
		if (i < SPINS)
			relax();
		else
			sched_yield();
	}
}
