/* lib/text/bpe_spm_load.c - what is looked into: characters, and all merges with their cuts, from pieces, scores and types */
#include <math.h>
#include <stdio.h>

#include "lib/base/utf8.h"
#include "lib/text/bpe_spm_parts.h"

#define NO_POINT 0x110000u

struct loading {
	struct bpe_spm *b;
	const struct text_model *m;
	const struct piece_spec **order; /* what can be merged, the highest score first */
	size_t n_order;
	uint32_t next; /* the id of the next character that is no piece */
	struct merge_spec *merges;
	uint32_t *ranks;
	size_t n, capacity, ranks_capacity;
};

/* --- pieces --- */

/* -0 is below 0, as there. */
static int compare_scores(const void *a, const void *b)
{
	const struct piece_spec *x = *(const struct piece_spec *const *)a;
	const struct piece_spec *y = *(const struct piece_spec *const *)b;
	int x_minus = signbit(x->score) != 0, y_minus = signbit(y->score) != 0;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x_minus != y_minus)
		return x_minus - y_minus;
	return (x->id > y->id) - (x->id < y->id);
}

static bool same_rank(const struct piece_spec *x, const struct piece_spec *y)
{
	return x->score == y->score && !signbit(x->score) == !signbit(y->score);
}

static bool can_merge(uint8_t type)
{
	return type == PIECE_NORMAL || type == PIECE_UNUSED;
}

static int note_types(struct loading *l)
{
	const struct model_spec *spec = &l->m->spec;
	struct bpe_spm *b = l->b;

	b->types = mem_new(b->size, 1);
	l->order = mem_new(spec->n_pieces, sizeof(*l->order));
	if (!b->types || !l->order)
		return -1;
	for (size_t i = 0; i < spec->n_pieces; i++) {
		const struct piece_spec *p = &spec->pieces[i];

		b->types[p->id] = spec->piece_types[i];
		if (!can_merge(spec->piece_types[i]))
			continue;
		if (!isfinite(p->score))
			return err_set(ERR_FORMAT, "piece " BYTES_FMT ": its score is not finite",
				       BYTES_ARG(p->text));
		l->order[l->n_order++] = p;
	}
	return 0;
}

/* --- characters --- */

static int set_symbol(struct bpe_spm *b, uint32_t code_point, uint32_t id)
{
	uint32_t **block = &b->points[code_point >> 8];

	if (!*block) {
		*block = mem_new(256, sizeof(**block));
		if (!*block)
			return -1;
		for (int i = 0; i < 256; i++)
			(*block)[i] = SYMBOL_UNKNOWN;
	}
	(*block)[code_point & 0xFF] = id;
	return 0;
}

/* The code point that TEXT is, or NO_POINT. */
static uint32_t lone_point(struct bytes text)
{
	uint32_t code_point;

	return text.size && text.size <= 4 &&
			       utf8_decode(text.data, text.size, &code_point) == text.size
		       ? code_point
		       : NO_POINT;
}

static int note_characters(struct loading *l)
{
	l->b->points = mem_new(POINT_BLOCKS, sizeof(*l->b->points));
	if (!l->b->points)
		return -1;
	for (size_t i = 0; i < l->n_order; i++) {
		uint32_t point = lone_point(l->order[i]->text);

		if (point != NO_POINT && set_symbol(l->b, point, l->order[i]->id) < 0)
			return -1;
	}
	return 0;
}

static void note_bytes(struct loading *l)
{
	const struct vocabulary *v = &l->m->vocabulary;
	char name[sizeof("<0x00>")];

	for (unsigned i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "<0x%02X>", i);
		l->b->bytes[i] = vocabulary_find(v, name, 6);
	}
}

/* --- merges --- */

/* The piece that is TEXT and can be merged, or TOKEN_NONE. */
static uint32_t merged_piece(const struct loading *l, struct bytes text)
{
	uint32_t id = vocabulary_find(&l->m->vocabulary, text.data, text.size);

	return id != TOKEN_NONE && can_merge(l->b->types[id]) ? id : TOKEN_NONE;
}

/* Whether TEXT can be a symbol; POINT is the character that it is, or NO_POINT. */
static bool can_be_symbol(const struct loading *l, struct bytes text, uint32_t *point, uint32_t *id)
{
	*point = lone_point(text);
	*id = merged_piece(l, text);
	return *point != NO_POINT || *id != TOKEN_NONE;
}

/* A character that is no piece gets an id when it is part of one. */
static int give_id(struct loading *l, uint32_t point, uint32_t *id)
{
	if (*id != TOKEN_NONE)
		return 0;
	*id = bpe_spm_symbol(l->b, point);
	if (*id != SYMBOL_UNKNOWN)
		return 0;
	*id = l->next++;
	return set_symbol(l->b, point, *id);
}

static int add_merge(struct loading *l, uint32_t left, uint32_t right, uint32_t result,
		     uint32_t rank)
{
	if (mem_grow(&l->merges, &l->capacity, l->n + 1, sizeof(*l->merges)) < 0 ||
	    mem_grow(&l->ranks, &l->ranks_capacity, l->n + 1, sizeof(*l->ranks)) < 0)
		return -1;
	l->ranks[l->n] = rank;
	l->merges[l->n++] = (struct merge_spec){ left, right, result };
	return 0;
}

static void note_split(struct loading *l, uint32_t result, uint32_t left, uint32_t right,
		       size_t left_size)
{
	struct bpe_split *s = l->b->splits ? &l->b->splits[result] : NULL;

	if (!s || l->b->types[result] != PIECE_UNUSED)
		return;
	l->b->ambiguous |= s->left != TOKEN_NONE;
	*s = (struct bpe_split){ left, right, (uint32_t)left_size };
}

/* Bytes of the last character of TEXT. */
static size_t last_size(struct bytes text)
{
	size_t n = 1;

	while (n < text.size && n < 4 && (text.data[text.size - n] & 0xC0) == 0x80)
		n++;
	return n;
}

static int add_cut(struct loading *l, const struct piece_spec *p, size_t at, uint32_t rank)
{
	struct bytes a = { p->text.data, at }, b = { p->text.data + at, p->text.size - at };
	uint32_t left, right, left_point, right_point, last, first;
	size_t n = last_size(a);

	if (!can_be_symbol(l, a, &left_point, &left) || !can_be_symbol(l, b, &right_point, &right))
		return 0;
	if (!utf8_decode(a.data + a.size - n, n, &last) || !utf8_decode(b.data, b.size, &first))
		return 0;
	if (give_id(l, left_point, &left) < 0 || give_id(l, right_point, &right) < 0)
		return -1;
	bpe_cuts_mark(&l->b->cuts, last, first);
	note_split(l, p->id, left, right, at);
	return add_merge(l, left, right, p->id, rank);
}

static int add_cuts(struct loading *l)
{
	uint32_t rank = 0;

	for (size_t i = 0; i < l->n_order; i++) {
		const struct piece_spec *p = l->order[i];

		rank += i > 0 && !same_rank(p, l->order[i - 1]);
		for (size_t at = 1; at < p->text.size; at++)
			if ((p->text.data[at] & 0xC0) != 0x80 && add_cut(l, p, at, rank) < 0)
				return -1;
	}
	return 0;
}

static int make_splits(struct loading *l)
{
	struct bpe_spm *b = l->b;
	bool any = false;

	for (size_t i = 0; i < l->n_order; i++)
		any |= b->types[l->order[i]->id] == PIECE_UNUSED;
	if (!any)
		return 0;
	b->splits = mem_new(b->size, sizeof(*b->splits));
	if (!b->splits)
		return -1;
	for (uint32_t i = 0; i < b->size; i++)
		b->splits[i].left = TOKEN_NONE;
	return 0;
}

static int load_merges(struct loading *l)
{
	l->next = l->b->size;
	if (bpe_cuts_begin(&l->b->cuts) < 0 || make_splits(l) < 0 || add_cuts(l) < 0)
		return -1;
	return bpe_merges_fill(&l->b->merges, l->merges, l->ranks, l->n);
}

/* --- user-defined pieces --- */

static int load_users(struct loading *l)
{
	const struct model_spec *spec = &l->m->spec;
	struct trie_key *keys = mem_new(spec->n_pieces, sizeof(*keys));
	size_t n = 0;
	int result;

	if (!keys)
		return -1;
	for (size_t i = 0; i < spec->n_pieces; i++) {
		const struct piece_spec *p = &spec->pieces[i];

		if (spec->piece_types[i] != PIECE_USER_DEFINED || !p->text.size)
			continue;
		keys[n++] = (struct trie_key){ p->text, p->id };
		l->b->begins[(unsigned char)*p->text.data] = true;
	}
	result = n ? trie_init(&l->b->users, keys, n) : 0;
	free(keys);
	return result;
}

/* --- all of it --- */

static int begin(struct loading *l)
{
	struct bpe_spm *b = l->b;

	b->size = l->m->vocabulary.size;
	b->unknown = l->m->spec.unk;
	b->falls_back = l->m->spec.byte_fallback;
	note_bytes(l);
	return note_types(l) < 0 ? -1 : load_users(l);
}

int bpe_spm_load(struct bpe_spm *b, const struct text_model *m)
{
	struct loading l = { .b = b, .m = m };
	int result = begin(&l);

	if (result == 0) {
		qsort(l.order, l.n_order, sizeof(*l.order), compare_scores);
		result = note_characters(&l) < 0 ? -1 : load_merges(&l);
	}
	free(l.order);
	free(l.merges);
	free(l.ranks);
	return result;
}

/* Whether a place in the vocabulary is one in the spec, with a score that float has. */
static bool is_plain(const struct model_spec *spec)
{
	for (size_t i = 0; i < spec->n_pieces; i++)
		if ((i > 0 && spec->pieces[i].id <= spec->pieces[i - 1].id) ||
		    (double)(float)spec->pieces[i].score != spec->pieces[i].score)
			return false;
	return true;
}

int bpe_spm_load_direct(struct bpe_spm *b, const struct text_model *m)
{
	struct loading l = { .b = b, .m = m };
	int result = begin(&l);

	if (result == 0)
		result = note_characters(&l) < 0 ? -1 : is_plain(&m->spec);
	free(l.order);
	return result;
}

void bpe_spm_clear(struct bpe_spm *b)
{
	bpe_merges_clear(&b->merges);
	bpe_cuts_clear(&b->cuts);
	trie_clear(&b->users);
	for (size_t i = 0; b->points && i < POINT_BLOCKS; i++)
		free(b->points[i]);
	free(b->points);
	free(b->types);
	free(b->splits);
}
