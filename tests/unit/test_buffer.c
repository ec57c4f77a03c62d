/* tests/unit/test_buffer.c - bytes that grow */
#include "lib/base/buffer.h"

#include <stdio.h>

#include "lib/base/err.h"
#include "tests/tap.h"

#define BYTES(literal) ((struct bytes){ literal, sizeof(literal) - 1 })

static void test_values(void)
{
	struct buffer b = { 0 };

	tap_is_bytes(buffer_bytes(&b), BYTES(""), "a zeroed struct is empty");
	buffer_put_u8(&b, 0xF1);
	buffer_put_u16(&b, 0xF102);
	buffer_put_u32(&b, 0xF1020304);
	buffer_put_u64(&b, 0xF102030405060708);
	buffer_put_f32(&b, 1.5f);
	buffer_put_f64(&b, -2.0);
	tap_is_bytes(buffer_bytes(&b),
		     BYTES("\xF1\x02\xF1\x04\x03\x02\xF1\x08\x07\x06\x05\x04\x03\x02\xF1"
			   "\x00\x00\xC0\x3F\x00\x00\x00\x00\x00\x00\x00\xC0"),
		     "integers and floats, the low byte first");
	buffer_clear(&b);
	tap_is_bytes(buffer_bytes(&b), BYTES(""), "cleared");
	buffer_put_text(&b, "ab");
	buffer_put(&b, "\0c", 2);
	buffer_put_zeros(&b, 3);
	buffer_put(&b, NULL, 0);
	buffer_put_zeros(&b, 0);
	tap_is_bytes(buffer_bytes(&b), BYTES("ab\0c\0\0\0"), "text, bytes with a NUL, zeros");
	tap_works(buffer_check(&b), "and no failure");
	buffer_free(&b);
	tap_ok(b.data == NULL && b.size == 0 && b.capacity == 0, "freed and empty");
	buffer_put_u8(&b, 7);
	tap_is_bytes(buffer_bytes(&b), BYTES("\x07"), "and ready to be used again");
	buffer_free(&b);
}

static void test_format(void)
{
	struct buffer b = { 0 };
	size_t wrong = 0;

	buffer_format(&b, "%d-%s", 12, "x");
	tap_is_bytes(buffer_bytes(&b), BYTES("12-x"), "formatted, without a NUL");
	buffer_format(&b, "%s", "");
	tap_is_u64(b.size, 4, "an empty text adds nothing");
	for (int i = 0; i < 200; i++)
		buffer_format(&b, "%*d", i, 1);
	/* Widths 0 and 1 both print one digit: 4 + 1 + sum of 1 to 199. */
	tap_is_u64(b.size, 4 + 1 + 19900, "texts of every length");
	tap_ok(b.data[b.size - 1] == '1' && b.data[b.size - 2] == ' ', "end as they should");
	buffer_clear(&b);
	buffer_put_decimal(&b, 0);
	buffer_put_decimal(&b, 9);
	buffer_put_decimal(&b, 10);
	buffer_put_decimal(&b, UINT64_MAX);
	tap_is_bytes(buffer_bytes(&b), BYTES("091018446744073709551615"), "digits");
	for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10)
		for (uint64_t n = power - 1; n <= power + 1; n++) {
			char want[24];

			snprintf(want, sizeof want, "%llu", (unsigned long long)n);
			buffer_clear(&b);
			buffer_put_decimal(&b, n);
			wrong += b.size != strlen(want) || memcmp(b.data, want, b.size) != 0;
		}
	tap_is_u64(wrong, 0, "digits about each power of ten");
	buffer_free(&b);
}

static void test_growth(void)
{
	struct buffer b = { 0 };
	size_t good = 0;

	for (uint32_t i = 0; i < 100000; i++)
		buffer_put_u32(&b, i);
	tap_is_u64(b.size, 400000, "100,000 integers");
	for (uint32_t i = 0; i < 100000; i++)
		good += memcmp(b.data + 4 * (size_t)i,
			       (unsigned char[]){ i & 255, i >> 8 & 255, i >> 16, 0 }, 4) == 0;
	tap_is_u64(good, 100000, "all in their places");
	tap_works(buffer_reserve(&b, 1000000), "room for a million more");
	tap_ok(b.capacity - b.size >= 1000000, "is there");
	buffer_free(&b);
}

static void test_failure(void)
{
	struct buffer b = { 0 };

	buffer_put_text(&b, "kept");
	tap_fails(buffer_reserve(&b, SIZE_MAX), ERR_MEMORY, "out of memory",
		  "room past all memory");
	buffer_put_text(&b, "more");
	buffer_put_u64(&b, 1);
	buffer_put_zeros(&b, 5);
	buffer_format(&b, "%d", 1);
	tap_is_bytes(buffer_bytes(&b), BYTES("kept"), "later writes do nothing");
	err_set(ERR_IO, "another error");
	tap_fails(buffer_check(&b), ERR_MEMORY, "buffer of 4 bytes", "the failure is still there");
	tap_fails(buffer_reserve(&b, 1), ERR_MEMORY, "buffer", "and meets the next reserve");
	buffer_clear(&b);
	tap_works(buffer_check(&b), "clearing forgets it");
	buffer_put_text(&b, "new");
	tap_is_bytes(buffer_bytes(&b), BYTES("new"), "and writing goes on");
	buffer_free(&b);

	buffer_put_zeros(&b, SIZE_MAX);
	tap_fails(buffer_check(&b), ERR_MEMORY, "out of memory", "zeros past all memory");
	buffer_free(&b);
	tap_works(buffer_check(&b), "freeing forgets a failure");
}

int main(void)
{
	tap_run(test_values);
	tap_run(test_format);
	tap_run(test_growth);
	tap_run(test_failure);
	return tap_done();
}
