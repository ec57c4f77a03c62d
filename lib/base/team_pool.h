/*
 * lib/base/team_pool.h - the threads under a team: OpenMP's, or our own
 *
 * Two files have the same five functions: team_openmp.c, and team_pthreads.c for NNUTILS_PTHREADS.
 * A pool has at least two threads; lib/base/team.c serves a team of one by itself.
 */
#ifndef LIB_BASE_TEAM_POOL_H
#define LIB_BASE_TEAM_POOL_H

struct pool;

/* 0, or -1 with the error set when THREADS threads cannot be had. */
int pool_new(struct pool **out, int threads);
void pool_free(struct pool *p);
int pool_size(const struct pool *p);

/* As team_run. */
void pool_run(struct pool *p, void (*fn)(void *arg, int part, int parts), void *arg);
void pool_barrier(struct pool *p);

#endif
