/* lib/train/training.c - a run is opened: where it stands, its options, its model, its tokens, its trainer */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/training_parts.h"

/* --- options --- */

static const struct run_state *resumed(const struct training *t)
{
	return t->found == RUN_RESUME ? run_folder_state(t->folder) : NULL;
}

/* What the run has counts before defaults. */
static int take_options(struct training *t)
{
	const struct run_state *s = resumed(t);

	t->o = t->setup->given;
	if (s && (training_check_settings(&t->o, s->settings, s->n_settings, t->setup->allow,
					  t->setup->n_allow) < 0 ||
		  training_take_settings(&t->o, s->settings, s->n_settings) < 0))
		return -1;
	training_defaults(&t->o);
	if (!t->o.data)
		return err_set(ERR_ARGUMENT, "tokens are needed: -d FILE, as pack-tokens makes it");
	if (!s && !t->o.model)
		return err_set(ERR_ARGUMENT,
			       "a model is needed: a folder, as init-lm makes it, or a .gguf");
	return 0;
}

/* Once more, for options that were given in another way (--tokens, --batch-tokens). */
static int check_options(const struct training *t)
{
	const struct run_state *s = resumed(t);
	const struct training_options *g = &t->setup->given;
	struct training_options other;

	training_options_unset(&other);
	if (g->batch_tokens != TRAINING_UNSET)
		other.batch = t->o.batch;
	if (g->tokens != TRAINING_UNSET || !isnan(g->epochs))
		other.steps = t->o.steps;
	if (g->warmup_tokens != TRAINING_UNSET)
		other.warmup = t->o.warmup;
	if (s && training_check_settings(&other, s->settings, s->n_settings, t->setup->allow,
					 t->setup->n_allow) < 0)
		return -1;
	return training_options_check(&t->o);
}

/* --- where it stands --- */

static void begin_state(struct training *t)
{
	const struct run_state *s = resumed(t);

	t->state = (struct run_state){ .best_loss = NAN, .smoothed_loss = NAN };
	if (s)
		t->state = *s;
	t->report.step = t->start_step = t->state.step;
	t->report.steps = t->o.steps;
	t->report.loss = t->report.val_loss = t->report.peak_share = t->report.seconds_left = NAN;
	t->report.smoothed_loss = t->state.smoothed_loss;
}

/* Settings and identities as checkpoints are to have them; a state that cannot be written is found now. */
static int prepare_state(struct training *t)
{
	struct run_setting *all, *own;
	struct buffer b = { 0 };
	size_t n;
	int result;

	if (training_settings(&t->o, t->arena, (const struct run_setting **)&own, &n) < 0)
		return -1;
	all = arena_alloc(t->arena, n + 1, sizeof(*all));
	if (!all)
		return -1;
	memcpy(all, own, n * sizeof(*all));
	all[n] = (struct run_setting){ "version", t->setup->version };
	t->settings = t->state.settings = all;
	t->n_settings = t->state.n_settings = n + 1;
	t->state.identities = t->identities;
	t->state.n_identities = t->n_identities;
	result = run_state_put(&b, &t->state);
	buffer_free(&b);
	return result < 0 ? err_prefix("run.json") : 0;
}

/* --- opening --- */

/* What of the file takes no part in training. */
static int say_unused(const struct training *t)
{
	struct buffer b = { 0 };
	int result = lm_put_unused(&b, &t->model.lm);

	if (result == 0 && b.size)
		training_note(t, BYTES_FMT, BYTES_ARG(buffer_bytes(&b)));
	buffer_free(&b);
	return result;
}

static int open_model(struct training *t)
{
	const char *path = t->found == RUN_RESUME ? run_folder_last(t->folder) : t->o.model;

	if (training_model_open(&t->model, path,
				t->o.weights == TRAINING_BF16 ? DTYPE_BF16 : DTYPE_F32) < 0)
		return -1;
	return say_unused(t);
}

/* A model that sees both sides cannot learn what comes next, and one that sees one side has nothing to gain from masks. */
static int settle_objective(struct training *t)
{
	bool both = t->model.config->bidirectional;

	if (t->o.objective < 0)
		t->o.objective = both ? TRAINING_MASKED : TRAINING_NEXT;
	if (both == (t->o.objective == TRAINING_MASKED))
		return 0;
	return err_set(ERR_ARGUMENT, "--objective: a model that sees %s is trained with %s",
		       both ? "both sides" : "what came before alone", both ? "mlm" : "next");
}

static void say_resumed(struct training *t)
{
	const struct run_state *s = resumed(t);
	const char *version = run_setting(s->settings, s->n_settings, "version");

	training_note(t, "goes on after step %" PRIu64, s->step);
	if (version && strcmp(version, t->setup->version) != 0)
		training_warn(t,
			      "the run was made by version %s; this is %s, and its bits may differ",
			      version, t->setup->version);
}

/* A kill between a checkpoint and its link leaves the link behind. */
static int resume(struct training *t)
{
	const struct run_state *s = resumed(t);

	if (training_check_identities(t) < 0 || training_restore(t) < 0)
		return -1;
	if (s->best_step && s->best_step == s->step && run_folder_best(t->folder, s->step) < 0)
		return -1;
	say_resumed(t);
	return training_log_event(t, "resume", "%s", "");
}

static int open_all(struct training *t)
{
	if (take_options(t) < 0 || open_model(t) < 0 || settle_objective(t) < 0 ||
	    training_open_data(t) < 0 || check_options(t) < 0 || training_open_tokenizer(t) < 0 ||
	    training_open_masking(t) < 0 || training_open_trainer(t) < 0 ||
	    training_identify(t) < 0)
		return -1;
	begin_state(t);
	if (prepare_state(t) < 0)
		return -1;
	return t->found == RUN_RESUME ? resume(t) : 0;
}

int training_open(struct training **out, const struct training_setup *s)
{
	struct training *t = mem_new(1, sizeof(*t));
	int result = -1;

	*out = NULL;
	if (!t)
		return -1;
	t->setup = s;
	if (arena_new(&t->arena) == 0 &&
	    (!s->folder || run_folder_open(&t->folder, s->folder, s->resume, &t->found) == 0))
		result = t->found == RUN_DONE ? 0 : open_all(t);
	if (result < 0) {
		training_close(t);
		return -1;
	}
	*out = t;
	return 0;
}

void training_close(struct training *t)
{
	struct err_saved error;

	if (!t)
		return;
	err_save(&error);
	training_drop_writer(t);
	trainer_free(t->trainer);
	tokenizer_free(t->tokenizer);
	feed_close(t->feed);
	feed_close(t->val);
	training_model_close(&t->model);
	run_folder_close(t->folder);
	arena_free(t->arena);
	buffer_free(&t->pending);
	free(t);
	err_restore(&error);
}

/* --- looking --- */

enum run_found training_found(const struct training *t)
{
	return t->found;
}

const struct training_options *training_options(const struct training *t)
{
	return &t->o;
}

uint64_t training_step_number(const struct training *t)
{
	return t->state.step;
}

const struct training_report *training_last(const struct training *t)
{
	return &t->report;
}

const struct training_model *training_model(const struct training *t)
{
	return &t->model;
}

const struct tokenizer *training_tokenizer(const struct training *t)
{
	return t->tokenizer;
}

struct trainer *training_trainer(struct training *t)
{
	return t->trainer;
}
