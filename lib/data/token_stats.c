/*
 * lib/data/token_stats.c - what the tokens of many documents are like
 *
 * Where decoding only joins pieces, all but the words follow from how often each id came, so that a token costs one count and
 * two bits: whether a word goes on from the token before.
 */

#include "lib/data/token_stats.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/decode.h"

/* Lengths up to EXACT have a bucket each; above it each power of two has STEPS. */
#define EXACT	256
#define STEPS	128
#define BUCKETS (EXACT + 56 * STEPS)

/* What is known of an id. */
#define BEGINS_WORD 1 /* its first byte is of a word */
#define ENDS_WORD   2 /* so is its last */
#define IS_EMPTY    4

/* Text that is gone through byte by byte. */
struct text_count {
	uint64_t bytes, characters, words;
	bool in_word;
};

struct token_stats {
	const struct tokenizer *tokenizer;
	uint32_t vocab;
	uint64_t *counts; /* of each id; the last is of ids that there are not */
	uint8_t *flags;	  /* likewise */
	uint64_t joins;	  /* words that go on from one token to the next */
	uint8_t before;	  /* flags of the token before */
	bool has_text;
	struct text_decoder *decoder; /* NULL: pieces are joined, or the text comes */
	struct buffer decoded;
	struct text_count text;
	uint64_t length; /* of the present document, in tokens */
	uint64_t documents, shortest, longest;
	uint64_t roles[N_ROLES];
	uint64_t buckets[BUCKETS];
};

/* --- text ----------------------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void count_text(struct text_count *t, struct bytes text)
{
	t->bytes += text.size;
	for (size_t i = 0; i < text.size; i++) {
		bool in_word = !is_space(text.data[i]);

		t->characters += ((unsigned char)text.data[i] & 0xC0) != 0x80;
		t->words += in_word && !t->in_word;
		t->in_word = in_word;
	}
}

static uint8_t flags_of(struct bytes piece)
{
	if (piece.size == 0)
		return IS_EMPTY;
	return (uint8_t)((is_space(piece.data[0]) ? 0 : BEGINS_WORD) |
			 (is_space(piece.data[piece.size - 1]) ? 0 : ENDS_WORD));
}

/* --- making --------------------------------------------------------------------------------------- */

static int make_decoder(struct token_stats *s)
{
	const struct tokenizer_spec *spec = tokenizer_spec(s->tokenizer);

	if (text_decoder_new(&s->decoder, spec->decoders, spec->n_decoders,
			     tokenizer_is_byte_level(s->tokenizer), true) < 0)
		return -1;
	if (!text_decoder_is_exact(s->decoder))
		return 0;
	text_decoder_free(s->decoder);
	s->decoder = NULL;
	return 0;
}

int token_stats_new(struct token_stats **out, const struct tokenizer *t, bool has_text)
{
	struct token_stats *s = mem_new(1, sizeof(*s));
	size_t n = (size_t)tokenizer_vocab_size(t) + 1;

	*out = NULL;
	if (!s)
		return -1;
	s->tokenizer = t;
	s->vocab = tokenizer_vocab_size(t);
	s->has_text = has_text;
	s->counts = mem_new(n, sizeof(*s->counts));
	s->flags = mem_new(n, sizeof(*s->flags));
	if (!s->counts || !s->flags || (!has_text && make_decoder(s) < 0)) {
		token_stats_free(s);
		return -1;
	}
	for (uint32_t id = 0; id <= s->vocab; id++)
		s->flags[id] = flags_of(tokenizer_piece(t, id));
	*out = s;
	return 0;
}

void token_stats_free(struct token_stats *s)
{
	if (!s)
		return;
	text_decoder_free(s->decoder);
	buffer_free(&s->decoded);
	free(s->counts);
	free(s->flags);
	free(s);
}

/* --- adding --------------------------------------------------------------------------------------- */

static int take_decoded(struct token_stats *s)
{
	if (buffer_check(&s->decoded) < 0)
		return -1;
	count_text(&s->text, buffer_bytes(&s->decoded));
	buffer_clear(&s->decoded);
	return 0;
}

static int decode(struct token_stats *s, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_decoder_add(s->decoder, tokenizer_piece(s->tokenizer, ids[i]),
				     tokenizer_added(s->tokenizer, ids[i]) != NULL,
				     &s->decoded) < 0)
			return -1;
	return take_decoded(s);
}

int token_stats_add(struct token_stats *s, const uint32_t *ids, size_t n)
{
	uint64_t *counts = s->counts, joins = 0;
	const uint8_t *flags = s->flags;
	uint32_t vocab = s->vocab, before = s->before;

	for (size_t i = 0; i < n; i++) {
		uint32_t id = ids[i] < vocab ? ids[i] : vocab, now = flags[id];

		counts[id]++;
		if (now & IS_EMPTY)
			continue;
		joins += before >> 1 & now & 1;
		before = now;
	}
	s->joins += joins;
	s->before = (uint8_t)before;
	s->length += n;
	return s->decoder ? decode(s, ids, n) : 0;
}

int token_stats_text(struct token_stats *s, struct bytes text)
{
	count_text(&s->text, text);
	return 0;
}

void token_stats_role(struct token_stats *s, const struct token_run *run)
{
	s->roles[run->role] += run->length;
}

/* --- lengths of documents --------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t n)
{
	int top;

	if (n < EXACT)
		return (size_t)n;
	top = 63 - __builtin_clzll(n); /* 8 or more */
	return EXACT + (size_t)(top - 8) * STEPS + (size_t)(n >> (top - 7)) - STEPS;
}

/* The least length of a bucket. */
static uint64_t bucket_start(size_t b)
{
	if (b < EXACT)
		return b;
	b -= EXACT;
	return (uint64_t)(STEPS + b % STEPS) << (b / STEPS + 1);
}

int token_stats_end_document(struct token_stats *s)
{
	if (s->decoder && (text_decoder_end(s->decoder, &s->decoded) < 0 || take_decoded(s) < 0))
		return -1;
	if (s->documents == 0 || s->length < s->shortest)
		s->shortest = s->length;
	if (s->length > s->longest)
		s->longest = s->length;
	s->buckets[bucket_of(s->length)]++;
	s->documents++;
	s->length = 0;
	s->before = 0;
	s->text.in_word = false;
	return 0;
}

uint64_t token_stats_quantile(const struct token_stats *s, double q)
{
	uint64_t rank = (uint64_t)(q * (double)s->documents), seen = 0, length;

	if (s->documents == 0)
		return 0;
	if (rank >= s->documents)
		return s->longest;
	for (size_t b = 0; b < BUCKETS; b++) {
		seen += s->buckets[b];
		if (seen <= rank)
			continue;
		length = bucket_start(b);
		return length < s->shortest ? s->shortest : length;
	}
	return s->longest;
}

/* --- what came of it --------------------------------------------------------------------------------- */

static void add_id(const struct token_stats *s, uint32_t id, struct token_totals *out,
		   struct text_count *pieces)
{
	uint64_t count = s->counts[id];
	struct text_count text = { 0 };
	struct bytes bytes, piece = tokenizer_piece(s->tokenizer, id);
	char byte;

	bytes = token_bytes(s->tokenizer, id, &byte);
	out->tokens += count;
	out->kinds[token_kind(s->tokenizer, id)] += count;
	out->lengths[bytes.size < TOKEN_LENGTHS ? bytes.size : TOKEN_LENGTHS - 1] += count;
	out->vocabulary += bytes.size > 0;
	out->used += count > 0 && bytes.size > 0;
	if (utf8_valid_prefix(bytes.data, bytes.size) < bytes.size)
		out->partial += count;
	count_text(&text, piece);
	pieces->bytes += count * text.bytes;
	pieces->characters += count * text.characters;
	pieces->words += count * text.words;
}

void token_stats_totals(const struct token_stats *s, struct token_totals *out)
{
	struct text_count pieces = { 0 };

	*out = (struct token_totals){ .documents = s->documents };
	for (uint32_t id = 0; id <= s->vocab; id++)
		add_id(s, id, out, &pieces);
	pieces.words -= s->joins;
	if (s->has_text || s->decoder)
		pieces = s->text;
	out->bytes = pieces.bytes;
	out->characters = pieces.characters;
	out->words = pieces.words;
	out->roles[ROLE_TEXT] = out->tokens;
	for (int r = ROLE_TEXT + 1; r < N_ROLES; r++) {
		out->roles[r] = s->roles[r];
		out->roles[ROLE_TEXT] -= s->roles[r];
	}
}

uint64_t token_stats_count(const struct token_stats *s, uint32_t id)
{
	return id < s->vocab ? s->counts[id] : 0;
}

struct used {
	uint64_t count;
	uint32_t id;
};

static int more_used(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int64_t token_stats_top(const struct token_stats *s, uint32_t *ids, size_t n)
{
	struct used *all = mem_new(s->vocab, sizeof(*all));
	size_t n_all = 0;

	if (!all)
		return -1;
	for (uint32_t id = 0; id < s->vocab; id++)
		if (s->counts[id])
			all[n_all++] = (struct used){ s->counts[id], id };
	qsort(all, n_all, sizeof(*all), more_used);
	n = n < n_all ? n : n_all;
	for (size_t i = 0; i < n; i++)
		ids[i] = all[i].id;
	free(all);
	return (int64_t)n;
}
