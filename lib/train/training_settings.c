/*
 * lib/train/training_settings.c - options as the settings of run.json, and back; what may differ when a run goes on
 *
 * One table says how each option is called and spelled, so that what is written, read and compared cannot come apart.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/number.h"
#include "lib/train/training_options.h"

enum kind { COUNT, NUMBER, WORD, TEXT };

/* What a difference means. */
enum weight {
	FIXED, /* another result */
	FREE,  /* none; or an identity decides (data, model) */
	BACK,  /* none unless the run may go back */
};

struct row {
	const char *name;
	enum kind kind;
	enum weight weight;
	size_t at;
	const char *const *words;
};

#define AT(field) offsetof(struct training_options, field)
static const struct row rows[] = {
	{ "model", TEXT, FREE, AT(model), NULL },
	{ "data", TEXT, FREE, AT(data), NULL },
	{ "val", TEXT, FREE, AT(val), NULL },
	{ "ctx", COUNT, FIXED, AT(ctx), NULL },
	{ "batch", COUNT, FIXED, AT(batch), NULL },
	{ "micro-batch", COUNT, FIXED, AT(micro_batch), NULL },
	{ "fit", WORD, FIXED, AT(fit), training_fit_words },
	{ "documents", WORD, FIXED, AT(documents), training_documents_words },
	{ "objective", WORD, FIXED, AT(objective), training_objective_words },
	{ "mask", NUMBER, FIXED, AT(mask), NULL },
	{ "mask-id", COUNT, FIXED, AT(mask_id), NULL },
	{ "shuffle", COUNT, FIXED, AT(shuffle), NULL },
	{ "steps", COUNT, FIXED, AT(steps), NULL },
	{ "warmup", COUNT, FIXED, AT(warmup), NULL },
	{ "decay", COUNT, FIXED, AT(decay), NULL },
	{ "schedule", WORD, FIXED, AT(schedule), training_schedule_words },
	{ "lr", NUMBER, FIXED, AT(lr), NULL },
	{ "min-lr", NUMBER, FIXED, AT(min_lr), NULL },
	{ "optimizer", WORD, FIXED, AT(optimizer), training_optimizer_words },
	{ "beta1", NUMBER, FIXED, AT(beta1), NULL },
	{ "beta2", NUMBER, FIXED, AT(beta2), NULL },
	{ "eps", NUMBER, FIXED, AT(eps), NULL },
	{ "weight-decay", NUMBER, FIXED, AT(weight_decay), NULL },
	{ "momentum", NUMBER, FIXED, AT(momentum), NULL },
	{ "clip", NUMBER, FIXED, AT(clip), NULL },
	{ "ema", NUMBER, FIXED, AT(ema), NULL },
	{ "label-smoothing", NUMBER, FIXED, AT(label_smoothing), NULL },
	{ "z-loss", NUMBER, FIXED, AT(z_loss), NULL },
	{ "dropout", NUMBER, FIXED, AT(dropout), NULL },
	{ "dtype", WORD, FIXED, AT(dtype), training_dtype_words },
	{ "weights", WORD, FIXED, AT(weights), training_dtype_words },
	{ "rounding", WORD, FIXED, AT(rounding), training_rounding_words },
	{ "seed", COUNT, FIXED, AT(seed), NULL },
	{ "max-skipped", COUNT, FIXED, AT(max_skipped), NULL },
	{ "rollback", COUNT, FIXED, AT(rollback), NULL },
	{ "spike", NUMBER, FIXED, AT(spike), NULL },
	{ "val-every", COUNT, FIXED, AT(val_every), NULL },
	{ "val-tokens", COUNT, FIXED, AT(val_tokens), NULL },
	{ "watch", COUNT, FREE, AT(watch), NULL },
	{ "sample", TEXT, FREE, AT(sample), NULL },
	{ "sample-tokens", COUNT, FREE, AT(sample_tokens), NULL },
	{ "temperature", NUMBER, FREE, AT(temperature), NULL },
	{ "checkpoint-every", COUNT, BACK, AT(checkpoint_every), NULL },
	{ "keep", COUNT, FREE, AT(keep), NULL },
	{ "checkpoint-async", WORD, FREE, AT(checkpoint_async), training_switch_words },
	{ "memory", COUNT, FREE, AT(memory), NULL },
	{ "recompute", WORD, FREE, AT(recompute), training_recompute_words },
};
/* Options that are no settings. */
static const struct row others[] = {
	{ "batch-tokens", COUNT, FREE, AT(batch_tokens), NULL },
	{ "tokens", COUNT, FREE, AT(tokens), NULL },
	{ "warmup-tokens", COUNT, FREE, AT(warmup_tokens), NULL },
	{ "epochs", NUMBER, FREE, AT(epochs), NULL },
};
static const char *const identities[] = { "tokens",	"tokenizer", "model",
					  "validation", "level",     "kernels" };
#undef AT
#define N(table) (sizeof(table) / sizeof(*(table)))

/* --- unset --- */

static void unset(const struct row *r, struct training_options *o)
{
	char *at = (char *)o + r->at;

	switch (r->kind) {
	case COUNT: *(uint64_t *)at = TRAINING_UNSET; break;
	case NUMBER: *(double *)at = NAN; break;
	case WORD: *(int *)at = -1; break;
	case TEXT: *(const char **)at = NULL; break;
	}
}

static bool is_set(const struct row *r, const struct training_options *o)
{
	const char *at = (const char *)o + r->at;

	switch (r->kind) {
	case COUNT: return *(const uint64_t *)at != TRAINING_UNSET;
	case NUMBER: return !isnan(*(const double *)at);
	case WORD: return *(const int *)at >= 0;
	default: return *(const char *const *)at != NULL;
	}
}

void training_options_unset(struct training_options *o)
{
	for (size_t i = 0; i < N(rows); i++)
		unset(&rows[i], o);
	for (size_t i = 0; i < N(others); i++)
		unset(&others[i], o);
}

/* --- spelling --- */

/* ROOM serves numbers. */
static const char *spelled(const struct row *r, const struct training_options *o,
			   char room[NUMBER_TEXT])
{
	const char *at = (const char *)o + r->at;

	switch (r->kind) {
	case COUNT: snprintf(room, NUMBER_TEXT, "%" PRIu64, *(const uint64_t *)at); return room;
	case NUMBER: return number_f64(*(const double *)at, room);
	case WORD: return r->words[*(const int *)at];
	default: return *(const char *const *)at;
	}
}

int training_settings(const struct training_options *o, struct arena *arena,
		      const struct run_setting **out, size_t *n)
{
	struct run_setting *all = arena_alloc(arena, N(rows), sizeof(*all));
	char room[NUMBER_TEXT];

	*out = all;
	*n = 0;
	for (size_t i = 0; all && i < N(rows); i++) {
		const char *value;

		if (!is_set(&rows[i], o))
			continue;
		value = arena_copy(arena, bytes_of(spelled(&rows[i], o, room)));
		if (!value)
			return -1;
		all[(*n)++] = (struct run_setting){ rows[i].name, value };
	}
	return all ? 0 : -1;
}

static int word_of(const struct row *r, const char *text, int *out)
{
	for (int i = 0; r->words[i]; i++)
		if (strcmp(r->words[i], text) == 0) {
			*out = i;
			return 0;
		}
	return err_set(ERR_FORMAT, "'%s' is none of its words", text);
}

static int read_value(const struct row *r, const char *text, struct training_options *o)
{
	char *at = (char *)o + r->at;

	switch (r->kind) {
	case COUNT: return number_u64(text, 0, UINT64_MAX - 1, (uint64_t *)at);
	case NUMBER: return number_real(text, -INFINITY, INFINITY, (double *)at);
	case WORD: return word_of(r, text, (int *)at);
	default: *(const char **)at = text; return 0;
	}
}

static const struct row *row_of(const char *name)
{
	for (size_t i = 0; i < N(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

int training_take_settings(struct training_options *o, const struct run_setting *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = row_of(s[i].name);

		if (!r && strcmp(s[i].name, "version") == 0)
			continue;
		if (!r)
			return err_set(ERR_UNSUPPORTED,
				       "the run has a setting %s, which is not known", s[i].name);
		if (!is_set(r, o) && read_value(r, s[i].value, o) < 0)
			return err_prefix("the run's setting %s", s[i].name);
	}
	return 0;
}

/* --- comparing --- */

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static bool may_differ(const struct row *r, const struct run_setting *s, size_t n)
{
	const char *back = run_setting(s, n, "rollback");

	return r->weight == FREE || (r->weight == BACK && (!back || strcmp(back, "0") == 0));
}

int training_check_settings(const struct training_options *given, const struct run_setting *s,
			    size_t n, const char *const *allow, size_t n_allow)
{
	for (size_t i = 0; i < N(rows); i++) {
		const struct row *r = &rows[i];
		const char *had = run_setting(s, n, r->name), *now;
		char room[NUMBER_TEXT];

		if (!is_set(r, given) || may_differ(r, s, n) || is_in(r->name, allow, n_allow))
			continue;
		now = spelled(r, given, room);
		if (!had || strcmp(had, now) != 0)
			return err_set(ERR_MISMATCH,
				       "--%s: the run has %s, not %s (--allow %s goes on with %s)",
				       r->name, had ? had : "none", now, r->name, now);
	}
	return 0;
}

bool training_is_name(const char *name)
{
	return row_of(name) || is_in(name, identities, N(identities));
}
