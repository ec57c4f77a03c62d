/*
 * lib/text/scanner_o200k.c - o200k, and Tekken, which has no contractions and takes numbers one by one
 *
 * With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and W = [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
 *	[^\r\n\p{L}\p{N}]?U*W+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+W*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 */
#include "lib/text/scanner_parts.h"

#define IS_U (IS_UPPER | IS_LETTER | IS_MARK)
#define IS_W (IS_LOWER | IS_LETTER | IS_MARK)

/*
 * U*W+ at P: its end, or NULL. *UPPER_END: the end of the longest U*. Where no W follows that, the engine gives
 * characters back until one is also a W, and the match ends after it.
 */
static inline const uint8_t *title_word(const uint8_t *p, const uint8_t *end,
					const uint8_t **upper_end)
{
	const uint8_t *last = NULL, *q = p;
	unsigned class = AT_END;
	size_t length;

	while (q < end && (class = class_at(q, &length)) & IS_U) {
		q += length;
		if (class & IS_W)
			last = q;
	}
	*upper_end = q;
	return q < end && class & IS_LOWER ? run_of_letters(q, end, IS_W, 0) : last;
}

/* Both alternatives that make words; P when neither matches. */
static inline const uint8_t *word(const uint8_t *p, const uint8_t *end, unsigned class,
				  size_t length)
{
	const uint8_t *start = class & IS_ALPHA ? p : p + length;
	const uint8_t *upper_end, *q = title_word(start, end, &upper_end);

	if (q)
		return q;
	/* A mark may also be the word's own first character, and alone is then a word. */
	if (class & IS_MARK)
		return p + length;
	return upper_end > start ? upper_end : p;
}

static inline const uint8_t *signs(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *start = p + (*p == ' ');
	const uint8_t *q = run(start, end, IS_ANY & ~(IS_SPACE | IS_ALPHA | IS_NUMBER));

	if (q == start)
		return p;
	while (q < end && (*q == '\r' || *q == '\n' || *q == '/'))
		q++;
	return q;
}

static inline const uint8_t *piece(const uint8_t *p, const uint8_t *end, bool contractions,
				   int digits)
{
	const uint8_t *q = p;
	size_t length;
	unsigned class = class_at(p, &length);

	if (class & IS_NUMBER)
		return numbers(p, end, digits);
	if (!(class & IS_NEWLINE))
		q = word(p, end, class, length);
	if (q > p)
		return contractions ? scanner_contraction(q, end, true) : q;
	q = signs(p, end);
	return q > p ? q : scanner_space_lines(p, end);
}

const uint8_t *scanner_o200k(const uint8_t *p, const uint8_t *end)
{
	return piece(p, end, true, 3);
}

const uint8_t *scanner_tekken(const uint8_t *p, const uint8_t *end)
{
	return piece(p, end, false, 1);
}
