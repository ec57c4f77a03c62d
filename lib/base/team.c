/*
 * lib/base/team.c - a team of threads that run one function together
 *
 * The threads come from team_pool.h; here are the team's size, the binding, and the chunks. A team
 * of one is the caller, with no pool.
 *
 * At most one team is bound at a time: while it lives, its caller's mask is one CPU, so the mask
 * from before is kept here, for the teams made meanwhile and for the end.
 */
#include "lib/base/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/cpus.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/team_pool.h"

struct team {
	struct pool *pool; /* NULL for a team of one */
	bool bound;
};

static struct {
	pthread_mutex_t lock;
	const struct team *team; /* the one that is bound, or NULL */
	struct cpus before;	 /* the mask from before it was */
} binding = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The mask of the process, whether or not a team is bound; the lock is held. */
static void process_mask(struct cpus *out)
{
	if (binding.team)
		*out = binding.before;
	else
		cpus_mask(out);
}

int team_default_size(void)
{
	const char *asked = getenv("NNUTILS_THREADS");
	struct cpus mask;
	uint64_t n;
	int quota;

	if (asked && number_u64(asked, 1, TEAM_MAX, &n) == 0)
		return (int)n;
	pthread_mutex_lock(&binding.lock);
	process_mask(&mask);
	pthread_mutex_unlock(&binding.lock);
	n = mask.n ? mask.n : (uint64_t)cpus_online();
	quota = cpus_quota("");
	return quota && (uint64_t)quota < n ? quota : (int)n;
}

static void bind_to_one(void *arg, int part, int parts)
{
	const struct cpus *mask = arg;

	cpus_bind(&mask->at[part], 1);
}

static void bind_to_all(void *arg, int part, int parts)
{
	const struct cpus *mask = arg;

	cpus_bind(mask->at, mask->n);
}

/* The caller may be bound by another team, and its new threads with it. */
static void free_workers(void *arg, int part, int parts)
{
	if (part > 0)
		bind_to_all(arg, part, parts);
}

/* Binds T when it fills the mask. A refusal costs time only, so it is not looked at. */
static void bind_team(struct team *t)
{
	struct cpus mask;

	pthread_mutex_lock(&binding.lock);
	process_mask(&mask);
	if (!binding.team && mask.n == (size_t)team_size(t)) {
		binding.team = t;
		binding.before = mask;
		t->bound = true;
		team_run(t, bind_to_one, &mask);
	} else if (mask.n) {
		team_run(t, free_workers, &mask);
	}
	pthread_mutex_unlock(&binding.lock);
}

static void unbind_team(struct team *t)
{
	pthread_mutex_lock(&binding.lock);
	team_run(t, bind_to_all, &binding.before);
	binding.team = NULL;
	pthread_mutex_unlock(&binding.lock);
}

int team_new(struct team **out, int threads)
{
	struct team *t;

	if (threads < 0 || threads > TEAM_MAX)
		return err_set(ERR_ARGUMENT, "%d threads: from 1 to %d", threads, TEAM_MAX);
	if (threads == 0)
		threads = team_default_size();
	t = mem_new(1, sizeof(*t));
	if (!t)
		return -1;
	if (threads > 1) {
		if (pool_new(&t->pool, threads) != 0) {
			free(t);
			return -1;
		}
		bind_team(t);
	}
	*out = t;
	return 0;
}

void team_free(struct team *t)
{
	if (!t)
		return;
	if (t->bound)
		unbind_team(t);
	if (t->pool)
		pool_free(t->pool);
	free(t);
}

int team_size(const struct team *t)
{
	return t->pool ? pool_size(t->pool) : 1;
}

void team_run(struct team *t, void (*fn)(void *arg, int part, int parts), void *arg)
{
	if (t->pool)
		pool_run(t->pool, fn, arg);
	else
		fn(arg, 0, 1);
}

void team_barrier(struct team *t)
{
	if (t->pool)
		pool_barrier(t->pool);
}

struct chunk_job {
	void (*fn)(void *arg, size_t chunk);
	void *arg;
	size_t chunks;
	atomic_size_t next;
};

static void take_chunks(void *arg, int part, int parts)
{
	struct chunk_job *job = arg;
	size_t chunk;

	/* Each thread goes past the end once, far from where the counter would wrap. */
	while ((chunk = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) <
	       job->chunks)
		job->fn(job->arg, chunk);
}

void team_chunks(struct team *t, size_t chunks, void (*fn)(void *arg, size_t chunk), void *arg)
{
	struct chunk_job job = { fn, arg, chunks, 0 };

	if (chunks == 0)
		return;
	if (chunks == 1)
		fn(arg, 0);
	else
		team_run(t, take_chunks, &job);
}
