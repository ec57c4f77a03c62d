/*
 * formats/json_write.c - JSON into a buffer, without white space
 *
 * Escapes are those of Python's json.dumps(ensure_ascii=False), so that files compare equal.
 */
#include <inttypes.h>
#include <math.h>

#include "formats/json_internal.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static void put_escape(struct buffer *b, unsigned char c)
{
	switch (c) {
	case '"': buffer_put(b, "\\\"", 2); break;
	case '\\': buffer_put(b, "\\\\", 2); break;
	case '\b': buffer_put(b, "\\b", 2); break;
	case '\f': buffer_put(b, "\\f", 2); break;
	case '\n': buffer_put(b, "\\n", 2); break;
	case '\r': buffer_put(b, "\\r", 2); break;
	case '\t': buffer_put(b, "\\t", 2); break;
	default: buffer_format(b, "\\u%04x", c);
	}
}

/* N bytes of well-formed UTF-8. */
static void put_escaped(struct buffer *b, const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n, *stop;
	uint64_t high = 0;

	while (p < end) {
		stop = json_plain_end(p, end, &high);
		buffer_put(b, p, (size_t)(stop - p));
		if (stop == end)
			return;
		put_escape(b, *stop);
		p = stop + 1;
	}
}

void json_put_string(struct buffer *b, struct bytes s)
{
	const unsigned char *p = (const unsigned char *)s.data;
	size_t left = s.size;

	buffer_put_u8(b, '"');
	while (left) {
		size_t n = utf8_valid_prefix(p, left);

		put_escaped(b, p, n);
		p += n;
		left -= n;
		if (left) {
			buffer_put(b, REPLACEMENT, 3);
			p++;
			left--;
		}
	}
	buffer_put_u8(b, '"');
}

void json_put_comma(struct buffer *b)
{
	char last = b->size ? b->data[b->size - 1] : '[';

	if (last != '[' && last != '{')
		buffer_put_u8(b, ',');
}

void json_put_key(struct buffer *b, const char *key)
{
	json_put_comma(b);
	json_put_string(b, bytes_of(key));
	buffer_put_u8(b, ':');
}

void json_put_u64(struct buffer *b, uint64_t v)
{
	buffer_format(b, "%" PRIu64, v);
}

void json_put_i64(struct buffer *b, int64_t v)
{
	buffer_format(b, "%" PRId64, v);
}

void json_put_f64(struct buffer *b, double v)
{
	char text[NUMBER_TEXT];

	buffer_put_text(b, isfinite(v) ? number_f64(v, text) : "null");
}

void json_put_f32(struct buffer *b, float v)
{
	char text[NUMBER_TEXT];

	buffer_put_text(b, isfinite(v) ? number_f32(v, text) : "null");
}

void json_put_text_member(struct buffer *b, const char *key, struct bytes value)
{
	json_put_key(b, key);
	json_put_string(b, value);
}

void json_put_u64_member(struct buffer *b, const char *key, uint64_t value)
{
	json_put_key(b, key);
	json_put_u64(b, value);
}

void json_put_f64_member(struct buffer *b, const char *key, double value)
{
	json_put_key(b, key);
	json_put_f64(b, value);
}
