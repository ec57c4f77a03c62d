/* lib/base/buffer.c - bytes that grow */
#include "lib/base/buffer.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}

void buffer_clear(struct buffer *b)
{
	b->size = 0;
	b->failed = false;
}

int buffer_check(const struct buffer *b)
{
	if (!b->failed)
		return 0;
	return err_set(ERR_MEMORY, "out of memory: a buffer of %zu bytes cannot grow", b->size);
}

struct bytes buffer_bytes(const struct buffer *b)
{
	return (struct bytes){ b->data ? b->data : "", b->size };
}

int buffer_reserve(struct buffer *b, size_t n)
{
	size_t need;

	if (b->failed)
		return buffer_check(b);
	if (n <= b->capacity - b->size)
		return 0;
	if (!size_add(b->size, n, &need))
		need = SIZE_MAX;
	if (mem_grow(&b->data, &b->capacity, need, 1)) {
		b->failed = true;
		return -1;
	}
	return 0;
}

void buffer_put_zeros(struct buffer *b, size_t n)
{
	if (n == 0 || buffer_reserve(b, n))
		return;
	memset(b->data + b->size, 0, n);
	b->size += n;
}

/* The low N bytes of V, the least significant first. */
static void put_integer(struct buffer *b, uint64_t v, size_t n)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(v >> (8 * i));
	buffer_put(b, bytes, n);
}

void buffer_put_u16(struct buffer *b, uint16_t v)
{
	put_integer(b, v, 2);
}

void buffer_put_u32(struct buffer *b, uint32_t v)
{
	put_integer(b, v, 4);
}

void buffer_put_u64(struct buffer *b, uint64_t v)
{
	put_integer(b, v, 8);
}

void buffer_put_f32(struct buffer *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	buffer_put_u32(b, bits);
}

void buffer_put_f64(struct buffer *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	buffer_put_u64(b, bits);
}

static size_t count_digits(uint64_t v)
{
	size_t n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

void buffer_put_decimal(struct buffer *b, uint64_t v)
{
	size_t n = count_digits(v);
	char *end;

	if ((b->failed || n > b->capacity - b->size) && buffer_reserve(b, n))
		return;
	/* In their place at once: bytes that were just stored one by one are slow to load together. */
	b->size += n;
	end = b->data + b->size;
	for (; n > 1; n -= 2, v /= 100) {
		*--end = (char)('0' + v % 10);
		*--end = (char)('0' + v % 100 / 10);
	}
	if (n)
		*--end = (char)('0' + v);
}

void buffer_format(struct buffer *b, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	/* One more than the text, since vsnprintf ends it with a NUL. */
	if (n < 0 || buffer_reserve(b, (size_t)n + 1)) {
		b->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(b->data + b->size, (size_t)n + 1, format, args);
	va_end(args);
	b->size += (size_t)n;
}
