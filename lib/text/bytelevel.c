/* lib/text/bytelevel.c - GPT-2's alphabet: a printable character for each byte */
#include "lib/text/bytelevel.h"

#include "lib/base/utf8.h"

uint32_t bytelevel_code_point(uint8_t byte)
{
	if (byte <= 32)
		return 0x100u + byte;
	if (byte >= 127 && byte <= 160)
		return 0x121u + (byte - 127u);
	return byte == 173 ? 0x143 : byte;
}

int bytelevel_byte(uint32_t code_point)
{
	if (code_point >= BYTELEVEL_END)
		return -1;
	if (code_point == 0x143)
		return 173;
	if (code_point >= 0x121)
		return (int)(code_point - 0x121 + 127);
	if (code_point >= 0x100)
		return (int)(code_point - 0x100);
	/* What is not printable in Latin-1 is spelled by the code points above. */
	return bytelevel_code_point((uint8_t)code_point) == code_point ? (int)code_point : -1;
}

void bytelevel_encode(struct buffer *out, struct bytes raw)
{
	for (size_t i = 0; i < raw.size; i++) {
		char text[4];
		size_t n = utf8_encode(bytelevel_code_point((uint8_t)raw.data[i]), text);

		buffer_put(out, text, n);
	}
}

bool bytelevel_decode(struct buffer *out, struct bytes text)
{
	size_t before = out->size;

	for (size_t at = 0; at < text.size;) {
		uint32_t code_point = BYTELEVEL_END;
		size_t n = utf8_decode(text.data + at, text.size - at, &code_point);
		int byte = n ? bytelevel_byte(code_point) : -1;

		if (byte < 0) {
			out->size = before;
			return false;
		}
		buffer_put_u8(out, (uint8_t)byte);
		at += n;
	}
	return true;
}
