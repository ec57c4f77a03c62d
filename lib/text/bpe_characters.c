/*
 * lib/text/bpe_characters.c - characters of a byte-level word that may be taken as merged from the start
 *
 * Merges inside a character have to do with no other byte as long as no merge reaches into it from outside: none does where
 * the bytes beside it are not in bpe_cuts' table of such places. When all of them come before the first merge that
 * takes the whole character, beginning with the character gives what beginning with its bytes does. That is two thirds of the
 * merges of Chinese and Japanese.
 */
#include "lib/base/utf8.h"
#include "lib/text/bpe_parts.h"

#define PAGES	  (0x110000 / 256)
#define PAGES_MAX 1024 /* 1 MiB */

static uint32_t find(const struct bpe_characters *c, uint32_t code_point)
{
	return c->pages[c->index[code_point / 256]][code_point % 256];
}

static int put(struct bpe_characters *c, uint32_t code_point, uint32_t id)
{
	uint16_t *page = &c->index[code_point / 256];

	if (*page == 0) {
		if (c->n == PAGES_MAX)
			return 0;
		if (mem_grow(&c->pages, &c->capacity, c->n + 1, sizeof(*c->pages)) < 0)
			return -1;
		memset(c->pages[c->n], 0xFF, sizeof(*c->pages));
		*page = (uint16_t)c->n++;
	}
	c->pages[*page][code_point % 256] = id;
	return 0;
}

/* The one character that the piece is; false for ASCII, which is a symbol anyway. */
static bool is_character(const struct vocabulary_piece *p, uint32_t *code_point)
{
	return p && p->size > 1 && p->size <= 4 &&
	       utf8_decode(p->data, p->size, code_point) == p->size;
}

/* Does the merge of the lowest rank among the symbols of S, raises *HIGHEST to its rank; false when there is none. */
static bool merge_one(const struct bpe_merges *t, struct bpe_scratch *s, uint32_t *highest)
{
	const struct bpe_merge *best = NULL;
	size_t at = 0;

	for (size_t i = 0; i + 1 < s->n; i++) {
		const struct bpe_merge *m =
			bpe_merges_find(t, s->symbols[i].id, s->symbols[i + 1].id);

		if (m && (!best || m->rank < best->rank)) {
			best = m;
			at = i;
		}
	}
	if (!best)
		return false;
	s->symbols[at] =
		(struct bpe_symbol){ best->result, s->symbols[at].size + s->symbols[at + 1].size };
	memmove(&s->symbols[at + 1], &s->symbols[at + 2], (s->n - at - 2) * sizeof(*s->symbols));
	s->n--;
	*highest = best->rank > *highest ? best->rank : *highest;
	return true;
}

/* The highest rank of the merges that make the piece of its bytes; RANK_NONE where they make something else. */
static uint32_t made_at(const struct text_model *m, struct bpe_scratch *s,
			const struct vocabulary_piece *p)
{
	const struct bpe *b = m->own;
	uint32_t highest = 0;

	if (bpe_symbols(m, s, (struct bytes){ p->data, p->size }) < 0)
		return RANK_NONE;
	while (merge_one(&b->merges, s, &highest))
		;
	return s->n == 1 && s->symbols[0].id == p->id ? highest : RANK_NONE;
}

static int put_pieces(struct bpe_characters *c, const struct text_model *m, struct bpe_scratch *s,
		      uint32_t *made)
{
	const struct vocabulary *v = &m->vocabulary;
	uint32_t code_point;

	for (uint32_t i = 0; i < v->n; i++) {
		const struct vocabulary_piece *p = &v->pieces[i];

		if (!is_character(p, &code_point))
			continue;
		made[i] = made_at(m, s, p);
		if (made[i] != RANK_NONE && put(c, code_point, p->id) < 0)
			return -1;
	}
	return 0;
}

/* Takes a character out again that a merge of rank RANK has a use for before it is made. */
static int check_use(struct bpe_characters *c, const struct text_model *m, const uint32_t *made,
		     uint32_t id, uint32_t rank)
{
	const struct vocabulary_piece *p = vocabulary_at(&m->vocabulary, id);
	uint32_t code_point;

	if (!is_character(p, &code_point) || made[p - m->vocabulary.pieces] < rank)
		return 0;
	return put(c, code_point, TOKEN_NONE);
}

int bpe_characters_init(struct bpe_characters *c, const struct text_model *m, struct bpe_scratch *s)
{
	uint32_t *made = mem_new(m->vocabulary.n, sizeof(*made));
	int result = -1;

	c->index = mem_new(PAGES, sizeof(*c->index));
	if (!made || !c->index || mem_grow(&c->pages, &c->capacity, 1, sizeof(*c->pages)) < 0)
		goto out;
	memset(c->pages[0], 0xFF, sizeof(*c->pages));
	c->n = 1;
	if (put_pieces(c, m, s, made) < 0)
		goto out;
	for (size_t i = 0; i < m->spec.n_merges; i++) {
		const struct merge_spec *merge = &m->spec.merges[i];

		if (check_use(c, m, made, merge->left, (uint32_t)i) < 0 ||
		    check_use(c, m, made, merge->right, (uint32_t)i) < 0)
			goto out;
	}
	result = 0;
out:
	free(made);
	return result;
}

void bpe_characters_clear(struct bpe_characters *c)
{
	free(c->index);
	free(c->pages);
	*c = (struct bpe_characters){ 0 };
}

/* Whether a merge may reach over the start of the character, or of the malformed byte, at AT. */
static inline bool is_open(const struct bpe *b, struct bytes word, size_t at)
{
	const uint8_t *p = (const uint8_t *)word.data + at;

	if (at == 0 || at == word.size)
		return false;
	return (p[0] & 0xC0) == 0x80 || bpe_cuts_reaches_in(&b->cuts, p[-1], p[0]);
}

static uint32_t character(const struct bpe *b, struct bytes word, size_t at, size_t *n)
{
	uint32_t code_point, id;

	*n = utf8_decode_fast(word.data + at, word.size - at, &code_point);
	if (*n == 0) {
		*n = 1;
		return TOKEN_NONE;
	}
	id = find(&b->characters, code_point);
	return id != TOKEN_NONE && !is_open(b, word, at) && !is_open(b, word, at + *n) ? id
										       : TOKEN_NONE;
}

int bpe_characters(const struct text_model *m, struct bpe_scratch *s, struct bytes word)
{
	const struct bpe *b = m->own;
	size_t n;

	s->n = 0;
	for (size_t at = 0; at < word.size; at += n) {
		uint32_t id = TOKEN_NONE;

		n = 1;
		if ((unsigned char)word.data[at] >= 0x80)
			id = character(b, word, at, &n);
		if (id != TOKEN_NONE) {
			if (bpe_symbols_add(s, id, (uint32_t)n) < 0)
				return -1;
			continue;
		}
		for (size_t i = at; i < at + n; i++) {
			id = b->symbols[0][(unsigned char)word.data[i]];
			/* There it is said what is missing. */
			if (id == TOKEN_NONE)
				return bpe_symbols(m, s, word);
			if (bpe_symbols_add(s, id, 1) < 0)
				return -1;
		}
	}
	return 0;
}
