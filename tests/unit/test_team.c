/*
 * lib/base/team: every part once, barriers, chunks, binding, and the size that the machine allows.
 *
 * What OpenMP reads from the environment it reads before main, so those tests start this program
 * again with an argument that names the child's job.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cpus.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/team.h"
#include "tests/tap.h"

#if defined(__has_feature)
# if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#  define WATCHED 1
# endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
# define WATCHED 1
#endif

/* Exit statuses of children that could not do their job. */
#define NO_EXEC	 254
#define NO_LIMIT 253

#define MOST   7
#define ROUNDS 200
#define CHUNKS 1000

static const int sizes[] = { 1, 2, 3, MOST };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* --- running --------------------------------------------------------------------------- */

struct record {
	struct team *team;
	pthread_t thread[MOST];
	atomic_int calls[MOST];
	atomic_int wrong;
	int plain[MOST]; /* each written by its own part, read by all after a barrier */
};

static void note_part(void *arg, int part, int parts)
{
	struct record *r = arg;

	if (part < 0 || part >= parts || parts != team_size(r->team)) {
		atomic_fetch_add(&r->wrong, 1);
		return;
	}
	atomic_fetch_add(&r->calls[part], 1);
	r->thread[part] = pthread_self();
}

static void check_parts(struct record *r, int size)
{
	bool once = true, apart = true;

	for (int i = 0; i < size; i++) {
		once &= atomic_load(&r->calls[i]) == 1;
		for (int j = 0; j < i; j++)
			apart &= !pthread_equal(r->thread[i], r->thread[j]);
	}
	tap_ok(once && atomic_load(&r->wrong) == 0, "each of %d parts once", size);
	tap_ok(apart, "each of %d by a thread of its own", size);
	tap_ok(pthread_equal(r->thread[0], pthread_self()), "the caller is part 0 of %d", size);
}

static void test_run(void)
{
	for (size_t s = 0; s < SIZES; s++) {
		struct record r = { .wrong = 0 };

		if (!tap_works(team_new(&r.team, sizes[s]), "a team of %d", sizes[s]))
			continue;
		tap_is_i64(team_size(r.team), sizes[s], "its size");
		team_run(r.team, note_part, &r);
		check_parts(&r, sizes[s]);
		for (int i = 0; i < ROUNDS; i++)
			team_run(r.team, note_part, &r);
		for (int i = 0; i < sizes[s]; i++)
			tap_is_i64(atomic_load(&r.calls[i]), ROUNDS + 1, "part %d of %d again", i,
				   sizes[s]);
		team_free(r.team);
	}
	team_free(NULL);
}

/* Each part writes its slot, all meet, each reads every slot, all meet again. */
static void meet(void *arg, int part, int parts)
{
	struct record *r = arg;

	for (int round = 1; round <= ROUNDS; round++) {
		r->plain[part] = round;
		team_barrier(r->team);
		for (int i = 0; i < parts; i++)
			if (r->plain[i] != round)
				atomic_fetch_add(&r->wrong, 1);
		team_barrier(r->team);
	}
}

static void test_barrier(void)
{
	for (size_t s = 0; s < SIZES; s++) {
		struct record r = { .wrong = 0 };

		if (team_new(&r.team, sizes[s]) != 0)
			continue;
		team_run(r.team, meet, &r);
		tap_is_i64(atomic_load(&r.wrong), 0, "%d rounds with two barriers, %d threads",
			   ROUNDS, sizes[s]);
		team_free(r.team);
	}
}

struct chunk_record {
	atomic_int times[CHUNKS];
	int order[CHUNKS]; /* only for a team of one */
	atomic_int n;
};

static void note_chunk(void *arg, size_t chunk)
{
	struct chunk_record *r = arg;
	int at = atomic_fetch_add(&r->n, 1);

	if (at < CHUNKS)
		r->order[at] = (int)chunk;
	if (chunk < CHUNKS)
		atomic_fetch_add(&r->times[chunk], 1);
}

static void check_chunks(struct team *team, size_t chunks)
{
	struct chunk_record *r = mem_new(1, sizeof(*r));
	bool once = true, in_order = true;

	team_chunks(team, chunks, note_chunk, r);
	for (size_t i = 0; i < CHUNKS; i++) {
		once &= atomic_load(&r->times[i]) == (i < chunks);
		in_order &= i >= chunks || r->order[i] == (int)i;
	}
	tap_ok(once && (size_t)atomic_load(&r->n) == chunks, "%zu chunks, each once, %d threads",
	       chunks, team_size(team));
	if (team_size(team) == 1)
		tap_ok(in_order, "%zu chunks, in order", chunks);
	free(r);
}

static void test_chunks(void)
{
	for (size_t s = 0; s < SIZES; s++) {
		struct team *team;

		if (team_new(&team, sizes[s]) != 0)
			continue;
		check_chunks(team, 0);
		check_chunks(team, 1);
		check_chunks(team, 2);
		check_chunks(team, CHUNKS);
		team_free(team);
	}
}

static void test_sizes_refused(void)
{
	struct team *team;

	tap_fails(team_new(&team, -1), ERR_ARGUMENT, "from 1 to 1024", "-1 threads");
	tap_fails(team_new(&team, TEAM_MAX + 1), ERR_ARGUMENT, "from 1 to 1024", "too many");
}

static cpu_set_t at_start; /* the mask before any team was made */

/* --- binding --------------------------------------------------------------------------- */

struct masks {
	cpu_set_t of[TEAM_MAX];
};

static void read_mask(void *arg, int part, int parts)
{
	struct masks *m = arg;

	sched_getaffinity(0, sizeof(m->of[part]), &m->of[part]);
}

/* A team that fills the mask: one CPU a thread, each another one, and the mask back at the end. */
static void test_binding(void)
{
	static struct masks m;
	cpu_set_t after, all;
	struct team *team;
	int n = CPU_COUNT(&at_start);
	bool single = true;

	if (n < 2) {
		tap_skip("cpus: one CPU only", "binding");
		return;
	}
	CPU_ZERO(&all);
	tap_works(team_new(&team, n), "a team of all %d CPUs", n);
	team_run(team, read_mask, &m);
	for (int i = 0; i < n; i++) {
		single &= CPU_COUNT(&m.of[i]) == 1;
		CPU_OR(&all, &all, &m.of[i]);
	}
	tap_ok(single, "each thread has one CPU");
	tap_ok(CPU_EQUAL(&all, &at_start), "together they have them all");
	tap_is_i64(team_default_size() >= 1 && team_default_size() <= n, 1, "a size in range");
	team_free(team);
	sched_getaffinity(0, sizeof(after), &after);
	tap_ok(CPU_EQUAL(&at_start, &after), "the caller has its mask again");
}

/* The threads of a team that does not fill the mask have all of it, also beside one that does. */
static void check_unbound(int threads, const cpu_set_t *mask, bool beside)
{
	static struct masks m;
	struct team *team;
	bool whole = true;

	if (team_new(&team, threads) != 0)
		return;
	team_run(team, read_mask, &m);
	for (int i = beside; i < threads; i++)
		whole &= CPU_EQUAL(&m.of[i], mask);
	tap_ok(whole, "%d threads are unbound%s", threads, beside ? " beside a bound team" : "");
	team_free(team);
}

static void test_unbound(void)
{
	struct team *team;
	int n = CPU_COUNT(&at_start);

	check_unbound(1, &at_start, false);
	check_unbound(n + 1, &at_start, false);
	if (n < 2 || team_new(&team, n) != 0)
		return;
	check_unbound(n + 1, &at_start, true);
	tap_ok(team_default_size() == n || cpus_quota(""), "the default size beside a bound team");
	team_free(team);
}

/* --- the default size ------------------------------------------------------------------ */

static void test_environment(void)
{
	static const char *const ignored[] = { "", "0", "-2", "1025", "many", "2x" };
	int plain;

	unsetenv("NNUTILS_THREADS");
	plain = team_default_size();
	tap_ok(plain >= 1 && plain <= TEAM_MAX, "the machine's own: %d", plain);
	setenv("NNUTILS_THREADS", "3", 1);
	tap_is_i64(team_default_size(), 3, "NNUTILS_THREADS=3");
	setenv("NNUTILS_THREADS", "1024", 1);
	tap_is_i64(team_default_size(), TEAM_MAX, "NNUTILS_THREADS=1024");
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
		setenv("NNUTILS_THREADS", ignored[i], 1);
		tap_is_i64(team_default_size(), plain, "NNUTILS_THREADS=`%s`", ignored[i]);
	}
	unsetenv("NNUTILS_THREADS");
}

/* Writes ROOT/NAME, making the folders on the way. */
static void put(const char *root, const char *name, const char *text)
{
	char *path = mem_format("%s/%s", root, name);
	FILE *f;

	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(path, 0777);
		*at = '/';
	}
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	free(path);
}

struct group_case {
	const char *what, *cgroup, *mountinfo;
	const char *files[4][2]; /* path and text */
	int want;
};

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT                                                              \
 "31 23 0:27 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n" \
 "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct\n"
#define V2 "sys/fs/cgroup/"
#define V1 "sys/fs/cgroup/cpu,cpuacct/"

static const struct group_case group_cases[] = {
	{ "version 2, a limit of its own",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b/cpu.max", "150000 100000\n" } },
	  2 },
	{ "a whole number of CPUs is not rounded",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b/cpu.max", "300000 100000\n" } },
	  3 },
	{ "a small share is one CPU",
	  "0::/a\n",
	  V2_MOUNT,
	  { { V2 "a/cpu.max", "1000 100000\n" } },
	  1 },
	{ "no limit", "0::/a/b\n", V2_MOUNT, { { V2 "a/b/cpu.max", "max 100000\n" } }, 0 },
	{ "the parent's limit, being less",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b/cpu.max", "400000 100000\n" }, { V2 "a/cpu.max", "200000 100000\n" } },
	  2 },
	{ "the parent's limit alone",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b/cpu.max", "max 100000\n" }, { V2 "a/cpu.max", "500000 100000\n" } },
	  5 },
	{ "the group's limit, being less than the parent's",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b/cpu.max", "200000 100000\n" }, { V2 "a/cpu.max", "500000 100000\n" } },
	  2 },
	{ "a folder beside the group does not count",
	  "0::/a/b\n",
	  V2_MOUNT,
	  { { V2 "a/b2/cpu.max", "100000 100000\n" } },
	  0 },
	{ "the root, as in a name space of its own",
	  "0::/\n",
	  V2_MOUNT,
	  { { V2 "cpu.max", "250000 100000\n" } },
	  3 },
	{ "a group that is not seen here",
	  "0::/../../x\n",
	  V2_MOUNT,
	  { { V2 "cpu.max", "250000 100000\n" }, { "sys/fs/cpu.max", "100000 100000\n" } },
	  3 },
	{ "version 1",
	  "4:memory:/m\n3:cpu,cpuacct:/a/b\n",
	  V1_MOUNT,
	  { { V1 "a/b/cpu.cfs_quota_us", "150000\n" }, { V1 "a/b/cpu.cfs_period_us", "50000\n" } },
	  3 },
	{ "version 1, no limit",
	  "3:cpu,cpuacct:/a\n",
	  V1_MOUNT,
	  { { V1 "a/cpu.cfs_quota_us", "-1\n" }, { V1 "a/cpu.cfs_period_us", "100000\n" } },
	  0 },
	{ "version 1, the parent's limit",
	  "3:cpu,cpuacct:/a/b\n",
	  V1_MOUNT,
	  { { V1 "a/cpu.cfs_quota_us", "400000\n" },
	    { V1 "a/cpu.cfs_period_us", "100000\n" },
	    { V1 "a/b/cpu.cfs_quota_us", "-1\n" },
	    { V1 "a/b/cpu.cfs_period_us", "100000\n" } },
	  4 },
	{ "version 1 without a period",
	  "3:cpu,cpuacct:/a\n",
	  V1_MOUNT,
	  { { V1 "a/cpu.cfs_quota_us", "100000\n" } },
	  0 },
	{ "another controller is not cpu",
	  "3:cpuset,cpuacct:/a\n",
	  "32 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset,cpuacct\n",
	  { { "sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "100000\n" },
	    { "sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n" } },
	  0 },
	{ "a container: the mount shows the group as its root",
	  "3:cpu,cpuacct:/docker/1f\n",
	  "32 23 0:28 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
	  { { V1 "cpu.cfs_quota_us", "200000\n" }, { V1 "cpu.cfs_period_us", "100000\n" } },
	  2 },
	{ "a group whose name only begins like the mount's",
	  "3:cpu,cpuacct:/docker/1fx\n",
	  "32 23 0:28 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
	  { { V1 "cpu.cfs_quota_us", "200000\n" }, { V1 "cpu.cfs_period_us", "100000\n" } },
	  2 },
	{ "a container's child group",
	  "3:cpu,cpuacct:/docker/1f/x\n",
	  "32 23 0:28 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
	  { { V1 "x/cpu.cfs_quota_us", "200000\n" }, { V1 "x/cpu.cfs_period_us", "100000\n" } },
	  2 },
	{ "both versions: the least",
	  "0::/b\n3:cpu,cpuacct:/a\n",
	  V2_MOUNT V1_MOUNT,
	  { { V1 "a/cpu.cfs_quota_us", "300000\n" },
	    { V1 "a/cpu.cfs_period_us", "100000\n" },
	    { V2 "b/cpu.max", "200000 100000\n" } },
	  2 },
	{ "no period of zero", "0::/a\n", V2_MOUNT, { { V2 "a/cpu.max", "100000 0\n" } }, 0 },
	{ "no sense", "0::/a\n", V2_MOUNT, { { V2 "a/cpu.max", "\n" } }, 0 },
	{ "more than any machine",
	  "0::/a\n",
	  V2_MOUNT,
	  { { V2 "a/cpu.max", "9223372036854775807 1\n" } },
	  0x7fffffff },
	{ "torn tables",
	  "0::\n3:cpu\n:\n\n",
	  "32 23 0:28 / \n32\n- - -\n\n",
	  { { NULL, NULL } },
	  0 },
	{ "no end of line",
	  "0::/a",
	  "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
	  { { V2 "a/cpu.max", "150000 100000" } },
	  2 },
};

static void test_quota(void)
{
	size_t n = sizeof(group_cases) / sizeof(*group_cases);

	for (size_t i = 0; i < n; i++) {
		const struct group_case *c = &group_cases[i];
		char name[32];
		const char *root;

		snprintf(name, sizeof(name), "root%zu", i);
		root = tap_path(name);
		mkdir(root, 0777);
		put(root, "proc/self/cgroup", c->cgroup);
		put(root, "proc/self/mountinfo", c->mountinfo);
		for (int k = 0; k < 4 && c->files[k][0]; k++)
			put(root, c->files[k][0], c->files[k][1]);
		tap_is_i64(cpus_quota(root), c->want, "quota: %s", c->what);
	}
	tap_is_i64(cpus_quota(tap_path("no-such-root")), 0, "quota: no control groups at all");
}

/* --- children -------------------------------------------------------------------------- */

#ifndef NNUTILS_PTHREADS
/* Runs JOB in this program started again with SETTINGS; its exit status, 255 if it died. */
static int run_child(const char *job, char *const settings[])
{
	char *arguments[] = { (char *)"test_team", (char *)job, NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execve("/proc/self/exe", arguments, settings);
		_exit(NO_EXEC);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The settings that make OpenMP give less, or bind its threads, do not count. */
static int child_settings(void)
{
	struct record r = { .wrong = 0 };

	if (team_new(&r.team, 3) != 0)
		return 1;
	team_run(r.team, note_part, &r);
	for (int i = 0; i < 3; i++)
		if (atomic_load(&r.calls[i]) != 1)
			return 2;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < i; j++)
			if (pthread_equal(r.thread[i], r.thread[j]))
				return 3;
	team_free(r.team);
	return 10 + (team_default_size() < 200 ? team_default_size() : 200);
}

/* A hard limit is an error, with its reason. */
static int child_limit(void)
{
	struct team *team;

	if (team_new(&team, 2) == 0)
		return 1;
	return err_last() == ERR_LIMIT && strstr(err_text(), "OMP_THREAD_LIMIT") ? 7 : 2;
}

static void test_openmp_settings(void)
{
	static const char *const settings[] = { "OMP_NUM_THREADS=1", "OMP_DYNAMIC=true",
						"OMP_MAX_ACTIVE_LEVELS=0", "OMP_PROC_BIND=true",
						"OMP_WAIT_POLICY=passive" };
	int n = team_default_size();
	char *limit[] = { (char *)"OMP_THREAD_LIMIT=1", NULL };

	n = 10 + (n < 200 ? n : 200);
	if (run_child("settings", limit) == NO_EXEC) {
		tap_skip("emulator: this program cannot start itself again", "OpenMP's settings");
		return;
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		char *one[] = { (char *)settings[i], NULL };

		tap_is_i64(run_child("settings", one), n, "%s changes nothing", settings[i]);
	}
	tap_is_i64(run_child("limit", limit), 7, "OMP_THREAD_LIMIT=1 is told");
}
#endif

#ifndef WATCHED
/* No memory for the stacks of 1,024 threads: an error, not the end of the program. */
static int child_refused(void)
{
	struct rlimit limit = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
	struct team *team;

	setrlimit(RLIMIT_AS, &limit);
	if (mmap(NULL, (size_t)2 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		return NO_LIMIT;
	if (team_new(&team, TEAM_MAX) == 0)
		return 1;
	return err_last() == ERR_LIMIT && strstr(err_text(), "of 1024") ? 7 : 2;
}
#endif

static void test_refused(void)
{
#ifdef WATCHED
	tap_skip("sanitizer: needs its own address space", "threads refused by the system");
#else
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child_refused());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_LIMIT)
		tap_skip("emulator: no limit on memory", "threads refused by the system");
	else
		tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		       "threads refused by the system");
#endif
}

int main(int argc, char **argv)
{
#ifndef NNUTILS_PTHREADS
	if (argc > 1)
		return strcmp(argv[1], "limit") == 0 ? child_limit() : child_settings();
#endif
	sched_getaffinity(0, sizeof(at_start), &at_start);
	tap_run(test_refused);
	tap_run(test_run);
	tap_run(test_barrier);
	tap_run(test_chunks);
	tap_run(test_sizes_refused);
	tap_run(test_binding);
	tap_run(test_unbound);
	tap_run(test_environment);
	tap_run(test_quota);
#ifndef NNUTILS_PTHREADS
	tap_run(test_openmp_settings);
#endif
	return tap_done();
}
