/*
 * lib/text/normalize_parts.h - the steps that a normalizer is made of
 *
 * A component becomes one step or several (BertNormalizer: five). Each kind has two functions: one says how
 * much of a text's start it leaves alone, one rewrites the rest. Only the files normalize*.c include this.
 */
#ifndef LIB_TEXT_NORMALIZE_PARTS_H
#define LIB_TEXT_NORMALIZE_PARTS_H

#include "lib/text/charsmap.h"
#include "lib/text/literal.h"
#include "lib/text/regex.h"
#include "lib/text/spec.h"
#include "lib/text/text.h"
#include "lib/text/trie.h"
#include "lib/text/unicode_normalize.h"

struct step;

/*
 * SETTLED: bytes at the start of DATA that the step keeps, whatever comes after SIZE when MORE is set (a later
 * part of the text that an earlier step may have changed). REWRITE: W stands at SETTLED bytes.
 */
struct step_kind {
	size_t (*settled)(const struct step *s, const char *data, size_t size, bool more);
	int (*rewrite)(const struct step *s, struct text_rewrite *w);
};

struct step {
	const struct step_kind *kind;
	unsigned mask;		   /* of traits: characters that the step may change */
	bool ascii_inert;	   /* no ASCII character is among them */
	bool compatible;	   /* forms: NFKC, NFKD */
	bool composes;		   /* forms: NFC, NFKC */
	bool left, right;	   /* strip */
	struct literal find;	   /* replace: the text looked for, perhaps empty; owned */
	struct bytes put;	   /* replace, prepend */
	struct regex *regex;	   /* owned */
	struct charsmap *charsmap; /* owned */
	bool plain[128];	   /* charsmap, sentencepiece: ASCII that it leaves alone */
	const struct normalizer_spec *spec; /* sentencepiece */
	struct trie keep;		    /* sentencepiece: the texts that stay; owned */
};

extern const struct step_kind step_form;
extern const struct step_kind step_lowercase;
extern const struct step_kind step_filter;     /* removes characters of MASK */
extern const struct step_kind step_bert_clean; /* removes or makes a space */
extern const struct step_kind step_nmt;
extern const struct step_kind step_ideographs;
extern const struct step_kind step_byte_level;
extern const struct step_kind step_charsmap;
extern const struct step_kind step_replace;
extern const struct step_kind step_prepend;
extern const struct step_kind step_strip;
extern const struct step_kind step_sentencepiece;

/* Bytes of the character at the start of N bytes (N > 0) of well-formed text; never more than N. */
static inline size_t char_length(const char *data, size_t n)
{
	unsigned char c = (unsigned char)data[0];
	size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

	return length < n ? length : n;
}

/* Its code point, and its bytes to *LENGTH. Below 0x110000 whatever the bytes are. */
static inline uint32_t char_decode(const char *data, size_t n, size_t *length)
{
	const unsigned char *s = (const unsigned char *)data;
	uint32_t c;

	*length = char_length(data, n);
	switch (*length) {
	case 1: return s[0];
	case 2: return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
	case 3: return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
	default: break;
	}
	c = (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
	return c < 0x110000 ? c : 0xFFFD;
}

/* Fills S->plain from its character map. */
void step_find_plain(struct step *s);

/* Makes all that a step of sentencepiece needs from SPEC, which must outlive it. */
int step_prepare_sentencepiece(struct step *s, const struct normalizer_spec *spec);

/* Where the first character at or after AT stands that has a trait of S->mask; SIZE when none has. */
size_t step_scan(const struct step *s, const char *data, size_t size, size_t at);

/* The start of the character before AT (> 0). */
size_t char_before(const char *data, size_t at);

#endif
