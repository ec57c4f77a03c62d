/* lib/train/training_checkpoint.c - checkpoints of a run: when they fail, and how the run goes back to one */

#include <inttypes.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/train/training_parts.h"

/* --- writing --- */

/* Whatever is kept lies on the host. */
static int bring_home(struct store *s)
{
	for (size_t i = 0; i < store_n(s); i++) {
		struct store_entry *e = store_at(s, i);

		if ((e->kind == STORE_PARAMETER || e->kind == STORE_STATE) &&
		    store_to_host(s, e) < 0)
			return -1;
	}
	return 0;
}

static int write_checkpoint(struct training *t)
{
	const struct run_checkpoint c = {
		.config = t->model.config,
		.store = t->model.store,
		.rules = &t->model.rules,
		.companions =
			run_folder_last(t->folder) ? run_folder_last(t->folder) : t->model.folder,
		.state = &t->state,
	};

	if (t->pending.size)
		return err_set(ERR_IO, "the log waits for room on the disk");
	t->state.log_bytes = run_folder_log_bytes(t->folder);
	return bring_home(t->model.store) < 0 ? -1 : run_folder_checkpoint(t->folder, &c);
}

static uint64_t retry_after(const struct training *t)
{
	return t->o.checkpoint_every / 10 + 1;
}

/* A full disk: the checkpoint before this one stays. */
static int put_off(struct training *t)
{
	t->retry = t->state.step + retry_after(t);
	training_warn(t, "%s; the checkpoint before stays, the next try is after step %" PRIu64,
		      err_text(), t->retry);
	return training_log_event(t, "checkpoint failed", "%s", "");
}

int training_checkpoint(struct training *t, bool best, bool ends)
{
	bool full;

	if (write_checkpoint(t) < 0) {
		full = t->pending.size || run_folder_full(t->folder);
		return full && !ends ? put_off(t) : -1;
	}
	t->retry = 0;
	if (best && run_folder_best(t->folder, t->state.step) < 0)
		return -1;
	return t->o.keep ? run_folder_keep(t->folder, (size_t)t->o.keep) : 0;
}

/* --- reading --- */

int training_restore(struct training *t)
{
	return run_folder_restore(t->folder, t->model.store);
}

int training_go_back(struct training *t)
{
	const struct run_state *had = run_folder_state(t->folder);
	uint64_t rollbacks = t->state.rollbacks + 1, step = t->state.step;

	if (!had)
		return err_set(ERR_ARGUMENT,
			       "step %" PRIu64 ": there is no checkpoint yet to go back to", step);
	if (training_model_reload(&t->model, run_folder_last(t->folder)) < 0 ||
	    training_restore(t) < 0)
		return -1;
	t->state = *had;
	t->state.rollbacks = rollbacks;
	training_warn(t,
		      "step %" PRIu64 ": the run goes back to step %" PRIu64
		      ", and on from there with other data",
		      step, t->state.step);
	return training_log_event(t, "rollback", ",\"from\":%" PRIu64 ",\"rollbacks\":%" PRIu64,
				  step, rollbacks);
}
