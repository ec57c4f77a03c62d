/*
 * lib/text/train_bpe_alphabet.c - which characters words are made of
 *
 * Of characters equally frequent the lower code point is kept; the peer's choice there depends on a hash map. With a prefix or
 * a suffix a character may be up to four pieces: those that occur get ids in the order of the code points, plain
 * ones first.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"
#include "lib/text/train_bpe_parts.h"

#define CODE_POINTS 0x110000u

int train_alphabet_init(struct train_bpe *t)
{
	struct train_alphabet *a = &t->alphabet;
	bool kinds = t->options.continuing_prefix.size || t->options.end_of_word_suffix.size;

	a->end = t->options.byte_level ? BYTELEVEL_END : CODE_POINTS;
	a->counts = mem_new(a->end, sizeof(*a->counts));
	a->symbols = mem_new(a->end, sizeof(*a->symbols) * (kinds ? TRAIN_KINDS : 1));
	a->kinds = kinds ? mem_new(a->end, 1) : NULL;
	if (!a->counts || !a->symbols || (kinds && !a->kinds))
		return -1;
	for (int i = 0; i < 256; i++)
		a->points[i] = bytelevel_code_point((uint8_t)i);
	return 0;
}

void train_alphabet_clear(struct train_alphabet *a)
{
	free(a->counts);
	free(a->symbols);
	free(a->kinds);
	a->counts = NULL;
	a->symbols = NULL;
	a->kinds = NULL;
}

/* The character at *AT, which moves on. */
static uint32_t next_point(const struct train_bpe *t, struct bytes word, size_t *at)
{
	uint32_t point = 0;

	if (t->options.byte_level)
		return t->alphabet.points[(unsigned char)word.data[(*at)++]];
	*at += utf8_decode(word.data + *at, word.size - *at, &point);
	return point;
}

static unsigned int kind_of(const struct train_bpe *t, bool first, bool last)
{
	return (t->options.continuing_prefix.size && !first ? 1u : 0u) |
	       (t->options.end_of_word_suffix.size && last ? 2u : 0u);
}

int train_alphabet_count(struct train_bpe *t, struct bytes word, uint64_t count)
{
	struct train_alphabet *a = &t->alphabet;
	size_t valid = t->options.byte_level ? word.size : utf8_valid_prefix(word.data, word.size);

	if (valid < word.size)
		return err_set(ERR_FORMAT, "a word is not UTF-8 at its byte %zu", valid);
	if (t->options.byte_level && !a->kinds)
		return 0;
	for (size_t at = 0; at < word.size;) {
		bool first = at == 0;
		uint32_t point = next_point(t, word, &at);

		a->counts[point] += count;
		if (a->kinds)
			a->kinds[point] |= (uint8_t)(1u << kind_of(t, first, at == word.size));
	}
	return 0;
}

struct character {
	uint64_t count;
	uint32_t point;
};

static int by_count(const void *a, const void *b)
{
	const struct character *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->point < y->point ? -1 : 1;
}

static int by_point(const void *a, const void *b)
{
	const struct character *x = a, *y = b;

	return x->point < y->point ? -1 : x->point > y->point;
}

static size_t gather(const struct train_bpe *t, struct character *out, uint64_t *sum)
{
	const struct train_alphabet *a = &t->alphabet;
	size_t n = 0;

	*sum = 0;
	for (uint32_t p = 0; p < a->end; p++) {
		if (a->counts[p] == 0)
			continue;
		if (out)
			out[n] = (struct character){ a->counts[p], p };
		*sum += a->counts[p];
		n++;
	}
	return n;
}

/* How many of the N most frequent are kept. Shares are compared as floats, as SentencePiece does. */
static size_t kept(const struct train_bpe_options *o, const struct character *c, size_t n,
		   uint64_t sum)
{
	uint64_t so_far = 0;
	size_t k = 0;

	if (o->character_coverage > 0)
		for (; k < n; so_far += c[k++].count)
			if ((float)((double)so_far / (double)sum) >= (float)o->character_coverage)
				break;
	if (o->character_coverage <= 0)
		k = n;
	return o->max_alphabet && k > o->max_alphabet ? o->max_alphabet : k;
}

static int put_point(struct train_bpe *t, uint32_t point, uint32_t *symbol)
{
	char text[4];

	return train_symbols_put(&t->symbols, (struct bytes){ text, utf8_encode(point, text) },
				 (struct bytes){ 0 }, (struct bytes){ 0 }, symbol);
}

static int put_bytes(struct train_bpe *t)
{
	uint32_t symbol;

	for (uint32_t p = 0; p < BYTELEVEL_END; p++)
		if (bytelevel_byte(p) >= 0 && put_point(t, p, &symbol) < 0)
			return -1;
	return 0;
}

static int put_characters(struct train_bpe *t)
{
	uint64_t sum;
	size_t n = gather(t, NULL, &sum);
	struct character *all = mem_new(n, sizeof(*all));
	uint32_t symbol;
	int result = 0;

	if (!all)
		return -1;
	gather(t, all, &sum);
	qsort(all, n, sizeof(*all), by_count);
	n = kept(&t->options, all, n, sum);
	qsort(all, n, sizeof(*all), by_point);
	for (size_t i = 0; i < n && result == 0; i++)
		result = put_point(t, all[i].point, &symbol);
	free(all);
	return result;
}

/* The pieces that POINT is, whose plain one is SYMBOL. */
static int put_kinds(struct train_bpe *t, uint32_t point, uint32_t symbol)
{
	struct train_alphabet *a = &t->alphabet;
	const struct bytes none = { 0 };

	a->symbols[point] = symbol + 1;
	t->symbols.items[symbol].span = t->symbols.items[symbol].reach = 1;
	for (uint32_t k = 1; a->kinds && k < TRAIN_KINDS; k++) {
		uint32_t other;
		char text[4];
		size_t size = utf8_encode(point, text);

		if (!(a->kinds[point] >> k & 1))
			continue;
		if (train_symbols_put(&t->symbols, k & 1 ? t->options.continuing_prefix : none,
				      (struct bytes){ text, size },
				      k & 2 ? t->options.end_of_word_suffix : none, &other) < 0)
			return -1;
		a->symbols[(size_t)k * a->end + point] = other + 1;
		t->symbols.items[other].span = t->symbols.items[other].reach = 1;
	}
	return 0;
}

/* Any character that is a piece counts as known, one of `first` or of the old model too. */
static int put_all_kinds(struct train_bpe *t)
{
	struct train_alphabet *a = &t->alphabet;

	for (uint32_t p = 0; p < a->end; p++) {
		char text[4];
		uint32_t symbol;

		if (t->options.byte_level ? bytelevel_byte(p) < 0 : a->counts[p] == 0)
			continue;
		symbol = train_symbols_find(&t->symbols,
					    (struct bytes){ text, utf8_encode(p, text) });
		if (symbol == TRAIN_NONE)
			a->left_out += a->counts[p];
		else if (put_kinds(t, p, symbol) < 0)
			return -1;
	}
	return 0;
}

int train_alphabet_choose(struct train_bpe *t)
{
	const struct bytes none = { 0 };
	uint32_t symbol;

	for (size_t i = 0; i < t->options.n_first; i++)
		if (train_symbols_put(&t->symbols, t->first[i], none, none, &symbol) < 0)
			return -1;
	if ((t->options.byte_level ? put_bytes(t) : put_characters(t)) < 0 || put_all_kinds(t) < 0)
		return -1;
	if (t->symbols.n > t->options.vocab_size)
		return err_set(ERR_ARGUMENT,
			       "a vocabulary of %u pieces is too small: there are %u before the "
			       "first merge, and that is the smallest possible",
			       t->options.vocab_size, t->symbols.n);
	return 0;
}

size_t train_alphabet_spell(const struct train_bpe *t, struct bytes word, uint32_t *out)
{
	const struct train_alphabet *a = &t->alphabet;
	size_t n = 0;

	for (size_t at = 0; at < word.size;) {
		bool first = at == 0;
		uint32_t point = next_point(t, word, &at);
		size_t kind = kind_of(t, first, at == word.size);
		uint32_t symbol = a->symbols[kind * a->end + point];

		out[n] = symbol - 1;
		n += symbol != 0;
	}
	return n;
}
