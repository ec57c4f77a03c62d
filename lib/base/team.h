/*
 * lib/base/team.h - a team of threads that run one function together
 *
 * Built on OpenMP; on pthreads when NNUTILS_PTHREADS is defined (ThreadSanitizer knows those).
 * Threads are bound, one a core, when the team fills the process's affinity mask, and left
 * alone otherwise: an unbound team may share one core for milliseconds.
 *
 * Results must not depend on the team's size: cut work by its shape, give chunk c to part
 * c % parts or hand chunks out by an atomic counter, and combine what the chunks gave in
 * their order.
 */
#ifndef LIB_BASE_TEAM_H
#define LIB_BASE_TEAM_H

#include <stddef.h>

#define TEAM_MAX 1024

struct team;

/* THREADS in 1..TEAM_MAX, or 0 for team_default_size(). 0, or -1 with the error set. */
int team_new(struct team **out, int threads);
void team_free(struct team *t); /* NULL is allowed */
int team_size(const struct team *t);

/*
 * Calls FN(ARG, part, parts) once a thread, part from 0 to parts - 1, and returns when all
 * have ended. The caller is part 0. One run at a time; not from inside a run.
 */
void team_run(struct team *t, void (*fn)(void *arg, int part, int parts), void *arg);

/* Inside a run: no part goes on before all have come here. */
void team_barrier(struct team *t);

/*
 * Calls FN(ARG, chunk) for every chunk from 0 to chunks - 1, each once, by whichever thread is
 * free, starting in order.
 */
void team_chunks(struct team *t, size_t chunks, void (*fn)(void *arg, size_t chunk), void *arg);

/*
 * NNUTILS_THREADS where it is a number in range; else the CPUs in the affinity mask, but no more
 * than the control group's quota (v1 and v2), rounded up. At least 1.
 */
int team_default_size(void);

#endif
