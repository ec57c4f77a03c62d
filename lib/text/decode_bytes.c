/* lib/text/decode_bytes.c - the decoders that make characters of bytes: ByteLevel, ByteFallback */
#include "lib/text/decode_parts.h"

#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"

static const struct bytes REPLACEMENT = { "\xEF\xBF\xBD", 3 };

/* The second byte's range depends on the first (Unicode, table 3-7). */
size_t maximal_part(const char *data, size_t n, bool *open)
{
	const unsigned char *s = (const unsigned char *)data;
	unsigned char low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
	unsigned char high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
	size_t need = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

	*open = false;
	if (s[0] < 0xC2 || s[0] > 0xF4)
		return 1;
	for (size_t length = 1; length < need; length++) {
		*open = length == n;
		if (*open || s[length] < low || s[length] > high)
			return length;
		low = 0x80;
		high = 0xBF;
	}
	return need;
}

/* --- ByteLevel ------------------------------------------------------------------------------------ */

/* Whole characters go on at once, an incomplete one is held, the rest is U+FFFD. */
static void give_characters(struct stage *s, struct bytes text)
{
	size_t at = 0;

	while (at < text.size) {
		size_t n = utf8_valid_prefix(text.data + at, text.size - at);
		bool open;

		if (n)
			stage_give(s, (struct bytes){ text.data + at, n });
		at += n;
		if (at == text.size)
			return;
		n = maximal_part(text.data + at, text.size - at, &open);
		if (open) {
			buffer_put(&s->held, text.data + at, n);
			return;
		}
		stage_give(s, REPLACEMENT);
		at += n;
	}
}

static void take_bytes(struct stage *s, struct bytes text)
{
	if (s->decoder->raw) {
		stage_give(s, text);
	} else if (!s->held.size) {
		give_characters(s, text);
	} else {
		buffer_clear(&s->work[1]);
		buffer_put(&s->work[1], s->held.data, s->held.size);
		buffer_put(&s->work[1], text.data, text.size);
		buffer_clear(&s->held);
		give_characters(s, buffer_bytes(&s->work[1]));
		stage_check(s, &s->work[1]);
	}
	stage_check(s, &s->held);
}

void stage_take_byte_level(struct stage *s, struct bytes token)
{
	if (!s->decoder->as_bytes) {
		buffer_clear(&s->work[0]);
		/* A token with anything outside the alphabet stands for itself. */
		if (bytelevel_decode(&s->work[0], token))
			token = buffer_bytes(&s->work[0]);
		stage_check(s, &s->work[0]);
	}
	take_bytes(s, token);
}

void stage_end_byte_level(struct stage *s)
{
	if (s->held.size)
		stage_give(s, REPLACEMENT);
}

/* --- ByteFallback --------------------------------------------------------------------------------- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that `<0xHH>` names, else -1. A plus sign may stand for the first digit, as in Rust. */
static int named_byte(struct bytes token)
{
	int high, low;

	if (token.size != 6 || memcmp(token.data, "<0x", 3) || token.data[5] != '>')
		return -1;
	high = token.data[3] == '+' ? 0 : hex(token.data[3]);
	low = hex(token.data[4]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void give_broken(struct stage *s)
{
	for (size_t i = 0; i < s->held.size; i++)
		stage_give(s, REPLACEMENT);
	buffer_clear(&s->held);
}

/* The run of bytes is over. It was UTF-8 as a whole, or each of its bytes is U+FFFD. */
static void end_run(struct stage *s)
{
	if (s->held.size && s->checked == s->held.size)
		stage_give(s, buffer_bytes(&s->held));
	else
		give_broken(s);
	buffer_clear(&s->held);
	s->checked = 0;
	s->broken = false;
}

/* What has come of a run is held as long as it can still be UTF-8, since what follows decides. */
static void take_byte(struct stage *s, char byte)
{
	const char *rest;
	uint32_t ignored;
	size_t n;
	bool open;

	buffer_put(&s->held, &byte, 1);
	stage_check(s, &s->held);
	if (s->decoder->failed)
		return;
	rest = s->held.data + s->checked;
	n = s->held.size - s->checked;
	if (!s->broken && utf8_decode(rest, n, &ignored)) {
		s->checked += n;
		return;
	}
	maximal_part(rest, n, &open);
	s->broken |= !open;
	if (s->broken) {
		give_broken(s);
		s->checked = 0;
	}
}

void stage_take_byte_fallback(struct stage *s, struct bytes token)
{
	int byte = named_byte(token);
	char c = (char)byte;

	if (byte >= 0 && s->decoder->raw) {
		stage_give(s, (struct bytes){ &c, 1 });
	} else if (byte >= 0) {
		take_byte(s, c);
	} else {
		if (s->held.size || s->broken)
			end_run(s);
		stage_give(s, token);
	}
}

void stage_end_byte_fallback(struct stage *s)
{
	end_run(s);
}
