/* lib/data/encode_record_offsets.c - offsets in bytes into offsets in characters */

#include "lib/base/utf8.h"
#include "lib/data/encode_record_parts.h"

/* A place in a text that goes to and fro, and how many characters stand before it. */
struct counter {
	struct bytes text;
	size_t at;
	uint32_t n;
};

static size_t width(struct bytes text, size_t at)
{
	uint32_t c;
	size_t n = utf8_decode(text.data + at, text.size - at, &c);

	return n ? n : 1;
}

/* Whether a character begins at AT: a byte that no well-formed sequence from up to three bytes before reaches over. */
static bool is_start(struct bytes text, size_t at)
{
	for (size_t back = 1; back <= 3 && back <= at; back++)
		if (width(text, at - back) > back)
			return false;
	return true;
}

/* Characters that begin before TO. Offsets hardly go back, so this is linear in all. */
static uint32_t count_to(struct counter *c, size_t to)
{
	while (c->at > to) {
		c->at--;
		c->n -= is_start(c->text, c->at);
	}
	while (c->at < to) {
		c->n += is_start(c->text, c->at);
		c->at++;
	}
	return c->n;
}

void record_count_characters(struct text_span *spans, size_t n, struct bytes document)
{
	struct counter from = { document, 0, 0 }, to = { document, 0, 0 };

	for (size_t i = 0; i < n; i++) {
		spans[i].from = count_to(&from, spans[i].from);
		spans[i].to = count_to(&to, spans[i].to);
	}
}
