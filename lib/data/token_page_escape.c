/* lib/data/token_page_escape.c - any bytes as HTML that shows them */

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/printable.h"
#include "lib/base/utf8.h"
#include "lib/data/token_page_parts.h"

static const char *entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

void html_escape(struct buffer *b, struct bytes text)
{
	for (size_t i = 0; i < text.size; i++) {
		const char *e = entity(text.data[i]);

		if (e)
			buffer_put_text(b, e);
		else
			buffer_put_u8(b, (uint8_t)text.data[i]);
	}
}

/* What a font has no picture for, beside what is not printable: soft hyphens, marks of direction, joiners of words, tags. */
static bool is_unseen(uint32_t c)
{
	return c == 0xAD || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x180E ||
	       c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x2060 && c <= 0x206F) ||
	       c == 0x3164 || c == 0xFEFF || c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFFB) ||
	       (c >= 0xE0000 && c <= 0xE0FFF);
}

/* What is seen in a word or an emoji alone: joiners, and marks that choose a picture. */
static bool is_joining(uint32_t c)
{
	return c == 0x200C || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F);
}

/* Control characters by their names in ASCII, others by number. */
static void put_name(struct buffer *b, uint32_t c)
{
	static const char *const names[] = {
		"NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS",  "HT",  "LF",
		"VT",  "FF",  "CR",  "SO",  "SI",  "DLE", "DC1", "DC2", "DC3", "DC4", "NAK",
		"SYN", "ETB", "CAN", "EM",  "SUB", "ESC", "FS",	 "GS",	"RS",  "US",
	};

	buffer_put_text(b, "<s class=c>");
	if (c < 0x20 || c == 0x7F)
		buffer_put_text(b, c < 0x20 ? names[c] : "DEL");
	else
		buffer_format(b, "U+%04" PRIX32, c);
	buffer_put_text(b, "</s>");
}

/* ALONE: nothing stands beside C in its token. */
static void put_character(struct buffer *b, struct bytes c, uint32_t code_point, bool alone)
{
	if (code_point == ' ')
		buffer_put_text(b, "<s> </s>");
	else if (code_point == '\n')
		buffer_put_text(b, "<s class=n>\n</s>");
	else if (code_point == '\t')
		buffer_put_text(b, "<s class=h>\t</s>");
	else if (!printable_length(c.data, c.size) || is_unseen(code_point) ||
		 (alone && is_joining(code_point)))
		put_name(b, code_point);
	else
		html_escape(b, c);
}

void html_text(struct buffer *b, struct bytes text)
{
	for (size_t i = 0; i < text.size;) {
		uint32_t c;
		size_t n = utf8_decode(text.data + i, text.size - i, &c);

		if (n)
			put_character(b, (struct bytes){ text.data + i, n }, c, n == text.size);
		else
			buffer_format(b, "<s class=c>%02X</s>", (unsigned char)text.data[i]);
		i += n ? n : 1;
	}
}

void html_number(struct buffer *b, uint64_t n)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			buffer_put_u8(b, ',');
		buffer_put_u8(b, (uint8_t)digits[i]);
	}
}
