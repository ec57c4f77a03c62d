/* lib/base/printable.c - text from anywhere, made safe for a line and a terminal */

#include "lib/base/printable.h"

#include "lib/base/utf8.h"

/* What would end the line, move the cursor or turn the direction of what follows. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

size_t printable_length(const char *data, size_t n)
{
	uint32_t c;
	size_t length = utf8_decode(data, n, &c);

	return length && !is_control(c) ? length : 0;
}

static void put_escaped(struct buffer *b, unsigned char c)
{
	switch (c) {
	case '\n': buffer_put_text(b, "\\n"); break;
	case '\t': buffer_put_text(b, "\\t"); break;
	case '\r': buffer_put_text(b, "\\r"); break;
	case '"': buffer_put_text(b, "\\\""); break;
	case '\\': buffer_put_text(b, "\\\\"); break;
	default: buffer_format(b, "\\x%02x", c);
	}
}

void quote_text(struct buffer *b, struct bytes text)
{
	buffer_put_u8(b, '"');
	for (size_t i = 0; i < text.size;) {
		size_t n = printable_length(text.data + i, text.size - i);

		if (n == 0 || text.data[i] == '"' || text.data[i] == '\\') {
			put_escaped(b, (unsigned char)text.data[i++]);
		} else {
			buffer_put(b, text.data + i, n);
			i += n;
		}
	}
	buffer_put_u8(b, '"');
}

static bool is_plain(struct bytes b)
{
	for (size_t i = 0; i < b.size;) {
		size_t n = printable_length(b.data + i, b.size - i);

		if (n == 0 || strchr(" \"\\", b.data[i]))
			return false;
		i += n;
	}
	return b.size > 0;
}

void quote_name(struct buffer *b, struct bytes name)
{
	if (is_plain(name))
		buffer_put(b, name.data, name.size);
	else
		quote_text(b, name);
}
