/* lib/text/train_unigram.c - a Unigram vocabulary from counted words: the loop, and what comes out */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_unigram_parts.h"

#define WORD_MAX   4096u  /* bytes; longer words are several */
#define SPARE	   1.1	  /* times vocab_size, where pruning ends */
#define PENALTY	   0.0001 /* between characters that were pruned, in score */
#define PIECE_MAX  64
#define ROUNDS_MAX 1000

static int check_options(struct train_unigram_options *o)
{
	o->max_piece = o->max_piece ? o->max_piece : 16;
	o->seed_size = o->seed_size ? o->seed_size : 1000000;
	o->iterations = o->iterations ? o->iterations : 2;
	if (o->shrinking_factor == 0)
		o->shrinking_factor = 0.75;
	if (o->max_piece > PIECE_MAX)
		return err_set(ERR_ARGUMENT, "pieces of %u characters: at most %d", o->max_piece,
			       PIECE_MAX);
	if (!(o->shrinking_factor > 0 && o->shrinking_factor < 1))
		return err_set(ERR_ARGUMENT, "shrinking factor %g is not between 0 and 1",
			       o->shrinking_factor);
	if (o->seed_size > TRIE_VALUE_MAX || o->vocab_size > TRIE_VALUE_MAX / 2)
		return err_set(ERR_ARGUMENT, "a vocabulary of more than %u pieces",
			       TRIE_VALUE_MAX / 2);
	return 0;
}

/* Bytes of TEXT's beginning that are one word: all, or whole characters up to the limit. */
static size_t word_size(struct bytes text)
{
	size_t n = WORD_MAX;

	if (text.size <= n)
		return text.size;
	while (n > WORD_MAX - 4 && ((unsigned char)text.data[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static int by_text(const void *a, const void *b)
{
	return bytes_compare(((const struct train_word *)a)->text,
			     ((const struct train_word *)b)->text);
}

static int take_words(struct training *t, const struct train_word *words, size_t n)
{
	size_t capacity = 0, size;

	for (size_t i = 0; i < n; i++) {
		struct bytes left = words[i].text;

		for (; left.size; left = (struct bytes){ left.data + size, left.size - size }) {
			size = word_size(left);
			if (mem_grow(&t->words, &capacity, t->n_words + 1, sizeof(*t->words)) < 0)
				return -1;
			t->words[t->n_words++] =
				(struct train_word){ { left.data, size }, words[i].count };
		}
	}
	if (t->n_words)
		qsort(t->words, t->n_words, sizeof(*t->words), by_text);
	return 0;
}

/* --- the result --- */

/* Whether a text is one of the result's already: by a trie of the characters. */
static bool is_character(struct bytes text)
{
	size_t n = 1;

	while (n < text.size && ((unsigned char)text.data[n] & 0xc0) == 0x80)
		n++;
	return n == text.size;
}

static double score_of(const struct training *t, const struct train_piece *c)
{
	uint32_t node = t->trie.root, value = TRIE_NONE;

	for (uint32_t i = 0; i < c->size; i++) {
		if (!trie_step(&t->trie, &node, (unsigned char)c->text[i], &value))
			return NAN;
	}
	return value == TRIE_NONE ? NAN : t->pieces.items[value].score;
}

static void put(struct piece_spec *out, size_t *n, const struct train_piece *p, double score)
{
	out[*n] = (struct piece_spec){ .text = { p->text, p->size }, .score = score };
	++*n;
}

/* Every character, with the lowest score and a little more where it was dropped on the way. */
static void put_characters(const struct training *t, struct piece_spec *out, size_t *n)
{
	double lowest = 0, penalty = 0;

	for (size_t i = 1; i < t->pieces.n; i++) {
		if (t->pieces.items[i].score < lowest)
			lowest = t->pieces.items[i].score;
	}
	for (size_t i = 0; i < t->n_characters; i++) {
		const struct train_piece *c = &t->characters[i];
		double score = score_of(t, c);

		if (bytes_equal((struct bytes){ c->text, c->size }, t->options.unknown))
			continue;
		if (isnan(score)) {
			score = lowest + penalty;
			penalty += PENALTY;
		}
		put(out, n, c, score);
	}
}

static int by_score(const void *a, const void *b)
{
	const struct piece_spec *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return bytes_compare(x->text, y->text);
}

/* The words need not outlive the result. */
static int copy_texts(struct piece_spec *out, size_t n, struct arena *arena)
{
	for (size_t i = 0; i < n; i++) {
		out[i].text.data = arena_copy(arena, out[i].text);
		if (!out[i].text.data)
			return -1;
		out[i].id = (uint32_t)i;
	}
	return 0;
}

static int finish(const struct training *t, struct piece_spec **pieces, size_t *n,
		  struct arena *arena)
{
	struct piece_spec *out = arena_alloc(arena, t->options.vocab_size, sizeof(*out));

	if (!out)
		return -1;
	*n = 0;
	put(out, n, &t->pieces.items[0], 0);
	put_characters(t, out, n);
	for (size_t i = 1; i < t->pieces.n && *n < t->options.vocab_size; i++) {
		const struct train_piece *p = &t->pieces.items[i];
		struct bytes text = { p->text, p->size };

		if (!is_character(text) && !bytes_equal(text, t->options.unknown))
			put(out, n, p, p->score);
	}
	qsort(out + 1, *n - 1, sizeof(*out), by_score);
	*pieces = out;
	return copy_texts(out, *n, arena);
}

/* --- the loop --- */

static int train(struct training *t)
{
	size_t enough = (size_t)(((double)t->options.vocab_size + t->options.beside) * SPARE);
	size_t before;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		for (uint32_t i = 0; i < t->options.iterations; i++) {
			if (train_unigram_step(t) < 0)
				return -1;
			progress_add(t->options.progress, 1);
		}
		before = t->pieces.n;
		if (before <= enough)
			break;
		if (train_unigram_prune(t, enough) < 0)
			return -1;
		progress_add(t->options.progress, 1);
		if (t->pieces.n == before)
			break;
	}
	return 0;
}

static int begin(struct training *t, const struct train_word *words, size_t n_words)
{
	if (check_options(&t->options) < 0 || take_words(t, words, n_words) < 0 ||
	    train_unigram_seed(t) < 0)
		return -1;
	if (t->options.vocab_size < t->n_characters + 1)
		return err_set(ERR_ARGUMENT,
			       "a vocabulary of %u pieces: the words have %zu characters, which "
			       "needs at least %zu",
			       t->options.vocab_size, t->n_characters, t->n_characters + 1);
	return train_unigram_prepare(t);
}

static void clear(struct training *t)
{
	for (int i = 0; i < TRAIN_SHARES; i++) {
		free(t->scratch[i].edges);
		free(t->scratch[i].ahead);
		free(t->scratch[i].behind);
		free(t->scratch[i].via);
		free(t->scratch[i].sums);
	}
	trie_clear(&t->trie);
	free(t->pieces.items);
	free(t->chances);
	free(t->characters);
	free(t->words);
	free(t);
}

int train_unigram(struct piece_spec **pieces, size_t *n, struct arena *arena,
		  const struct train_word *words, size_t n_words,
		  const struct train_unigram_options *options)
{
	struct training *t = mem_new(1, sizeof(*t));
	int result = -1;

	if (!t)
		return -1;
	t->options = *options;
	if (begin(t, words, n_words) == 0 && train(t) == 0)
		result = finish(t, pieces, n, arena);
	clear(t);
	return result;
}
