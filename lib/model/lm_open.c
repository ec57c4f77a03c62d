/* lib/model/lm_open.c - a language model on disk, and what of it a graph uses */

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/model/lm_rules.h"

/* The factors of llama3's rope and longrope's stand in a GGUF as tensors; the configuration has them. */
static void forget_rope(struct bind_report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_unknown; i++)
		if (strcmp(r->unknown[i], "rope_freqs.weight") == 0 ||
		    strncmp(r->unknown[i], "rope_factors_", 13) == 0)
			free(r->unknown[i]);
		else
			r->unknown[n++] = r->unknown[i];
	r->n_unknown = n;
}

static int refuse_unknown(const struct lm *m)
{
	const struct bind_report *r = &m->report;

	return err_set(ERR_MISMATCH,
		       "%s: %zu tensor%s that a model of the kind " BYTES_FMT
		       " does not have, the first %s",
		       model_path(m->model), r->n_unknown, r->n_unknown == 1 ? "" : "s",
		       BYTES_ARG(m->config->model_type), r->unknown[0]);
}

static int load(struct lm *m, struct arena *arena, const struct lm_open_options *o)
{
	const struct lm_spelling s = lm_spelling_of_model(m->config, m->model);
	const struct bind_options options = { .dtype = o->dtype, .frozen = o->frozen };
	enum model_kind kind = model_kind(m->model);
	struct bind_rules rules;

	m->rope_paired = kind == MODEL_GGUF && !o->permute && lm_pairs_in_gguf(m->config);
	if (lm_rules_spelled(&rules, arena, m->config, kind, o->permute, &s) < 0)
		return err_prefix("%s", model_path(m->model));
	if (bind_load(m->store, m->model, &rules, &options, &m->report) < 0)
		return -1;
	if (kind == MODEL_GGUF)
		forget_rope(&m->report);
	if (lm_check(m, &rules) < 0)
		return -1;
	return o->strict && m->report.n_unknown ? refuse_unknown(m) : 0;
}

int lm_open(struct lm *out, const char *path, const struct lm_open_options *o)
{
	static const struct lm_open_options none;
	struct arena *arena = NULL;
	int result = -1, got;

	*out = (struct lm){ 0 };
	if (model_open(&out->model, path) < 0 || arena_new(&arena) < 0 ||
	    store_new(&out->store) < 0)
		goto done;
	got = model_config(out->model, &out->config);
	if (got == 0)
		err_set(ERR_MISSING, "%s: no configuration; give the folder that has config.json",
			path);
	if (got == 1)
		result = load(out, arena, o ? o : &none);
done:
	arena_free(arena);
	if (result < 0)
		lm_close(out);
	return result;
}

void lm_close(struct lm *m)
{
	store_free(m->store);
	bind_report_free(&m->report);
	free(m->unused);
	model_close(m->model);
	*m = (struct lm){ 0 };
}
