/*
 * lib/text/normalize_characters.c - the steps that look at one character at a time
 *
 * Lowercase, StripAccents, Nmt, ByteLevel, and BertNormalizer's cleaning, ideographs and accents.
 */
#include "lib/text/normalize_parts.h"

#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"

#define HIGH_BITS 0x8080808080808080u

/* Bytes from AT on that are ASCII: 64 at a time, then 8, then the last ones. */
static size_t ascii_end(const char *data, size_t size, size_t at)
{
	uint64_t word[8];

	while (size - at >= sizeof(word)) {
		memcpy(word, data + at, sizeof(word));
		if ((word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] |
		     word[7]) &
		    HIGH_BITS)
			break;
		at += sizeof(word);
	}
	while (size - at >= sizeof(word[0])) {
		memcpy(word, data + at, sizeof(word[0]));
		if (word[0] & HIGH_BITS)
			break;
		at += sizeof(word[0]);
	}
	while (at < size && !(data[at] & 0x80))
		at++;
	return at;
}

size_t step_scan(const struct step *s, const char *data, size_t size, size_t at)
{
	const uint16_t *ascii = unicode_traits_value[unicode_traits_block[0]];
	size_t length;

	while (at < size) {
		if (!(data[at] & 0x80)) {
			if (s->ascii_inert)
				at = ascii_end(data, size, at);
			else if (ascii[(unsigned char)data[at]] & s->mask)
				return at;
			else
				at++;
			continue;
		}
		if (unicode_traits(char_decode(data + at, size - at, &length)) & s->mask)
			return at;
		at += length;
	}
	return at;
}

size_t char_before(const char *data, size_t at)
{
	size_t from = at - 1;

	while (from > 0 && at - from < 4 && (data[from] & 0xC0) == 0x80)
		from--;
	return from;
}

static size_t settled(const struct step *s, const char *data, size_t size, bool more)
{
	return step_scan(s, data, size, 0);
}

/* --- lowercase --- */

/* Bytes of eight ASCII letters to small ones: 0x20 where a byte is A to Z. */
static uint64_t lower_word(uint64_t word)
{
	uint64_t ones = 0x0101010101010101u;
	uint64_t from_a = word + ones * (0x80 - 'A'), past_z = word + ones * (0x80 - 'Z' - 1);

	return word | ((from_a & ~past_z & HIGH_BITS) >> 2);
}

/* ASCII from the present place to TO. */
static void lower_ascii(struct text_rewrite *w, size_t to)
{
	size_t from = w->out->size, end, n = to - w->at;
	char *data;

	text_keep(w, n);
	if (w->failed)
		return;
	data = w->out->data;
	end = from + n;
	for (uint64_t word; end - from >= sizeof(word); from += sizeof(word)) {
		memcpy(&word, data + from, sizeof(word));
		word = lower_word(word);
		memcpy(data + from, &word, sizeof(word));
	}
	for (; from < end; from++)
		if (data[from] >= 'A' && data[from] <= 'Z')
			data[from] = (char)(data[from] + 0x20);
}

static void lower_one(struct text_rewrite *w)
{
	size_t length, n;
	uint32_t c = char_decode(w->in->data + w->at, w->in->size - w->at, &length);
	unsigned i = UNICODE_LOOK(unicode_lower, c);
	char bytes[4];

	if (i == LOWER_TWO) {
		text_put(w, "i\xCC\x87", 3, length);
	} else if (i) {
		n = utf8_encode(c + (uint32_t)unicode_lower_shift[i], bytes);
		text_put(w, bytes, n, length);
	} else {
		text_keep(w, length);
	}
}

static int rewrite_lowercase(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;

	while (w->at < in->size && !w->failed)
		if (in->data[w->at] & 0x80)
			lower_one(w);
		else
			lower_ascii(w, ascii_end(in->data, in->size, w->at));
	return 0;
}

const struct step_kind step_lowercase = { settled, rewrite_lowercase };

/* --- removing, and making spaces --- */

/* Removes the characters with a trait of REMOVED, makes a space of the others that S looks for. */
static int rewrite_traits(const struct step *s, struct text_rewrite *w, unsigned removed)
{
	const struct text *in = w->in;
	size_t length;

	for (;;) {
		text_keep(w, step_scan(s, in->data, in->size, w->at) - w->at);
		if (w->failed || w->at == in->size)
			return 0;
		if (unicode_traits(char_decode(in->data + w->at, in->size - w->at, &length)) &
		    removed)
			text_drop(w, length);
		else
			text_put(w, " ", 1, length);
	}
}

static int rewrite_filter(const struct step *s, struct text_rewrite *w)
{
	return rewrite_traits(s, w, s->mask);
}

static int rewrite_bert_clean(const struct step *s, struct text_rewrite *w)
{
	return rewrite_traits(s, w, TRAIT_BERT_REMOVED);
}

static int rewrite_nmt(const struct step *s, struct text_rewrite *w)
{
	return rewrite_traits(s, w, TRAIT_NMT_REMOVED);
}

const struct step_kind step_filter = { settled, rewrite_filter };
const struct step_kind step_bert_clean = { settled, rewrite_bert_clean };
const struct step_kind step_nmt = { settled, rewrite_nmt };

/* --- spaces around ideographs --- */

static int rewrite_ideographs(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;
	char spaced[6] = " ";
	size_t length;

	for (;;) {
		text_keep(w, step_scan(s, in->data, in->size, w->at) - w->at);
		if (w->failed || w->at == in->size)
			return 0;
		length = char_length(in->data + w->at, in->size - w->at);
		memcpy(spaced + 1, in->data + w->at, length);
		spaced[length + 1] = ' ';
		text_put(w, spaced, length + 2, length);
	}
}

const struct step_kind step_ideographs = { settled, rewrite_ideographs };

/* --- ByteLevel --- */

static size_t byte_level_settled(const struct step *s, const char *data, size_t size, bool more)
{
	size_t at = 0;

	while (at < size && data[at] >= '!' && data[at] <= '~')
		at++;
	return at;
}

static int rewrite_byte_level(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;
	char letters[8];
	size_t length, n;

	while (w->at < in->size && !w->failed) {
		length = char_length(in->data + w->at, in->size - w->at);
		n = 0;
		for (size_t i = 0; i < length; i++)
			n += utf8_encode(bytelevel_code_point((uint8_t)in->data[w->at + i]),
					 letters + n);
		text_put(w, letters, n, length);
	}
	return 0;
}

const struct step_kind step_byte_level = { byte_level_settled, rewrite_byte_level };
