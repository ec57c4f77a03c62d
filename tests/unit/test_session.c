/*
 * tests/unit/test_session.c - a session beside the whole sequence at once
 *
 * Models and golden logits are those of tests/unit/test_lm.c: transformers in float64 (scripts/gen-fixtures-lm).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/infer/session.h"
#include "tests/tap.h"

static const char *const families[] = { "llama", "mistral", "smollm3", "qwen2",
					"qwen3", "gemma3",  "gpt2" };
#define FAMILIES (sizeof(families) / sizeof(*families))

struct family {
	struct lm m;
	struct safetensors *golden;
	const int32_t *ids;
	size_t n, vocab;
	const double *logits; /* [n, vocab] */
};

static const struct tensor_info *find(const struct family *f, const char *name)
{
	return safetensors_find(f->golden, (struct bytes){ name, strlen(name) });
}

static bool open_family(struct family *f, const char *name)
{
	const struct tensor_info *ids, *logits;
	char path[128];

	*f = (struct family){ 0 };
	snprintf(path, sizeof(path), "fixtures/good/lm/%s", name);
	if (!tap_works(lm_open(&f->m, path, NULL), "%s", name))
		return false;
	snprintf(path, sizeof(path), "fixtures/golden/lm/%s.safetensors", name);
	if (!tap_works(safetensors_open(&f->golden, path), "%s", path))
		return false;
	ids = find(f, "long/ids");
	logits = find(f, "long/result");
	f->ids = (const int32_t *)(const void *)ids->data;
	f->n = ids->n_elements;
	f->vocab = f->m.config->vocab_size;
	f->logits = (const double *)(const void *)logits->data;
	return tap_ok(logits->dtype == DTYPE_F64 && logits->n_elements == f->n * f->vocab,
		      "%s: golden logits of %zu tokens", name, f->n);
}

static void close_family(struct family *f)
{
	safetensors_close(f->golden);
	lm_close(&f->m);
}

static struct session *session(struct family *f, size_t context, size_t rows)
{
	struct session *s = NULL;

	tap_works(session_new(&s, f->m.config, f->m.store,
			      &(struct session_options){ .compute = DTYPE_F32,
							 .cache = DTYPE_F32,
							 .context = context,
							 .rows = rows,
							 .rope_paired = f->m.rope_paired }),
		  "a session of %zu", context);
	return s;
}

/* How far the logits are from those after N tokens; NaN when there are none. */
static double off(const struct family *f, const struct session *s, size_t n)
{
	const float *got = session_logits(s);
	double worst = 0;

	if (!got)
		return NAN;
	for (size_t i = 0; i < f->vocab; i++) {
		double d = fabs((double)got[i] - f->logits[(n - 1) * f->vocab + i]);

		worst = d <= worst ? worst : d;
	}
	return worst;
}

/* All tokens in parts of the sizes in CUT, over and over; the worst of all places where a part ends. */
static void check_cut(struct family *f, const char *name, const char *cut, size_t rows)
{
	struct session *s = session(f, f->n, rows);
	double worst = 0;

	for (size_t at = 0, i = 0; s && at < f->n; i++) {
		size_t part = (size_t)(cut[i % strlen(cut)] - '0');
		double d;

		part = part == 0 || part > f->n - at ? f->n - at : part;
		if (!tap_works(session_append(s, f->ids + at, part), "%zu tokens", part))
			break;
		at += part;
		d = off(f, s, at);
		worst = d <= worst ? worst : d;
		if (session_length(s) != at)
			tap_is_u64(session_length(s), at, "the length");
	}
	tap_ok(worst <= 5e-5, "%s in parts of %s, %zu rows a pass: off by %.2g", name, cut, rows,
	       worst);
	session_free(s);
}

static void test_cuts(void)
{
	for (size_t i = 0; i < FAMILIES; i++) {
		struct family f;

		if (open_family(&f, families[i])) {
			check_cut(&f, families[i], "0", 0);
			check_cut(&f, families[i], "1", 0);
			check_cut(&f, families[i], "31", 0);
			check_cut(&f, families[i], "725", 4);
			check_cut(&f, families[i], "0", 1);
		}
		close_family(&f);
	}
}

static void test_rewind(void)
{
	const size_t back = 5;
	struct family f;
	struct session *s;
	int32_t wrong[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };

	if (!open_family(&f, "gemma3"))
		return;
	s = session(&f, f.n + 8, 0);
	tap_works(session_append(s, f.ids, back), "the first ones");
	tap_works(session_append(s, wrong, 8), "others behind them");
	tap_ok(!(off(&f, s, back) < 0.01), "whose logits are other ones");
	session_rewind(s, 100);
	tap_is_u64(session_length(s), back + 8, "nothing to forget");
	tap_ok(session_logits(s) != NULL, "and the logits stay");
	session_rewind(s, back);
	tap_is_u64(session_length(s), back, "rewound");
	tap_ok(session_logits(s) == NULL, "without logits");
	tap_works(session_append(s, f.ids + back, f.n - back), "the right ones");
	tap_ok(off(&f, s, f.n) <= 5e-5, "as if nothing had been: off by %.2g", off(&f, s, f.n));
	session_rewind(s, 0);
	tap_works(session_append(s, f.ids, f.n), "all again");
	tap_ok(off(&f, s, f.n) <= 5e-5, "from the start: off by %.2g", off(&f, s, f.n));
	session_free(s);
	close_family(&f);
}

/* Forks share an engine, and see nothing of each other; what is read anew is what is read fresh. */
static void test_forks(void)
{
	struct family f;
	struct session *s = NULL, *fork = NULL, *more;
	struct session_options o = { .cache = DTYPE_F32, .forks = 1 };

	if (!open_family(&f, "llama"))
		return;
	o.context = f.n;
	tap_works(session_new(&s, f.m.config, f.m.store, &o), "a session with a fork");
	tap_works(session_append(s, f.ids, 5), "its beginning");
	tap_works(session_fork(&fork, s, 5), "a fork");
	tap_fails(session_fork(&more, s, 5), ERR_LIMIT, "more than 2 sequences", "and no more");
	tap_works(session_append(s, f.ids, f.n - 5), "something else");
	tap_works(session_append(fork, f.ids + 5, f.n - 5), "the fork goes on");
	tap_ok(off(&f, fork, f.n) <= 5e-5, "off by %.2g", off(&f, fork, f.n));
	session_free(fork);
	tap_works(session_read(s, f.ids, f.n), "the first one reads it too");
	tap_ok(off(&f, s, f.n) <= 5e-5, "off by %.2g", off(&f, s, f.n));
	tap_is_u64(session_length(s), f.n, "and holds nothing else");
	tap_fails(session_read(s, f.ids, f.n + 1), ERR_LIMIT, "the context holds", "too much");
	session_free(s);
	close_family(&f);
}

/* Two sessions of one store do not see each other; a name that was given back is used again. */
static void test_two(void)
{
	struct family f;
	struct session *a, *b, *c;
	size_t entries;

	if (!open_family(&f, "llama"))
		return;
	a = session(&f, f.n, 0);
	tap_works(session_append(a, f.ids, 4), "one of them begins");
	b = session(&f, f.n, 0);
	tap_works(session_append(b, f.ids + 4, f.n - 4), "another reads something else");
	tap_works(session_append(a, f.ids + 4, f.n - 4), "the first goes on");
	tap_ok(off(&f, a, f.n) <= 5e-5, "off by %.2g", off(&f, a, f.n));
	tap_ok(!(off(&f, b, f.n) < 0.001), "the other has other logits");
	session_free(a);
	entries = store_n(f.m.store);
	c = session(&f, f.n, 0);
	tap_is_u64(store_n(f.m.store), entries, "a third takes the place of the first");
	tap_works(session_append(c, f.ids, f.n), "and reads");
	tap_ok(off(&f, c, f.n) <= 5e-5, "off by %.2g", off(&f, c, f.n));
	session_free(b);
	session_free(c);
	close_family(&f);
}

static void test_refused(void)
{
	struct session_options o = { .compute = DTYPE_F32, .cache = DTYPE_F32, .context = 8 };
	struct family f;
	struct session *s;
	struct lm bert;

	if (!open_family(&f, "llama"))
		return;
	s = session(&f, 8, 0);
	tap_fails(session_append(s, f.ids, 9), ERR_LIMIT, "9 tokens after 0: the context holds 8",
		  "more than the context");
	tap_fails(session_append(s, f.ids, 0), ERR_LIMIT, "0 tokens", "none at all");
	tap_fails(session_append(s, &(int32_t){ 61 }, 1), ERR_ARGUMENT,
		  "token 0: the id 61; the vocabulary has 61", "an id past the vocabulary");
	tap_fails(session_append(s, &(int32_t){ -1 }, 1), ERR_ARGUMENT, "the id -1", "or below 0");
	tap_is_u64(session_length(s), 0, "nothing was appended");
	tap_works(session_append(s, f.ids, 8), "just as many as there are");
	tap_fails(session_append(s, f.ids, 1), ERR_LIMIT, "1 tokens after 8", "and no more");
	session_free(s);
	o.memory = 1000;
	tap_fails(session_new(&s, f.m.config, f.m.store, &o), ERR_LIMIT, "1000 are allowed",
		  "no memory for it");
	tap_ok(s == NULL, "no session");
	close_family(&f);
	if (tap_works(lm_open(&bert, "fixtures/good/lm/bert", NULL), "bert")) {
		o.memory = 0;
		tap_fails(session_new(&s, bert.config, bert.store, &o), ERR_UNSUPPORTED,
			  "does not continue text", "bert");
		lm_close(&bert);
	}
	if (open_family(&f, "gpt2")) {
		o.context = 1000;
		tap_fails(session_new(&s, f.m.config, f.m.store, &o), ERR_ARGUMENT, "the model has",
			  "more positions than there are");
	}
	close_family(&f);
}

/* The weights change under it, as in training: what was kept in other forms is made anew. */
static void test_weights_change(void)
{
	struct family f;
	struct session *s;
	struct store_entry *e;
	const float *before;
	float first;

	if (!open_family(&f, "llama"))
		return;
	s = session(&f, f.n, 0);
	tap_works(session_append(s, f.ids, f.n), "before");
	before = session_logits(s);
	first = before ? before[0] : 0;
	e = store_find(f.m.store, "lm_head.weight");
	if (tap_ok(e != NULL, "the head") && tap_works(store_allocate(f.m.store, e), "its own")) {
		for (size_t i = 0; i < e->size / sizeof(float); i++)
			((float *)e->data)[i] *= 2;
		store_touch(e);
	}
	session_rewind(s, 0);
	tap_works(session_append(s, f.ids, f.n), "after");
	tap_ok(session_logits(s) && session_logits(s)[0] == 2 * first, "twice the logit: %g, %g",
	       (double)first, session_logits(s) ? (double)session_logits(s)[0] : 0);
	session_free(s);
	close_family(&f);
}

int main(void)
{
	tap_run(test_cuts);
	tap_run(test_rewind);
	tap_run(test_forks);
	tap_run(test_two);
	tap_run(test_refused);
	tap_run(test_weights_change);
	return tap_done();
}
