/* tests/unit/test_base64.c - RFC 4648, section 10, every length, and what is not base64 */
#include <stdio.h>

#include "lib/base/base64.h"
#include "tests/tap.h"

static void is_pair(const char *plain, const char *coded)
{
	struct buffer b = { 0 };
	size_t bad;

	base64_put(&b, bytes_of(plain));
	tap_is_bytes(buffer_bytes(&b), bytes_of(coded), "to base64");
	buffer_clear(&b);
	tap_ok(base64_get(&b, bytes_of(coded), &bad), "is read");
	tap_is_bytes(buffer_bytes(&b), bytes_of(plain), "from base64");
	buffer_free(&b);
}

static void test_vectors(void)
{
	is_pair("", "");
	is_pair("f", "Zg==");
	is_pair("fo", "Zm8=");
	is_pair("foo", "Zm9v");
	is_pair("foob", "Zm9vYg==");
	is_pair("fooba", "Zm9vYmE=");
	is_pair("foobar", "Zm9vYmFy");
	is_pair("\xFB\xFF\xBF", "+/+/");
}

/* All bytes, in texts of every length up to 600. */
static void test_lengths(void)
{
	struct buffer coded = { 0 }, back = { 0 };
	size_t wrong = 0, bad;
	char data[600];

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)(i * 7);
	for (size_t n = 0; n <= sizeof data; n++) {
		buffer_clear(&coded);
		buffer_clear(&back);
		base64_put(&coded, (struct bytes){ data, n });
		wrong += coded.size != (n + 2) / 3 * 4;
		wrong += !base64_get(&back, buffer_bytes(&coded), &bad);
		wrong += !bytes_equal(buffer_bytes(&back), (struct bytes){ data, n });
	}
	tap_is_u64(wrong, 0, "there and back");
	buffer_free(&coded);
	buffer_free(&back);
}

static void refuses(const char *text, size_t at)
{
	struct buffer b = { 0 };
	size_t bad = 999;

	tap_ok(!base64_get(&b, bytes_of(text), &bad), "'%s' is not base64", text);
	tap_is_u64(bad, at, "from this character on");
	buffer_free(&b);
}

static void test_refuses(void)
{
	refuses("Zg", 2);
	refuses("Zm9vY", 5);
	refuses("Zg=", 3);
	refuses("Z===", 1);
	refuses("====", 0);
	refuses("Zg==Zg==", 2);
	refuses("Zm9v Zg==", 4);
	refuses("Zm-v", 2);
	refuses("Zh==", 1); /* bits left over */
	refuses("Zm9=", 2);
	refuses("Zg=v", 2);
}

int main(void)
{
	tap_run(test_vectors);
	tap_run(test_lengths);
	tap_run(test_refuses);
	return tap_done();
}
