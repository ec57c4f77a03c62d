/* lib/text/charset.c - sets of code points, as sorted ranges */
#include "lib/text/charset.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/text/unicode_regex.h"

#define LAST_CODE_POINT 0x10FFFFu

void charset_free(struct charset *s)
{
	free(s->items);
	*s = (struct charset){ 0 };
}

/* Appends a range that is not below the last one, joining it when they touch. */
static int append(struct charset *s, uint32_t first, uint32_t last)
{
	struct char_range *end = s->n ? &s->items[s->n - 1] : NULL;

	if (end && first <= end->last + 1) {
		if (last > end->last)
			end->last = last;
		return 0;
	}
	if (mem_grow(&s->items, &s->capacity, s->n + 1, sizeof(*s->items)))
		return -1;
	s->items[s->n++] = (struct char_range){ first, last };
	return 0;
}

int charset_unite(struct charset *s, const struct charset *other)
{
	struct charset sum = { 0 };
	size_t i = 0, j = 0;

	while (i < s->n || j < other->n) {
		bool ours =
			j == other->n || (i < s->n && s->items[i].first <= other->items[j].first);
		struct char_range r = ours ? s->items[i++] : other->items[j++];

		if (append(&sum, r.first, r.last)) {
			charset_free(&sum);
			return -1;
		}
	}
	charset_free(s);
	*s = sum;
	return 0;
}

int charset_add(struct charset *s, uint32_t first, uint32_t last)
{
	struct char_range range = { first, last };
	struct charset one = { &range, 1, 1 };

	if (s->n == 0 || first >= s->items[s->n - 1].first)
		return append(s, first, last);
	return charset_unite(s, &one);
}

int charset_intersect(struct charset *s, const struct charset *other)
{
	struct charset both = { 0 };
	size_t i = 0, j = 0;

	while (i < s->n && j < other->n) {
		struct char_range a = s->items[i], b = other->items[j];
		uint32_t first = a.first > b.first ? a.first : b.first;
		uint32_t last = a.last < b.last ? a.last : b.last;

		if (first <= last && append(&both, first, last)) {
			charset_free(&both);
			return -1;
		}
		if (a.last < b.last)
			i++;
		else
			j++;
	}
	charset_free(s);
	*s = both;
	return 0;
}

int charset_invert(struct charset *s)
{
	struct charset rest = { 0 };
	uint32_t at = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].first > at && append(&rest, at, s->items[i].first - 1)) {
			charset_free(&rest);
			return -1;
		}
		at = s->items[i].last + 1;
	}
	if (at <= LAST_CODE_POINT && append(&rest, at, LAST_CODE_POINT)) {
		charset_free(&rest);
		return -1;
	}
	charset_free(s);
	*s = rest;
	return 0;
}

bool charset_has(const struct charset *s, uint32_t code_point)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].last < code_point)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->items[low].first <= code_point;
}

/* --- by name --- */

static uint32_t pool_number(const uint8_t **at)
{
	uint32_t value = 0;
	unsigned shift = 0;

	do {
		value |= (uint32_t)(**at & 127) << shift;
		shift += 7;
	} while (*(*at)++ & 128);
	return value;
}

static int add_class(struct charset *s, const struct unicode_class *class)
{
	const uint8_t *at = unicode_regex_pool + class->place;
	struct charset found = { 0 };
	uint32_t next = 0;
	int result = 0;

	for (uint32_t i = 0; i < class->n && !result; i++) {
		uint32_t first = next + pool_number(&at);
		uint32_t last = first + pool_number(&at);

		result = append(&found, first, last);
		next = last + 1;
	}
	if (!result)
		result = charset_unite(s, &found);
	charset_free(&found);
	return result;
}

int charset_add_named(struct charset *s, struct bytes name, enum regex_dialect dialect)
{
	size_t low = 0, high = unicode_n_classes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bytes_compare(bytes_of(unicode_classes[middle].name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < unicode_n_classes && bytes_are(name, unicode_classes[low].name); low++)
		if (unicode_classes[low].dialects >> dialect & 1)
			return add_class(s, &unicode_classes[low]) ? -1 : 1;
	return 0;
}

int charset_fold(struct charset *s, enum regex_dialect dialect)
{
	struct charset more = { 0 };
	int result = 0;

	for (size_t i = 0; i < unicode_n_cases && !result; i++) {
		const struct unicode_case *c = &unicode_cases[i];

		if (c->dialects >> dialect & 1 && charset_has(s, c->from) && !charset_has(s, c->to))
			result = charset_add(&more, c->to, c->to);
	}
	if (!result)
		result = charset_unite(s, &more);
	charset_free(&more);
	return result;
}

/* --- writing --- */

static void write_range(struct buffer *out, uint32_t first, uint32_t last)
{
	if (first > last)
		return;
	buffer_format(out, "\\x{%x}", first);
	if (last > first)
		buffer_format(out, "-\\x{%x}", last);
}

/* PCRE2 refuses an end that is a surrogate. */
static void write_around_surrogates(struct buffer *out, struct char_range r)
{
	if (r.last < 0xD800 || r.first > 0xDFFF) {
		write_range(out, r.first, r.last);
		return;
	}
	if (r.first < 0xD800)
		write_range(out, r.first, 0xD7FF);
	if (r.last > 0xDFFF)
		write_range(out, 0xE000, r.last);
}

/* The gaps of S, when S reaches the last code point: so that [^x] stays one range. */
static void write_negated(const struct charset *s, struct buffer *out)
{
	uint32_t at = 0;

	buffer_put_text(out, "[^");
	for (size_t i = 0; i < s->n; at = s->items[i++].last + 1)
		if (s->items[i].first > at)
			write_around_surrogates(out,
						(struct char_range){ at, s->items[i].first - 1 });
	buffer_put_text(out, "]");
}

static bool is_only_surrogates(struct char_range r)
{
	return r.first >= 0xD800 && r.last <= 0xDFFF;
}

void charset_write(const struct charset *s, struct buffer *out)
{
	bool to_the_end = s->n && s->items[s->n - 1].last == LAST_CODE_POINT;

	if (s->n == 0 || (s->n == 1 && is_only_surrogates(s->items[0]))) {
		buffer_put_text(out, "(?!)");
	} else if (s->n == 1 && s->items[0].first == 0 && to_the_end) {
		buffer_put_text(out, "(?s:.)");
	} else if (to_the_end) {
		write_negated(s, out);
	} else {
		buffer_put_text(out, "[");
		for (size_t i = 0; i < s->n; i++)
			write_around_surrogates(out, s->items[i]);
		buffer_put_text(out, "]");
	}
}
