/*
 * tests/unit/test_unigram_sample.c - ways to cut a piece of text, drawn by chance
 *
 * The chances are worked out by listing every way of small texts; so are the N best.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/text/unigram_parts.h"
#include "tests/tap.h"

#define WAYS_MAX 2000
#define DRAWS	 40000

/* With é unknown, and as part of a piece. */
static const struct piece_spec pieces[] = {
	{ { "<unk>", 5 }, 0, 0 },	 { { "a", 1 }, 1, -1.2 },  { { "b", 1 }, 2, -0.9 },
	{ { "ab", 2 }, 3, -1.7 },	 { { "ba", 2 }, 4, -2.3 }, { { "aba", 3 }, 5, -2.1 },
	{ { "b\xc3\xa9", 3 }, 6, -8.5 }, { { "bb", 2 }, 7, -1.5 },
};
static const struct model_spec spec = {
	.kind = MODEL_UNIGRAM, .pieces = pieces, .n_pieces = 8, .unk = 0
};

static struct text_model *model;
static struct model_scratch *scratch;
static struct model_tokens tokens;

/* A way is the set of places where it is cut: bit I for the end of a piece at byte I. */
struct way {
	uint64_t cuts;
	double score;
	size_t drawn;
};
static struct way ways[WAYS_MAX];
static size_t n_ways;

/* Lists all ways that begin with CUTS up to AT; texts are short. */
static void list_ways(struct bytes text, size_t at, uint64_t cuts, double score)
{
	bool single = false;
	size_t width = (unsigned char)text.data[at] >= 0xc0 ? 2 : 1;

	if (at == text.size) {
		if (n_ways == WAYS_MAX)
			abort();
		ways[n_ways++] = (struct way){ cuts, score, 0 };
		return;
	}
	for (size_t i = 0; i < spec.n_pieces; i++) {
		size_t n = pieces[i].text.size;

		if (n > text.size - at || memcmp(pieces[i].text.data, text.data + at, n) != 0)
			continue;
		single |= n == width;
		list_ways(text, at + n, cuts | UINT64_C(1) << (at + n), score + pieces[i].score);
	}
	/* The lowest score is -8.5. */
	if (!single)
		list_ways(text, at + width, cuts | UINT64_C(1) << (at + width), score - 18.5);
}

static int by_score(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return x->score > y->score ? -1 : x->score < y->score;
}

static void list(const char *text)
{
	n_ways = 0;
	list_ways(bytes_of(text), 0, 0, 0);
	qsort(ways, n_ways, sizeof(*ways), by_score);
}

static uint64_t draw(const char *text, const struct model_sampling *how)
{
	uint64_t cuts = 0;

	tokens.n = 0;
	if (text_model_sample(model, scratch, bytes_of(text), how, &tokens) < 0) {
		tap_note("%s", err_text());
		return 0;
	}
	for (size_t i = 0; i < tokens.n; i++)
		cuts |= UINT64_C(1) << tokens.items[i].to;
	return cuts;
}

static void count(uint64_t cuts)
{
	for (size_t i = 0; i < n_ways; i++)
		ways[i].drawn += ways[i].cuts == cuts;
}

/* Each of the first N ways is drawn as often as its share says, and no other. */
static void check_shares(const char *text, double alpha, uint32_t n_best)
{
	struct model_sampling how = { .seed = 7, .alpha = alpha, .n_best = n_best };
	double sum = 0, worst = 0;
	size_t n, total = 0;

	list(text);
	n = n_best && n_best < n_ways ? n_best : n_ways;
	for (size_t i = 0; i < n; i++)
		sum += exp(alpha * ways[i].score);
	for (how.document = 0; how.document < DRAWS; how.document++)
		count(draw(text, &how));
	for (size_t i = 0; i < n; i++) {
		double share = exp(alpha * ways[i].score) / sum;
		double off = fabs((double)ways[i].drawn - DRAWS * share) /
			     sqrt(DRAWS * share * (1 - share) + 1);

		worst = off > worst ? off : worst;
		total += ways[i].drawn;
	}
	tap_is_u64(total, DRAWS, "%s, alpha %g, best %u: all draws are among the %zu ways", text,
		   alpha, n_best, n);
	tap_ok(worst < 5, "and their counts are within 5 deviations: %.2f", worst);
}

static void test_shares(void)
{
	check_shares("ababba", 1, 0);
	check_shares("ababba", 0.3, 0);
	check_shares("ab\xc3\xa9"
		     "bba",
		     0.2, 0);
	check_shares("ababba", 0.5, 4);
	check_shares("abab\xc3\xa9"
		     "ba",
		     0.1, 6);
	check_shares("ababba", 0.2, 1000);
}

/* With alpha near 0 all of the N best come up: they are the first in the list. */
static void test_best(void)
{
	const char *text = "ababbababba";
	struct model_sampling how = { .alpha = 1e-3 };
	size_t found = 0, others = 0, n = 30;

	list(text);
	while (ways[n - 1].score - ways[n].score < 1e-9)
		n--;
	how.n_best = (uint32_t)n;
	for (how.document = 0; how.document < 3000; how.document++)
		count(draw(text, &how));
	tap_ok(n_ways > 100 && n > 20, "%zu ways, of which there are %zu best", n_ways, n);
	for (size_t i = 0; i < n_ways; i++) {
		found += i < n && ways[i].drawn > 0;
		others += i >= n && ways[i].drawn > 0;
	}
	tap_is_u64(found, n, "all of the best are drawn");
	tap_is_u64(others, 0, "and no other");
}

static void test_keys(void)
{
	struct model_sampling how = { .seed = 1, .document = 2, .position = 3, .alpha = 0.1 };
	const char *text = "ababbababbababa";
	uint64_t first = draw(text, &how), best;
	size_t same[3] = { 0 };

	for (uint64_t i = 0; i < 20; i++) {
		struct model_sampling other[3] = { how, how, how };

		other[0].seed += i;
		other[1].document += i;
		other[2].position += i;
		for (size_t k = 0; k < 3; k++)
			same[k] += draw(text, &other[k]) == first;
	}
	for (size_t k = 0; k < 3; k++)
		tap_ok(same[k] >= 1 && same[k] < 10,
		       "key %zu: the same draw for the same key alone", k);

	tokens.n = 0;
	best = 0;
	text_model_encode(model, scratch, bytes_of(text), &tokens);
	for (size_t i = 0; i < tokens.n; i++)
		best |= UINT64_C(1) << tokens.items[i].to;
	how.alpha = 0;
	tap_is_u64(draw(text, &how), best, "alpha 0 is the best way");
	how.alpha = 0.1;
	how.n_best = 1;
	tap_is_u64(draw(text, &how), best, "the best of one too");
	how.alpha = NAN;
	tap_fails(text_model_sample(model, scratch, bytes_of(text), &how, &tokens), ERR_ARGUMENT,
		  "alpha", "an alpha that is no number");
	how.alpha = -1;
	tap_fails(text_model_sample(model, scratch, bytes_of(text), &how, &tokens), ERR_ARGUMENT,
		  "alpha", "an alpha below 0");
}

static void test_unknown(void)
{
	struct model_sampling how = { .alpha = 1 };
	struct model_spec without = spec;
	struct text_model *m;
	struct model_scratch *s;

	tokens.n = 0;
	tap_works(text_model_sample(model, scratch, bytes_of("xyxa"), &how, &tokens), "xyxa");
	tap_is_u64(tokens.n, 2, "unknown neighbours are one token");
	without.unk = TOKEN_NONE;
	if (text_model_new(&m, &without, false) < 0 || model_scratch_new(&s, m) < 0)
		abort();
	for (how.n_best = 0; how.n_best < 3; how.n_best += 2)
		tap_fails(text_model_sample(m, s, bytes_of("ax"), &how, &tokens), ERR_FORMAT,
			  "no unknown token", "no way without an unknown token");
	model_scratch_free(s);
	text_model_free(m);
}

/* Long texts: linear, and a limit where the best ways would not fit. */
static void test_long(void)
{
	struct model_sampling how = { .alpha = 0.5 };
	size_t size = 1000000;
	char *text = malloc(size);

	for (size_t i = 0; i < size; i++)
		text[i] = i * i % 7 < 3 ? 'a' : 'b';
	tokens.n = 0;
	tap_works(text_model_sample(model, scratch, (struct bytes){ text, size }, &how, &tokens),
		  "a million letters");
	tap_is_u64(tokens.items[tokens.n - 1].to, size, "to the end");
	how.n_best = 8;
	tokens.n = 0;
	tap_works(text_model_sample(model, scratch, (struct bytes){ text, 20000 }, &how, &tokens),
		  "the 8 best ways of 20,000 letters");
	tap_is_u64(tokens.items[tokens.n - 1].to, 20000, "to the end");
	how.n_best = 1000;
	tap_fails(text_model_sample(model, scratch, (struct bytes){ text, size }, &how, &tokens),
		  ERR_LIMIT, "too long", "1,000 best ways of a million letters");
	free(text);
}

int main(void)
{
	if (text_model_new(&model, &spec, false) < 0 || model_scratch_new(&scratch, model) < 0)
		abort();
	tap_run(test_shares);
	tap_run(test_best);
	tap_run(test_keys);
	tap_run(test_unknown);
	tap_run(test_long);
	model_scratch_free(scratch);
	text_model_free(model);
	free(tokens.items);
	return tap_done();
}
