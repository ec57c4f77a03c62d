/*
 * lib/text/unicode_class.h - what the pre-tokenizers of `tokenizers` take a character for
 *
 * Derived from the peer, code point by code point (scripts/gen-unicode-class): no one version of Unicode says
 * the same. Two stages: a block's number for every 128 code points, then the block's values.
 */
#ifndef LIB_TEXT_UNICODE_CLASS_H
#define LIB_TEXT_UNICODE_CLASS_H

#include <stdint.h>

enum unicode_class {
	UNICODE_SPACE = 1,	 /* WhitespaceSplit, BertPreTokenizer, \s of Whitespace */
	UNICODE_PUNCTUATION = 2, /* Punctuation, BertPreTokenizer */
	UNICODE_NUMERIC = 4,	 /* Digits */
	UNICODE_WORD = 8,	 /* \w of Whitespace */
};

/* Declared without a size: gen-unicode-class counts the blocks. */
extern const uint8_t unicode_class_index[], unicode_class_blocks[];
extern const uint8_t unicode_script_index[], unicode_script_blocks[];

/* Bits of enum unicode_class. CODE_POINT is below 0x110000. */
static inline unsigned unicode_class(uint32_t code_point)
{
	return unicode_class_blocks[unicode_class_index[code_point >> 7] * 128u +
				    (code_point & 127)];
}

/* A number for the script, as UnicodeScripts sees it: 0 goes with any (the space and what is not assigned). */
static inline unsigned unicode_script(uint32_t code_point)
{
	return unicode_script_blocks[unicode_script_index[code_point >> 7] * 128u +
				     (code_point & 127)];
}

#endif
