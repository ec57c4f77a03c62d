/* tests/unit/test_cursor.c - the bounded reader, over memory that ends at an unreadable page */
#include "lib/base/cursor.h"

#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

/* IEEE 754: 1.5f is 3FC00000, -2.0 is C000000000000000. */
static const unsigned char sample[] = {
	0xF1, 0x02, 0xF1, 0x04, 0x03, 0x02, 0xF1, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02,
	0xF1, 0x00, 0x00, 0xC0, 0x3F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xC0,
};

/* SAMPLE at the end of its page. */
static unsigned char *guarded(size_t n)
{
	unsigned char *p = guard_new(n);

	if (n)
		memcpy(p, sample, n);
	return p;
}

static void test_values(void)
{
	unsigned char *data = guarded(sizeof(sample));
	struct cursor c;
	uint8_t u8 = 0;
	uint16_t u16 = 0;
	uint32_t u32 = 0;
	uint64_t u64 = 0;
	float f32 = 0;
	double f64 = 0;

	cursor_init(&c, data, sizeof(sample), "f");
	tap_is_u64(cursor_left(&c), 27, "27 bytes are left");
	tap_works(cursor_u8(&c, &u8, "x"), "u8");
	tap_is_u64(u8, 0xF1, "u8");
	tap_works(cursor_u16(&c, &u16, "x"), "u16");
	tap_is_u64(u16, 0xF102, "u16, the low byte first");
	tap_works(cursor_u32(&c, &u32, "x"), "u32");
	tap_is_u64(u32, 0xF1020304, "u32");
	tap_works(cursor_u64(&c, &u64, "x"), "u64");
	tap_is_u64(u64, 0xF102030405060708, "u64");
	tap_is_u64(cursor_offset(&c), 15, "15 bytes were read");
	tap_works(cursor_f32(&c, &f32, "x"), "f32");
	tap_ok(f32 == 1.5f, "f32");
	tap_works(cursor_f64(&c, &f64, "x"), "f64");
	tap_ok(f64 == -2.0, "f64, to the last byte");
	tap_is_u64(cursor_left(&c), 0, "nothing is left");
	tap_fails(cursor_u8(&c, &u8, "tail"), ERR_FORMAT, "f: byte 27: tail: needs 1 bytes, 0 left",
		  "past the end");
	guard_free(data);
}

/* Reads one value of SIZE bytes; OUT is large enough for any. */
static int read_one(struct cursor *c, size_t size, bool real, void *out)
{
	switch (size) {
	case 1: return cursor_u8(c, out, "v");
	case 2: return cursor_u16(c, out, "v");
	case 4: return real ? cursor_f32(c, out, "v") : cursor_u32(c, out, "v");
	default: return real ? cursor_f64(c, out, "v") : cursor_u64(c, out, "v");
	}
}

/* Each read with 0 to SIZE bytes left: it works only with all of them, else moves nothing. */
static void test_short(size_t size, bool real)
{
	uint64_t out, untouched;

	memset(&untouched, 0x55, sizeof(untouched));
	for (size_t left = 0; left <= size; left++) {
		unsigned char *data = guarded(left);
		struct cursor c;
		int result;

		cursor_init(&c, data, left, "f");
		out = untouched;
		result = read_one(&c, size, real, &out);
		if (left == size)
			tap_ok(result == 0 && cursor_left(&c) == 0, "%zu bytes of %zu are enough",
			       left, size);
		else
			tap_ok(result == -1 && cursor_offset(&c) == 0 && out == untouched &&
				       err_last() == ERR_FORMAT,
			       "%zu bytes of %zu are refused, nothing moves", left, size);
		guard_free(data);
	}
}

static void test_shorts(void)
{
	for (size_t size = 1; size <= 8; size *= 2)
		test_short(size, false);
	test_short(4, true);
	test_short(8, true);
}

static void test_bytes(void)
{
	unsigned char *data = guarded(5);
	struct bytes b = { "untouched", 9 };
	struct cursor c;

	cursor_init(&c, data, 5, "dir/f");
	tap_works(cursor_bytes(&c, 0, &b, "name"), "no bytes");
	tap_is_u64(b.size, 0, "are none");
	tap_works(cursor_bytes(&c, 3, &b, "name"), "3 bytes");
	tap_ok(b.size == 3 && b.data == (const char *)data, "are those in place");
	tap_fails(cursor_bytes(&c, 3, &b, "name"), ERR_FORMAT,
		  "dir/f: byte 3: name: needs 3 bytes, 2 left", "3 more are refused");
	tap_fails(cursor_bytes(&c, UINT64_MAX, &b, "name"), ERR_FORMAT,
		  "needs 18446744073709551615 bytes, 2 left", "a length that would wrap");
	tap_fails(cursor_bytes(&c, ((uint64_t)1 << 32) + 1, &b, "name"), ERR_FORMAT,
		  "needs 4294967297 bytes", "a length that 32 bits would cut to 1");
	tap_ok(b.size == 3 && cursor_offset(&c) == 3, "a refusal changes nothing");
	tap_works(cursor_bytes(&c, 2, &b, "name"), "the last 2 bytes");
	tap_is_u64(cursor_left(&c), 0, "leave none");
	tap_works(cursor_bytes(&c, 0, &b, "name"), "no bytes at the end");
	guard_free(data);
}

static void test_seek(void)
{
	unsigned char *data = guarded(5);
	struct cursor c;
	uint8_t v = 0;

	cursor_init(&c, data, 5, "f");
	tap_works(cursor_seek(&c, 4, "data"), "to the last byte");
	tap_works(cursor_u8(&c, &v, "v"), "which can be read");
	tap_is_u64(v, sample[4], "and is the fifth");
	tap_works(cursor_seek(&c, 5, "data"), "to the end");
	tap_is_u64(cursor_left(&c), 0, "where nothing is left");
	tap_works(cursor_seek(&c, 0, "data"), "back to the start");
	tap_is_u64(cursor_offset(&c), 0, "at offset 0");
	tap_fails(cursor_seek(&c, 6, "data"), ERR_FORMAT, "f: byte 0: data: ", "past the end");
	tap_fails(cursor_seek(&c, UINT64_MAX, "data"), ERR_FORMAT, "past the end of 5 bytes",
		  "far past the end");
	tap_is_u64(cursor_offset(&c), 0, "a refusal moves nothing");
	guard_free(data);
}

static void test_empty(void)
{
	struct cursor c;
	struct bytes b;
	uint8_t v;

	cursor_init(&c, NULL, 0, "f");
	tap_is_u64(cursor_left(&c), 0, "no data is an empty run");
	tap_works(cursor_bytes(&c, 0, &b, "v"), "no bytes of it");
	tap_fails(cursor_u8(&c, &v, "v"), ERR_FORMAT, "needs 1 bytes, 0 left", "one byte of it");
	tap_works(cursor_seek(&c, 0, "v"), "its start is its end");
}

static void test_fail(void)
{
	struct cursor c;

	cursor_init(&c, sample, sizeof(sample), "f\n");
	cursor_seek(&c, 7, "x");
	tap_fails(cursor_fail(&c, "key %s: %d", "a\x1b", 5), ERR_FORMAT,
		  "f\\x0a: byte 7: key a\\x1b: 5", "the place, then the text, both printable");
}

int main(void)
{
	tap_run(test_values);
	tap_run(test_shorts);
	tap_run(test_bytes);
	tap_run(test_seek);
	tap_run(test_empty);
	tap_run(test_fail);
	return tap_done();
}
