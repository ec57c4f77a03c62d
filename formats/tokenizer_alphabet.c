/*
 * formats/tokenizer_alphabet.c - the characters that stand for bytes in byte-level vocabularies
 *
 * GPT-2's table: `!` to `~`, U+00A1 to U+00AC and U+00AE to U+00FF stand for themselves; the 68 other bytes, in
 * their order, are U+0100 to U+0143.
 */
#include "formats/tokenizer_pieces.h"
#include "lib/base/utf8.h"

static bool stands_for_itself(unsigned byte)
{
	return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/* How many bytes below BYTE, itself one of them or 256, do not stand for themselves. */
static unsigned others_below(unsigned byte)
{
	if (byte <= 0x21)
		return byte;
	return byte <= 0xA1 ? 0x21 + (byte - 0x7F) : byte == 0xAD ? 0x21 + 34 : 0x21 + 35;
}

void tokenizer_put_byte_level(struct buffer *b, struct bytes raw)
{
	for (size_t i = 0; i < raw.size; i++) {
		unsigned byte = (unsigned char)raw.data[i];
		char out[4];
		uint32_t c = stands_for_itself(byte) ? byte : 0x100 + others_below(byte);

		buffer_put(b, out, utf8_encode(c, out));
	}
}

unsigned char tokenizer_byte_order(unsigned i)
{
	unsigned own = 256 - others_below(256), n = 0;

	for (unsigned byte = 0; byte < 256; byte++)
		if (stands_for_itself(byte) == (i < own) && n++ == (i < own ? i : i - own))
			return (unsigned char)byte;
	return 0;
}
