/*
 * lib/text/train_model_unigram.c - Unigram: which characters, which words, and the special tokens before the pieces
 *
 * Words are cut where they have a character that is left out, so that no piece holds one.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/text/train_model_parts.h"
#include "lib/text/train_unigram.h"
#include "lib/text/train_words.h"

#define CODE_POINTS 0x110000u
/* What train_unigram takes a byte of words and a word, at most as it was measured. */
#define BYTE_MEMORY 44u
#define WORD_MEMORY 160u

struct character {
	uint32_t code_point;
	uint64_t count;
};

struct job {
	struct train_spec *spec;
	const struct train_model_options *options;
	struct train_model_report *report;
	struct train_words *cuts;
	uint64_t *counts; /* of each code point; 0 of those that are left out */
	size_t n_characters;
	struct word_counts *parts; /* words after cutting */
	struct arena *texts;
	struct train_word *words;
	size_t n_words, capacity;
	size_t n_bytes;
};

/* --- characters --- */

static int count_characters(struct job *j, struct bytes word, uint64_t count)
{
	for (size_t at = 0; at < word.size;) {
		uint32_t c;
		size_t size = utf8_decode(word.data + at, word.size - at, &c);

		if (!size)
			return err_set(ERR_FORMAT, "word " BYTES_FMT " is not UTF-8",
				       BYTES_ARG(word));
		if (__builtin_add_overflow(j->counts[c], count, &j->counts[c]))
			return err_set(ERR_LIMIT, "more than 2^64 - 1 occurrences of a character");
		at += size;
	}
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct character *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->code_point < y->code_point ? -1 : 1;
}

/* Leaves out the rarest: what comes after the share that is asked for. Floats, as in SentencePiece. */
static int choose(struct job *j)
{
	struct character *all = mem_new(j->n_characters, sizeof(*all));
	float share = (float)j->options->character_coverage;
	uint64_t total = 0, seen = 0;
	size_t n = 0, kept = 0;

	if (!all)
		return -1;
	for (uint32_t c = 0; c < CODE_POINTS; c++) {
		if (j->counts[c])
			all[n++] = (struct character){ c, j->counts[c] };
		total += j->counts[c];
	}
	qsort(all, n, sizeof(*all), by_count);
	for (; kept < n && (float)((double)seen / (double)total) < share; kept++)
		seen += all[kept].count;
	for (size_t i = kept; i < n; i++) {
		j->report->left_out += all[i].count;
		j->counts[all[i].code_point] = 0;
	}
	j->n_characters = kept;
	free(all);
	return 0;
}

static int find_characters(struct job *j, struct word_counts *counts)
{
	struct bytes word;
	uint64_t count;
	int got;

	j->counts = mem_new(CODE_POINTS, sizeof(*j->counts));
	if (!j->counts || word_counts_begin(counts) < 0)
		return -1;
	while ((got = word_counts_next(counts, &word, &count)) > 0) {
		if (count_characters(j, word, count) < 0)
			return -1;
		j->report->words++;
	}
	for (uint32_t c = 0; c < CODE_POINTS; c++)
		j->n_characters += j->counts[c] > 0;
	if (got < 0)
		return -1;
	return j->options->character_coverage > 0 && j->n_characters ? choose(j) : 0;
}

/* --- words --- */

/* Bytes of WORD's beginning whose characters are all kept, or all left out. */
static size_t run_of(const struct job *j, struct bytes word, bool kept)
{
	size_t at = 0;

	while (at < word.size) {
		uint32_t c;
		size_t size = utf8_decode(word.data + at, word.size - at, &c);

		if (!size || (j->counts[c] > 0) != kept)
			break;
		at += size;
	}
	return at;
}

static struct bytes behind(struct bytes b, size_t n)
{
	return (struct bytes){ b.data + n, b.size - n };
}

static int add_kept(struct job *j, struct bytes part, uint64_t count)
{
	while (part.size) {
		size_t n = run_of(j, part, true);

		if (n && word_counts_add(j->parts, 0, (struct bytes){ part.data, n }, count) < 0)
			return -1;
		part = behind(part, n);
		part = behind(part, run_of(j, part, false));
	}
	return 0;
}

static int cut_words(struct job *j, struct word_counts *counts)
{
	struct bytes word;
	uint64_t count;
	size_t size;
	int got;

	if (word_counts_begin(counts) < 0)
		return -1;
	while ((got = word_counts_next(counts, &word, &count)) > 0) {
		for (; word.size; word = behind(word, size)) {
			if (train_words_part(j->cuts, word, &size) < 0 ||
			    add_kept(j, (struct bytes){ word.data, size }, count) < 0)
				return -1;
		}
	}
	return got;
}

/*
 * Characters of special tokens that are no pieces become some, by a word of their own, so that a special token's text can be
 * spelled and is not the better way.
 */
static int add_special_characters(struct job *j)
{
	for (size_t i = 0; i < j->spec->n_first; i++) {
		struct bytes text = j->spec->first[i];
		uint32_t c;
		size_t size;

		for (; text.size; text = behind(text, size)) {
			size = utf8_decode(text.data, text.size, &c);
			if (j->counts[c])
				continue;
			j->counts[c] = 1;
			j->n_characters++;
			if (word_counts_add(j->parts, 0, (struct bytes){ text.data, size }, 1) < 0)
				return -1;
		}
	}
	return 0;
}

static int check_size(const struct job *j)
{
	size_t least = j->spec->n_first + j->n_characters;

	if (j->options->vocab_size >= least)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "a vocabulary of %u pieces: %zu characters and %zu special tokens and bytes "
		       "need at least %zu",
		       j->options->vocab_size, j->n_characters, j->spec->n_first, least);
}

static int check_memory(const struct job *j)
{
	uint64_t needed = (uint64_t)j->n_bytes * BYTE_MEMORY + (uint64_t)j->n_words * WORD_MEMORY;
	char need[NUMBER_TEXT], most[NUMBER_TEXT];

	if (!j->options->memory || needed <= j->options->memory)
		return 0;
	return err_set(ERR_LIMIT, "the words need about %s of memory, more than the %s allowed",
		       number_bytes(needed, need), number_bytes(j->options->memory, most));
}

/* All of them are looked at before any is held, so that what is needed can be told. */
static int measure_words(struct job *j)
{
	struct bytes word;
	uint64_t count;
	int got;

	if (word_counts_begin(j->parts) < 0)
		return -1;
	while ((got = word_counts_next(j->parts, &word, &count)) > 0) {
		j->n_bytes += word.size;
		j->n_words++;
	}
	return got < 0 ? -1 : check_memory(j);
}

static int gather_words(struct job *j)
{
	struct bytes word;
	uint64_t count;
	int got;

	if (measure_words(j) < 0 || word_counts_begin(j->parts) < 0)
		return -1;
	j->n_words = 0;
	while ((got = word_counts_next(j->parts, &word, &count)) > 0) {
		char *copy = arena_copy(j->texts, word);

		if (!copy ||
		    mem_grow(&j->words, &j->capacity, j->n_words + 1, sizeof(*j->words)) < 0)
			return -1;
		j->words[j->n_words++] = (struct train_word){ { copy, word.size }, count };
	}
	return got;
}

/* --- the result --- */

/*
 * Special tokens and bytes are so unlikely that the characters of their texts are always the better way: only the tokenizer
 * itself makes them.
 */
static double unlikely(const struct train_spec *t, const struct piece_spec *pieces, size_t n)
{
	double lowest = 0;
	size_t longest = 0;

	for (size_t i = 0; i < n; i++)
		lowest = fmin(lowest, pieces[i].score);
	for (size_t i = 0; i < t->n_first; i++)
		if (t->first[i].size > longest)
			longest = t->first[i].size;
	return floor((lowest - 1) * (double)(longest + 1));
}

/*
 * A multiple of 1/4096: 15 decimal digits say it, f32 holds it, and sums of such are exact, so that all programs, however
 * they read numbers and whatever they add up in, find the same of two ways equally good.
 */
static double rounded(double score)
{
	return round(score * 4096) / 4096;
}

/* Piece 0, the unknown one, stands among the special tokens. */
static int put_pieces(struct train_spec *t, struct arena *arena, const struct piece_spec *pieces,
		      size_t n)
{
	size_t n_all = t->n_first + n - 1;
	struct piece_spec *all = arena_alloc(arena, n_all, sizeof(*all));
	double score = unlikely(t, pieces, n);

	if (!all)
		return -1;
	for (size_t i = 0; i < t->n_first; i++)
		all[i] = (struct piece_spec){ .text = t->first[i], .score = score };
	memcpy(all + t->n_first, pieces + 1, (n - 1) * sizeof(*all));
	for (size_t i = 0; i < n_all; i++) {
		all[i].id = (uint32_t)i;
		all[i].score = rounded(all[i].score);
	}
	t->spec.model.pieces = all;
	t->spec.model.n_pieces = n_all;
	return 0;
}

static int train(struct job *j, struct arena *arena)
{
	const struct train_model_options *o = j->options;
	struct train_unigram_options options = {
		.vocab_size = o->vocab_size - (uint32_t)j->spec->n_first + 1,
		.unknown = j->spec->spec.model.unk_text,
		.beside = (uint32_t)j->spec->n_first - 1,
		.max_piece = o->max_piece,
		.seed_size = o->seed_size,
		.shrinking_factor = o->shrinking_factor,
		.iterations = o->iterations,
		.progress = j->options->progress,
		.team = o->team,
	};
	struct piece_spec *pieces;
	size_t n;

	if (train_unigram(&pieces, &n, arena, j->words, j->n_words, &options) < 0)
		return -1;
	return put_pieces(j->spec, arena, pieces, n);
}

static int begin(struct job *j)
{
	struct word_counts_options o = { .parts = 1, .memory = j->options->memory };

	if (!o.memory)
		o.memory = (uint64_t)1 << 40;
	return train_words_new(&j->cuts, j->spec->first, j->spec->n_first, false) < 0 ||
			       word_counts_new(&j->parts, &o) < 0 || arena_new(&j->texts) < 0
		       ? -1
		       : 0;
}

int train_model_unigram(struct train_spec *t, struct arena *arena, struct word_counts *counts,
			const struct train_model_options *o, struct train_model_report *report)
{
	struct job j = { .spec = t, .options = o, .report = report };
	int result = -1;

	if (begin(&j) < 0 || find_characters(&j, counts) < 0 || cut_words(&j, counts) < 0 ||
	    add_special_characters(&j) < 0 || check_size(&j) < 0 || gather_words(&j) < 0)
		goto end;
	result = train(&j, arena);
end:
	train_words_free(j.cuts);
	word_counts_free(j.parts);
	arena_free(j.texts);
	free(j.words);
	free(j.counts);
	return result;
}
