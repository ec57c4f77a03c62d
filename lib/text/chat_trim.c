/* lib/text/chat_trim.c - white space as Python's str.strip knows it */

#include "lib/base/utf8.h"
#include "lib/text/chat_parts.h"

static bool is_space(uint32_t c)
{
	if (c <= 0x20)
		return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
	if (c == 0x85 || c == 0xA0 || c == 0x1680)
		return true;
	return (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
	       c == 0x205F || c == 0x3000;
}

/* Bytes of the white space that TEXT begins with; 0 for none. */
static size_t space_at_start(struct bytes text)
{
	uint32_t c;
	size_t n = utf8_decode(text.data, text.size, &c);

	return n && is_space(c) ? n : 0;
}

static size_t space_at_end(struct bytes text)
{
	for (size_t n = 1; n <= 3 && n <= text.size; n++) {
		struct bytes end = { text.data + (text.size - n), n };

		if (space_at_start(end) == n)
			return n;
	}
	return 0;
}

struct bytes chat_trim(struct bytes text)
{
	size_t n;

	while (text.size && (n = space_at_start(text)) > 0) {
		text.data += n;
		text.size -= n;
	}
	while (text.size && (n = space_at_end(text)) > 0)
		text.size -= n;
	return text;
}
