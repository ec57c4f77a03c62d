/*
 * lib/text/scanner_deepseek.c - the last split of DeepSeek V3's sequence
 *	[!-/:-~][A-Za-z]+ (the ASCII signs, spelled out)|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
 *	|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * Numbers, and characters of no class here, match only before a letter or a mark. What lies between two matches is
 * a piece of its own.
 */
#include "lib/text/scanner_parts.h"

#define IS_WORD (IS_ALPHA | IS_MARK)
#define IS_GAP	(IS_NUMBER | IS_OTHER)

static inline bool is_ascii_letter(uint8_t c)
{
	return (uint8_t)((c | 32) - 'a') < 26;
}

static const uint8_t *after_sign(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = p + 1;

	if (*p >= 0x80)
		return p;
	while (q < end && is_ascii_letter(*q))
		q++;
	return q > p + 1 ? q : p;
}

/* Up to the next match; the last of them begins it when a word follows. */
static const uint8_t *gap(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *last = p, *q = p;
	size_t length;

	while (q < end && class_at(q, &length) & IS_GAP) {
		last = q;
		q += length;
	}
	return class_or_end(q, end) & IS_WORD ? last : q;
}

static const uint8_t *signs(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *start = p + (*p == ' ');
	const uint8_t *q = run(start, end, IS_SIGN);

	return q > start ? newlines(q, end) : p;
}

const uint8_t *scanner_deepseek(const uint8_t *p, const uint8_t *end)
{
	size_t length;
	unsigned class = class_at(p, &length);
	const uint8_t *q = p;

	if (class & IS_WORD)
		return run_of_letters(p + length, end, IS_WORD, 32);
	if (class & IS_SIGN && (q = after_sign(p, end)) > p)
		return q;
	if (!(class & (IS_SIGN | IS_NEWLINE)) && class_or_end(p + length, end) & IS_WORD)
		return run_of_letters(p + length, end, IS_WORD, 32);
	if (class & IS_GAP)
		return gap(p, end);
	q = signs(p, end);
	return q > p ? q : scanner_space_lines(p, end);
}
