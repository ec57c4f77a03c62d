/*
 * formats/json_string.c - strings of the JSON reader
 *
 * A string is checked in full first (escapes, surrogate pairs, control characters, UTF-8), and
 * copied only when it has escapes. What is checked cannot fail to decode.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/json_internal.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* --- memory for what had escapes --- */

#define CHUNK_MIN ((size_t)1 << 16)

struct json_chunk {
	struct json_chunk *older;
	size_t capacity, used;
	char data[];
};

/* Frees all but the newest chunk, which is the largest: the next text may need as much. */
void json_memory_reset(struct json *j)
{
	struct json_chunk *c = j->chunks, *older;

	if (!c)
		return;
	for (struct json_chunk *o = c->older; o; o = older) {
		older = o->older;
		free(o);
	}
	c->older = NULL;
	c->used = 0;
}

void json_memory_free(struct json *j)
{
	json_memory_reset(j);
	free(j->chunks);
	j->chunks = NULL;
}

/* Room for N bytes at the end of the newest chunk, which the caller then counts as used. */
static char *room(struct json *j, size_t n)
{
	struct json_chunk *c = j->chunks;
	size_t capacity, total;

	if (c && c->capacity - c->used >= n)
		return c->data + c->used;
	capacity = c && c->capacity <= SIZE_MAX / 4 ? c->capacity * 2 : CHUNK_MIN;
	if (capacity < n)
		capacity = n;
	if (!size_add(sizeof *c, capacity, &total) || !(c = malloc(total))) {
		err_memory(capacity);
		json_keep_error(j);
		return NULL;
	}
	*c = (struct json_chunk){ .older = j->chunks, .capacity = capacity };
	j->chunks = c;
	return c->data;
}

/* --- checking --- */

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The 16 bits of a \uXXXX at P; -1 when there is none. */
static int32_t unit_at(const unsigned char *p, const unsigned char *end)
{
	int32_t v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static bool is_high_surrogate(int32_t unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(int32_t unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* What may follow a backslash, but u. A switch, since text has an escape a line. */
static bool is_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't': return true;
	default: return false;
	}
}

/* Bytes of the escape at P; 0 with what is wrong to *WHY. */
static size_t escape_length(const unsigned char *p, const unsigned char *end, const char **why)
{
	int32_t unit;

	if (end - p >= 2 && p[1] != 'u') {
		*why = "unknown escape in a string";
		return is_escape(p[1]) ? 2 : 0;
	}
	unit = unit_at(p, end);
	*why = "\\u needs four hexadecimal digits";
	if (unit < 0)
		return 0;
	*why = "lone surrogate in a string";
	if (is_high_surrogate(unit))
		return is_low_surrogate(unit_at(p + 6, end)) ? 12 : 0;
	return is_low_surrogate(unit) ? 0 : 6;
}

/* The bytes from FROM to TO are well-formed, or need not be; HIGH tells whether any is past ASCII. */
static int check_utf8(struct json *j, const unsigned char *from, const unsigned char *to,
		      uint64_t high)
{
	size_t n = (size_t)(to - from), valid;

	if (!high || j->any_bytes)
		return 0;
	valid = utf8_valid_prefix(from, n);
	return valid == n ? 0 : json_fail_at(j, from + valid, ERR_FORMAT, "ill-formed UTF-8");
}

/* The first thing wrong in the string from FROM: bad UTF-8 before AT, or WHY at AT. NULL. */
static const unsigned char *refuse(struct json *j, const unsigned char *from,
				   const unsigned char *at, uint64_t high, const char *why)
{
	if (check_utf8(j, from, at, high) == 0)
		json_fail_at(j, at, ERR_FORMAT, "%s", why);
	return NULL;
}

/*
 * Checks the body of a string, from the byte behind its quote. Returns the closing quote, or
 * NULL with the error set. *ESCAPED tells whether it must be decoded.
 */
static const unsigned char *check_body(struct json *j, const unsigned char *from, bool *escaped)
{
	const unsigned char *p = from;
	const char *why;
	uint64_t high = 0;
	size_t n;

	for (*escaped = false;; *escaped = true) {
		p = json_plain_end(p, j->end, &high);
		if (p == j->end)
			return refuse(j, from, p, high, "the text ends inside a string");
		if (*p == '"')
			return check_utf8(j, from, p, high) ? NULL : p;
		if (*p != '\\')
			return refuse(j, from, p, high, "raw control character in a string");
		n = escape_length(p, j->end, &why);
		if (!n)
			return refuse(j, from, p, high, why);
		p += n;
	}
}

/* --- decoding --- */

/* The checked escape at *P to OUT; moves *P behind it, returns OUT's new end. */
static char *decode_escape(const unsigned char **p, const unsigned char *end, char *out)
{
	uint32_t code;

	switch ((*p)[1]) {
	case 'b': *out = '\b'; break;
	case 'f': *out = '\f'; break;
	case 'n': *out = '\n'; break;
	case 'r': *out = '\r'; break;
	case 't': *out = '\t'; break;
	case 'u':
		code = (uint32_t)unit_at(*p, end);
		*p += 6;
		if (is_high_surrogate((int32_t)code)) {
			code = 0x10000 + ((code - 0xD800) << 10) +
			       ((uint32_t)unit_at(*p, end) - 0xDC00);
			*p += 6;
		}
		return out + utf8_encode(code, out);
	default: *out = (char)(*p)[1];
	}
	*p += 2;
	return out + 1;
}

/* Decodes the checked body FROM..TO to OUT, which has SCAN_WIDTH bytes more than it needs. */
static char *decode_body(const unsigned char *from, const unsigned char *to, char *out)
{
	while (from < to) {
		if (to - from >= SCAN_WIDTH) {
			scan_bytes v = scan_load(from);
			uint64_t stops = scan_mask(scan_equal(v, '\\'));
			size_t n = stops ? scan_first(stops) : SCAN_WIDTH;

			scan_store(out, v);
			from += n;
			out += n;
			if (!stops)
				continue;
		}
		if (*from == '\\')
			out = decode_escape(&from, to, out);
		else
			*out++ = (char)*from++;
	}
	return out;
}

int json_take_string(struct json *j, struct bytes *out)
{
	const unsigned char *from = j->at + 1, *to;
	bool escaped;
	char *copy;

	to = check_body(j, from, &escaped);
	if (!to)
		return -1;
	*out = (struct bytes){ (const char *)from, (size_t)(to - from) };
	if (escaped) {
		/* Decoding never lengthens; what is stored at once may reach past the end. */
		copy = room(j, out->size + SCAN_WIDTH);
		if (!copy)
			return -1;
		*out = (struct bytes){ copy, (size_t)(decode_body(from, to, copy) - copy) };
		j->chunks->used += out->size;
	}
	j->at = to + 1;
	return 0;
}

int json_pass_string(struct json *j)
{
	bool escaped;
	const unsigned char *to = check_body(j, j->at + 1, &escaped);

	if (!to)
		return -1;
	j->at = to + 1;
	return 0;
}
