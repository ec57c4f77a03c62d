/*
 * lib/text/unicode_regex.h - the sets behind the classes of regular expressions
 *
 * unicode_regex_data.c has them as scripts/gen-unicode-regex asked them of the peers, code point by code
 * point. Bit 1 << dialect (enum regex_dialect) in `dialects` says whose an entry is.
 */
#ifndef LIB_TEXT_UNICODE_REGEX_H
#define LIB_TEXT_UNICODE_REGEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * A set by name: `lu` and `latin` as in \p{..}, lower case and without `_`; `:alpha` as in [[:alpha:]]; `\w`.
 * Its N ranges begin at PLACE of the pool: for each the gap since the end of the one before and its
 * length less one, as numbers of 7 bits a byte, low ones first, the top bit set when more follow. Sorted by name.
 */
struct unicode_class {
	const char *name;
	uint8_t dialects;
	uint32_t place, n;
};

extern const uint8_t unicode_regex_pool[];
extern const struct unicode_class unicode_classes[];
extern const size_t unicode_n_classes;

/* TO matches where FROM stands under (?i), as one character. Sorted. */
struct unicode_case {
	uint32_t from, to, dialects;
};

extern const struct unicode_case unicode_cases[];
extern const size_t unicode_n_cases;

/* Oniguruma also matches the two or three code points FOLD where FROM stands under (?i). */
struct unicode_multi {
	uint32_t from, fold[3];
};

extern const struct unicode_multi unicode_multis[];
extern const size_t unicode_n_multis;

/* The class of code point C for the scanners: unicode_scanner_blocks[unicode_scanner_index[C >> 8]][C & 255]. */
extern const uint8_t unicode_scanner_index[0x1100];
extern const uint8_t unicode_scanner_blocks[][256];

#endif
