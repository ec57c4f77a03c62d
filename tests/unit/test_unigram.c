/*
 * tests/unit/test_unigram.c - the Unigram model
 *
 * What it says of small models is held against `tokenizers` 0.23.3 in fixtures/golden/unigram; byte-level models
 * against the same peer by hand (the lines say what it gave).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/text/unigram_parts.h"
#include "tests/model_golden.h"
#include "tests/tap.h"

struct loaded {
	struct text_model *model;
	struct model_scratch *scratch;
	struct model_tokens tokens;
};

static struct model_spec spec_of(const struct piece_spec *pieces, size_t n, uint32_t unk)
{
	return (struct model_spec){
		.kind = MODEL_UNIGRAM, .pieces = pieces, .n_pieces = n, .unk = unk
	};
}

static void load(struct loaded *l, const struct model_spec *spec, bool byte_level)
{
	*l = (struct loaded){ 0 };
	if (text_model_new(&l->model, spec, byte_level) < 0 ||
	    model_scratch_new(&l->scratch, l->model) < 0) {
		tap_note("%s", err_text());
		abort();
	}
}

static void unload(struct loaded *l)
{
	model_scratch_free(l->scratch);
	text_model_free(l->model);
	free(l->tokens.items);
}

/* `ID:FROM:TO ...` of TEXT. */
static const char *encoded(struct loaded *l, struct bytes text)
{
	static char line[4096];
	size_t at = 0;

	l->tokens.n = 0;
	line[0] = '\0';
	if (text_model_encode(l->model, l->scratch, text, &l->tokens) < 0)
		return err_text();
	for (size_t i = 0; i < l->tokens.n && at < sizeof(line) - 40; i++) {
		const struct model_token *t = &l->tokens.items[i];

		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%u:%u:%u", i ? " " : "",
				       t->id, t->from, t->to);
	}
	return line;
}

static void test_golden(void)
{
	size_t n = model_golden_check("fixtures/golden/unigram/unigram.tsv", 0);

	tap_is_u64(n, 672, "all texts were looked at");
}

/* An unknown character costs ten less than the lowest score: y and a for -10 + 9.5, or ya for 0. */
static void test_penalty(void)
{
	struct piece_spec pieces[] = { { { "<unk>", 5 }, 0, 0 },
				       { { "a", 1 }, 1, 9.5 },
				       { { "ya", 2 }, 2, 0 } };
	struct model_spec spec = spec_of(pieces, 3, 0);
	struct loaded l;

	load(&l, &spec, false);
	tap_is_text(encoded(&l, bytes_of("ya")), "2:0:2", "-0.5 is less than 0");
	unload(&l);
	pieces[1].score = 10.5;
	load(&l, &spec, false);
	tap_is_text(encoded(&l, bytes_of("ya")), "0:0:1 1:1:2", "0.5 is more");
	unload(&l);
}

/* The peer's ByteLevel() before Unigram: "é" is two characters there, "Ã" and "©"; " " is "Ġ". */
static void test_byte_level(void)
{
	struct piece_spec pieces[] = {
		{ { "<unk>", 5 }, 0, 0 },
		{ { "a", 1 }, 1, -1 },
		{ { "\xc3\x83\xc2\xa9", 4 }, 2, -2 },
		{ { "\xc4\xa0"
		    "a",
		    3 },
		  3,
		  -1.5 },
		{ { "<0xC4>", 6 }, 4, -9 },
		{ { "<0xA0>", 6 }, 5, -9 },
		{ { "\xe2\x96\x81", 3 }, 6, -1 },
	};
	struct model_spec spec = spec_of(pieces, 7, 0);
	struct loaded l;

	spec.byte_fallback = true;
	load(&l, &spec, true);
	tap_is_text(encoded(&l, bytes_of("a\xc3\xa9 a")), "1:0:1 2:1:3 3:3:5", "pieces of bytes");
	tap_is_text(encoded(&l, bytes_of("a a  a")), "1:0:1 3:1:3 4:3:4 5:3:4 3:4:6",
		    "a space that is no piece: the bytes of its character, U+0120");
	tap_is_text(encoded(&l, bytes_of("a\xff")), "1:0:1 0:1:2", "a byte without pieces");
	tap_is_text(encoded(&l, bytes_of("\xe2\x96\x81")), "0:0:3",
		    "what is not in the alphabet is not found in text");
	unload(&l);
}

static void test_load(void)
{
	struct piece_spec pieces[] = { { { "a", 1 }, 0, 0 }, { { "b", 1 }, 5, -1 } };
	struct model_spec spec = spec_of(pieces, 2, 6);
	struct text_model *m;
	struct loaded l;

	tap_fails(text_model_new(&m, &spec, false), ERR_FORMAT, "unk_id 6",
		  "an unknown token that is not there");
	spec.unk = 5;
	pieces[1].score = NAN;
	tap_fails(text_model_new(&m, &spec, false), ERR_FORMAT, "piece b: its score",
		  "a score that is no number");
	pieces[1].score = -INFINITY;
	tap_fails(text_model_new(&m, &spec, false), ERR_FORMAT, "piece b: its score",
		  "a score without end");
	spec.unk = TOKEN_NONE;
	spec.n_pieces = 0;
	load(&l, &spec, false);
	l.tokens.n = 0;
	tap_fails(text_model_encode(l.model, l.scratch, bytes_of("a"), &l.tokens), ERR_FORMAT,
		  "no piece for a", "an empty vocabulary");
	unload(&l);
}

/* Sums that overflow, where nothing is larger than anything. */
static void test_huge_scores(void)
{
	struct piece_spec pieces[] = { { { "a", 1 }, 0, -1.7e308 }, { { "aa", 2 }, 1, -1.7e308 } };
	struct model_spec spec = spec_of(pieces, 2, 0);
	struct loaded l;

	load(&l, &spec, false);
	tap_is_text(encoded(&l, bytes_of("aaaa")), "1:0:2 1:2:4", "sums of minus infinity");
	unload(&l);
}

/* Bytes that are not UTF-8 never come here, but nothing breaks when they do. */
static void test_not_utf8(void)
{
	struct piece_spec pieces[] = { { { "a", 1 }, 0, -1 }, { { "<unk>", 5 }, 1, 0 } };
	struct model_spec spec = spec_of(pieces, 2, 1);
	struct loaded l;

	load(&l, &spec, false);
	tap_is_text(encoded(&l, bytes_of("a\x80\xf0")), "0:0:1 1:1:3", "stray bytes");
	tap_is_text(encoded(&l, bytes_of("\xf0"
					 "aaaaa")),
		    "1:0:4 0:4:5 0:5:6", "a head without its tail");
	unload(&l);
}

/* A text of SIZE bytes in which letter 'a' + BITS of a generator stand. */
static char *letters(size_t size, unsigned int n)
{
	char *text = malloc(size);
	uint32_t state = 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		text[i] = (char)('a' + (state >> 16) % n);
	}
	return text;
}

/* A million characters at once; the table stays as small as what overlaps. */
static void test_long(void)
{
	struct piece_spec pieces[] = { { { "<unk>", 5 }, 0, 0 },  { { "a", 1 }, 1, -2 },
				       { { "aa", 2 }, 2, -3 },	  { { "aaaa", 4 }, 3, -5 },
				       { { "b", 1 }, 4, -2 },	  { { "bab", 3 }, 5, -4 },
				       { { "cabc", 4 }, 6, -4.5 } };
	struct model_spec spec = spec_of(pieces, 7, 0);
	size_t size = 1000000;
	char *text = letters(size, 3);
	struct unigram_scratch *s;
	struct loaded l;

	load(&l, &spec, false);
	s = l.scratch->own;
	tap_works(text_model_encode(l.model, l.scratch, (struct bytes){ text, size }, &l.tokens),
		  "a million letters");
	tap_is_u64(l.tokens.items[l.tokens.n - 1].to, size, "to the end");
	tap_ok(s->steps_capacity < 10000, "in a table of %zu places", s->steps_capacity);

	memset(text, 'a', size);
	l.tokens.n = 0;
	tap_works(text_model_encode(l.model, l.scratch, (struct bytes){ text, size }, &l.tokens),
		  "a million times one letter");
	tap_is_u64(l.tokens.n, size / 4, "the longest pieces");
	tap_ok(s->steps_capacity < 2 * size, "in a table of %zu places, as no two ways ever meet",
	       s->steps_capacity);

	memset(text, 'x', size);
	l.tokens.n = 0;
	tap_works(text_model_encode(l.model, l.scratch, (struct bytes){ text, size }, &l.tokens),
		  "a million unknown letters");
	tap_is_u64(l.tokens.n, 1, "are one token");
	unload(&l);
	free(text);
}

/* All pairs and triples of two letters: no place that no piece crosses, but the ways meet. */
static void test_crossed(void)
{
	struct piece_spec pieces[14];
	static char spelled[14][3];
	struct model_spec spec = spec_of(pieces, 14, TOKEN_NONE);
	size_t size = 1000000, n = 0;
	char *text = letters(size, 2);
	struct unigram_scratch *s;
	struct loaded l;

	for (unsigned int bits = 2; bits < 16; bits++, n++) {
		size_t length = bits < 4 ? 1 : bits < 8 ? 2 : 3;

		for (size_t i = 0; i < length; i++)
			spelled[n][i] = bits >> i & 1 ? 'b' : 'a';
		pieces[n] = (struct piece_spec){ { spelled[n], length },
						 (uint32_t)n,
						 -(double)length - bits * 7 % 11 * 0.125 };
	}
	load(&l, &spec, false);
	s = l.scratch->own;
	tap_works(text_model_encode(l.model, l.scratch, (struct bytes){ text, size }, &l.tokens),
		  "a million letters that pieces cross everywhere");
	tap_ok(s->steps_capacity < 200000, "in a table of %zu places", s->steps_capacity);
	n = 0;
	for (size_t i = 0; i < l.tokens.n; i++) {
		const struct model_token *t = &l.tokens.items[i];

		if (t->from != n || memcmp(text + n, spelled[t->id], t->to - n) != 0)
			break;
		n = t->to;
	}
	tap_is_u64(n, size, "and the pieces spell the text");
	unload(&l);
	free(text);
}

/* Settling what is before a place changes nothing: pieces of a text that is cut are those of its parts. */
static void test_settled(void)
{
	struct piece_spec pieces[] = { { { "<unk>", 5 }, 0, 0 }, { { "ab", 2 }, 1, -2.5 },
				       { { "ba", 2 }, 2, -2.5 }, { { "a", 1 }, 3, -1.5 },
				       { { "b", 1 }, 4, -1.25 }, { { "aba", 3 }, 5, -3.75 } };
	struct model_spec spec = spec_of(pieces, 6, 0);
	struct model_tokens whole;
	size_t n = 5000, wrong = 0, at = 0;
	char *text = letters(n, 4);
	struct loaded l;

	load(&l, &spec, false);
	tap_works(text_model_encode(l.model, l.scratch, (struct bytes){ text, n }, &l.tokens),
		  "a long text");
	whole = l.tokens;
	l.tokens = (struct model_tokens){ 0 };
	/* c and d are unknown: what is between them is cut by itself. */
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && (text[to] > 'b') == (text[from] > 'b');)
			to++;
		l.tokens.n = 0;
		text_model_encode(l.model, l.scratch, (struct bytes){ text + from, to - from },
				  &l.tokens);
		for (size_t i = 0; i < l.tokens.n; i++, at++)
			wrong += at >= whole.n || whole.items[at].id != l.tokens.items[i].id ||
				 whole.items[at].from != from + l.tokens.items[i].from;
	}
	tap_is_u64(at, whole.n, "as many tokens as in its parts");
	tap_is_u64(wrong, 0, "the same tokens");
	free(whole.items);
	free(text);
	unload(&l);
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_penalty);
	tap_run(test_byte_level);
	tap_run(test_load);
	tap_run(test_huge_scores);
	tap_run(test_not_utf8);
	tap_run(test_long);
	tap_run(test_crossed);
	tap_run(test_settled);
	return tap_done();
}
