/*
 * tests/corrupt.c - runs a reader over damaged input, in children that may die
 *
 * A child takes a batch of mutations and writes the number of the one at hand into memory that it
 * shares with its parent; so when it dies, the parent knows of which, notes it, and goes on with
 * the next. Time is CPU time, since the machine may be busy, with a much longer count of seconds
 * for a reader that sleeps; those in which the process is stopped or frozen do not count. Memory is
 * held by RLIMIT_AS, or, under a sanitizer, whose shadow no such limit survives, counted by its
 * allocation hooks; those also find what a reader leaves behind.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/corrupt_mutate.h"
#include "tests/tap.h"

#if defined(__has_feature)
# if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#  define SANITIZED 1
# endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
# define SANITIZED 1
#endif
#ifndef SANITIZED
# define SANITIZED 0
#endif

#define BATCH		   1000
#define SECONDS		   (SANITIZED ? 10 : 1)
#define WALL_SECONDS	   60
#define ASLEEP		   250 /* exit status of a child whose reader does not return */
#define MOST_FAILURES	   5
#define STACK_LIMIT	   ((size_t)8 << 20)
#define NOT_SET		   "the reader set no error"
#define LEFT_BEHIND_AT_ALL 64 /* blocks that a thread's caches may keep over a batch */

/* What the child tells its parent. */
struct report {
	_Atomic uint64_t at; /* the mutation at hand */
	uint64_t read, refused;
	bool finished;	 /* the batch is through */
	char wrong[256]; /* why the child gave up on AT, or empty */
};

struct job {
	struct corrupt_source source;
	corrupt_reader *read;
	void *arg;
	size_t limit;
	struct report *report;
	unsigned char *work, *end; /* END is where the closed page starts */
};

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t value;

	if (!text || !*text)
		return otherwise;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || *text == '-') {
		fprintf(stderr, "%s=%s is not a number\n", name, text);
		exit(2);
	}
	return value;
}

/* Tells the parent why mutation AT fails, and ends the child. Async-signal-safe but for the format. */
static _Noreturn void give_up(struct report *r, const char *what)
{
	snprintf(r->wrong, sizeof(r->wrong), "%s", what);
	_exit(1);
}

/* --- memory ---------------------------------------------------------------------------------- */

#if SANITIZED

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

/* A reader that asks for too much must get NULL, as it does without a sanitizer. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static _Atomic size_t bytes_held, blocks_held;
static size_t bytes_allowed;
static struct report *hook_report;

static void on_malloc(const volatile void *p, size_t n)
{
	if (!p)
		return;
	blocks_held++;
	bytes_held += n;
	if (bytes_held > bytes_allowed)
		give_up(hook_report, "took more memory than its limit");
}

static void on_free(const volatile void *p)
{
	if (!p)
		return;
	blocks_held--;
	bytes_held -= __sanitizer_get_allocated_size(p);
}

static void limit_memory(struct job *job)
{
	hook_report = job->report;
	/* Far from zero, so that what was taken before and is freed now cannot wrap. */
	bytes_held = SIZE_MAX / 4;
	blocks_held = SIZE_MAX / 4;
	bytes_allowed = bytes_held + job->limit;
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}

static size_t blocks_in_use(void)
{
	return blocks_held;
}

#else

/* The address space that this process has now, in bytes. */
static size_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%llu", &pages) != 1) {
		fprintf(stderr, "corrupt: cannot read /proc/self/statm\n");
		abort();
	}
	fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(struct job *job)
{
	size_t most = address_space() + job->limit;
	struct rlimit l = { most, most };

	if (setrlimit(RLIMIT_AS, &l) != 0)
		give_up(job->report,
			"setrlimit(RLIMIT_AS) failed: the memory limit cannot be held");
}

/* Without hooks, a reader that leaves memory behind is found when the batch reaches its limit. */
static size_t blocks_in_use(void)
{
	return 0;
}

#endif

/* --- the child --------------------------------------------------------------------------------- */

static void limit_process(void)
{
	struct rlimit stack, core = { 0, 0 };

	/* An unlimited stack would let a recursion by the input's depth pass for a loop. */
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur > STACK_LIMIT) {
		stack.rlim_cur = STACK_LIMIT;
		setrlimit(RLIMIT_STACK, &stack);
	}
	setrlimit(RLIMIT_CORE, &core);
	signal(SIGPROF, SIG_DFL);
}

static volatile sig_atomic_t seconds_left;

/* Of the alarms that come while the process is stopped one is left when it goes on. */
static void on_second(int signal)
{
	if (--seconds_left == 0)
		_exit(ASLEEP);
}

static void count_seconds(void)
{
	struct sigaction a = { .sa_handler = on_second, .sa_flags = SA_RESTART };

	sigemptyset(&a.sa_mask);
	sigaction(SIGALRM, &a, NULL);
}

static void start_clock(void)
{
	struct itimerval cpu = { { 0, 0 }, { SECONDS, 0 } }, second = { { 1, 0 }, { 1, 0 } };

	seconds_left = WALL_SECONDS;
	setitimer(ITIMER_PROF, &cpu, NULL);
	setitimer(ITIMER_REAL, &second, NULL);
}

/* What is wrong with the error that the reader left, or NULL. */
static const char *error_fault(void)
{
	const char *text = err_text();

	if (!text || !*text || strstr(text, NOT_SET))
		return "returned -1 without an error text";
	if (err_last() == ERR_NONE)
		return "returned -1 with the code ERR_NONE";
	if (err_last() == ERR_MEMORY)
		return "asked for more memory than its limit";
	if (strlen(text) > ERR_TEXT_MAX)
		return "its error text is too long";
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			return "its error text holds a line break or another control character";
	return NULL;
}

static void try_one(struct job *job, uint64_t number)
{
	size_t size = corrupt_mutate(&job->source, number, job->work);
	unsigned char *data = job->end - size;
	const char *fault;
	int got;

	memcpy(data, job->work, size);
	err_set(ERR_NONE, "%s", NOT_SET);
	start_clock();
	got = job->read(job->arg, data, size);
	if (got == 0) {
		job->report->read++;
		return;
	}
	if (got != -1)
		give_up(job->report, "returned neither 0 nor -1");
	if (!number)
		give_up(job->report, "the unharmed file is refused");
	fault = error_fault();
	if (fault)
		give_up(job->report, fault);
	job->report->refused++;
}

static _Noreturn void run_batch(struct job *job, uint64_t from, uint64_t past)
{
	size_t before, now;

	limit_process();
	count_seconds();
	limit_memory(job);
	/* Whatever the reader sets up once is set up here. */
	if (from) {
		try_one(job, 0);
		job->report->read--;
	}
	before = blocks_in_use();
	for (uint64_t number = from; number < past; number++) {
		job->report->at = number;
		try_one(job, number);
		now = blocks_in_use();
		if (now > before + LEFT_BEHIND_AT_ALL)
			give_up(job->report, "left memory behind, this one or those before it");
	}
	job->report->finished = true;
	_exit(0);
}

/* --- the parent -------------------------------------------------------------------------------- */

static void describe(char *out, size_t room, const struct report *r, int status)
{
	if (r->wrong[0])
		snprintf(out, room, "%s", r->wrong);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		snprintf(out, room, "took more than %d s", SECONDS);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == ASLEEP)
		snprintf(out, room, "did not return in %d s", WALL_SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(out, room, "died of signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, room, "ended the process with exit status %d", WEXITSTATUS(status));
}

/* Runs [from, past) in a child. The number after the one that failed, or PAST when none did. */
static uint64_t spawn_batch(struct job *job, uint64_t from, uint64_t past, char *why, size_t room)
{
	pid_t child;
	int status;

	job->report->wrong[0] = '\0';
	job->report->finished = false;
	job->report->at = from;
	fflush(NULL);
	child = fork();
	if (child == 0)
		run_batch(job, from, past);
	if (child < 0) {
		fprintf(stderr, "corrupt: fork: %s\n", strerror(errno));
		abort();
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && job->report->finished)
		return past;
	describe(why, room, job->report, status);
	return job->report->at + 1;
}

/* Runs mutations [from, past) and reports each that fails; how many did. */
static unsigned run_all(struct job *job, const char *name, uint64_t from, uint64_t past)
{
	unsigned failures = 0;
	char why[300];

	while (from < past && failures < MOST_FAILURES) {
		uint64_t end = past - from > BATCH ? from + BATCH : past, next;

		why[0] = '\0';
		next = spawn_batch(job, from, end, why, sizeof(why));
		if (why[0]) {
			failures++;
			tap_note("%s: mutation %" PRIu64 ": %s (CORRUPT_SEED=%" PRIu64
				 " CORRUPT_ONLY=%" PRIu64 ")",
				 name, next - 1, why, job->source.seed, next - 1);
		}
		from = next;
	}
	return failures;
}

static void job_open(struct job *job)
{
	size_t capacity = corrupt_capacity(&job->source);

	job->report = mmap(NULL, sizeof(*job->report), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	job->work = malloc(capacity);
	if (job->report == MAP_FAILED || !job->work) {
		fprintf(stderr, "corrupt: no memory for %zu bytes\n", capacity);
		abort();
	}
	job->end = (unsigned char *)guard_new(capacity) + capacity;
}

static void job_close(struct job *job)
{
	guard_free(job->end - corrupt_capacity(&job->source));
	free(job->work);
	munmap(job->report, sizeof(*job->report));
}

void corrupt_run(const char *name, struct bytes good, struct bytes second, corrupt_reader *read,
		 void *arg, size_t limit)
{
	struct job job = { { good, second, from_environment("CORRUPT_SEED", 1) },
			   read,
			   arg,
			   limit,
			   NULL,
			   NULL,
			   NULL };
	uint64_t only = from_environment("CORRUPT_ONLY", UINT64_MAX);
	uint64_t count = from_environment("CORRUPT_COUNT", 10000);
	unsigned failures;

	job_open(&job);
	/* Number 0 is the file unharmed: mutations of what is refused anyway would test little. */
	if (only != UINT64_MAX)
		failures = run_all(&job, name, only, only + 1);
	else
		failures = run_all(&job, name, 0, count + 1);
	tap_note("%s: %" PRIu64 " read, %" PRIu64 " refused", name, job.report->read,
		 job.report->refused);
	tap_ok(failures == 0, "%s: every mutation is read or refused", name);
	job_close(&job);
}
