/* lib/text/scanner_space.c - white space and contractions, which the scanners share */
#include "lib/text/scanner_parts.h"

struct space_run scanner_space(const uint8_t *p, const uint8_t *end)
{
	struct space_run r = { p, p, NULL };
	size_t length;
	unsigned class;

	while (r.end < end && (class = class_at(r.end, &length)) & IS_SPACE) {
		r.last = r.end;
		r.end += length;
		if (class == IS_NEWLINE)
			r.newline = r.end;
	}
	return r;
}

static const uint8_t *before(const struct space_run *r, const uint8_t *p, const uint8_t *end)
{
	return r->end == end || r->last == p ? r->end : r->last;
}

const uint8_t *scanner_space_before(const uint8_t *p, const uint8_t *end)
{
	struct space_run r = scanner_space(p, end);

	return before(&r, p, end);
}

const uint8_t *scanner_space_lines(const uint8_t *p, const uint8_t *end)
{
	struct space_run r = scanner_space(p, end);

	return r.newline ? r.newline : before(&r, p, end);
}

const uint8_t *scanner_contraction(const uint8_t *p, const uint8_t *end, bool any_case)
{
	uint8_t lower = any_case ? 32 : 0;
	size_t left = (size_t)(end - p);
	uint8_t second, third;

	if (left < 2 || *p != '\'')
		return p;
	second = p[1] | lower;
	third = left > 2 ? p[2] | lower : 0;
	if (second == 's' || second == 't' || second == 'm' || second == 'd')
		return p + 2;
	if ((second == 'r' || second == 'v') && third == 'e')
		return p + 3;
	if (second == 'l' && third == 'l')
		return p + 3;
	if (any_case && p[1] == 0xC5 && left > 2 && p[2] == 0xBF)
		return p + 3;
	return p;
}
