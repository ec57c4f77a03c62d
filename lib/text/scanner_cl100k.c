/*
 * lib/text/scanner_cl100k.c - Llama 3, Qwen 2 and cl100k, which differ in numbers and in white space at the end
 *	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
 *	|\s*[\r\n]+|\s+(?!\S)|\s+
 */
#include "lib/text/scanner_parts.h"

/* What all three share; P itself where only numbers or white space are left to try. */
static inline const uint8_t *word_or_signs(const uint8_t *p, const uint8_t *end, unsigned *class)
{
	const uint8_t *q;
	size_t length;

	*class = class_at(p, &length);
	if (*class & IS_ALPHA)
		return run_of_letters(p + length, end, IS_ALPHA, 32);
	if (*p == '\'' && (q = scanner_contraction(p, end, true)) > p)
		return q;
	if (*class & (IS_NUMBER | IS_NEWLINE))
		return p;
	if (class_or_end(p + length, end) & IS_ALPHA)
		return run_of_letters(p + length, end, IS_ALPHA, 32);
	q = run(p + (*p == ' '), end, IS_ANY & ~(IS_SPACE | IS_ALPHA | IS_NUMBER));
	if (q > p + (*p == ' '))
		return newlines(q, end);
	return p;
}

const uint8_t *scanner_llama3(const uint8_t *p, const uint8_t *end)
{
	unsigned class;
	const uint8_t *q = word_or_signs(p, end, &class);

	if (q > p)
		return q;
	return class & IS_NUMBER ? numbers(p, end, 3) : scanner_space_lines(p, end);
}

const uint8_t *scanner_qwen2(const uint8_t *p, const uint8_t *end)
{
	unsigned class;
	const uint8_t *q = word_or_signs(p, end, &class);

	if (q > p)
		return q;
	return class & IS_NUMBER ? p + length_at(p) : scanner_space_lines(p, end);
}

/* \s++$ comes before \s*[\r\n]: white space at the very end is one piece, lines or not. */
const uint8_t *scanner_cl100k(const uint8_t *p, const uint8_t *end)
{
	unsigned class;
	const uint8_t *q = word_or_signs(p, end, &class);

	if (q > p)
		return q;
	if (class & IS_NUMBER)
		return numbers(p, end, 3);
	q = run(p, end, IS_SPACE);
	return q == end ? q : scanner_space_lines(p, end);
}
