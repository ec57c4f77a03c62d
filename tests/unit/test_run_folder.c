/*
 * lib/train/run_folder: opening, leftovers, links, the lock, the log, what is kept
 *
 * The rules are those of man/man5/nnutils-run.5.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "tests/run_model.h"
#include "tests/tap.h"

static char root[1024];
static struct run_model model;

/* ROOT/NAME; the last eight stay valid. */
static const char *at(const char *name)
{
	static char paths[8][2048];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void new_root(const char *name)
{
	snprintf(root, sizeof(root), "%s", tap_path(name));
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		tap_ok(false, "cannot write %s", name);
}

static bool there(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0;
}

static int entries(void)
{
	DIR *dir = opendir(root);
	int n = -2;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void leads(const char *name, const char *want)
{
	char to[256];
	ssize_t n = readlink(at(name), to, sizeof(to) - 1);

	to[n < 0 ? 0 : n] = '\0';
	tap_is_text(to, want, "%s leads to %s", name, want);
}

static void holds(const char *name, const char *want)
{
	char *got;
	size_t n;

	if (!tap_works(file_read(at(name), 10000, &got, &n), "%s is there", name))
		return;
	tap_is_bytes(((struct bytes){ got, n }), bytes_of(want), "%s", name);
	free(got);
}

static struct run_folder *opened(bool resume, enum run_found want)
{
	enum run_found found = RUN_DONE;
	struct run_folder *r;

	if (!tap_works(run_folder_open(&r, root, resume, &found), "open"))
		return NULL;
	tap_is_u64(found, want, "what was found");
	return r;
}

static void refuses(bool resume, int code, const char *part)
{
	enum run_found found;
	struct run_folder *r;

	tap_fails(run_folder_open(&r, root, resume, &found), code, part, "%s", part);
}

static void checkpoint(struct run_folder *r, uint64_t step)
{
	run_model_fill(&model, step, 0);
	tap_works(run_model_checkpoint(&model, r, step, 0, NULL), "checkpoint %d", (int)step);
}

static void log_line(struct run_folder *r, const char *line)
{
	tap_works(run_folder_log(r, bytes_of(line)), "a line");
}

/* A run of the steps 10, 20, 30, closed. */
static void new_run(const char *name)
{
	struct run_folder *r;

	new_root(name);
	r = opened(false, RUN_NEW);
	for (uint64_t step = 10; step <= 30; step += 10) {
		log_line(r, "{\"a\":1}");
		checkpoint(r, step);
	}
	run_folder_close(r);
}

static void test_new(void)
{
	struct run_folder *r;

	new_root("new");
	r = opened(false, RUN_NEW);
	tap_ok(!run_folder_state(r) && !run_folder_last(r), "no checkpoint");
	tap_is_i64(entries(), 1, "only the lock");
	run_folder_close(r);
	tap_is_i64(entries(), -1, "where nothing was written, nothing stays");
	mkdir(root, 0777);
	put("lock", "");
	r = opened(false, RUN_NEW);
	log_line(r, "{}");
	run_folder_close(r);
	tap_is_i64(entries(), 2, "the log and the lock");
	refuses(false, ERR_ARGUMENT, "new: is not empty (a run goes on with --resume)");
	run_folder_close(NULL);
}

static void test_in_the_way(void)
{
	FILE *f;

	new_root("file");
	f = fopen(root, "w");
	fclose(f);
	refuses(false, ERR_ARGUMENT, "file: exists, and is not a folder");
	refuses(true, ERR_ARGUMENT, "file: exists, and is not a folder");
	new_root("none/run");
	refuses(false, ERR_IO, "none/run: No such file or directory");
	new_root("closed");
	mkdir(root, 0500);
	if (geteuid() == 0)
		tap_skip("user: root may write everywhere", "a folder without permission");
	else
		refuses(false, ERR_IO, "lock: Permission denied");
	new_root("links");
	mkdir(root, 0777);
	tap_ok(symlink("/etc/passwd", at("lock")) == 0, "a lock that is a link");
	refuses(true, ERR_IO, "links/lock: Too many levels of symbolic links");
}

static void test_resume(void)
{
	const struct run_state *s;
	struct run_folder *r;

	new_run("resume");
	r = opened(true, RUN_RESUME);
	s = run_folder_state(r);
	tap_is_u64(s->step, 30, "its step");
	tap_is_text(run_setting(s->settings, s->n_settings, "lr"), "3e-4", "its settings");
	tap_is_text(run_folder_last(r), at("step-30"), "its folder");
	tap_is_u64(run_folder_log_bytes(r), 24, "its log");
	run_model_fill(&model, 99, 0);
	tap_works(run_folder_restore(r, model.store, NULL), "restore");
	tap_ok(run_model_has_states(&model, 30, 0), "the optimizer's values");
	tap_ok(run_model_is_saved(&model, run_folder_last(r), 30, 0), "the parameters");
	checkpoint(r, 40);
	tap_is_text(run_folder_last(r), at("step-40"), "a later one");
	tap_is_u64(run_folder_state(r)->step, 40, "its state");
	tap_is_u64(s->step, 30, "the earlier one stays as it is");
	tap_works(run_folder_done(r), "done");
	run_folder_close(r);
	r = opened(true, RUN_DONE);
	run_folder_close(r);
	tap_ok(there("done") && there("last"), "and all stays");
}

static void test_slash(void)
{
	enum run_found found;
	struct run_folder *r;

	new_root("slash");
	tap_works(run_folder_open(&r, at("/"), false, &found), "a slash at the end");
	checkpoint(r, 1);
	tap_is_text(run_folder_last(r), at("step-1"), "is not told");
	run_folder_close(r);
}

static void test_leftovers(void)
{
	static const char *const ours[] = { "step-40", "step-40.new", "step-50.old",
					    ".step-50.new.tmp-abc2z7" };
	static const char *const theirs[] = { "step-040",
					      "step-",
					      "step-4x",
					      "step-50.new2",
					      ".step-50.new.tmp-abc1z7",
					      ".step-50.new.tmp-abc2z",
					      ".step-50.tmp-abc2z7",
					      "Step-40",
					      "step-99999999999999999999",
					      "lasting" };
	struct run_folder *r;

	new_run("leftovers");
	for (size_t i = 0; i < 4; i++) {
		mkdir(at(ours[i]), 0777);
		if (i != 2) {
			char name[64];

			snprintf(name, sizeof(name), "%s/config.json", ours[i]);
			put(name, "{");
		}
	}
	for (size_t i = 0; i < 10; i++)
		mkdir(at(theirs[i]), 0777);
	mkdir(at("step-50"), 0777);
	put("step-50/x", "");
	tap_ok(symlink("step-30", at("last.new")) == 0 && symlink("step-70", at("best")) == 0,
	       "links");
	put("notes.txt", "mine");
	r = opened(true, RUN_RESUME);
	for (size_t i = 0; i < 4; i++)
		tap_ok(!there(ours[i]), "%s is gone", ours[i]);
	for (size_t i = 0; i < 10; i++)
		tap_ok(there(theirs[i]), "%s is left alone", theirs[i]);
	tap_ok(!there("last.new") && !there("best") && !there("step-50"), "and links to nothing");
	tap_ok(there("notes.txt") && there("step-10") && there("step-20"), "the rest is there");
	run_folder_close(r);
}

/* A killed exchange: the old one is aside, the new one has no name yet. */
static void test_aside(void)
{
	struct run_folder *r;

	new_run("aside");
	rename(at("step-30"), at("step-30.old"));
	r = opened(true, RUN_RESUME);
	tap_is_u64(run_folder_state(r)->step, 30, "it has its name again");
	tap_ok(run_model_is_saved(&model, at("step-30"), 30, 0), "and its values");
	run_folder_close(r);
}

/* A start that was killed before its first checkpoint. */
static void test_killed_start(void)
{
	struct run_folder *r;

	new_root("killed");
	mkdir(root, 0777);
	put("lock", "");
	put("log.jsonl", "{}\n{\"st");
	mkdir(at("step-10.new"), 0777);
	put("step-10.new/model.safetensors", "x");
	tap_ok(symlink("step-10", at("last")) == 0, "a link");
	r = opened(true, RUN_NEW);
	tap_is_i64(entries(), 1, "only the lock");
	tap_is_u64(run_folder_log_bytes(r), 0, "no log");
	log_line(r, "{\"step\":1}");
	run_folder_close(r);
	holds("log.jsonl", "{\"step\":1}\n");
}

static void test_not_ours(void)
{
	struct run_folder *r;

	new_root("foreign");
	mkdir(root, 0777);
	put("log.jsonl", "precious\n");
	refuses(true, ERR_ARGUMENT, "foreign/log.jsonl: is there, but no run began in this folder");
	refuses(true, ERR_ARGUMENT, "foreign/log.jsonl: is there");
	holds("log.jsonl", "precious\n");
	tap_is_i64(entries(), 1, "and nothing else, no lock");
	unlink(at("log.jsonl"));
	put("loss.png", "");
	r = opened(true, RUN_NEW);
	tap_ok(there("loss.png"), "other files do not matter");
	run_folder_close(r);
}

static void test_last(void)
{
	struct run_folder *r;

	new_run("last");
	leads("last", "step-30");
	unlink(at("last"));
	tap_ok(symlink("step-10/", at("last")) == 0, "pointed back by hand");
	r = opened(true, RUN_RESUME);
	tap_is_u64(run_folder_state(r)->step, 10, "it is followed");
	tap_is_u64(run_folder_log_bytes(r), 8, "with its log");
	tap_ok(there("step-30"), "the newer one stays");
	run_model_fill(&model, 30, 5);
	tap_works(run_model_checkpoint(&model, r, 30, 5, NULL), "until it is reached");
	tap_ok(run_model_is_saved(&model, at("step-30"), 30, 5), "and is the new one");
	tap_ok(!there("step-30.new") && !there("step-30.old"), "alone");
	run_folder_close(r);
	unlink(at("last"));
	r = opened(true, RUN_RESUME);
	tap_is_u64(run_folder_state(r)->rollbacks, 5, "without `last`, the newest");
	leads("last", "step-30");
	run_folder_close(r);
	unlink(at("last"));
	tap_ok(symlink("../elsewhere", at("last")) == 0, "a link out of the folder");
	refuses(true, ERR_MISMATCH, "last/last: leads to ../elsewhere, which is no checkpoint");
	unlink(at("last"));
	mkdir(at("last"), 0777);
	refuses(true, ERR_MISMATCH, "last/last: is no link");
}

static void damage(const char *name, const char *file, const char *text, int code, const char *part)
{
	char path[256];

	new_run(name);
	snprintf(path, sizeof(path), "step-30/%s", file);
	if (text)
		put(path, text);
	else
		unlink(at(path));
	refuses(true, code, part);
	tap_ok(there("step-30"), "it is not removed");
}

static void test_damage(void)
{
	FILE *f;

	damage("d1", "config.json", "{}", ERR_MISMATCH,
	       "step-30/config.json: has 2 bytes, and the");
	damage("d2", "run.json", NULL, ERR_IO, "step-30/run.json: No such file");
	damage("d3", "complete", "", ERR_MISSING, "step-30/complete: does not list config.json");
	damage("d4", "complete", "x\n", ERR_FORMAT, "step-30/complete:1: not HASH SIZE NAME");
	damage("d5", "complete", "0123456789abcdef0123456789abcdef 1 ../../passwd\n", ERR_FORMAT,
	       "step-30/complete:1: not HASH SIZE NAME");
	damage("d6", "complete", "0123456789abcdef0123456789abcdef 99999999999999999999 x\n",
	       ERR_FORMAT, "step-30/complete:1: not HASH SIZE NAME");
	new_run("d7");
	f = fopen(at("step-30/optimizer.safetensors"), "r+");
	fseek(f, -3, SEEK_END);
	fputs("xyz", f);
	fclose(f);
	refuses(true, ERR_MISMATCH, "step-30/optimizer.safetensors: is damaged");
	new_run("d8");
	rename(at("step-30"), at("step-31"));
	unlink(at("last"));
	refuses(true, ERR_MISMATCH, "step-31/run.json: is of step 30");
}

static void test_log(void)
{
	struct run_folder *r;
	FILE *f;

	new_root("log");
	r = opened(false, RUN_NEW);
	log_line(r, "{\"step\":1}");
	log_line(r, "{\"step\":2}");
	checkpoint(r, 2);
	log_line(r, "{\"step\":3}");
	tap_fails(run_folder_log(r, bytes_of("{}\n{}")), ERR_ARGUMENT, "a line end within", "two");
	run_folder_close(r);
	f = fopen(at("log.jsonl"), "a");
	fputs("{\"step\":4", f);
	fclose(f);
	r = opened(true, RUN_RESUME);
	holds("log.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4");
	tap_is_u64(run_folder_log_bytes(r), 22, "what belongs to the checkpoint");
	log_line(r, "{\"event\":\"resume\"}");
	holds("log.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"event\":\"resume\"}\n");
	run_folder_close(r);
	truncate(at("log.jsonl"), 21);
	refuses(true, ERR_MISMATCH, "log.jsonl: has 21 bytes, fewer than the 22");
	put("log.jsonl", "{\"step\":1}\n{\"step\":2,\"x\":7}\n");
	refuses(true, ERR_MISMATCH, "log.jsonl: byte 21: no line ends");
}

/* How many descriptors this process has. */
static int n_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* A thread gives back what was removed: soon there are no more descriptors than N. */
static bool soon_closed(int n)
{
	for (int i = 0; i < 1000 && n_open() > n; i++)
		usleep(10000);
	return n_open() <= n;
}

static void test_keep(void)
{
	struct run_folder *r;
	int n;

	new_run("keep");
	r = opened(true, RUN_RESUME);
	tap_works(run_folder_best(r, 10), "best");
	leads("best", "step-10");
	tap_fails(run_folder_best(r, 11), ERR_ARGUMENT, "step-11: is no whole checkpoint", "none");
	mkdir(at("step-5"), 0777);
	checkpoint(r, 40);
	n = n_open();
	tap_works(run_folder_keep(r, 4), "keep 4");
	tap_ok(there("step-20"), "there are no more");
	tap_works(run_folder_keep(r, 2), "keep 2");
	tap_ok(there("step-10") && !there("step-20") && there("step-30") && there("step-40"),
	       "the two newest and the best");
	tap_works(run_folder_best(r, 30), "another best");
	tap_works(run_folder_keep(r, 0), "keep none");
	tap_ok(!there("step-10") && there("step-30") && there("step-40"), "but last and best");
	tap_ok(there("step-5"), "what is not whole is not counted");
	tap_ok(soon_closed(n), "what was removed is given back to the disk");
	run_folder_close(r);
}

/* A child that takes the folder, tells, and waits to be killed. */
static pid_t holder(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		enum run_found found;
		struct run_folder *r;

		if (run_folder_open(&r, root, true, &found) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	tap_is_i64(read(ready[0], &byte, 1), 1, "another process has it");
	close(ready[0]);
	return pid;
}

static void test_lock(void)
{
	char want[64];
	pid_t pid;

	new_run("lock");
	pid = holder();
	snprintf(want, sizeof(want), "lock: is in use by process %ld", (long)pid);
	refuses(true, ERR_ARGUMENT, want);
	refuses(false, ERR_ARGUMENT, want);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	run_folder_close(opened(true, RUN_RESUME));
}

int main(void)
{
	run_model_new(&model);
	tap_run(test_new);
	tap_run(test_in_the_way);
	tap_run(test_resume);
	tap_run(test_slash);
	tap_run(test_leftovers);
	tap_run(test_aside);
	tap_run(test_killed_start);
	tap_run(test_not_ours);
	tap_run(test_last);
	tap_run(test_damage);
	tap_run(test_log);
	tap_run(test_keep);
	tap_run(test_lock);
	run_model_free(&model);
	return tap_done();
}
