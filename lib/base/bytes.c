/* lib/base/bytes.c - comparing runs of bytes, and shell patterns over them */
#include "lib/base/bytes.h"

int bytes_compare(struct bytes a, struct bytes b)
{
	size_t n = a.size < b.size ? a.size : b.size;
	int order = n ? memcmp(a.data, b.data, n) : 0;

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

/*
 * The end of the set that begins after a [ and its !, at P: its closing ], or NULL. The first
 * byte is never the closing one, as in the shell.
 */
static const char *set_end(const char *p)
{
	const char *first = p;

	for (; *p; p++) {
		if (*p == ']' && p != first)
			return p;
		if (*p == '\\' && p[1])
			p++;
	}
	return NULL;
}

/* One byte of a set, and past it; \ takes the next as it is. */
static unsigned char set_byte(const char **p, const char *end)
{
	if (**p == '\\' && *p + 1 < end)
		++*p;
	return (unsigned char)*(*p)++;
}

static bool set_has(const char *p, const char *end, unsigned char c)
{
	bool found = false;

	while (p < end) {
		unsigned char low = set_byte(&p, end), high = low;

		if (p + 1 < end && *p == '-') {
			p++;
			high = set_byte(&p, end);
		}
		found |= low <= c && c <= high;
	}
	return found;
}

/*
 * Matches C against the one element at P, which is not *. The element's length in the pattern; 0
 * when C is none of it. *UNCLOSED is the first [ known to lack its ]: every later one lacks it
 * too, so none is searched twice.
 */
static size_t match_one(const char *p, unsigned char c, const char **unclosed)
{
	if (*p == '?')
		return 1;
	if (*p == '\\' && p[1])
		return (unsigned char)p[1] == c ? 2 : 0;
	if (*p == '[' && (!*unclosed || p < *unclosed)) {
		const char *set = p[1] == '!' ? p + 2 : p + 1, *end = set_end(set);

		if (end)
			return set_has(set, end, c) != (p[1] == '!') ? (size_t)(end + 1 - p) : 0;
		*unclosed = p;
	}
	return *p && (unsigned char)*p == c;
}

/* Only the last * is ever taken back: an earlier one could give nothing that it cannot. */
bool bytes_match(struct bytes name, const char *pattern)
{
	const char *after_star = NULL, *unclosed = NULL;
	size_t at = 0, star_at = 0;

	while (at < name.size) {
		size_t n;

		if (*pattern == '*') {
			after_star = ++pattern;
			star_at = at;
			continue;
		}
		n = match_one(pattern, (unsigned char)name.data[at], &unclosed);
		if (n) {
			pattern += n;
			at++;
			continue;
		}
		if (!after_star)
			return false;
		pattern = after_star;
		at = ++star_at;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
