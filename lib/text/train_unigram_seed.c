/*
 * lib/text/train_unigram_seed.c - the pieces to begin with: characters and frequent substrings
 *
 * The suffixes of all words are sorted by their first characters, no more than a piece can have and one; the
 * inner nodes of their tree, that is the substrings that go on in more than one way, are then the intervals of
 * common prefixes (Abouelhoda, Kurtz, Ohlebusch 2004). The end of a word is a character like any other here. A
 * substring's weight is occurrences times characters.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/text/train_unigram_parts.h"

#define FEW 12 /* suffixes that are sorted by insertion */

struct part {
	size_t from, to;
	uint32_t depth;
};

struct substring {
	uint64_t weight;
	uint32_t first;	 /* place of its first suffix */
	uint32_t length; /* characters */
};

/* An interval of suffixes with a common prefix, still open to the right. */
struct interval {
	uint32_t first, length;
};

struct seeding {
	uint32_t *text;	    /* code points of all words, 0 after each */
	const char **place; /* where each of them is in its word */
	size_t n;
	uint32_t *suffixes;
	size_t n_suffixes;
	uint32_t limit; /* characters of a piece */
	struct substring *found;
	size_t n_found, found_capacity;
};

/* --- flattening --- */

static int count_characters(const struct training *t, size_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_words; i++) {
		if (!size_add(n, t->words[i].text.size + 1, &n) || n >= UINT32_MAX)
			return err_set(ERR_LIMIT, "more than 4 GB of distinct words");
	}
	*out = n;
	return 0;
}

static int flatten(const struct training *t, struct seeding *s)
{
	size_t most = 0;

	if (count_characters(t, &most) < 0)
		return -1;
	s->text = mem_new(most, sizeof(*s->text));
	s->place = mem_new(most, sizeof(*s->place));
	s->suffixes = mem_new(most, sizeof(*s->suffixes));
	if (!s->text || !s->place || !s->suffixes)
		return -1;
	for (size_t i = 0; i < t->n_words; i++) {
		struct bytes w = t->words[i].text;
		size_t width;

		for (size_t at = 0; at < w.size; at += width) {
			width = utf8_decode(w.data + at, w.size - at, &s->text[s->n]);
			if (!width)
				return err_set(ERR_FORMAT,
					       "word " BYTES_FMT ": byte %zu is not UTF-8",
					       BYTES_ARG(w), at);
			s->suffixes[s->n_suffixes++] = (uint32_t)s->n;
			s->place[s->n++] = w.data + at;
		}
		s->place[s->n++] = w.data + w.size;
	}
	return 0;
}

/* --- sorting --- */

/* Character DEPTH of the suffix at AT. Suffixes that have ended do not come here. */
static uint32_t character(const struct seeding *s, uint32_t at, uint32_t depth)
{
	return s->text[at + depth];
}

/* The order of two suffixes that agree in their first DEPTH characters. */
static int compare(const struct seeding *s, uint32_t a, uint32_t b, uint32_t depth)
{
	for (; depth <= s->limit; depth++) {
		uint32_t x = character(s, a, depth), y = character(s, b, depth);

		if (x != y)
			return x < y ? -1 : 1;
		if (x == 0)
			return 0;
	}
	return 0;
}

static void insert_sort(struct seeding *s, const struct part *p)
{
	for (size_t i = p->from + 1; i < p->to; i++) {
		uint32_t one = s->suffixes[i];
		size_t at = i;

		for (; at > p->from && compare(s, one, s->suffixes[at - 1], p->depth) < 0; at--)
			s->suffixes[at] = s->suffixes[at - 1];
		s->suffixes[at] = one;
	}
}

static uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c)
{
	if (a > b)
		return b > c ? b : a < c ? a : c;
	return a > c ? a : b < c ? b : c;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t other = *a;

	*a = *b;
	*b = other;
}

/* Three parts by the character at P's depth: below a middle one, the same, above. (Bentley and Sedgewick 1997.) */
static void divide(struct seeding *s, const struct part *p, struct part parts[3])
{
	uint32_t *x = s->suffixes, d = p->depth;
	uint32_t pivot = middle_of(character(s, x[p->from], d),
				   character(s, x[p->from + (p->to - p->from) / 2], d),
				   character(s, x[p->to - 1], d));
	size_t low = p->from, at = p->from, high = p->to;

	while (at < high) {
		uint32_t c = character(s, x[at], d);

		if (c < pivot)
			swap(&x[low++], &x[at++]);
		else if (c > pivot)
			swap(&x[at], &x[--high]);
		else
			at++;
	}
	parts[0] = (struct part){ p->from, low, d };
	parts[1] = (struct part){ low, high, pivot == 0 ? s->limit + 1 : d + 1 };
	parts[2] = (struct part){ high, p->to, d };
}

static int sort_suffixes(struct seeding *s)
{
	struct part *stack = NULL, parts[3];
	size_t n = 0, capacity = 0;

	if (mem_grow(&stack, &capacity, 1, sizeof(*stack)) < 0)
		return -1;
	stack[n++] = (struct part){ 0, s->n_suffixes, 0 };
	while (n) {
		struct part p = stack[--n];

		if (p.to - p.from < 2 || p.depth > s->limit)
			continue;
		if (p.to - p.from <= FEW) {
			insert_sort(s, &p);
			continue;
		}
		divide(s, &p, parts);
		if (mem_grow(&stack, &capacity, n + 3, sizeof(*stack)) < 0) {
			free(stack);
			return -1;
		}
		for (int i = 0; i < 3; i++)
			stack[n++] = parts[i];
	}
	free(stack);
	return 0;
}

/* --- substrings --- */

/* Characters that two suffixes have in common, the end of the word among them; limit + 1 at most. */
static uint32_t common(const struct seeding *s, uint32_t a, uint32_t b)
{
	uint32_t n = 0;

	while (n <= s->limit && character(s, a, n) == character(s, b, n)) {
		if (character(s, a, n++) == 0)
			break;
	}
	return n;
}

/* Whether a piece can be LENGTH characters from AT: two or more, within the word. */
static bool can_be_piece(const struct seeding *s, uint32_t at, uint32_t length)
{
	return length >= 2 && length <= s->limit && s->text[at + length - 1] != 0;
}

static int close_interval(struct seeding *s, const struct interval *v, size_t end)
{
	if (!can_be_piece(s, s->suffixes[v->first], v->length))
		return 0;
	if (mem_grow(&s->found, &s->found_capacity, s->n_found + 1, sizeof(*s->found)) < 0)
		return -1;
	s->found[s->n_found++] =
		(struct substring){ (uint64_t)(end - v->first) * v->length, v->first, v->length };
	return 0;
}

static int find_substrings(struct seeding *s)
{
	struct interval open[70] = { { 0, 0 } }; /* lengths grow strictly, to limit + 1 */
	size_t n = 1;

	for (size_t i = 1; i <= s->n_suffixes; i++) {
		uint32_t first = (uint32_t)(i - 1), length = 0;

		if (i < s->n_suffixes)
			length = common(s, s->suffixes[i - 1], s->suffixes[i]);
		while (n && open[n - 1].length > length) {
			first = open[--n].first;
			if (close_interval(s, &open[n], i) < 0)
				return -1;
		}
		if (n == 0 || open[n - 1].length < length)
			open[n++] = (struct interval){ first, length };
	}
	return 0;
}

/* By falling weight; of equal weights the later text first. */
static int by_weight(const void *a, const void *b)
{
	const struct substring *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->first != y->first)
		return x->first > y->first ? -1 : 1;
	return x->length > y->length ? -1 : x->length < y->length;
}

/* --- the seed --- */

static int add_piece(struct training *t, const char *text, const char *end, double weight)
{
	struct train_pieces *p = &t->pieces;

	if (mem_grow(&p->items, &p->capacity, p->n + 1, sizeof(*p->items)) < 0)
		return -1;
	p->items[p->n++] = (struct train_piece){ text, (uint32_t)(end - text), weight };
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct train_piece *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return -bytes_compare((struct bytes){ x->text, x->size },
			      (struct bytes){ y->text, y->size });
}

/* The place in `suffixes` of the first suffix after FIRST that begins with another character. */
static size_t same_character(const struct seeding *s, size_t first)
{
	size_t i = first;

	while (i < s->n_suffixes && s->text[s->suffixes[i]] == s->text[s->suffixes[first]])
		i++;
	return i;
}

/* The count of the word that each character belongs to, by its place in the text. */
static double *word_counts(const struct training *t, const struct seeding *s)
{
	double *counts = mem_new(s->n, sizeof(*counts));
	size_t word = 0;

	for (size_t i = 0; counts && i < s->n; i++) {
		counts[i] = (double)t->words[word].count;
		word += s->text[i] == 0 &&
			s->place[i] == t->words[word].text.data + t->words[word].text.size;
	}
	return counts;
}

static int add_characters(struct training *t, const struct seeding *s)
{
	double *counts = word_counts(t, s);
	size_t n = 0, end;

	if (!counts)
		return -1;
	for (size_t i = 0; i < s->n_suffixes; i = same_character(s, i))
		n++;
	t->characters = mem_new(n, sizeof(*t->characters));
	for (size_t i = 0; t->characters && i < s->n_suffixes; i = end) {
		uint32_t at = s->suffixes[i];
		struct train_piece *c = &t->characters[t->n_characters++];

		end = same_character(s, i);
		*c = (struct train_piece){ s->place[at],
					   (uint32_t)(s->place[at + 1] - s->place[at]), 0 };
		for (size_t k = i; k < end; k++)
			c->score += counts[s->suffixes[k]];
	}
	free(counts);
	if (!t->characters)
		return -1;
	if (n)
		qsort(t->characters, n, sizeof(*t->characters), by_count);
	return 0;
}

static int fill_seed(struct training *t, struct seeding *s)
{
	double sum = 0;

	if (add_piece(t, t->options.unknown.data, t->options.unknown.data + t->options.unknown.size,
		      0) < 0)
		return -1;
	for (size_t i = 0; i < t->n_characters; i++) {
		const struct train_piece *c = &t->characters[i];

		if (add_piece(t, c->text, c->text + c->size, c->score) < 0)
			return -1;
	}
	if (s->n_found)
		qsort(s->found, s->n_found, sizeof(*s->found), by_weight);
	for (size_t i = 0; i < s->n_found && t->pieces.n <= t->options.seed_size; i++) {
		uint32_t at = s->suffixes[s->found[i].first];

		if (add_piece(t, s->place[at], s->place[at + s->found[i].length],
			      (double)s->found[i].weight) < 0)
			return -1;
	}
	for (size_t i = 1; i < t->pieces.n; i++)
		sum += t->pieces.items[i].score;
	for (size_t i = 1; i < t->pieces.n; i++)
		t->pieces.items[i].score = log(t->pieces.items[i].score) - log(sum);
	return 0;
}

int train_unigram_seed(struct training *t)
{
	struct seeding s = { .limit = t->options.max_piece };
	int result = -1;

	if (flatten(t, &s) < 0 || sort_suffixes(&s) < 0 || add_characters(t, &s) < 0 ||
	    find_substrings(&s) < 0)
		goto end;
	result = fill_seed(t, &s);
end:
	free(s.text);
	free(s.place);
	free(s.suffixes);
	free(s.found);
	return result;
}
