/*
 * tests/unit/test_greedy.c - small models of each architecture go on as transformers lets them
 *
 * fixtures/golden/greedy.tsv: a model, its context, `greedy` or `fresh`, a prompt, and the most probable tokens one after the other, of `fresh`
 * those that the text does not have yet, computed in float64 (scripts/gen-fixtures-greedy).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/infer/sampler.h"
#include "lib/infer/session.h"
#include "tests/tap.h"

enum { IDS = 128 };

struct line {
	const char *name;
	uint64_t context;
	bool fresh;
	int32_t text[IDS]; /* the prompt, and what is wanted behind it */
	size_t n_prompt, n;
};

static size_t read_ids(char *text, int32_t *out)
{
	char *rest = NULL;
	uint64_t id;
	size_t n = 0;

	for (char *word = strtok_r(text, " ", &rest); word && n < IDS;
	     word = strtok_r(NULL, " ", &rest))
		if (number_u64(word, 0, INT32_MAX, &id) == 0)
			out[n++] = (int32_t)id;
	return n;
}

static bool read_line(struct line *l, char *text)
{
	char *rest = NULL, *name = strtok_r(text, "\t", &rest);
	char *context = strtok_r(NULL, "\t", &rest), *mode = strtok_r(NULL, "\t", &rest);
	char *prompt = strtok_r(NULL, "\t", &rest), *want = strtok_r(NULL, "\t", &rest);

	if (!want || number_u64(context, 1, IDS, &l->context) < 0)
		return false;
	l->name = name;
	l->fresh = strcmp(mode, "fresh") == 0;
	l->n_prompt = read_ids(prompt, l->text);
	l->n = l->n_prompt + read_ids(want, l->text + l->n_prompt);
	return l->n_prompt > 0 && l->n > l->n_prompt;
}

/* Goes on after the prompt, given whole or token by token, and counts what is not as wanted. */
static size_t wrong_tokens(const struct line *l, struct session *s, struct sampler *sampler,
			   bool whole)
{
	size_t step = whole ? l->n_prompt : 1, wrong = 0;

	session_rewind(s, 0);
	for (size_t i = 0; i < l->n_prompt; i += step)
		if (session_append(s, l->text + i, step) < 0)
			return IDS;
	for (size_t i = l->n_prompt; i < l->n; i++) {
		wrong += sampler_pick(sampler, session_logits(s), l->text, i, i) != l->text[i];
		if (i + 1 < l->n && session_append(s, l->text + i, 1) < 0)
			return IDS;
	}
	return wrong;
}

static void check_model(const struct line *l)
{
	const struct sampler_options greedy = { .top_p = 1,
						.presence_penalty = l->fresh ? 1e6 : 0 };
	struct session_options o = { .compute = DTYPE_F32,
				     .cache = DTYPE_F32,
				     .context = (size_t)l->context };
	struct session *s = NULL;
	struct sampler *sampler = NULL;
	struct lm lm;
	char path[64];

	snprintf(path, sizeof(path), "fixtures/good/lm/%s", l->name);
	if (!tap_works(lm_open(&lm, path, &(struct lm_open_options){ .frozen = true }), "%s", path))
		return;
	o.rope_paired = lm.rope_paired;
	if (tap_works(session_new(&s, lm.config, lm.store, &o), "%s: a session", l->name) &&
	    tap_works(sampler_new(&sampler, &greedy, lm.config->vocab_size), "a sampler")) {
		tap_is_u64(wrong_tokens(l, s, sampler, true), 0, "%s: of %zu tokens", l->name,
			   l->n - l->n_prompt);
		tap_is_u64(wrong_tokens(l, s, sampler, false), 0, "%s: the prompt one by one",
			   l->name);
	}
	sampler_free(sampler);
	session_free(s);
	lm_close(&lm);
}

static void test_models(void)
{
	size_t n, models = 0;
	char *text = tap_fixture("fixtures/golden/greedy.tsv", &n), *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct line l;

		if (tap_ok(read_line(&l, line), "a line")) {
			check_model(&l);
			models++;
		}
	}
	tap_is_u64(models, 14, "seven architectures, two ways");
	free(text);
}

int main(void)
{
	tap_run(test_models);
	return tap_done();
}
