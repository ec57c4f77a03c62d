/* lib/train/training_data.c - the tokens of a run, and the options that follow from them */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/train/training_parts.h"

/* Tokens of a step where nothing is said. */
#define BATCH_TOKENS 8192
#define CTX_MAX	     ((uint64_t)WINDOW_LENGTH_MAX)

bool training_is_stream(const struct training *t)
{
	return strcmp(t->o.data, "-") == 0;
}

/* --- what a packed file says of itself --- */

static int look(const char *path, struct token_pack_info *out)
{
	const struct feed_options o = { .length = 1, .sequences = 1, .fit = FIT_CUT };
	struct feed *f;

	if (feed_open(&f, path, &o) < 0)
		return -1;
	*out = *token_pack_info(mix_pack(feed_mix(f), 0));
	feed_close(f);
	return 0;
}

static int settle_window(struct training *t)
{
	struct training_options *o = &t->o;
	struct token_pack_info info = { .window = 0 };
	uint64_t most = t->model.config->context;

	if (!training_is_stream(t) && (o->ctx == TRAINING_UNSET || o->fit <= FIT_NONE) &&
	    look(o->data, &info) < 0)
		return -1;
	if (o->fit <= FIT_NONE)
		o->fit = info.fit == FIT_NONE ? FIT_CUT : (int)info.fit;
	if (o->ctx == TRAINING_UNSET)
		o->ctx = info.window && info.window <= most ? info.window : most;
	if (o->ctx == 0 || o->ctx > most || o->ctx > CTX_MAX)
		return err_set(ERR_ARGUMENT,
			       "--ctx: %" PRIu64 " tokens; the model has positions for %" PRIu64,
			       o->ctx, most < CTX_MAX ? most : CTX_MAX);
	return 0;
}

/* --- the batch --- */

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static void settle_batch(struct training *t)
{
	struct training_options *o = &t->o;

	if (o->batch_tokens != TRAINING_UNSET)
		o->batch = at_least_one(o->batch_tokens / o->ctx);
	if (o->batch == TRAINING_UNSET)
		o->batch = at_least_one(BATCH_TOKENS / o->ctx);
}

size_t training_rows(const struct training *t)
{
	return (size_t)(t->o.micro_batch * t->o.ctx);
}

/* --- feeds --- */

static struct feed_options options_of(const struct training *t, uint64_t sequences)
{
	return (struct feed_options){ .length = (uint32_t)t->o.ctx,
				      .sequences = (size_t)sequences,
				      .seed = t->o.seed,
				      .fit = (enum token_fit)t->o.fit,
				      .apart = t->o.documents == TRAINING_APART };
}

static uint64_t tokens_of(const struct feed *f)
{
	uint64_t n = 0;

	for (size_t i = 0; i < mix_n_parts(feed_mix(f)); i++)
		n += token_pack_info(mix_pack(feed_mix(f), i))->n_tokens;
	return n;
}

static int check_tokens(const struct training *t, const struct feed *f, const char *path)
{
	const struct token_header *h = feed_header(f);

	if (h->vocab > t->model.config->vocab_size)
		return err_set(ERR_MISMATCH,
			       "%s: has ids below %" PRIu32 ", the model a vocabulary of %" PRIu64
			       ": the tokens are of another tokenizer",
			       path, h->vocab, t->model.config->vocab_size);
	if (!feed_mix(f) || tokens_of(f) > t->o.ctx)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "%s: has %" PRIu64 " tokens, not one window of %" PRIu64
		       " and what follows it (--ctx makes windows shorter)",
		       path, tokens_of(f), t->o.ctx);
}

static int open_feed(const struct training *t, const char *path, uint64_t sequences,
		     struct feed **out)
{
	struct feed_options o = options_of(t, sequences);

	return feed_open(out, path, &o) < 0 ? -1 : check_tokens(t, *out, path);
}

static int open_data(struct training *t)
{
	struct feed_options o = options_of(t, t->o.batch);

	if (!training_is_stream(t))
		return open_feed(t, t->o.data, t->o.batch, &t->feed);
	if (feed_open_stream(&t->feed, t->o.data, &o, t->o.shuffle) < 0)
		return -1;
	return check_tokens(t, t->feed, t->o.data);
}

static int open_val(struct training *t)
{
	if (!t->o.val)
		return 0;
	if (open_feed(t, t->o.val, t->o.micro_batch, &t->val) < 0)
		return -1;
	return token_header_match(feed_header(t->feed), t->o.data, feed_header(t->val), t->o.val);
}

/* --- how long --- */

static uint64_t steps_for(double places, uint64_t batch)
{
	double steps = ceil(places / (double)batch);

	return steps < 1 ? 1 : steps < 1e15 ? (uint64_t)steps : (uint64_t)1e15;
}

static int settle_steps(struct training *t)
{
	struct training_options *o = &t->o;
	double step_tokens = (double)o->batch * (double)o->ctx;

	if (o->tokens != TRAINING_UNSET)
		o->steps = steps_for((double)o->tokens / (double)o->ctx, o->batch);
	else if (!isnan(o->epochs) || o->steps == TRAINING_UNSET) {
		if (training_is_stream(t))
			return err_set(ERR_ARGUMENT,
				       "-d -: how long a stream is cannot be known: --steps or "
				       "--tokens is needed");
		o->steps = steps_for(
			(isnan(o->epochs) ? 1 : o->epochs) * (double)feed_epoch(t->feed), o->batch);
	}
	if (o->warmup_tokens != TRAINING_UNSET)
		o->warmup = (uint64_t)ceil((double)o->warmup_tokens / step_tokens);
	if (o->warmup == TRAINING_UNSET)
		o->warmup = o->steps / 10 < 100 ? o->steps / 10 : 100;
	if (o->decay == TRAINING_UNSET)
		o->decay = o->schedule == SCHEDULE_WSD ? o->steps / 5 : 0;
	return 0;
}

int training_open_data(struct training *t)
{
	if (settle_window(t) < 0)
		return -1;
	settle_batch(t);
	if (training_settle_micro_batch(t) < 0 || open_data(t) < 0 || open_val(t) < 0)
		return -1;
	return settle_steps(t);
}
