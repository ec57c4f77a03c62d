/*
 * tests/unit/test_sampler_golden.c - what is left of logits, and how probable it is, beside transformers' processors and warpers, and llama.cpp's DRY
 *
 * fixtures/golden/sampler.tsv (scripts/gen-fixtures-sampler) and dry.tsv (scripts/gen-fixtures-dry). A draw is held to the probabilities by the number that it was drawn with: it
 * is the token in whose part of their sum that number lies.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/random.h"
#include "lib/infer/sampler.h"
#include "tests/tap.h"

enum { VOCABULARY = 60, HISTORY = 64, PLACES = 300 };

struct line {
	const char *chain;
	struct sampler_options o;
	int32_t history[HISTORY];
	float logits[VOCABULARY];
	double want[VOCABULARY]; /* 0: it is not left */
	size_t n_history, n_logits, n_left;
};

static double real(const char *text)
{
	double value = NAN;

	number_real(text, -1e300, 1e300, &value);
	return value;
}

static bool set_option(struct sampler_options *o, const char *name, double value)
{
	if (strcmp(name, "temperature") == 0)
		o->temperature = value;
	else if (strcmp(name, "top-k") == 0)
		o->top_k = (size_t)value;
	else if (strcmp(name, "top-p") == 0)
		o->top_p = value;
	else if (strcmp(name, "min-p") == 0)
		o->min_p = value;
	else if (strcmp(name, "typical") == 0)
		o->typical = value;
	else if (strcmp(name, "penalties") == 0)
		o->repetition_penalty = value;
	else
		return false;
	return true;
}

/* MULTIPLIER,BASE,ALLOWED,LAST */
static bool set_dry(struct sampler_options *o, char *text)
{
	char *rest = NULL;
	double values[4];

	for (int i = 0; i < 4; i++) {
		char *word = strtok_r(i ? NULL : text, ",", &rest);

		values[i] = word ? real(word) : NAN;
	}
	o->dry_multiplier = values[0];
	o->dry_base = values[1];
	o->dry_allowed = (size_t)values[2];
	o->dry_last = (size_t)values[3];
	return !isnan(values[3]);
}

/* `top-k=7 temperature=0.5`: the options, and that order. */
static bool read_chain(struct sampler_options *o, const char *chain)
{
	char *copy = mem_copy(chain, strlen(chain)), *rest = NULL;
	const char *names[SAMPLER_STEPS];
	size_t n = 0;
	bool good = true;

	*o = (struct sampler_options){ .temperature = 1, .top_p = 1, .seed = 9 };
	for (char *word = strtok_r(copy, " ", &rest); word && good;
	     word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		names[n++] = word;
		good = strcmp(word, "dry") == 0 ? set_dry(o, equals + 1)
						: set_option(o, word, real(equals + 1));
	}
	good = good && sampler_set_order(o, names, n) == 0;
	free(copy);
	return good;
}

static bool read_line(struct line *l, char *text)
{
	char *rest = NULL, *fields[4], *within;

	*l = (struct line){ 0 };
	for (int i = 0; i < 4; i++)
		if (!(fields[i] = strtok_r(i ? NULL : text, "\t", &rest)))
			return false;
	l->chain = fields[0];
	for (char *w = strtok_r(fields[1], " ", &within); w; w = strtok_r(NULL, " ", &within))
		l->history[l->n_history++] = (int32_t)real(w);
	for (char *w = strtok_r(fields[2], " ", &within); w; w = strtok_r(NULL, " ", &within))
		l->logits[l->n_logits++] = (float)real(w);
	for (char *w = strtok_r(fields[3], " ", &within); w; w = strtok_r(NULL, " ", &within)) {
		char *colon = strchr(w, ':');

		*colon = '\0';
		l->want[(size_t)real(w)] = real(colon + 1);
		l->n_left++;
	}
	return l->n_logits == VOCABULARY && read_chain(&l->o, l->chain);
}

static int32_t token_at(const double *p, double at)
{
	int32_t last = -1;

	for (int32_t i = 0; i < VOCABULARY; i++) {
		if (p[i] == 0)
			continue;
		last = i;
		if (at < p[i])
			return i;
		at -= p[i];
	}
	return last;
}

static void check_line(const struct line *l)
{
	struct random_stream stream = random_at(l->o.seed, 0, hash_short("sampler", 7, 0));
	struct sampler *s = NULL;
	size_t wrong = 0;

	if (!tap_works(sampler_new(&s, &l->o, VOCABULARY), "%s", l->chain))
		return;
	for (uint64_t place = 0; place < PLACES; place++)
		wrong += sampler_pick(s, l->logits, l->history, l->n_history, place) !=
			 token_at(l->want, random_uniform53(&stream, place, 0));
	tap_is_u64(wrong, 0, "%s: draws that are not of the %zu tokens left", l->chain, l->n_left);
	sampler_free(s);
}

static void check_lines(const char *path, size_t least)
{
	size_t size, n = 0;
	char *text = tap_fixture(path, &size), *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), n++) {
		struct line l;

		if (tap_ok(read_line(&l, line), "line %zu", n + 1))
			check_line(&l);
	}
	tap_ok(n >= least, "%zu lines", n);
	free(text);
}

static void test_transformers(void)
{
	check_lines("fixtures/golden/sampler.tsv", 50);
}

static void test_dry_of_llama(void)
{
	check_lines("fixtures/golden/dry.tsv", 56);
}

int main(void)
{
	tap_run(test_transformers);
	tap_run(test_dry_of_llama);
	return tap_done();
}
