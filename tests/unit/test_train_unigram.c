/*
 * tests/unit/test_train_unigram.c - a Unigram vocabulary from counted words
 *
 * fixtures/golden/unigram/train.tsv has what `tokenizers` 0.23.3 trains, by lines with tabs between the fields and texts
 * in hexadecimal:
 *	train SIZE
 *	word COUNT TEXT
 *	piece SCORE TEXT
 */
#include "lib/text/train_unigram.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "tests/tap.h"

#define MOST 8000

struct lesson {
	uint32_t size;
	struct train_word words[MOST];
	size_t n_words;
	struct piece_spec pieces[MOST];
	size_t n_pieces;
};

static struct arena *arena;
static struct lesson lesson;

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct bytes unhex(const char *hex)
{
	size_t n = strlen(hex) / 2;
	char *out = arena_alloc(arena, n + 1, 1);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return (struct bytes){ out, n };
}

static int train(const struct lesson *l, struct team *team, struct piece_spec **pieces, size_t *n)
{
	struct train_unigram_options options = { .vocab_size = l->size,
						 .unknown = { "<unk>", 5 },
						 .team = team };

	return train_unigram(pieces, n, arena, l->words, l->n_words, &options);
}

static const struct piece_spec *find(const struct piece_spec *pieces, size_t n, struct bytes text)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes_equal(pieces[i].text, text))
			return &pieces[i];
	}
	return NULL;
}

static bool are_equal(const struct piece_spec *a, const struct piece_spec *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!bytes_equal(a[i].text, b[i].text) || a[i].score != b[i].score ||
		    a[i].id != i || b[i].id != i)
			return false;
	}
	return true;
}

/* The lesson's result against the peer's; and in another order, and by three threads. */
static void check_lesson(void)
{
	struct piece_spec *pieces = NULL, *again = NULL;
	struct team *team = NULL;
	size_t n = 0, m = 0, missing = 0;
	double worst = 0;

	tap_works(train(&lesson, NULL, &pieces, &n), "%zu words", lesson.n_words);
	tap_is_u64(n, lesson.n_pieces, "as many pieces as the peer has");
	for (size_t i = 0; i < lesson.n_pieces; i++) {
		const struct piece_spec *p = find(pieces, n, lesson.pieces[i].text);

		missing += p == NULL;
		if (p)
			worst = fmax(worst, fabs(p->score - lesson.pieces[i].score));
	}
	tap_is_u64(missing, 0, "the same ones");
	tap_ok(worst < 1e-6, "scores differ by %g at most", worst);

	for (size_t i = 0; i < lesson.n_words / 2; i++) {
		struct train_word other = lesson.words[i];

		lesson.words[i] = lesson.words[lesson.n_words - 1 - i];
		lesson.words[lesson.n_words - 1 - i] = other;
	}
	tap_works(team_new(&team, 3), "three threads");
	tap_works(train(&lesson, team, &again, &m), "train");
	tap_ok(n == m && are_equal(pieces, again, n), "and the words backwards: the same bits");
	team_free(team);
}

static void take_line(char *line)
{
	char *one = strchr(line, '\t'), *two = one ? strchr(one + 1, '\t') : NULL;

	if (!one)
		abort();
	*one++ = '\0';
	if (two)
		*two++ = '\0';
	if (!strcmp(line, "train")) {
		if (lesson.n_words)
			check_lesson();
		lesson.size = (uint32_t)strtoul(one, NULL, 10);
		lesson.n_words = lesson.n_pieces = 0;
	} else if (!strcmp(line, "word") && two && lesson.n_words < MOST) {
		lesson.words[lesson.n_words++] =
			(struct train_word){ unhex(two), strtoull(one, NULL, 10) };
	} else if (!strcmp(line, "piece") && two && lesson.n_pieces < MOST) {
		lesson.pieces[lesson.n_pieces++] =
			(struct piece_spec){ .text = unhex(two), .score = strtod(one, NULL) };
	} else {
		abort();
	}
}

static void test_golden(void)
{
	size_t size;
	char *data = tap_fixture("fixtures/golden/unigram/train.tsv", &size), *end;

	for (char *line = data; line < data + size; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			abort();
		*end = '\0';
		take_line(line);
	}
	check_lesson();
	free(data);
}

static void test_options(void)
{
	struct train_word words[] = { { { "abc", 3 }, 1 }, { { "abd", 3 }, 2 } };
	struct train_unigram_options o = { .vocab_size = 4, .unknown = { "<unk>", 5 } };
	struct piece_spec *pieces;
	size_t n;

	tap_fails(train_unigram(&pieces, &n, arena, words, 2, &o), ERR_ARGUMENT, "at least 5",
		  "four characters do not fit");
	o.vocab_size = 5;
	tap_works(train_unigram(&pieces, &n, arena, words, 2, &o), "five pieces do");
	tap_is_u64(n, 5, "all of them");
	o.vocab_size = 1000;
	tap_works(train_unigram(&pieces, &n, arena, words, 2, &o), "more than there are");
	tap_is_u64(n, 6, "the characters and ab");
	tap_ok(find(pieces, n, bytes_of("ab")) != NULL, "ab is one");
	o.max_piece = 65;
	tap_fails(train_unigram(&pieces, &n, arena, words, 2, &o), ERR_ARGUMENT, "at most 64",
		  "long pieces");
	o.max_piece = 1;
	tap_works(train_unigram(&pieces, &n, arena, words, 2, &o), "pieces of one character");
	tap_is_u64(n, 5, "no ab");
	o.shrinking_factor = 1;
	tap_fails(train_unigram(&pieces, &n, arena, words, 2, &o), ERR_ARGUMENT, "factor",
		  "a factor that shrinks nothing");
	o.shrinking_factor = 0;
	words[1].text = bytes_of("a\xff");
	tap_fails(train_unigram(&pieces, &n, arena, words, 2, &o), ERR_FORMAT, "not UTF-8",
		  "bytes that are not UTF-8");
	tap_works(train_unigram(&pieces, &n, arena, words, 0, &o), "no words");
	tap_is_u64(n, 1, "the unknown piece alone");
}

/* Counts past 32 bits, NUL, the unknown piece's own text, and a word of a million bytes. */
static void test_words(void)
{
	char *text = malloc(1000000);
	struct train_word words[] = { { { "the", 3 }, UINT64_C(5000000000) },
				      { { "they", 4 }, UINT64_C(1000000) },
				      { { "a\0b", 3 }, 5 },
				      { { "<unk>", 5 }, 7 },
				      { { "<unk>s", 6 }, 7 },
				      { { NULL, 1000000 }, 1 } };
	struct train_unigram_options o = { .vocab_size = 60, .unknown = { "<unk>", 5 } };
	struct piece_spec *pieces;
	size_t n, unknown = 0;

	memset(text, 'z', 1000000);
	words[5].text.data = text;
	tap_works(train_unigram(&pieces, &n, arena, words, 6, &o), "train");
	/* Seeds count a word once, so its characters, which have counts, win here: y is 1e6 of 15e9. */
	tap_ok(fabs(find(pieces, n, bytes_of("y"))->score - log(1e6 / 15e9)) < 0.01,
	       "counts are not cut to 32 bits");
	tap_ok(find(pieces, n, (struct bytes){ "\0", 1 }) != NULL, "NUL is a character");
	tap_ok(find(pieces, n, bytes_of("zzzzzzzzzzzzzzzz")) != NULL, "a long word gives pieces");
	for (size_t i = 0; i < n; i++)
		unknown += bytes_are(pieces[i].text, "<unk>");
	tap_is_u64(unknown, 1, "the unknown piece is there once");
	free(text);
}

int main(void)
{
	if (arena_new(&arena) < 0)
		abort();
	tap_run(test_golden);
	tap_run(test_options);
	tap_run(test_words);
	arena_free(arena);
	return tap_done();
}
