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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/outfile.h"
#include "lib/train/run_parts.h"

/* --- the model --- */

/* The dtype of most bytes of the parameters: what `dtype` of the configuration tells. */
static enum dtype trained_dtype(const struct store *s)
{
	size_t bytes[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_F32;

	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER)
			bytes[store_at(s, i)->dtype] += store_at(s, i)->size;
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (bytes[t] > bytes[most])
			most = (enum dtype)t;
	return most;
}

static int put_text(struct outdir *d, const char *name, struct bytes text)
{
	struct outfile *f;

	if (outdir_file(d, name, &f) < 0)
		return -1;
	if (outfile_write(f, text.data, text.size) == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

static int put_config(struct outdir *d, const struct run_checkpoint *c)
{
	struct hf_config config = *c->config;
	struct buffer b = { 0 };
	int result;

	config.dtype = trained_dtype(c->store);
	result = hf_config_put(&b, &config);
	if (result == 0)
		result = put_text(d, "config.json", buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

static size_t largest(const struct bind_saver *saver)
{
	size_t most = 1;

	for (size_t i = 0; i < bind_saver_n(saver); i++)
		if (bind_saver_tensor(saver, i)->n_bytes > most)
			most = bind_saver_tensor(saver, i)->n_bytes;
	return most;
}

static int write_tensors(struct safetensors_writer *w, struct outfile *f,
			 const struct bind_saver *saver)
{
	size_t n = bind_saver_n(saver);
	void *values = NULL;
	int result;

	safetensors_put_pair(w, bytes_of("format"), bytes_of("pt"));
	for (size_t i = 0; i < n; i++)
		safetensors_put_tensor(w, bind_saver_tensor(saver, i));
	result = safetensors_writer_begin(w, f);
	if (result == 0)
		values = mem_pages(largest(saver));
	if (!values)
		return -1;
	for (size_t i = 0; i < n && result == 0; i++) {
		size_t place = safetensors_writer_order(w, i);

		result = bind_saver_values(saver, place, values, NULL);
		if (result == 0)
			result = safetensors_writer_data(w, values,
							 bind_saver_tensor(saver, place)->n_bytes);
	}
	free(values);
	return result < 0 ? -1 : safetensors_writer_end(w);
}

static int check_parameters(const struct store *s)
{
	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER && run_check_values(store_at(s, i)) < 0)
			return -1;
	return 0;
}

static int put_weights(struct outdir *d, const struct run_checkpoint *c)
{
	struct safetensors_writer *w = NULL;
	struct bind_saver *saver = NULL;
	struct outfile *f = NULL;
	int result = -1;

	if (check_parameters(c->store) == 0 && bind_saver_new(&saver, c->store, c->rules) == 0 &&
	    safetensors_writer_new(&w, false) == 0 && outdir_file(d, RUN_WEIGHTS, &f) == 0)
		result = write_tensors(w, f, saver);
	if (result == 0)
		result = outfile_commit(f);
	else
		outfile_discard(f);
	safetensors_writer_free(w);
	bind_saver_free(saver);
	return result;
}

/* --- what goes with it --- */

static const char *const companions[] = {
	"generation_config.json",
	"tokenizer.json",
	"tokenizer_config.json",
	"special_tokens_map.json",
	"added_tokens.json",
	"vocab.json",
	"merges.txt",
	"vocab.txt",
	"tokenizer.model",
	"tekken.json",
	"chat_template.jinja",
	"chat_template.json",
};

static int copy_companion(struct outdir *d, const char *from, const char *name)
{
	struct mapfile *map;
	struct outfile *f = NULL;
	int result;

	if (mapfile_open(&map, from) < 0)
		return -1;
	result = outdir_file(d, name, &f);
	if (result == 0)
		result = outfile_copy(f, mapfile_fd(map), 0, mapfile_bytes(map).size);
	mapfile_close(map);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

static int copy_companions(struct outdir *d, const char *folder)
{
	struct stat st;
	int result = 0;

	if (stat(folder, &st) != 0)
		return err_system("%s", folder);
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions) && result == 0; i++) {
		char *from = mem_format("%s/%s", folder, companions[i]);

		if (!from)
			return -1;
		if (stat(from, &st) == 0)
			result = copy_companion(d, from, companions[i]);
		else if (errno != ENOENT)
			result = err_system("%s", from);
		free(from);
	}
	return result;
}

static int put_files(struct outdir *d, const struct run_checkpoint *c, struct bytes state)
{
	if (put_config(d, c) < 0 || put_weights(d, c) < 0)
		return -1;
	if (c->companions && copy_companions(d, c->companions) < 0)
		return -1;
	return run_optimizer_write(d, c->store) < 0 ? -1 : put_text(d, RUN_STATE, state);
}

/* --- the folder --- */

struct names {
	const char *fresh, *name, *aside;
};

/* step-N.new with all its files. */
static int write_folder(const struct names *n, const struct run_checkpoint *c, struct bytes state)
{
	struct outdir *d;

	if (run_remove_folder(n->fresh) < 0 || outdir_new(&d, n->fresh) < 0)
		return -1;
	if (put_files(d, c, state) < 0) {
		outdir_discard(d);
		return -1;
	}
	return outdir_commit(d) < 0 ? -1 : run_complete_write(n->fresh);
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
