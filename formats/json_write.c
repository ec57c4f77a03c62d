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

#define ESCAPE_MAX 6	/* bytes of an escape */
#define PIECE	   4096 /* bytes that room is made for at once */

/* The escape of C, which needs one, to OUT; returns OUT's new end. */
static char *put_escape(char *out, unsigned char c)
{
	static const char letters['\\' + 1] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
		['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'
	};
	static const char digits[] = "0123456789abcdef";

	*out++ = '\\';
	if (letters[c]) {
		*out++ = letters[c];
		return out;
	}
	memcpy(out, "u00", 3);
	out[3] = digits[c >> 4];
	out[4] = digits[c & 15];
	return out + 5;
}

/*
 * N blocks of SCAN_WIDTH bytes, behind which as many can be read, escaped to OUT, which has room; returns OUT's new end.
 * A block is looked at without waiting for how long the one before became.
 */
static char *put_blocks(char *out, const unsigned char *p, size_t n)
{
	for (const unsigned char *end = p + n * SCAN_WIDTH; p < end; p += SCAN_WIDTH) {
		scan_bytes v = scan_load(p);
		uint64_t stops = json_stops(v);
		size_t from = 0;

		/* The bytes behind the plain ones are written over by what follows. */
		scan_store(out, v);
		for (; stops; stops &= stops - 1) {
			size_t at = scan_first(stops);

			out = put_escape(out + (at - from), p[at]);
			from = at + 1;
			scan_store(out, scan_load(p + from));
		}
		out += SCAN_WIDTH - from;
	}
	return out;
}

/* The last N bytes, from SCAN_WIDTH on and fewer than two times as many, when none needs an escape; else NULL. */
static char *put_plain_end(char *out, const unsigned char *p, size_t n)
{
	scan_bytes first = scan_load(p), last = scan_load(p + n - SCAN_WIDTH);

	if (json_stops(first) | json_stops(last))
		return NULL;
	scan_store(out, first);
	scan_store(out + n - SCAN_WIDTH, last);
	return out + n;
}

/* N bytes, nothing behind which can be read: the last ones are copied to where something can. */
static char *put_piece(char *out, const unsigned char *p, size_t n)
{
	enum { MOST = 2 * SCAN_WIDTH - 1 };
	unsigned char last[MOST + 2 * SCAN_WIDTH];
	size_t n_blocks = n <= MOST ? 0 : n / SCAN_WIDTH - 1;
	size_t n_last = n - n_blocks * SCAN_WIDTH;
	size_t last_blocks = (n_last + SCAN_WIDTH - 1) / SCAN_WIDTH;
	char *end;

	out = put_blocks(out, p, n_blocks);
	if (n_last >= SCAN_WIDTH && (end = put_plain_end(out, p + n - n_last, n_last)))
		return end;
	memset(last + MOST, ' ', sizeof last - MOST);
	if (n >= MOST)
		memcpy(last, p + n - MOST, MOST); /* without a call */
	else
		memcpy(last + MOST - n, p, n);
	out = put_blocks(out, last + MOST - n_last, last_blocks);
	return out - (last_blocks * SCAN_WIDTH - n_last); /* spaces */
}

void json_put_escaped(struct buffer *b, struct bytes s)
{
	const unsigned char *p = (const unsigned char *)s.data;

	for (size_t at = 0; at < s.size; at += PIECE) {
		size_t n = s.size - at < PIECE ? s.size - at : PIECE;
		size_t most = ESCAPE_MAX * n + 2 * SCAN_WIDTH;

		if ((b->failed || most > b->capacity - b->size) && buffer_reserve(b, most))
			return;
		b->size = (size_t)(put_piece(b->data + b->size, p + at, n) - b->data);
	}
}

void json_put_string(struct buffer *b, struct bytes s)
{
	const unsigned char *p = (const unsigned char *)s.data;
	size_t left = s.size;

	buffer_put_u8(b, '"');
	while (left) {
		size_t n = utf8_valid_prefix(p, left);

		json_put_escaped(b, (struct bytes){ (const char *)p, n });
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
