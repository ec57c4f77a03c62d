/* lib/base/printable: what may go to a terminal, and the quoting of the rest */

#include "lib/base/printable.h"
#include "tests/tap.h"

static const char *quoted(const char *data, size_t size)
{
	static struct buffer b;

	buffer_clear(&b);
	quote_text(&b, (struct bytes){ data, size });
	buffer_put_u8(&b, 0);
	return b.data;
}

static const char *named(const char *text)
{
	static struct buffer b;

	buffer_clear(&b);
	quote_name(&b, bytes_of(text));
	buffer_put_u8(&b, 0);
	return b.data;
}

int main(void)
{
	tap_is_text(quoted("a\0b", 3), "\"a\\x00b\"", "NUL");
	tap_is_text(quoted("\n\t\r\"\\", 5), "\"\\n\\t\\r\\\"\\\\\"", "the short escapes");
	tap_is_text(quoted("\x1b[31m", 5), "\"\\x1b[31m\"", "a terminal's escape");
	tap_is_text(quoted("\xc2\x9b", 2), "\"\\xc2\\x9b\"", "C1 as UTF-8");
	tap_is_text(quoted("\xe2\x80\xae", 3), "\"\\xe2\\x80\\xae\"", "right-to-left override");
	tap_is_text(quoted("\xe2\x80\xa8", 3), "\"\\xe2\\x80\\xa8\"", "line separator");
	tap_is_text(quoted("\xf0\x9f\x98\x80", 4), "\"\xf0\x9f\x98\x80\"", "an emoji stays");
	tap_is_text(quoted("\xf0\x9f\x98", 3), "\"\\xf0\\x9f\\x98\"", "half an emoji does not");
	tap_is_text(quoted("\xed\xa0\x80", 3), "\"\\xed\\xa0\\x80\"", "a surrogate");
	tap_is_text(quoted("", 0), "\"\"", "nothing");
	tap_is_text(named("blk.0.ffn_down.weight"), "blk.0.ffn_down.weight", "a plain name");
	tap_is_text(named(""), "\"\"", "an empty name is quoted");
	tap_is_text(named("a b"), "\"a b\"", "a space needs quotes");
	tap_is_text(named("a\tb"), "\"a\\tb\"", "so does a tab");
	tap_is_u64(printable_length("\x7f", 1), 0, "DEL");
	tap_is_u64(printable_length("\xc3\xa9", 2), 2, "two bytes");
	return tap_done();
}
