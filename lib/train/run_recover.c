/*
 * lib/train/run_recover.c - what a run folder holds: leftovers go, the checkpoint to go on from is found
 *
 * Only names that are ours to the letter are touched. A folder in which no run began (no `lock`, nothing whole) is left as it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/train/run_parts.h"

/* A checkpoint that was set aside while another one got its name gets it back. */
static int restore_aside(struct run_folder *r, const struct run_list *l)
{
	uint64_t step;

	for (size_t i = 0; i < l->n; i++) {
		const char *aside, *name;
		struct stat st;

		if (!run_step_name(l->names[i], ".old", &step))
			continue;
		aside = run_step_path(r, step, ".old");
		name = run_step_path(r, step, "");
		if (!aside || !name)
			return -1;
		if (lstat(name, &st) != 0 && rename(aside, name) != 0)
			return err_system("%s", name);
	}
	return 0;
}

/* Whether the name is a folder of a checkpoint without its end mark, or with it. */
static bool is_step(struct run_folder *r, const char *name, bool complete, uint64_t *step)
{
	const char *path;

	if (!run_step_name(name, "", step))
		return false;
	path = run_path(r, name);
	return path && run_is_complete(path) == complete;
}

static bool newest(struct run_folder *r, const struct run_list *l, uint64_t *out)
{
	bool found = false;
	uint64_t step;

	for (size_t i = 0; i < l->n; i++) {
		if (!is_step(r, l->names[i], true, &step) || (found && step < *out))
			continue;
		found = true;
		*out = step;
	}
	return found;
}

static bool is_leftover(struct run_folder *r, const char *name, bool nothing_whole)
{
	uint64_t step;

	return run_is_leftover(name) || is_step(r, name, false, &step) ||
	       (nothing_whole && strcmp(name, RUN_LOG) == 0);
}

static int remove_one(struct run_folder *r, const char *name)
{
	const char *path = run_path(r, name);
	struct stat st;

	if (!path)
		return -1;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : err_system("%s", path);
	if (S_ISDIR(st.st_mode))
		return run_remove_folder(path);
	return unlink(path) == 0 ? 0 : err_system("%s", path);
}

static int remove_leftovers(struct run_folder *r, const struct run_list *l, bool ours, bool whole)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!is_leftover(r, l->names[i], !whole))
			continue;
		if (!ours && !whole)
			return err_set(ERR_ARGUMENT,
				       "%s/%s: is there, but no run began in this folder", r->path,
				       l->names[i]);
		if (remove_one(r, l->names[i]) < 0)
			return -1;
	}
	return 0;
}

static bool leads_to_whole(struct run_folder *r, uint64_t step)
{
	const char *path = run_step_path(r, step, "");

	return path && run_is_complete(path);
}

/* Makes both links lead to something whole, or removes them. WHOLE: NEWEST is. */
static int mend_links(struct run_folder *r, bool whole, uint64_t newest_step, uint64_t *last)
{
	int got = run_link_get(r, "best", last);

	if (got < 0 || (got > 0 && !leads_to_whole(r, *last) && run_link_remove(r, "best") < 0))
		return -1;
	got = run_link_get(r, "last", last);
	if (got < 0)
		return -1;
	if (got > 0 && leads_to_whole(r, *last))
		return 0;
	*last = newest_step;
	if (whole)
		return run_link_set(r, "last", newest_step);
	return got > 0 ? run_link_remove(r, "last") : 0;
}

static int read_state(struct run_folder *r, uint64_t step)
{
	const char *folder = run_step_path(r, step, "");
	struct run_state *state = arena_alloc(r->arena, 1, sizeof(*state));
	char file[64], *text;
	const char *name;
	size_t size;
	int result;

	if (!folder || !state || run_complete_check(folder) < 0)
		return -1;
	snprintf(file, sizeof(file), "step-%" PRIu64 "/" RUN_STATE, step);
	name = run_path(r, file);
	if (!name || file_read(name, RUN_STATE_BYTES_MAX, &text, &size) < 0)
		return -1;
	result = run_state_parse(state, r->arena, (struct bytes){ text, size }, name);
	free(text);
	if (result == 0 && state->step != step)
		result = err_set(ERR_MISMATCH, "%s: is of step %" PRIu64, name, state->step);
	if (result < 0)
		return -1;
	r->state = state;
	r->last = folder;
	r->log_bytes = state->log_bytes;
	return run_log_check(r);
}

int run_recover(struct run_folder *r, bool ours, enum run_found *found)
{
	uint64_t step = 0, last = 0;
	struct run_list l;
	bool whole;
	int result = run_list_read(&l, r->path);

	if (result == 0)
		result = restore_aside(r, &l);
	run_list_free(&l);
	if (result < 0 || run_list_read(&l, r->path) < 0)
		return -1;
	whole = newest(r, &l, &step);
	result = remove_leftovers(r, &l, ours, whole);
	run_list_free(&l);
	if (result == 0)
		result = mend_links(r, whole, step, &last);
	if (result == 0 && whole)
		result = read_state(r, last);
	*found = whole ? RUN_RESUME : RUN_NEW;
	return result;
}
