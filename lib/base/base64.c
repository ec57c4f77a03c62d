/* lib/base/base64.c - RFC 4648, section 4: the standard alphabet, with padding */
#include "lib/base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buffer *b, struct bytes data)
{
	const unsigned char *p = (const unsigned char *)data.data;

	for (size_t at = 0; at < data.size; at += 3) {
		size_t n = data.size - at < 3 ? data.size - at : 3;
		uint32_t v = (uint32_t)p[at] << 16;
		char out[4];

		if (n > 1)
			v |= (uint32_t)p[at + 1] << 8;
		if (n > 2)
			v |= p[at + 2];
		out[0] = digits[v >> 18];
		out[1] = digits[v >> 12 & 63];
		out[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		out[3] = n > 2 ? digits[v & 63] : '=';
		buffer_put(b, out, 4);
	}
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters, the last PADDING of them =, to three bytes less that many; false at *BAD. */
static bool get_group(struct buffer *b, const char *p, size_t padding, size_t *bad)
{
	uint32_t v = 0;
	char out[3];

	for (size_t i = 0; i < 4; i++) {
		int d = i < 4 - padding ? digit(p[i]) : 0;

		if (d < 0) {
			*bad += i;
			return false;
		}
		v = v << 6 | (uint32_t)d;
	}
	if (padding && v & ((1u << (8 * padding)) - 1)) {
		*bad += 3 - padding;
		return false;
	}
	for (size_t i = 0; i < 3; i++)
		out[i] = (char)(v >> (16 - 8 * i));
	buffer_put(b, out, 3 - padding);
	return true;
}

bool base64_get(struct buffer *b, struct bytes text, size_t *bad)
{
	for (size_t at = 0; at + 4 <= text.size; at += 4) {
		size_t padding = 0;

		if (at + 4 == text.size && text.data[at + 3] == '=')
			padding = text.data[at + 2] == '=' ? 2 : 1;
		*bad = at;
		if (!get_group(b, text.data + at, padding, bad))
			return false;
	}
	*bad = text.size;
	return text.size % 4 == 0;
}
