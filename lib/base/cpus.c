/* lib/base/cpus.c - the CPUs that this process may use: the affinity mask */
#define _GNU_SOURCE
#include "lib/base/cpus.h"

#include <sched.h>
#include <unistd.h>
#ifndef NNUTILS_PTHREADS
# include <omp.h>
#endif

int cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > TEAM_MAX ? TEAM_MAX : (int)n;
}

#ifdef __linux__

/* OMP_PROC_BIND narrows the first thread's mask to one place; the places are all of them. */
static void add_places(cpu_set_t *set)
{
# ifndef NNUTILS_PTHREADS
	int ids[CPU_SETSIZE];

	for (int place = 0; place < omp_get_num_places(); place++) {
		int n = omp_get_place_num_procs(place);

		if (n > CPU_SETSIZE)
			continue;
		omp_get_place_proc_ids(place, ids);
		for (int i = 0; i < n; i++)
			if (ids[i] >= 0 && ids[i] < CPU_SETSIZE)
				CPU_SET(ids[i], set);
	}
# endif
}

void cpus_mask(struct cpus *out)
{
	cpu_set_t set;

	out->n = 0;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	add_places(&set);
	for (int i = 0; i < CPU_SETSIZE && out->n < TEAM_MAX; i++)
		if (CPU_ISSET(i, &set))
			out->at[out->n++] = i;
}

int cpus_bind(const int *cpus, size_t n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (size_t i = 0; i < n; i++)
		if (cpus[i] >= 0 && cpus[i] < CPU_SETSIZE)
			CPU_SET(cpus[i], &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

#else

void cpus_mask(struct cpus *out)
{
	out->n = 0;
}

int cpus_bind(const int *cpus, size_t n)
{
	return -1;
}

#endif
