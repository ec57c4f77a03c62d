/*
 * lib/train/training_checkpoint.c - checkpoints of a run: in line or beside training, when they fail, and how the run goes back to one
 *
 * Beside training (--checkpoint-async) a thread writes a copy of what is kept. It alone uses the run's folder meanwhile: lines of the log
 * wait until it has ended.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/copies.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/training_parts.h"

struct training_writer {
	struct store *copy; /* owned */
	struct run_state state;
	bool best;
	/* Of the thread: */
	pthread_t thread;
	bool running; /* it was begun and not yet joined */
	atomic_bool ended;
	int result;
	bool full;
	struct err_saved error;
};

static bool is_kept(const struct store_entry *e)
{
	return e->kind == STORE_PARAMETER || e->kind == STORE_STATE;
}

/* Whatever is kept lies on the host. */
static int bring_home(struct store *s)
{
	for (size_t i = 0; i < store_n(s); i++)
		if (is_kept(store_at(s, i)) && store_to_host(s, store_at(s, i)) < 0)
			return -1;
	return 0;
}

/* --- writing --- */

/* What S holds, as the checkpoint of STATE; then the links, and what need not be kept goes. */
static int write_checkpoint(const struct training *t, const struct store *s,
			    const struct run_state *state, bool best)
{
	const char *last = run_folder_last(t->folder);
	const struct run_checkpoint c = {
		.config = t->model.config,
		.store = s,
		.rules = &t->model.rules,
		.companions = last ? last : t->model.folder,
		.state = state,
		.tokenizer = t->tokenizer ? tokenizer_spec(t->tokenizer) : NULL,
	};

	if (run_folder_checkpoint(t->folder, &c) < 0 ||
	    (best && run_folder_best(t->folder, state->step) < 0))
		return -1;
	return t->o.keep ? run_folder_keep(t->folder, (size_t)t->o.keep) : 0;
}

/* The log holds all that belongs to the state. */
static int prepare(struct training *t)
{
	if (training_log_flush(t) < 0)
		return -1;
	t->state.log_bytes = run_folder_log_bytes(t->folder);
	return bring_home(t->model.store);
}

static uint64_t retry_after(const struct training *t)
{
	return t->o.checkpoint_every / 10 + 1;
}

/* A full disk: the checkpoint before this one, of step STEP, stays. */
static int put_off(struct training *t, uint64_t step)
{
	t->retry = t->state.step + retry_after(t);
	training_warn(t,
		      "step %" PRIu64
		      ": %s; the checkpoint before stays, the next try is after step %" PRIu64,
		      step, err_text(), t->retry);
	return training_log_event(t, "checkpoint failed", ",\"of\":%" PRIu64, step);
}

/* --- beside training --- */

static void *write_copy(void *arg)
{
	struct training *t = arg;
	struct training_writer *w = t->writer;

	w->result = write_checkpoint(t, w->copy, &w->state, w->best);
	w->full = w->result < 0 && run_folder_full(t->folder);
	err_save(&w->error);
	atomic_store(&w->ended, true);
	return NULL;
}

/* Entries as T's, with memory. */
static int make_copy(struct training *t)
{
	const struct store *from = t->model.store;
	struct training_writer *w = mem_new(1, sizeof(*w));

	t->writer = w;
	if (!w || store_new(&w->copy) < 0)
		return -1;
	for (size_t i = 0; i < store_n(from); i++) {
		const struct store_entry *e = store_at(from, i);
		struct store_entry *made;

		if (!is_kept(e))
			continue;
		made = store_add(w->copy, e->name, e->kind, e->dtype, &e->shape);
		if (!made || store_allocate(w->copy, made) < 0)
			return -1;
	}
	return 0;
}

/* T's entries into the copy's. */
static int fill_copy(struct training *t)
{
	struct store *to = t->writer->copy;
	struct copy *copies = mem_new(store_n(to) + 1, sizeof(*copies));

	if (!copies)
		return -1;
	for (size_t i = 0; i < store_n(to); i++) {
		struct store_entry *e = store_at(to, i);

		copies[i] = (struct copy){ e->data, store_find(t->model.store, e->name)->data,
					   e->size };
		store_touch(e);
	}
	copies_run(t->setup->team, copies, store_n(to));
	free(copies);
	return 0;
}

static int start_writer(struct training *t, bool best)
{
	struct training_writer *w;
	int failed;

	if (!t->writer && make_copy(t) < 0)
		return -1;
	w = t->writer;
	if (fill_copy(t) < 0)
		return -1;
	w->state = t->state;
	w->best = best;
	atomic_store(&w->ended, false);
	failed = pthread_create(&w->thread, NULL, write_copy, t);
	if (failed)
		return err_set(ERR_MEMORY, "no thread to write a checkpoint");
	w->running = true;
	return 0;
}

bool training_is_writing(const struct training *t)
{
	return t->writer && t->writer->running;
}

int training_end_writing(struct training *t)
{
	struct training_writer *w = t->writer;

	if (!training_is_writing(t))
		return 0;
	pthread_join(w->thread, NULL);
	w->running = false;
	if (w->result < 0) {
		err_restore(&w->error);
		return w->full ? put_off(t, w->state.step) : -1;
	}
	t->retry = 0;
	return training_log_flush(t);
}

int training_poll_writing(struct training *t)
{
	return training_is_writing(t) && atomic_load(&t->writer->ended) ? training_end_writing(t)
									: 0;
}

void training_drop_writer(struct training *t)
{
	struct training_writer *w = t->writer;

	if (!w)
		return;
	if (w->running)
		pthread_join(w->thread, NULL);
	store_free(w->copy);
	free(w);
	t->writer = NULL;
}

/* --- a checkpoint --- */

static int write_here(struct training *t, bool best, bool ends)
{
	if (write_checkpoint(t, t->model.store, &t->state, best) < 0)
		return run_folder_full(t->folder) && !ends ? put_off(t, t->state.step) : -1;
	t->retry = 0;
	return 0;
}

int training_checkpoint(struct training *t, bool best, bool ends)
{
	if (training_end_writing(t) < 0 || prepare(t) < 0)
		return -1;
	if (t->pending.size) {
		err_set(ERR_IO, "the log waits for room on the disk");
		return ends ? -1 : put_off(t, t->state.step);
	}
	if (t->o.checkpoint_async == TRAINING_ON && !ends)
		return start_writer(t, best);
	return write_here(t, best, ends);
}

/* --- reading --- */

int training_restore(struct training *t)
{
	return run_folder_restore(t->folder, t->model.store, t->setup->team);
}

int training_go_back(struct training *t)
{
	uint64_t rollbacks = t->state.rollbacks + 1, step = t->state.step;

	if (training_model_reload(&t->model, run_folder_last(t->folder)) < 0 ||
	    training_restore(t) < 0)
		return -1;
	t->state = *run_folder_state(t->folder);
	t->state.settings = t->settings;
	t->state.n_settings = t->n_settings;
	t->state.identities = t->identities;
	t->state.n_identities = t->n_identities;
	t->state.rollbacks = rollbacks;
	training_warn(t,
		      "step %" PRIu64 ": the run goes back to step %" PRIu64
		      ", and on from there with other data",
		      step, t->state.step);
	return training_log_event(t, "rollback", ",\"from\":%" PRIu64 ",\"rollbacks\":%" PRIu64,
				  step, rollbacks);
}
