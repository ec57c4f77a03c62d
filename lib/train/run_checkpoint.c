/*
 * lib/train/run_checkpoint.c - a checkpoint, written so that a kill at any moment leaves the one before it
 *
 *	.step-N.new.tmp-XXXXXX	files are written and synced
 *	step-N.new		all of them; `complete` is added
 *	step-N			the name; then `last` is renamed over
 *
 * What fails after that is undone, so that `last` and what it leads to are as before.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/tokenizer_write.h"
#include "lib/base/err.h"
#include "lib/model/lm_save.h"
#include "lib/train/run_parts.h"

static int check_parameters(const struct store *s)
{
	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER && run_check_values(store_at(s, i)) < 0)
			return -1;
	return 0;
}

static int put_companions(struct outdir *d, const struct run_checkpoint *c)
{
	if (c->companions)
		return lm_save_companions(d, c->companions);
	if (!c->tokenizer)
		return 0;
	return lm_save_generation(d, c->config) < 0 ? -1
						    : tokenizer_write(d, c->tokenizer, NULL, 0);
}

static int put_files(struct outdir *d, const struct run_checkpoint *c, struct bytes state)
{
	if (lm_save_config(d, c->config, c->store) < 0 || check_parameters(c->store) < 0 ||
	    lm_save_weights(d, c->store, c->rules) < 0)
		return -1;
	if (put_companions(d, c) < 0)
		return -1;
	return run_optimizer_write(d, c->store) < 0 ? -1 : outdir_text(d, RUN_STATE, state);
}

/* --- the folder --- */

struct names {
	const char *fresh, *name, *aside;
};

/* step-N.new with all its files. */
static int write_folder(const struct names *n, const struct run_checkpoint *c, struct bytes state)
{
	struct run_marks marks = { 0 };
	struct outdir *d;
	int result;

	if (run_remove_folder(n->fresh) < 0 || outdir_new(&d, n->fresh) < 0)
		return -1;
	outdir_watch(d, run_marks_add, &marks);
	result = put_files(d, c, state);
	if (result < 0)
		outdir_discard(d);
	else if ((result = outdir_commit(d)) == 0)
		result = run_complete_write(n->fresh, &marks);
	run_marks_free(&marks);
	return result;
}

/* FRESH becomes NAME; what was there, if anything (THERE), becomes FRESH. */
static int change(const struct names *n, bool there)
{
	if (there)
		return run_exchange(n->fresh, n->name, n->aside);
	return rename(n->fresh, n->name) == 0 ? 0 : err_system("%s", n->name);
}

/* Puts things back; the error that is set stays. */
static void undo(struct run_folder *r, const struct names *n, bool there, int had, uint64_t last)
{
	struct err_saved error;

	err_save(&error);
	if (had > 0)
		run_link_set(r, "last", last);
	else
		run_link_remove(r, "last");
	if (there)
		run_exchange(n->name, n->fresh, n->aside);
	else if (rename(n->name, n->fresh) != 0)
		run_remove_folder(n->name);
	err_restore(&error);
}

static int publish(struct run_folder *r, const struct names *n, uint64_t step)
{
	uint64_t last = 0;
	int had = run_link_get(r, "last", &last);
	struct stat st;
	bool there = lstat(n->name, &st) == 0;

	if (had < 0 || change(n, there) < 0)
		return -1;
	if (run_sync_folder(r->path) == 0 && run_link_set(r, "last", step) == 0 &&
	    run_sync_folder(r->path) == 0)
		return 0;
	undo(r, n, there, had, last);
	return -1;
}

static int remove_fresh(const char *fresh)
{
	struct err_saved error;

	err_save(&error);
	run_remove_folder(fresh);
	return err_restore(&error);
}

/* A copy of the state, read back from what is written: it lives as long as the folder. */
static int keep_state(struct run_folder *r, struct bytes text, const char *name,
		      const struct run_state **out)
{
	struct run_state *state = arena_alloc(r->arena, 1, sizeof(*state));

	*out = state;
	return state ? run_state_parse(state, r->arena, text, name) : -1;
}

static int write_and_publish(struct run_folder *r, const struct run_checkpoint *c,
			     const struct names *n, struct bytes text)
{
	const struct run_state *state;

	if (c->state->log_bytes > r->log_bytes)
		return err_set(ERR_ARGUMENT, "%s: the state tells more bytes than the log has",
			       n->name);
	if (keep_state(r, text, n->name, &state) < 0 || run_log_sync(r) < 0)
		return -1;
	if (write_folder(n, c, text) < 0 || publish(r, n, c->state->step) < 0)
		return remove_fresh(n->fresh);
	/* What was exchanged; where it cannot be removed, it goes when the run is opened again. */
	run_remove_folder(n->fresh);
	r->state = state;
	r->last = n->name;
	return 0;
}

int run_folder_checkpoint(struct run_folder *r, const struct run_checkpoint *c)
{
	uint64_t step = c->state->step;
	struct names n = { run_step_path(r, step, ".new"), run_step_path(r, step, ""),
			   run_step_path(r, step, ".old") };
	struct buffer b = { 0 };
	int result = -1;

	r->full = false;
	if (n.fresh && n.name && n.aside && run_state_put(&b, c->state) == 0)
		result = write_and_publish(r, c, &n, buffer_bytes(&b));
	buffer_free(&b);
	return result < 0 ? run_failed(r) : 0;
}
