/*
 * lib/text/scanner_parts.h - what the scanners share: classes of characters, runs of them, white space
 *
 * TEXT is well-formed UTF-8, so a character's length and code point need no checks. The classes are those of Unicode
 * 16, in which both dialects agree for every class here.
 */
#ifndef LIB_TEXT_SCANNER_PARTS_H
#define LIB_TEXT_SCANNER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/text/scanner.h"
#include "lib/text/unicode_regex.h"

/* A bit for each class of unicode_scanner_blocks, in the order of scripts/gen-unicode-regex. */
enum class_bits {
	IS_OTHER = 1 << 0,  /* none of the below */
	IS_UPPER = 1 << 1,  /* Lu Lt */
	IS_LOWER = 1 << 2,  /* Ll */
	IS_LETTER = 1 << 3, /* Lm Lo */
	IS_MARK = 1 << 4,
	IS_NUMBER = 1 << 5,
	IS_BLANK = 1 << 6, /* \s but for \r and \n */
	IS_NEWLINE = 1 << 7,
	IS_SIGN = 1 << 8, /* P S */

	IS_ALPHA = IS_UPPER | IS_LOWER | IS_LETTER,
	IS_SPACE = IS_BLANK | IS_NEWLINE,
	IS_ANY = (1 << 9) - 1,
};

/* The end of the text has no class. */
#define AT_END 0u

static inline unsigned class_of_ascii(uint8_t c)
{
	return 1u << unicode_scanner_blocks[0][c];
}

static inline size_t length_at(const uint8_t *p)
{
	return *p < 0x80 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4;
}

static inline unsigned class_of(uint32_t c)
{
	return 1u << unicode_scanner_blocks[unicode_scanner_index[c >> 8]][c & 255];
}

/* The class of the character at P (< END), and its length. */
static inline unsigned class_at(const uint8_t *p, size_t *length)
{
	uint32_t c = *p;

	if (c < 0x80) {
		*length = 1;
		return class_of_ascii(*p);
	}
	if (c < 0xE0) {
		*length = 2;
		c = (c & 31) << 6 | (p[1] & 63u);
	} else if (c < 0xF0) {
		*length = 3;
		c = (c & 15) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
	} else {
		*length = 4;
		c = (c & 7) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
	}
	return class_of(c);
}

static inline unsigned class_or_end(const uint8_t *p, const uint8_t *end)
{
	size_t length;

	return p < end ? class_at(p, &length) : AT_END;
}

/* The end of the run of characters of CLASSES at P. */
static inline const uint8_t *run(const uint8_t *p, const uint8_t *end, unsigned classes)
{
	while (p < end) {
		size_t length;

		if (!(class_at(p, &length) & classes))
			break;
		p += length;
	}
	return p;
}

/* run() for CLASSES that hold IS_LETTER: what begins with E5 to E8, U+5000 to U+8FFF, are ideographs. */
static inline const uint8_t *run_of_ideographs(const uint8_t *p, const uint8_t *end,
					       unsigned classes)
{
	while (p < end) {
		size_t length = 3;

		if ((uint8_t)(*p - 0xE5) > 3 && !(class_at(p, &length) & classes))
			break;
		p += length;
	}
	return p;
}

#define EACH_BYTE 0x0101010101010101u

/* The top bit of each byte of WORD, after FOLD is set in it, that is no ASCII letter of lower case. */
static inline uint64_t not_lower(uint64_t word, uint64_t fold)
{
	uint64_t low = (word | fold) & EACH_BYTE * 127;
	uint64_t from_a = low + EACH_BYTE * (128 - 'a'), after_z = low + EACH_BYTE * (127 - 'z');

	return ~(from_a & ~after_z & ~word) & EACH_BYTE * 128;
}

/*
 * run() for CLASSES that hold IS_LETTER and the ASCII letters (FOLD 32), or those of lower case (FOLD 0), and of ASCII nothing else:
 * eight bytes at a time, since most words are short and a branch a byte is mispredicted once a word.
 */
static inline const uint8_t *run_of_letters(const uint8_t *p, const uint8_t *end, unsigned classes,
					    unsigned fold)
{
	while (end - p >= 8) {
		uint64_t word, others;

		memcpy(&word, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		others = not_lower(word, EACH_BYTE * fold);
		if (!others) {
			p += 8;
			continue;
		}
		p += __builtin_ctzll(others) / 8;
		if (*p < 0x80)
			return p;
		break;
	}
	return run_of_ideographs(p, end, classes);
}

static inline const uint8_t *newlines(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == '\r' || *p == '\n'))
		p++;
	return p;
}

/* At most MOST characters of class number, of which P has one. */
static inline const uint8_t *numbers(const uint8_t *p, const uint8_t *end, int most)
{
	while (most-- && class_or_end(p, end) & IS_NUMBER)
		p += length_at(p);
	return p;
}

/* The end of a run of white space, and what is in it. */
struct space_run {
	const uint8_t *end;
	const uint8_t *last;	/* its last character */
	const uint8_t *newline; /* after its last \r or \n; NULL when it has none */
};

struct space_run scanner_space(const uint8_t *p, const uint8_t *end);

/* `\s+(?!\S)|\s+`: the whole run at P, without its last character when something follows. */
const uint8_t *scanner_space_before(const uint8_t *p, const uint8_t *end);
/* `\s*[\r\n]+|\s+(?!\S)|\s+` */
const uint8_t *scanner_space_lines(const uint8_t *p, const uint8_t *end);

/* `'s|'t|'re|'ve|'m|'ll|'d` at P: its end, or P. ANY_CASE: (?i), where U+017F is an s. */
const uint8_t *scanner_contraction(const uint8_t *p, const uint8_t *end, bool any_case);

/* Each: the end of the piece at P, which is before END. */
const uint8_t *scanner_gpt2(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_cl100k(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_llama3(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_qwen2(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_o200k(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_tekken(const uint8_t *p, const uint8_t *end);
const uint8_t *scanner_deepseek(const uint8_t *p, const uint8_t *end);

#endif
