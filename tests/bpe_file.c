/* tests/bpe_file.c - a BPE model and its cases in lines of text */
#include "tests/bpe_file.h"

#include <stdlib.h>

#include "lib/base/err.h"

struct line {
	const char *at, *end;
};

/* The next word of the line; empty at its end. */
static struct bytes word(struct line *l)
{
	const char *start;

	while (l->at < l->end && *l->at == ' ')
		l->at++;
	start = l->at;
	while (l->at < l->end && *l->at != ' ')
		l->at++;
	return (struct bytes){ start, (size_t)(l->at - start) };
}

/* Reads digits and what ends them; TOKEN_NONE for `-`. */
static uint32_t number(struct line *l)
{
	uint32_t value = 0;

	while (l->at < l->end && *l->at == ' ')
		l->at++;
	if (l->at < l->end && *l->at == '-') {
		l->at++;
		return TOKEN_NONE;
	}
	while (l->at < l->end && *l->at >= '0' && *l->at <= '9')
		value = value * 10 + (uint32_t)(*l->at++ - '0');
	if (l->at < l->end && *l->at == ':')
		l->at++;
	return value;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static struct bytes hex(struct bpe_file *f, struct line *l)
{
	struct bytes w = word(l);
	char *out;

	if (bytes_are(w, "-"))
		return (struct bytes){ "", 0 };
	out = arena_alloc(f->arena, w.size / 2 + 1, 1);
	for (size_t i = 0; out && i + 1 < w.size; i += 2)
		out[i / 2] = (char)(digit(w.data[i]) << 4 | digit(w.data[i + 1]));
	return (struct bytes){ out, w.size / 2 };
}

static size_t count(struct bytes text, const char *start)
{
	size_t n = 0;

	for (size_t i = 0; i < text.size; i++)
		if ((i == 0 || text.data[i - 1] == '\n') &&
		    bytes_start_with((struct bytes){ text.data + i, text.size - i }, start))
			n++;
	return n;
}

static void read_refused(struct bpe_file *f, struct line *l)
{
	struct bpe_file_case *c = &f->cases[f->n_cases++];

	c->text = hex(f, l);
	c->refused = true;
}

static void read_case(struct bpe_file *f, struct line *l)
{
	struct bpe_file_case *c = &f->cases[f->n_cases++];
	size_t n = 0;

	c->text = hex(f, l);
	for (const char *p = l->at; p < l->end; p++)
		n += *p == ' ';
	c->tokens = arena_alloc(f->arena, n, sizeof(*c->tokens));
	for (; l->at < l->end; c->n_tokens++) {
		c->tokens[c->n_tokens].id = number(l);
		c->tokens[c->n_tokens].from = number(l);
		c->tokens[c->n_tokens].to = number(l);
	}
}

static int read_line(struct bpe_file *f, struct line l)
{
	struct model_spec *s = &f->spec;
	struct piece_spec *pieces = (struct piece_spec *)s->pieces;
	struct merge_spec *merges = (struct merge_spec *)s->merges;
	struct bytes w = word(&l);

	if (w.size == 0 || w.data[0] == '#')
		return 0;
	if (bytes_are(w, "piece")) {
		pieces[s->n_pieces].id = number(&l);
		pieces[s->n_pieces++].text = hex(f, &l);
	} else if (bytes_are(w, "merge")) {
		merges[s->n_merges].left = number(&l);
		merges[s->n_merges].right = number(&l);
		merges[s->n_merges++].result = number(&l);
	} else if (bytes_are(w, "case")) {
		read_case(f, &l);
	} else if (bytes_are(w, "refused")) {
		read_refused(f, &l);
	} else if (bytes_are(w, "byte_level")) {
		f->byte_level = number(&l);
	} else if (bytes_are(w, "byte_fallback")) {
		s->byte_fallback = number(&l);
	} else if (bytes_are(w, "fuse_unk")) {
		s->fuse_unk = number(&l);
	} else if (bytes_are(w, "ignore_merges")) {
		s->ignore_merges = number(&l);
	} else if (bytes_are(w, "merge_by_rank")) {
		s->merge_by_rank = number(&l);
	} else if (bytes_are(w, "prefix")) {
		s->continuing_prefix = hex(f, &l);
	} else if (bytes_are(w, "suffix")) {
		s->end_of_word_suffix = hex(f, &l);
	} else if (bytes_are(w, "unk")) {
		s->has_unk_text = true;
		s->unk = number(&l);
		s->unk_text = hex(f, &l);
	} else {
		return err_set(ERR_FORMAT, "a line that begins with " BYTES_FMT, BYTES_ARG(w));
	}
	return 0;
}

int bpe_file_parse(struct bpe_file *f, struct bytes text)
{
	*f = (struct bpe_file){ .spec = { .kind = MODEL_BPE, .unk = TOKEN_NONE } };
	if (arena_new(&f->arena) < 0)
		return -1;
	f->spec.pieces = arena_alloc(f->arena, count(text, "piece "), sizeof(*f->spec.pieces));
	f->spec.merges = arena_alloc(f->arena, count(text, "merge "), sizeof(*f->spec.merges));
	f->cases = arena_alloc(f->arena, count(text, "case ") + count(text, "refused "),
			       sizeof(*f->cases));
	if (!f->spec.pieces || !f->spec.merges || !f->cases)
		return -1;
	for (const char *at = text.data, *all = text.data + text.size, *end; at < all;
	     at = end + 1) {
		end = memchr(at, '\n', (size_t)(all - at));
		if (!end)
			end = all;
		if (read_line(f, (struct line){ at, end }) < 0)
			return -1;
	}
	return 0;
}

static bool is_right(const struct bpe_file_case *c, int result, const struct model_tokens *got)
{
	if (c->refused || result < 0)
		return c->refused && result < 0;
	return got->n == c->n_tokens &&
	       memcmp(got->items, c->tokens, got->n * sizeof(*got->items)) == 0;
}

size_t bpe_file_check(const struct bpe_file *f, const struct text_model *m, struct model_scratch *s,
		      const struct bpe_file_case **wrong)
{
	struct model_tokens got = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < f->n_cases; i++) {
		got.n = 0;
		if (is_right(&f->cases[i], text_model_encode(m, s, f->cases[i].text, &got), &got))
			continue;
		if (n++ == 0)
			*wrong = &f->cases[i];
	}
	free(got.items);
	return n;
}

void bpe_file_clear(struct bpe_file *f)
{
	arena_free(f->arena);
	*f = (struct bpe_file){ 0 };
}
