/*
 * lib/text/bpe_cuts.c - places in a piece that no merge can cross
 *
 * Some tokenizers (SentencePiece's, without pre-tokenizer) give the model whole documents, and in scripts that have no
 * spaces whole sentences are words. The first symbol that reaches across a place comes from a merge whose left part
 * ends there. So where no merge has the character before the place at the end of its left part and the one after it at the start
 * of its right part, what lies on the two sides is merged apart, and the cache of words serves.
 *
 * Characters must be symbols of their own to begin with, or their bytes must be: then a part may also begin or end inside a
 * character, and the two bytes at such a place are kept.
 */
#include "lib/base/utf8.h"
#include "lib/text/bpe_parts.h"

#define PAIR_BITS \
 21 /* 256 KiB: with 200,000 pairs one place in ten is missed, which costs time alone */
#define CODE_POINTS 0x110000u
#define NO_POINT    CODE_POINTS

static inline bool has(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void mark(uint64_t *bits, size_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline size_t pair_slot(uint32_t left, uint32_t right)
{
	return (size_t)(bpe_pair(left, right) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PAIR_BITS));
}

static uint32_t first_point(const struct vocabulary_piece *p)
{
	uint32_t code_point;

	return utf8_decode(p->data, p->size, &code_point) ? code_point : NO_POINT;
}

static uint32_t last_point(const struct vocabulary_piece *p)
{
	uint32_t code_point;

	for (uint32_t n = 1; n <= 4 && n <= p->size; n++)
		if (utf8_decode(p->data + p->size - n, n, &code_point) == n)
			return code_point;
	return NO_POINT;
}

/* Whether RESULT is the text of LEFT and RIGHT joined. */
static bool joins(const struct vocabulary_piece *left, const struct vocabulary_piece *right,
		  const struct vocabulary_piece *result)
{
	return (uint64_t)left->size + right->size == result->size &&
	       memcmp(result->data, left->data, left->size) == 0 &&
	       memcmp(result->data + left->size, right->data, right->size) == 0;
}

/* Bytes: where either character is not whole, the bytes beside the place; nothing where the place is inside one. */
static bool mark_bytes(struct bpe_cuts *c, const struct vocabulary_piece *left,
		       const struct vocabulary_piece *right)
{
	uint8_t a, b;

	if (left->size == 0 || right->size == 0)
		return false;
	a = (uint8_t)left->data[left->size - 1];
	b = (uint8_t)right->data[0];
	if ((b & 0xC0) != 0x80)
		mark(c->bytes, a * 256u + b);
	return true;
}

/* False when a merge is not what it seems by its texts. */
static bool mark_merges(struct bpe_cuts *c, const struct text_model *m)
{
	const struct vocabulary *v = &m->vocabulary;

	for (size_t i = 0; i < m->spec.n_merges; i++) {
		const struct merge_spec *merge = &m->spec.merges[i];
		const struct vocabulary_piece *left = vocabulary_at(v, merge->left);
		const struct vocabulary_piece *right = vocabulary_at(v, merge->right);
		uint32_t a = last_point(left), b = first_point(right);

		if (!joins(left, right, vocabulary_at(v, merge->result)))
			return false;
		if (a != NO_POINT && b != NO_POINT)
			mark(c->pairs, pair_slot(a, b));
		else if (!m->byte_level || !mark_bytes(c, left, right))
			return false;
	}
	return true;
}

static void mark_pieces(struct bpe_cuts *c, const struct vocabulary *v)
{
	uint32_t code_point;

	for (uint32_t i = 0; i < v->n; i++) {
		const struct vocabulary_piece *p = &v->pieces[i];

		if (p->size > 0 && p->size <= 4 &&
		    utf8_decode(p->data, p->size, &code_point) == p->size)
			mark(c->plain, code_point);
	}
}

int bpe_cuts_init(struct bpe_cuts *c, const struct text_model *m)
{
	/* Where a character vanishes, what stood on its two sides may merge. */
	if (m->spec.drop_unknown || m->spec.continuing_prefix.size ||
	    m->spec.end_of_word_suffix.size)
		return 0;
	c->pairs = mem_new((size_t)1 << (PAIR_BITS - 6), sizeof(*c->pairs));
	if (!c->pairs)
		return -1;
	if (!m->byte_level) {
		c->plain = mem_new(CODE_POINTS / 64 + 1, sizeof(*c->plain));
		if (!c->plain)
			return -1;
		mark_pieces(c, &m->vocabulary);
	}
	if (!mark_merges(c, m))
		bpe_cuts_clear(c);
	return 0;
}

int bpe_cuts_begin(struct bpe_cuts *c)
{
	size_t words = CODE_POINTS / 64 + 1;

	c->pairs = mem_new((size_t)1 << (PAIR_BITS - 6), sizeof(*c->pairs));
	c->plain = c->pairs ? mem_new(words, sizeof(*c->plain)) : NULL;
	if (!c->plain)
		return -1;
	memset(c->plain, 0xFF, words * sizeof(*c->plain));
	return 0;
}

void bpe_cuts_mark(struct bpe_cuts *c, uint32_t left, uint32_t right)
{
	mark(c->pairs, pair_slot(left, right));
}

void bpe_cuts_clear(struct bpe_cuts *c)
{
	free(c->pairs);
	free(c->plain);
	*c = (struct bpe_cuts){ 0 };
}

/* The character at AT to *POINT (NO_POINT: malformed), and the place after it. */
static inline size_t step(struct bytes piece, size_t at, uint32_t *point)
{
	size_t n;

	if ((unsigned char)piece.data[at] < 0x80) {
		*point = (unsigned char)piece.data[at];
		return at + 1;
	}
	n = utf8_decode_fast(piece.data + at, piece.size - at, point);
	if (n == 0)
		*point = NO_POINT;
	return at + (n ? n : 1);
}

/* Whether a merge may join LEFT and RIGHT; AT is where the right one begins. */
static inline bool may_join(const struct bpe_cuts *c, struct bytes piece, size_t at, uint32_t left,
			    uint32_t right)
{
	const uint8_t *p = (const uint8_t *)piece.data + at;

	if (has(c->pairs, pair_slot(left, right)))
		return true;
	if (c->plain)
		return !has(c->plain, left) || !has(c->plain, right);
	return left == NO_POINT || right == NO_POINT || bpe_cuts_reaches_in(c, p[-1], p[0]);
}

size_t bpe_cuts_next(const struct bpe_cuts *c, struct bytes piece, size_t at)
{
	uint32_t left, right;
	size_t next = step(piece, at, &left);

	while (next < piece.size) {
		size_t after = step(piece, next, &right);

		if (!may_join(c, piece, next, left, right))
			return next;
		left = right;
		next = after;
	}
	return piece.size;
}
