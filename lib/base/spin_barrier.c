/* lib/base/spin_barrier.c - where the threads of a region meet, without the kernel */

#include "lib/base/spin_barrier.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/base/clock.h"

/* By time, not by turns: under an emulator, or where a pause takes long, a turn is a hundred times as long. */
#define SPIN_NS 100000 /* before the core is given away */
#define YIELD_NS \
 2000000 /* before the thread sleeps: others need the core, and giving it away did not bring the last one here */
#define SLEEP_NS 50000
#define TURNS	 64 /* between two looks at the clock */

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

static bool is_over(const struct spin_barrier *b, unsigned turn)
{
	return atomic_load_explicit(&b->turn, memory_order_acquire) != turn;
}

/* Waits for the end of TURN without the kernel, for a while. */
static void spin(const struct spin_barrier *b, unsigned turn, uint64_t start)
{
	do
		for (int i = 0; i < TURNS; i++) {
			if (is_over(b, turn))
				return;
			relax();
		}
	while (clock_ns() - start < SPIN_NS);
}

void spin_barrier_wait(struct spin_barrier *b, int parts)
{
	unsigned turn = atomic_load_explicit(&b->turn, memory_order_relaxed);
	uint64_t start;

	if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 ==
	    (unsigned)parts) {
		atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&b->turn, turn + 1, memory_order_release);
		return;
	}
	start = clock_ns();
	spin(b, turn, start);
	while (!is_over(b, turn))
		if (clock_ns() - start < YIELD_NS)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = SLEEP_NS }, NULL);
}
