/*
 * lib/base/cpus.h - the CPUs that this process may use
 *
 * Two things set them: the affinity mask (which ones) and the control group's quota (how much of
 * them in all). Linux; elsewhere every CPU that is online, and no quota.
 */
#ifndef LIB_BASE_CPUS_H
#define LIB_BASE_CPUS_H

#include <stddef.h>

#include "lib/base/team.h"

struct cpus {
	size_t n;
	int at[TEAM_MAX]; /* their numbers, ascending */
};

/*
 * The affinity mask of the calling thread, widened by the places that OpenMP took at the start of
 * the program (OMP_PROC_BIND binds the first thread before main). N is 0 when the mask cannot be
 * read or has more than TEAM_MAX CPUs.
 */
void cpus_mask(struct cpus *out);

/* CPUs online, 1 or more. */
int cpus_online(void);

/*
 * The control groups' quota in CPUs, rounded up, the least of the group's and its parents'; 0 when
 * there is none. ROOT stands before the paths of /proc and of the mounts: "" but in tests.
 *
 * Version 1: cpu.cfs_quota_us and cpu.cfs_period_us of the hierarchy with the cpu controller;
 * version 2: cpu.max (kernel documentation, admin-guide/cgroup-v1 and cgroup-v2).
 */
int cpus_quota(const char *root);

/* Binds the calling thread to these CPUs. 0, or -1 (the error is not set: nobody has to know). */
int cpus_bind(const int *cpus, size_t n);

#endif
