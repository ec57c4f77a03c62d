/* lib/train/training_identity.c - what a run must find again when it goes on: hashes and names */

#include <string.h>

#include "kernels/cpu/level.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/training_parts.h"

static int add(struct training *t, const char *name, const char *value)
{
	const char *copy = arena_copy(t->arena, bytes_of(value));

	if (!copy)
		return -1;
	t->identities[t->n_identities++] = (struct run_setting){ name, copy };
	return 0;
}

static int add_hash(struct training *t, const char *name, const struct hash128 *h)
{
	char hex[HASH_HEX];

	hash_hex(h, hex);
	return add(t, name, hex);
}

/* --- the model that training began from --- */

static int add_model(struct training *t)
{
	const struct run_state *s = t->found == RUN_RESUME ? run_folder_state(t->folder) : NULL;
	const char *had = s ? run_setting(s->identities, s->n_identities, "model") : NULL;
	struct lm given = { 0 };
	struct hash128 h;
	int result;

	if (had && !t->setup->given.model)
		return add(t, "model", had);
	if (!s)
		return lm_hash(&t->model.lm, t->setup->team, &h) < 0 ? -1
								     : add_hash(t, "model", &h);
	/* T's model is the checkpoint; the one that was given is looked at for its hash alone. */
	result = lm_open(&given, t->setup->given.model, NULL);
	if (result == 0)
		result = lm_hash(&given, t->setup->team, &h);
	lm_close(&given);
	return result < 0 ? -1 : add_hash(t, "model", &h);
}

/* --- kernels --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `op/variant` of every step of P. */
static int list_kernels(struct training *t, const struct plan *p, const char **names, size_t *n)
{
	for (size_t i = 0; i < plan_n_steps(p); i++) {
		const struct kernel *k = plan_step(p, i).kernel;
		char *name = mem_format("%s/%s", k->op, k->variant);

		names[*n] = name ? arena_copy(t->arena, bytes_of(name)) : NULL;
		free(name);
		if (!names[(*n)++])
			return -1;
	}
	return 0;
}

static int join(struct training *t, const char **names, size_t n)
{
	struct buffer b = { 0 };
	int result;

	qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			buffer_format(&b, "%s%s", b.size ? " " : "", names[i]);
	buffer_put_u8(&b, 0);
	result = buffer_check(&b);
	if (result == 0)
		result = add(t, "kernels", b.data);
	buffer_free(&b);
	return result;
}

static int add_kernels(struct training *t)
{
	const struct plan *plans[] = { trainer_plan(t->trainer), trainer_update_plan(t->trainer) };
	const char **names =
		mem_new(plan_n_steps(plans[0]) + plan_n_steps(plans[1]) + 1, sizeof(*names));
	size_t n = 0;
	int result = names ? 0 : -1;

	for (int i = 0; i < 2 && result == 0; i++)
		result = list_kernels(t, plans[i], names, &n);
	if (result == 0)
		result = join(t, names, n);
	free(names);
	return result;
}

/* --- all --- */

static const char *level_of(const struct backend *b)
{
	return strcmp(b->name, "cpu") == 0 ? level_name(b->level) : b->name;
}

int training_identify(struct training *t)
{
	struct hash128 tokens, val;

	if (training_is_stream(t)
		    ? add(t, "tokens", "stream") < 0
		    : (tokens = feed_hash(t->feed), add_hash(t, "tokens", &tokens) < 0))
		return -1;
	if (add_hash(t, "tokenizer", &feed_header(t->feed)->plain) < 0 || add_model(t) < 0)
		return -1;
	if (t->val) {
		val = feed_hash(t->val);
		if (add_hash(t, "validation", &val) < 0)
			return -1;
	}
	return add(t, "level", level_of(t->setup->backend)) < 0 ? -1 : add_kernels(t);
}

static bool is_allowed(const struct training *t, const char *name)
{
	for (size_t i = 0; i < t->setup->n_allow; i++)
		if (strcmp(t->setup->allow[i], name) == 0)
			return true;
	return false;
}

/* What each is called in a message. */
static const char *described(const char *name)
{
	static const char *const words[][2] = {
		{ "tokens", "the tokens" },	    { "tokenizer", "the tokenizer" },
		{ "model", "the model" },	    { "validation", "the validation tokens" },
		{ "level", "the instruction set" }, { "kernels", "the kernels" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i][0], name) == 0)
			return words[i][1];
	return name;
}

/* NOW, HAD: NULL where there is none. */
static int check_one(const struct training *t, const char *name, const char *now, const char *had)
{
	if ((now && had && strcmp(now, had) == 0) || is_allowed(t, name))
		return 0;
	return err_set(ERR_MISMATCH,
		       "%s: %s: %s, and the run began with %s (--allow %s goes on with it)",
		       run_folder_last(t->folder), described(name), now ? now : "none",
		       had ? had : "none", name);
}

int training_check_identities(const struct training *t)
{
	const struct run_state *s = run_folder_state(t->folder);

	for (size_t i = 0; i < t->n_identities; i++) {
		const struct run_setting *now = &t->identities[i];

		if (check_one(t, now->name, now->value,
			      run_setting(s->identities, s->n_identities, now->name)) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->n_identities; i++) {
		const struct run_setting *had = &s->identities[i];

		if (!run_setting(t->identities, t->n_identities, had->name) &&
		    check_one(t, had->name, NULL, had->value) < 0)
			return -1;
	}
	return 0;
}
