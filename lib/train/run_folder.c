/* lib/train/run_folder.c - taking a run folder, and what is done in it between checkpoints */

#include "lib/train/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/run_parts.h"

int run_failed(struct run_folder *r)
{
	r->full = err_errno() == ENOSPC || err_errno() == EDQUOT;
	return -1;
}

/* --- opening --- */

static int make_folder(struct run_folder *r)
{
	struct stat st;

	if (stat(r->path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(ERR_ARGUMENT, "%s: exists, and is not a folder", r->path);
	if (mkdir(r->path, 0777) == 0)
		r->made = true;
	else if (errno != EEXIST)
		return err_system("%s", r->path);
	return 0;
}

/* But for the lock. */
static int check_empty(struct run_folder *r)
{
	struct run_list l;
	bool lock;
	size_t n;

	if (run_list_read(&l, r->path) < 0)
		return -1;
	lock = run_list_has(&l, RUN_LOCK);
	n = l.n - lock;
	run_list_free(&l);
	if (n == 0)
		return 0;
	/* Of two processes with one folder the user wants to hear of the other one. */
	if (lock && run_lock_held(r))
		return -1;
	return err_set(ERR_ARGUMENT, "%s: is not empty (a run goes on with --resume)", r->path);
}

/* With the lock, which leaves with a folder that is refused: by it a run is told from other folders. */
static int look_inside(struct run_folder *r, bool resume, bool ours, enum run_found *found)
{
	/* Again: it may have been filled before the lock was had. */
	int result = resume ? run_recover(r, ours, found) : check_empty(r);
	const char *lock = run_path(r, RUN_LOCK);

	if (result < 0 && !ours && lock)
		unlink(lock);
	return result;
}

static int take(struct run_folder *r, bool resume, enum run_found *found)
{
	const char *done = run_path(r, "done");
	struct stat st;
	bool there;

	if (!done || make_folder(r) < 0)
		return -1;
	*found = RUN_DONE;
	if (resume && lstat(done, &st) == 0)
		return 0;
	*found = RUN_NEW;
	if ((!resume && check_empty(r) < 0) || run_lock_take(r, &there) < 0)
		return -1;
	return look_inside(r, resume, there, found);
}

/* `run/` is `run`. */
static const char *path_in(struct arena *arena, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return arena_copy(arena, (struct bytes){ path, n });
}

int run_folder_open(struct run_folder **out, const char *path, bool resume, enum run_found *found)
{
	struct run_folder *r = mem_new(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return -1;
	r->lock = r->log = -1;
	if (arena_new(&r->arena) < 0 || !(r->path = path_in(r->arena, path)) ||
	    take(r, resume, found) < 0) {
		run_folder_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

/* Where nothing was written, the lock goes too, and a folder that was not there. */
static void remove_traces(struct run_folder *r)
{
	const char *lock = run_path(r, RUN_LOCK);
	struct run_list l = { 0 };

	if (r->lock >= 0 && lock && run_list_read(&l, r->path) == 0 && l.n == 1 &&
	    run_list_has(&l, RUN_LOCK))
		unlink(lock);
	run_list_free(&l);
	if (r->made)
		rmdir(r->path);
}

void run_folder_close(struct run_folder *r)
{
	struct err_saved error;

	if (!r)
		return;
	err_save(&error);
	if (r->path)
		remove_traces(r);
	if (r->log >= 0)
		close(r->log);
	if (r->lock >= 0)
		close(r->lock);
	arena_free(r->arena);
	free(r);
	err_restore(&error);
}

const struct run_state *run_folder_state(const struct run_folder *r)
{
	return r->state;
}

const char *run_folder_last(const struct run_folder *r)
{
	return r->last;
}

bool run_folder_full(const struct run_folder *r)
{
	return r->full;
}

/* --- between checkpoints --- */

int run_folder_best(struct run_folder *r, uint64_t step)
{
	const char *path = run_step_path(r, step, "");

	if (!path)
		return -1;
	if (!run_is_complete(path))
		return err_set(ERR_ARGUMENT, "%s: is no whole checkpoint", path);
	if (run_link_set(r, "best", step) < 0 || run_sync_folder(r->path) < 0)
		return run_failed(r);
	return 0;
}

int run_folder_done(struct run_folder *r)
{
	const char *path = run_path(r, "done");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;

	if (!path)
		return -1;
	if (fd < 0) {
		err_system("%s", path);
		return run_failed(r);
	}
	close(fd);
	return run_sync_folder(r->path) < 0 ? run_failed(r) : 0;
}

static int by_step(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The steps of whole checkpoints, ascending; owned by the caller. */
static uint64_t *whole_steps(struct run_folder *r, size_t *n)
{
	struct run_list l;
	uint64_t *steps;

	*n = 0;
	if (run_list_read(&l, r->path) < 0)
		return NULL;
	steps = mem_new(l.n + 1, sizeof(*steps));
	for (size_t i = 0; steps && i < l.n; i++) {
		const char *path;

		if (!run_step_name(l.names[i], "", &steps[*n]))
			continue;
		path = run_path(r, l.names[i]);
		*n += path && run_is_complete(path);
	}
	run_list_free(&l);
	if (steps && *n)
		qsort(steps, *n, sizeof(*steps), by_step);
	return steps;
}

int run_folder_keep(struct run_folder *r, size_t n)
{
	uint64_t last = 0, best = 0, *steps;
	int has_last = run_link_get(r, "last", &last), has_best = run_link_get(r, "best", &best);
	int result = has_last < 0 || has_best < 0 ? -1 : 0;
	size_t n_steps;

	steps = whole_steps(r, &n_steps);
	if (!steps)
		result = -1;
	for (size_t i = 0; result == 0 && i < n_steps && n < n_steps - i; i++) {
		const char *path = run_step_path(r, steps[i], "");

		if ((has_last > 0 && steps[i] == last) || (has_best > 0 && steps[i] == best))
			continue;
		result = path ? run_remove_beside(path) : -1;
	}
	free(steps);
	return result;
}
