/*
 * lib/train/run_checkpoint: what is written, and what a kill or an error at any moment leaves
 *
 * The writer is a child: this program again, with the fault shim before it or without. It goes on from what it finds, which it holds
 * against the values that the step and the rollbacks must have (tests/run_model.h), and tells through a pipe which checkpoints were made.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "tests/run_model.h"
#include "tests/tap.h"

#define CHILD_WRONG 3 /* it found other values than the step's */
#define CHILD_AGAIN 4 /* a checkpoint failed twice */

static const char *self;
static struct run_model model;

/* --- the child --- */

static void wrong(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, err_text());
	_exit(CHILD_WRONG);
}

static void check_found(const struct run_folder *r)
{
	const struct run_state *s = run_folder_state(r);

	if (run_folder_restore(r, model.store, NULL) < 0)
		wrong("restore");
	if (!run_model_has_states(&model, s->step, s->rollbacks) ||
	    !run_model_is_saved(&model, run_folder_last(r), s->step, s->rollbacks))
		wrong("values");
}

/* Once more after a failure, which must have left everything as it was. */
static void save(struct run_folder *r, uint64_t step, uint64_t rollbacks)
{
	uint64_t before = run_folder_state(r) ? run_folder_state(r)->step : 0;
	bool full;

	if (run_model_checkpoint(&model, r, step, rollbacks, NULL) == 0)
		return;
	full = err_errno() == ENOSPC;
	if (run_folder_full(r) != full || (full && !strstr(err_text(), "No space left")))
		wrong("run_folder_full");
	if (run_folder_state(r) && run_folder_state(r)->step != before)
		wrong("the step after a failure");
	if (run_folder_state(r))
		check_found(r);
	run_model_fill(&model, step, rollbacks);
	if (run_model_checkpoint(&model, r, step, rollbacks, NULL) < 0)
		_exit(CHILD_AGAIN);
	if (run_folder_full(r))
		wrong("still full");
}

/* COUNT further checkpoints in FOLDER, each twice; a byte to stdout after each. */
static int child(const char *folder, uint64_t count)
{
	enum run_found found;
	struct run_folder *r;
	uint64_t step = 0;

	if (run_folder_open(&r, folder, true, &found) < 0)
		wrong("open");
	if (found == RUN_RESUME) {
		check_found(r);
		step = run_folder_state(r)->step;
	}
	for (uint64_t i = 0; i < 2 * count; i++) {
		step += i % 2 == 0;
		run_model_fill(&model, step, i % 2);
		if (run_folder_log(r, bytes_of("{\"x\":1}")) < 0 &&
		    run_folder_log(r, bytes_of("{\"x\":1}")) < 0)
			wrong("the log");
		save(r, step, i % 2);
		if (write(STDOUT_FILENO, &step, sizeof(step)) != sizeof(step))
			_exit(5);
		run_folder_keep(r, 2);
	}
	run_folder_close(r);
	return 0;
}

/* --- running it --- */

struct run {
	pid_t pid;
	int told; /* steps come here */
};

/* FAULT may be NULL. */
static struct run start(const char *folder, const char *fault, const char *count)
{
	struct run run = { -1, -1 };
	int ends[2];

	if (pipe(ends) != 0)
		return run;
	run.told = ends[0];
	run.pid = fork();
	if (run.pid == 0) {
		char shim[4096];

		snprintf(shim, sizeof(shim), "%.*s/../shim/faults.so",
			 (int)(strrchr(self, '/') - self), self);
		if (fault) {
			setenv("LD_PRELOAD", shim, 1);
			setenv("FAULT", fault, 1);
			setenv("FAULT_PATH", folder, 1);
		}
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(self, self, "child", folder, count, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	return run;
}

/* The last step that the child told. */
static uint64_t told(struct run *run)
{
	uint64_t step = 0, next;

	while (read(run->told, &next, sizeof(next)) == sizeof(next))
		step = next;
	close(run->told);
	return step;
}

/* What a killed or failed child left: a whole run of at least STEP. */
static bool is_whole(const char *folder, uint64_t step)
{
	struct run_folder *r;
	enum run_found found;
	const struct run_state *s;
	bool ok;

	if (run_folder_open(&r, folder, true, &found) < 0) {
		tap_note("%s", err_text());
		return false;
	}
	s = run_folder_state(r);
	ok = found == (step || s ? RUN_RESUME : RUN_NEW);
	if (s)
		ok = ok && s->step >= step && run_folder_restore(r, model.store, NULL) == 0 &&
		     run_model_has_states(&model, s->step, s->rollbacks) &&
		     run_model_is_saved(&model, run_folder_last(r), s->step, s->rollbacks) &&
		     run_folder_log_bytes(r) % 8 == 0;
	if (!ok)
		tap_note("found %d, step %d, not %d", (int)found, s ? (int)s->step : -1, (int)step);
	run_folder_close(r);
	return ok;
}

static bool no_shim(const char *what)
{
	if (!getenv("NNUTILS_SANITIZED"))
		return false;
	tap_skip("native: the fault shim does not go with a sanitizer", what);
	return true;
}

/* --- kills --- */

/* After its first checkpoint, and up to 4 ms. */
static void test_random_kills(void)
{
	const char *folder = tap_path("random");
	uint64_t step = 0, now;
	int bad = 0;

	for (int i = 0; i < 50; i++) {
		struct run run = start(folder, NULL, "1000");
		struct timespec t = { 0, (long)(hash_short(&i, sizeof(i), 7) % 4000000) };

		bad += read(run.told, &now, sizeof(now)) != sizeof(now) || now < step;
		step = now;
		nanosleep(&t, NULL);
		kill(run.pid, SIGKILL);
		waitpid(run.pid, NULL, 0);
		now = told(&run);
		step = now > step ? now : step;
		bad += !is_whole(folder, step);
	}
	tap_is_i64(bad, 0, "50 kills, each leaves a whole checkpoint with its values");
	tap_ok(step > 50, "%d steps", (int)step);
}

/* Killed before call N of CALL, of a second start. True: it came to that call. */
static bool kill_at(const char *call, int n, int *bad)
{
	char name[64], fault[64];
	const char *folder;
	struct run run;
	uint64_t step;
	int status;

	snprintf(name, sizeof(name), "at-%s-%d", call, n);
	folder = tap_path(name);
	snprintf(fault, sizeof(fault), "%s:%d:stop", call, n);
	run = start(folder, NULL, "1");
	waitpid(run.pid, &status, 0);
	*bad += status != 0 || told(&run) != 1;
	run = start(folder, fault, "1");
	waitpid(run.pid, &status, WUNTRACED);
	if (!WIFSTOPPED(status)) {
		*bad += status != 0 || told(&run) != 2;
		return false;
	}
	kill(run.pid, SIGKILL);
	waitpid(run.pid, NULL, 0);
	step = told(&run);
	*bad += !is_whole(folder, step > 1 ? step : 1);
	return true;
}

static void test_every_kill(void)
{
	static const char *const calls[] = { "rename", "fsync", "write" };

	if (no_shim("kills before every call"))
		return;
	for (size_t i = 0; i < 3; i++) {
		int n = 1, bad = 0;

		while (n < 200 && kill_at(calls[i], n, &bad))
			n++;
		tap_is_i64(bad, 0, "killed before each of %d calls of %s", n - 1, calls[i]);
		tap_ok(n > 3, "there were some");
	}
}

/* --- errors --- */

/* A child that meets FAULT must have made both checkpoints in the end. */
static bool fails_once(const char *fault, bool *came)
{
	char name[64];
	const char *folder, *log;
	struct run run;
	struct stat st;
	int status;

	snprintf(name, sizeof(name), "%s", fault);
	folder = tap_path(name);
	log = tap_path("faults");
	unlink(log);
	setenv("FAULT_LOG", log, 1);
	run = start(folder, fault, "2");
	waitpid(run.pid, &status, 0);
	*came = stat(log, &st) == 0;
	if (status == 0 && told(&run) == 2 && is_whole(folder, 2))
		return true;
	tap_note("%s: status %x", fault, (unsigned)status);
	return false;
}

static void each_fault(const char *call, const char *what, int from)
{
	int n = from, bad = 0;
	bool came = true;

	if (no_shim(call))
		return;
	for (; n < 300 && came; n++) {
		char fault[64];

		snprintf(fault, sizeof(fault), "%s:%d:%s", call, n, what);
		bad += !fails_once(fault, &came);
	}
	tap_is_i64(bad, 0, "%s at each of %d calls of %s: the old one stays, the next try works",
		   what, n - 1 - from, call);
	tap_ok(n - from > 3, "there were some");
}

static void test_faults(void)
{
	each_fault("write", "ENOSPC", 1);
	each_fault("fsync", "EIO", 1);
	each_fault("rename", "EIO", 1);
	each_fault("pwrite", "ENOSPC", 1);
	each_fault("pwrite", "short3", 1);
	/* The first is the log's ftruncate, which cannot be short. */
	each_fault("write", "short7", 2);
}

/* Without exchange the names change by way of step-N.old. */
static void test_no_exchange(void)
{
	char fault[64];
	bool came = true;
	int bad = 0, n = 1;

	if (no_shim("without exchange"))
		return;
	for (; n < 40 && came; n++) {
		snprintf(fault, sizeof(fault), "rename:%d:EINVAL", n);
		bad += !fails_once(fault, &came);
	}
	tap_is_i64(bad, 0, "a file system that knows no exchange, at each of %d renames", n - 2);
}

static void test_full(void)
{
	const char *folder = tap_path("full");
	struct run run;
	int status;

	if (no_shim("a full disk"))
		return;
	run = start(folder, NULL, "1");
	waitpid(run.pid, &status, 0);
	tap_is_i64(status, 0, "a run");
	told(&run);
	run = start(folder, "write:3+:ENOSPC", "1");
	waitpid(run.pid, &status, 0);
	told(&run);
	tap_is_i64(WEXITSTATUS(status), CHILD_AGAIN, "no room for the second, nor for its retry");
	tap_ok(is_whole(folder, 1), "the first stays");
}

/* --- what is written --- */

static void holds(const char *folder, const char *name, const char *want)
{
	char *path = mem_format("%s/%s", folder, name), *got;
	size_t n;

	if (tap_works(file_read(path, 10000, &got, &n), "%s", name)) {
		tap_is_bytes(((struct bytes){ got, n }), bytes_of(want), "its bytes");
		free(got);
	}
	free(path);
}

static bool there(const char *folder, const char *name)
{
	char *path = mem_format("%s/%s", folder, name);
	struct stat st;
	bool is = stat(path, &st) == 0;

	free(path);
	return is;
}

static void test_files(void)
{
	const char *from = tap_path("from"), *folder = tap_path("files"), *last;
	struct hf_config config;
	enum run_found found;
	struct run_folder *r;
	char *path;

	mkdir(from, 0777);
	tap_file("from/tokenizer.json", "{\"a\"}", 5);
	tap_file("from/generation_config.json", "{}", 2);
	tap_file("from/secret.txt", "{}", 2);
	tap_works(run_folder_open(&r, folder, false, &found), "open");
	run_model_fill(&model, 7, 0);
	tap_works(run_model_checkpoint(&model, r, 7, 0, from), "a checkpoint");
	last = run_folder_last(r);
	holds(last, "tokenizer.json", "{\"a\"}");
	holds(last, "generation_config.json", "{}");
	tap_ok(!there(last, "secret.txt") && !there(last, "vocab.json"), "no other files");
	path = mem_format("%s/config.json", last);
	tap_works(hf_config_read(&config, model.arena, path), "config.json");
	tap_is_u64(config.dtype, DTYPE_F32, "its dtype is that of the weights");
	tap_is_u64(config.hidden_size, model.config.hidden_size, "and its sizes");
	free(path);
	tap_fails(run_model_checkpoint(&model, r, 8, 0, tap_path("nowhere")), ERR_IO,
		  "nowhere: No such file", "companions that are gone");
	tap_ok(!run_folder_full(r), "is no full disk");
	tap_is_text(run_folder_last(r), last, "the one before stays");
	tap_ok(!there(folder, "step-8") && !there(folder, "step-8.new"), "nothing of the other");
	run_folder_close(r);
}

static void refuses_restore(const struct run_folder *r, struct store *s, int code, const char *part)
{
	tap_fails(run_folder_restore(r, s, NULL), code, part, "%s", part);
}

static void test_restore(void)
{
	const char *folder = tap_path("restore");
	struct run_model other;
	struct store_entry *e;
	enum run_found found;
	struct run_folder *r;

	tap_works(run_folder_open(&r, folder, false, &found), "open");
	refuses_restore(r, model.store, ERR_ARGUMENT, "restore: has no checkpoint");
	run_model_fill(&model, 1, 0);
	tap_works(run_model_checkpoint(&model, r, 1, 0, NULL), "a checkpoint");
	run_model_new(&other);
	e = store_find(other.store, "model.norm.weight.v");
	e->dtype = DTYPE_I8;
	refuses_restore(r, other.store, ERR_MISMATCH, "tensor model.norm.weight.v: is U8 with 1");
	e->dtype = DTYPE_U8;
	e->shape.at[0]--;
	refuses_restore(r, other.store, ERR_MISMATCH, "the run has u8 [15]");
	e->shape.at[0]++;
	e->kind = STORE_CACHE;
	refuses_restore(r, other.store, ERR_MISMATCH,
			"tensor model.norm.weight.v: this run keeps nothing");
	e->kind = STORE_STATE;
	e = store_beside(other.store, e, "x", DTYPE_F32);
	refuses_restore(r, other.store, ERR_MISSING,
			"step-1/optimizer.safetensors: tensor model.norm.weight.v.x: is missing");
	run_model_free(&other);
	e = store_find(model.store, "model.norm.weight");
	e->version++;
	tap_fails(run_model_checkpoint(&model, r, 2, 0, NULL), ERR_ARGUMENT,
		  "model.norm.weight: its newest values are on a device", "values elsewhere");
	e->version--;
	run_folder_close(r);
}

int main(int argc, char **argv)
{
	self = argv[0];
	run_model_new(&model);
	if (argc == 4)
		return child(argv[2], strtoull(argv[3], NULL, 10));
	/* Nothing here is about the disk itself, and syncing one is slow. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	tap_run(test_files);
	tap_run(test_restore);
	tap_run(test_random_kills);
	tap_run(test_every_kill);
	tap_run(test_faults);
	tap_run(test_no_exchange);
	tap_run(test_full);
	run_model_free(&model);
	return tap_done();
}
