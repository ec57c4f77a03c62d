/*
 * lib/base/team_pthreads.c - the threads under a team: our own, on POSIX threads
 *
 * For ThreadSanitizer, which does not see the order that OpenMP's run-time library makes. One
 * mutex guards everything; each run has a number, by which a thread knows that it is new.
 */
#ifdef NNUTILS_PTHREADS
# include "lib/base/team_pool.h"

# include <pthread.h>
# include <stdbool.h>
# include <stdint.h>
# include <stdlib.h>
# include <string.h>

# include "lib/base/err.h"
# include "lib/base/memory.h"

struct worker {
	struct pool *pool;
	pthread_t thread;
	int part;
};

struct pool {
	int threads, made; /* the caller counts in the first only */
	struct worker *workers;
	pthread_mutex_t lock;
	pthread_cond_t start, end;
	pthread_barrier_t barrier;
	uint64_t run; /* counts the runs */
	int busy;     /* workers that are still in this one */
	bool closing;
	void (*fn)(void *arg, int part, int parts);
	void *arg;
};

/* Waits for a run later than *SEEN. False when the pool closes. */
static bool wait_run(struct pool *p, uint64_t *seen)
{
	bool more;

	pthread_mutex_lock(&p->lock);
	while (!p->closing && p->run == *seen)
		pthread_cond_wait(&p->start, &p->lock);
	*seen = p->run;
	more = !p->closing;
	pthread_mutex_unlock(&p->lock);
	return more;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	uint64_t seen = 0;

	while (wait_run(p, &seen)) {
		p->fn(p->arg, w->part, p->threads);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->end);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

void pool_run(struct pool *p, void (*fn)(void *arg, int part, int parts), void *arg)
{
	pthread_mutex_lock(&p->lock);
	p->fn = fn;
	p->arg = arg;
	p->busy = p->made;
	p->run++;
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);

	fn(arg, 0, p->threads);

	pthread_mutex_lock(&p->lock);
	while (p->busy)
		pthread_cond_wait(&p->end, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void pool_barrier(struct pool *p)
{
	pthread_barrier_wait(&p->barrier);
}

/* Starts the workers. -1 with the error set when the system refuses one. */
static int hire(struct pool *p)
{
	for (int i = 0; i < p->threads - 1; i++) {
		struct worker *w = &p->workers[i];

		w->pool = p;
		w->part = i + 1;
		if (pthread_create(&w->thread, NULL, work, w) != 0)
			return err_set(ERR_LIMIT, "the system gives %d threads of %d", i + 1,
				       p->threads);
		p->made++;
	}
	return 0;
}

int pool_new(struct pool **out, int threads)
{
	struct pool *p = mem_new(1, sizeof(*p));

	if (!p)
		return -1;
	p->threads = threads;
	p->workers = mem_new((size_t)threads, sizeof(*p->workers));
	if (!p->workers) {
		free(p);
		return -1;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->start, NULL);
	pthread_cond_init(&p->end, NULL);
	pthread_barrier_init(&p->barrier, NULL, (unsigned)threads);
	if (hire(p) != 0) {
		pool_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void pool_free(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->made; i++)
		pthread_join(p->workers[i].thread, NULL);
	pthread_barrier_destroy(&p->barrier);
	pthread_cond_destroy(&p->end);
	pthread_cond_destroy(&p->start);
	pthread_mutex_destroy(&p->lock);
	free(p->workers);
	free(p);
}

int pool_size(const struct pool *p)
{
	return p->threads;
}

#endif
