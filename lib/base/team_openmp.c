/*
 * lib/base/team_openmp.c - the threads under a team: OpenMP's
 *
 * The run-time library keeps its threads between regions, so a pool is only a number. The OMP_*
 * settings do not count here: the number of threads is given with each region, and a library that
 * may choose less is told not to. Only a hard limit remains, and pool_new finds that one.
 */
#ifndef NNUTILS_PTHREADS
# include "lib/base/team_pool.h"

# include <omp.h>
# include <pthread.h>
# include <stdbool.h>
# include <stdlib.h>

# include "lib/base/err.h"
# include "lib/base/memory.h"

struct pool {
	int threads;
};

/* These settings belong to the thread that opens a region. */
static void take_settings(void)
{
	omp_set_dynamic(0);
	if (omp_get_max_active_levels() < 1)
		omp_set_max_active_levels(1);
# ifdef KMP_VERSION_MAJOR
	/* LLVM's threads would spin for 200 ms after each region. */
	kmp_set_blocktime(1);
# endif
}

void pool_run(struct pool *p, void (*fn)(void *arg, int part, int parts), void *arg)
{
	int parts = p->threads;

	take_settings();
# pragma omp parallel num_threads(parts)
	{
		/* One part a thread; were there fewer threads, no part would be left out. */
		for (int part = omp_get_thread_num(); part < parts; part += omp_get_num_threads())
			fn(arg, part, parts);
	}
}

void pool_barrier(struct pool *p)
{
# pragma omp barrier
}

static void count_thread(void *arg, int part, int parts)
{
	if (part == 0)
		*(int *)arg = omp_get_num_threads();
}

/* Lives until the lock is let go. */
static void *wait_for_lock(void *arg)
{
	pthread_mutex_t *lock = arg;

	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* OpenMP ends the program when a thread is refused, so N of them are tried beforehand, alive at
   once. */
static int try_threads(int n)
{
	pthread_t *threads = mem_new((size_t)n, sizeof(*threads));
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int made = 0;

	if (!threads)
		return -1;
	pthread_mutex_lock(&lock);
	while (made < n && pthread_create(&threads[made], NULL, wait_for_lock, &lock) == 0)
		made++;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	if (made < n)
		return err_set(ERR_LIMIT, "the system gives %d threads of %d", made + 1, n + 1);
	return 0;
}

int pool_new(struct pool **out, int threads)
{
	struct pool *p;
	int got = 0;

	if (try_threads(threads - 1) != 0)
		return -1;
	p = mem_new(1, sizeof(*p));
	if (!p)
		return -1;
	p->threads = threads;
	pool_run(p, count_thread, &got);
	if (got != threads) {
		pool_free(p);
		return err_set(ERR_LIMIT, "OpenMP gives %d threads of %d (OMP_THREAD_LIMIT?)", got,
			       threads);
	}
	*out = p;
	return 0;
}

void pool_free(struct pool *p)
{
	free(p);
}

int pool_size(const struct pool *p)
{
	return p->threads;
}

#endif
