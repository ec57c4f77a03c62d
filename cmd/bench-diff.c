/* bench-diff - compare the times of two builds */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "lib/base/memory.h"
#include "lib/eval/bench_rows.h"

#define ROUNDS_MOST 1000

extern char **environ;

static uint64_t rounds = 5, again = 3;
static double threshold = 0.05;
static bool all_rows;

static const struct cmd_option options[] = {
	CMD_RATIO('t', "threshold", &threshold, "a change up to this share is none (default 5%)"),
	CMD_SIZE('n', "rounds", &rounds, 1, ROUNDS_MOST,
		 "rounds in which both builds are run (default 5)"),
	CMD_SIZE(0, "again", &again, 0, 100,
		 "times that undecided ones are measured again (default 3)"),
	CMD_FLAG('a', "all", &all_rows, "the rows that are the same too"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "bench-diff",
	.operands = "old new [argument ...]",
	.summary = "compare the times of two builds",
	.options = options,
	.notes = "old and new are two files that bench wrote, or two build folders with bin/bench, "
		 "which are run\n"
		 "in turn with the arguments.",
	.min_operands = 2,
	.max_operands = -1,
};

/* One thing that was measured, with the times of each round. */
struct item {
	const char *key; /* of the first round's rows */
	double *old, *new;
	size_t n, capacity;
	struct spread ratio;
	enum timing_verdict verdict;
};

static struct item *items;
static size_t n_items, items_capacity;
static struct cmd_table *table;

/* --- files --- */

static void read_file(struct bench_times *t, const char *path)
{
	FILE *f = fopen(cmd_input(path), "re");

	if (!f)
		cmd_die("%s: %s", path, strerror(errno));
	cmd_check(bench_times_read(t, f, path));
	fclose(f);
}

/* The ratio of the medians, as far apart as both spreads allow. */
static struct spread ratio_of(const struct spread *old, const struct spread *new)
{
	return (struct spread){ new->median / old->median, new->low / old->high,
				new->high / old->low, new->n };
}

/* --- builds --- */

static char *bench_of(const char *folder)
{
	char *path = mem_format("%s/bin/bench", folder);

	if (!path)
		cmd_check(-1);
	if (access(path, X_OK) != 0)
		cmd_die("%s: %s", path, strerror(errno));
	return path;
}

static void wait_for(pid_t pid, const char *path)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			cmd_die("%s: %s", path, strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFEXITED(status))
		cmd_die("%s: exit status %d", path, WEXITSTATUS(status));
	cmd_die("%s: %s", path, strsignal(WTERMSIG(status)));
}

/* Runs PATH with the arguments of ARGV from 1 on, and adds the rows that it prints. */
static void run_bench(struct bench_times *t, const char *path, char **argv)
{
	posix_spawn_file_actions_t actions;
	int ends[2], result;
	pid_t pid;
	FILE *f;

	if (pipe(ends) < 0 || fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0)
		cmd_die("%s", strerror(errno));
	argv[0] = (char *)(uintptr_t)path;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	result = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (result != 0)
		cmd_die("%s: %s", path, strerror(result));
	f = fdopen(ends[0], "r");
	if (!f)
		cmd_die("%s", strerror(errno));
	cmd_check(bench_times_read(t, f, path));
	fclose(f);
	wait_for(pid, path);
}

static struct item *item_of(const char *key)
{
	for (size_t i = 0; i < n_items; i++)
		if (strcmp(items[i].key, key) == 0)
			return &items[i];
	cmd_check(mem_grow(&items, &items_capacity, n_items + 1, sizeof(*items)));
	items[n_items] = (struct item){ .key = mem_copy(key, strlen(key)) };
	if (!items[n_items].key)
		cmd_check(-1);
	return &items[n_items++];
}

static void add_times(struct item *item, double old, double new)
{
	size_t capacity = item->capacity;

	cmd_check(mem_grow(&item->old, &capacity, item->n + 1, sizeof(double)));
	cmd_check(mem_grow(&item->new, &item->capacity, item->n + 1, sizeof(double)));
	item->old[item->n] = old;
	item->new[item->n++] = new;
}

/* Both once; who is first changes from round to round. */
static void run_round(const char *old, const char *new, char **argv, bool new_first,
		      bool undecided_alone)
{
	struct bench_times a = { 0 }, b = { 0 };

	if (new_first)
		run_bench(&b, new, argv);
	run_bench(&a, old, argv);
	if (!new_first)
		run_bench(&b, new, argv);
	for (size_t i = 0; i < a.n; i++) {
		const struct bench_time *other = bench_times_find(&b, a.items[i].key);
		struct item *item = other ? item_of(a.items[i].key) : NULL;

		if (item && (!undecided_alone || item->verdict == TIMING_UNDECIDED))
			add_times(item, a.items[i].seconds.median, other->seconds.median);
	}
	bench_times_free(&a);
	bench_times_free(&b);
}

/* Whether any is undecided. */
static bool judge_all(void)
{
	double *scratch;
	bool open = false;

	for (size_t i = 0; i < n_items; i++) {
		struct item *item = &items[i];

		scratch = mem_new(item->n, sizeof(*scratch));
		if (!scratch)
			cmd_check(-1);
		item->ratio = timing_ratio(item->new, item->old, item->n, scratch);
		item->verdict = timing_judge(&item->ratio, threshold);
		open = open || item->verdict == TIMING_UNDECIDED;
		free(scratch);
	}
	return open;
}

/* Only what is undecided counts in further rounds, though all of it is run: what surrounds it stays the same. */
static void compare_builds(const char *old_folder, const char *new_folder, char **argv)
{
	char *old = bench_of(old_folder), *new = bench_of(new_folder);

	for (uint64_t i = 0; i < rounds; i++)
		run_round(old, new, argv, i % 2, false);
	for (uint64_t i = 0; i < again && judge_all(); i++)
		for (uint64_t j = 0; j < rounds; j++)
			run_round(old, new, argv, j % 2, true);
	judge_all();
	free(old);
	free(new);
}

static void compare_files(const char *old_path, const char *new_path)
{
	struct bench_times a = { 0 }, b = { 0 };

	read_file(&a, old_path);
	read_file(&b, new_path);
	for (size_t i = 0; i < a.n; i++) {
		const struct bench_time *other = bench_times_find(&b, a.items[i].key);
		struct item *item = other ? item_of(a.items[i].key) : NULL;

		if (!item)
			continue;
		item->ratio = ratio_of(&a.items[i].seconds, &other->seconds);
		item->verdict = timing_judge(&item->ratio, threshold);
		add_times(item, a.items[i].seconds.median, other->seconds.median);
	}
	bench_times_free(&a);
	bench_times_free(&b);
}

/* --- the answer --- */

static double median_of(double *v, size_t n)
{
	return 1e6 * timing_spread(v, n).median;
}

static void print_item(struct item *item)
{
	char *key = mem_copy(item->key, strlen(item->key));

	if (!key)
		cmd_check(-1);
	for (char *c = key; *c; c++)
		if (*c == '\t')
			*c = ' ';
	cmd_table_cell(table, "%s", key);
	cmd_table_cell(table, "%.5g", median_of(item->old, item->n));
	cmd_table_cell(table, "%.5g", median_of(item->new, item->n));
	cmd_table_cell(table, "%.3f", item->ratio.median);
	cmd_table_cell(table, "%.3f", item->ratio.low);
	cmd_table_cell(table, "%.3f", item->ratio.high);
	cmd_table_cell(table, "%s", timing_verdict_name(item->verdict));
	free(key);
}

static void print_all(void)
{
	static const char *const headings[] = { "what", ">old us", ">new us", ">ratio",
						">low", ">high",   "verdict", NULL };
	size_t slower = 0, faster = 0;

	table = cmd_table_new(headings);
	for (size_t i = 0; i < n_items; i++) {
		struct item *item = &items[i];

		if (item->verdict == TIMING_UNDECIDED)
			item->verdict = timing_settle(&item->ratio, threshold);
		slower += item->verdict == TIMING_SLOWER;
		faster += item->verdict == TIMING_FASTER;
		if (all_rows || item->verdict != TIMING_SAME)
			print_item(item);
	}
	cmd_table_end(table);
	cmd_note("%zu compared: %zu slower, %zu faster", n_items, slower, faster);
	if (slower)
		cmd_answer_no();
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void free_items(void)
{
	for (size_t i = 0; i < n_items; i++) {
		free((char *)(uintptr_t)items[i].key);
		free(items[i].old);
		free(items[i].new);
	}
	free(items);
}

int main(int argc, char **argv)
{
	static char whole[] = "ops";
	static char *ops[] = { NULL, whole, NULL };
	const char *old, *new;

	cmd_begin(&spec, &argc, &argv);
	old = argv[0];
	new = argv[1];
	if (is_folder(old) != is_folder(new))
		cmd_misuse("%s and %s: two files or two build folders", old, new);
	if (is_folder(old))
		compare_builds(old, new, argc > 2 ? argv + 1 : ops);
	else if (argc > 2)
		cmd_misuse("arguments are for builds, and %s is a file", old);
	else
		compare_files(old, new);
	if (n_items == 0)
		cmd_die("nothing in %s was measured in %s too", old, new);
	print_all();
	free_items();
	return cmd_end();
}
