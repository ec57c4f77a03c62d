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

#define ESCAPE_MAX 6		  /* bytes of an escape */
#define PIECE	   ((size_t)4096) /* bytes that room is made for at once */

_Static_assert(2 * SCAN_BLOCK <= JSON_BEHIND,
	       "a block is read behind one that is read behind the text");

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

/* The mask of the bytes among SCAN_BLOCK that a string cannot hold as they are. */
static uint64_t block_stops(const unsigned char *p)
{
	uint64_t mask = 0;

	for (size_t at = 0; at < SCAN_BLOCK; at += SCAN_WIDTH)
		mask |= json_stops(scan_load(p + at)) << (at * SCAN_STRIDE);
	return mask;
}

static void copy_block(char *out, const unsigned char *p)
{
	for (size_t at = 0; at < SCAN_BLOCK; at += SCAN_WIDTH)
		scan_store(out + at, scan_load(p + at));
}

/*
 * N bytes, at most SCAN_BLOCK, behind which as many can be read twice, escaped to OUT, which has room; returns OUT's
 * new end. What is copied behind the plain bytes is written over by what follows.
 */
static inline char *put_block(char *out, const unsigned char *p, size_t n)
{
	uint64_t stops = block_stops(p);
	size_t from = 0;

	if (n < SCAN_BLOCK)
		stops &= ((uint64_t)1 << n * SCAN_STRIDE) - 1;
	copy_block(out, p);
	for (; stops; stops &= stops - 1) {
		size_t at = scan_first(stops);

		out = put_escape(out + (at - from), p[at]);
		from = at + 1;
		copy_block(out, p + from);
	}
	return out + (n - from);
}

/* JSON_BEHIND bytes behind them can be read. */
static void put_bytes(struct buffer *b, const unsigned char *p, size_t n)
{
	for (const unsigned char *end = p + n; p < end;) {
		size_t left = (size_t)(end - p), piece = left < PIECE ? left : PIECE;
		size_t most = ESCAPE_MAX * piece + 2 * SCAN_BLOCK;
		char *out;

		if ((b->failed || most > b->capacity - b->size) && buffer_reserve(b, most))
			return;
		out = b->data + b->size;
		for (; piece > SCAN_BLOCK; piece -= SCAN_BLOCK, p += SCAN_BLOCK)
			out = put_block(out, p, SCAN_BLOCK);
		out = put_block(out, p, piece);
		p += piece;
		b->size = (size_t)(out - b->data);
	}
}

void json_put_escaped(struct buffer *b, struct bytes s, size_t behind)
{
	const unsigned char *p = (const unsigned char *)s.data;
	unsigned char last[2 * JSON_BEHIND];
	size_t n_last = behind >= JSON_BEHIND ? 0 : s.size < JSON_BEHIND ? s.size : JSON_BEHIND;

	put_bytes(b, p, s.size - n_last);
	if (!n_last)
		return;
	memcpy(last, p + s.size - n_last, n_last);
	memset(last + n_last, ' ', JSON_BEHIND);
	put_bytes(b, last, n_last);
}

void json_put_string(struct buffer *b, struct bytes s)
{
	const unsigned char *p = (const unsigned char *)s.data;
	size_t left = s.size;

	buffer_put_u8(b, '"');
	while (left) {
		size_t n = utf8_valid_prefix(p, left);

		json_put_escaped(b, (struct bytes){ (const char *)p, n }, left - n);
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
