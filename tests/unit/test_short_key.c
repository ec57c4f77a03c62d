/* tests/unit/test_short_key.c - short strings as two words: equal as the strings are, however they are read */
#include "lib/text/short_key.h"

#include "tests/tap.h"

static bool same(struct short_key a, struct short_key b)
{
	return a.low == b.low && a.high == b.high;
}

/* The definition: the bytes, the first one lowest, with zeros behind them. */
static struct short_key padded(const char *p, size_t n)
{
	struct short_key k = { 0, 0 };

	for (size_t i = 0; i < n; i++)
		*(i < 8 ? &k.low : &k.high) |= (uint64_t)(unsigned char)p[i] << (8 * (i % 8));
	return k;
}

static void test_lengths(void)
{
	static const char text[] = "\xff\x80gibberish of all kinds, \xe4\xb8\xad\xe6\x96\x87";

	for (size_t n = 1; n <= SHORT_KEY_MAX; n++) {
		for (size_t at = 0; at + SHORT_KEY_MAX < sizeof(text); at++) {
			if (!same(short_key(text + at, n), padded(text + at, n)))
				tap_ok(false, "%zu bytes at %zu", n, at);
			if (!same(short_key_inside(text + at, n), padded(text + at, n)))
				tap_ok(false, "%zu bytes at %zu, read with what follows", n, at);
		}
		tap_ok(true, "%zu bytes", n);
	}
}

int main(void)
{
	tap_run(test_lengths);
	return tap_done();
}
