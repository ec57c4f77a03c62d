/*
 * tests/unit/test_bpe_characters.c - byte-level BPE of characters of several bytes: cuts, and characters taken as merged
 *
 * Both are short cuts that must change nothing. Random vocabularies, with pieces that end or begin inside characters and,
 * every other time, merges in any order, are held against the definition of BPE written out.
 */
#include <stdlib.h>

#include "lib/base/buffer.h"
#include "lib/base/random.h"
#include "lib/text/bytelevel.h"
#include "lib/text/model.h"
#include "tests/tap.h"

#define PIECES	120
#define LONGEST 32
#define WORD	96

static const char *const characters[] = { "a",	    "b",      " ",	"\u00E9",     "\u00DF",
					  "\u4E2D", "\u4E1A", "\u56FD", "\U0001F600", "\u0301" };
#define N_CHARACTERS (sizeof(characters) / sizeof(*characters))

struct random_model {
	char raw[PIECES][LONGEST];
	size_t size[PIECES];
	struct buffer spelled[PIECES];
	struct piece_spec pieces[PIECES];
	struct merge_spec merges[PIECES];
	struct model_spec spec;
	uint32_t of_byte[256];
	uint32_t rank[PIECES][PIECES], result[PIECES][PIECES];
	struct text_model *model;
	struct model_scratch *scratch;
	struct random_stream r;
	uint64_t draws;
};

static uint64_t draw(struct random_model *m, uint64_t n)
{
	return random_below(&m->r, m->draws++, 0, n);
}

static uint32_t find_piece(const struct random_model *m, const char *data, size_t size)
{
	for (uint32_t i = 0; i < m->spec.n_pieces; i++)
		if (m->size[i] == size && memcmp(m->raw[i], data, size) == 0)
			return i;
	return TOKEN_NONE;
}

static uint32_t add_piece(struct random_model *m, const char *data, size_t size)
{
	uint32_t i = find_piece(m, data, size);

	if (i != TOKEN_NONE)
		return i;
	i = (uint32_t)m->spec.n_pieces++;
	memcpy(m->raw[i], data, size);
	m->size[i] = size;
	bytelevel_encode(&m->spelled[i], (struct bytes){ data, size });
	m->pieces[i] = (struct piece_spec){ .text = buffer_bytes(&m->spelled[i]), .id = i };
	return i;
}

static void add_merge(struct random_model *m, uint32_t left, uint32_t right)
{
	char joined[2 * LONGEST];
	size_t size = m->size[left] + m->size[right];

	if (m->result[left][right] != TOKEN_NONE || size > LONGEST ||
	    m->spec.n_merges == PIECES - 40 || m->spec.n_pieces == PIECES)
		return;
	memcpy(joined, m->raw[left], m->size[left]);
	memcpy(joined + m->size[left], m->raw[right], m->size[right]);
	m->result[left][right] = add_piece(m, joined, size);
	m->merges[m->spec.n_merges++] = (struct merge_spec){ left, right, m->result[left][right] };
}

/* Merges that make the whole character of its bytes, from the left or from the right. */
static void make_character(struct random_model *m, const char *text)
{
	size_t n = strlen(text);
	bool right = draw(m, 2);
	uint32_t part = m->of_byte[(unsigned char)text[right ? n - 1 : 0]];

	for (size_t i = 1; i < n; i++) {
		uint32_t byte = m->of_byte[(unsigned char)text[right ? n - 1 - i : i]];

		add_merge(m, right ? byte : part, right ? part : byte);
		part = m->result[right ? byte : part][right ? part : byte];
		if (part == TOKEN_NONE)
			return;
	}
}

static void shuffle_merges(struct random_model *m)
{
	for (size_t i = m->spec.n_merges; i > 1; i--) {
		size_t k = draw(m, i);
		struct merge_spec merge = m->merges[i - 1];

		m->merges[i - 1] = m->merges[k];
		m->merges[k] = merge;
	}
}

static void begin(struct random_model *m, uint64_t seed)
{
	size_t few;

	*m = (struct random_model){ .spec = { .kind = MODEL_BPE, .unk = TOKEN_NONE } };
	m->r = random_at(seed, 0, 0);
	m->spec.pieces = m->pieces;
	m->spec.merges = m->merges;
	memset(m->rank, 0xFF, sizeof(m->rank));
	memset(m->result, 0xFF, sizeof(m->result));
	for (size_t i = 0; i < N_CHARACTERS; i++)
		for (const char *p = characters[i]; *p; p++)
			m->of_byte[(unsigned char)*p] = add_piece(m, p, 1);
	for (size_t i = 0; i < N_CHARACTERS; i++)
		if (draw(m, 3))
			make_character(m, characters[i]);
	few = 1 + draw(m, 40);
	for (size_t i = 0; i < few; i++)
		add_merge(m, (uint32_t)draw(m, m->spec.n_pieces),
			  (uint32_t)draw(m, m->spec.n_pieces));
	if (seed % 2)
		shuffle_merges(m);
	for (size_t i = 0; i < m->spec.n_merges; i++)
		m->rank[m->merges[i].left][m->merges[i].right] = (uint32_t)i;
	m->spec.ignore_merges = seed % 3 == 0;
	tap_works(text_model_new(&m->model, &m->spec, true), "vocabulary %d", (int)seed);
	tap_works(model_scratch_new(&m->scratch, m->model), "its scratch");
}

static void end(struct random_model *m)
{
	model_scratch_free(m->scratch);
	text_model_free(m->model);
	for (size_t i = 0; i < m->spec.n_pieces; i++)
		buffer_free(&m->spelled[i]);
}

static size_t naive(const struct random_model *m, struct bytes text, uint32_t *ids)
{
	size_t n = text.size;

	if (m->spec.ignore_merges && (ids[0] = find_piece(m, text.data, n)) != TOKEN_NONE)
		return 1;
	for (size_t i = 0; i < n; i++)
		ids[i] = m->of_byte[(unsigned char)text.data[i]];
	for (;;) {
		uint32_t best = UINT32_MAX;
		size_t at = 0;

		for (size_t i = 0; i + 1 < n; i++) {
			if (m->rank[ids[i]][ids[i + 1]] < best) {
				best = m->rank[ids[i]][ids[i + 1]];
				at = i;
			}
		}
		if (best == UINT32_MAX)
			return n;
		ids[at] = m->result[ids[at]][ids[at + 1]];
		memmove(&ids[at + 1], &ids[at + 2], (n - at - 2) * sizeof(*ids));
		n--;
	}
}

static bool as_naive(struct random_model *m, struct bytes text)
{
	uint32_t ids[WORD + 4];
	struct model_tokens out = { 0 };
	size_t n = naive(m, text, ids), at = 0;
	bool same = text_model_encode(m->model, m->scratch, text, &out) == 0 && out.n == n;

	for (size_t i = 0; same && i < n; i++) {
		same = out.items[i].id == ids[i] && out.items[i].from == at;
		at += m->size[ids[i]];
		same = same && out.items[i].to == at;
	}
	free(out.items);
	return same;
}

/* Whole characters; one word in eight has a byte left out, and is malformed. */
static struct bytes random_word(struct random_model *m, char *out)
{
	size_t n = 0, most = 1 + draw(m, draw(m, 2) ? WORD - 4 : 14);

	while (n < most) {
		const char *c = characters[draw(m, N_CHARACTERS)];

		memcpy(out + n, c, strlen(c));
		n += strlen(c);
	}
	if (n > 1 && draw(m, 8) == 0) {
		size_t gone = draw(m, n);

		memmove(out + gone, out + gone + 1, n - gone - 1);
		n--;
	}
	return (struct bytes){ out, n };
}

static void test_as_naive(void)
{
	static struct random_model m;
	char word[WORD + 4];

	for (uint64_t seed = 1; seed <= 300; seed++) {
		size_t bad = 0;

		begin(&m, seed);
		for (int i = 0; i < 300; i++)
			bad += !as_naive(&m, random_word(&m, word));
		tap_is_u64(bad, 0, "words that are not as by the definition");
		end(&m);
	}
}

int main(void)
{
	tap_run(test_as_naive);
	return tap_done();
}
