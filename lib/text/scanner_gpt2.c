/*
 * lib/text/scanner_gpt2.c
 *	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 */
#include "lib/text/scanner_parts.h"

const uint8_t *scanner_gpt2(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = scanner_contraction(p, end, false);
	unsigned class;

	if (q > p)
		return q;
	q += *p == ' ';
	class = class_or_end(q, end);
	if (class & IS_ALPHA)
		return run_of_letters(q, end, IS_ALPHA, 32);
	if (class & IS_NUMBER)
		return run(q, end, IS_NUMBER);
	if (class && !(class & IS_SPACE))
		return run(q, end, IS_ANY & ~(IS_SPACE | IS_ALPHA | IS_NUMBER));
	return scanner_space_before(p, end);
}
