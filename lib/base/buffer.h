/*
 * lib/base/buffer.h - the writing half of the cursor: bytes that grow
 *
 * Integers and floats are written little-endian. The first failure (memory) sticks: later
 * writes do nothing, and buffer_check returns it once, so that a long header can be written
 * without a test at every line. A zeroed struct is an empty buffer.
 */
#ifndef LIB_BASE_BUFFER_H
#define LIB_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct buffer {
	char *data; /* owned; NULL while empty */
	size_t size, capacity;
	bool failed;
};

void buffer_free(struct buffer *b);		   /* and makes it empty again */
void buffer_clear(struct buffer *b);		   /* size 0, failure forgotten, memory kept */
int buffer_check(const struct buffer *b);	   /* 0, or -1 with the error set */
struct bytes buffer_bytes(const struct buffer *b); /* valid until the next write */

/* Room for N more bytes; buffer_put_* do this by themselves. */
int buffer_reserve(struct buffer *b, size_t n);

static inline void buffer_put(struct buffer *b, const void *data, size_t n)
{
	if (n == 0 || ((b->failed || n > b->capacity - b->size) && buffer_reserve(b, n)))
		return;
	memcpy(b->data + b->size, data, n);
	b->size += n;
}

static inline void buffer_put_u8(struct buffer *b, uint8_t v)
{
	buffer_put(b, &v, 1);
}

static inline void buffer_put_text(struct buffer *b, const char *s)
{
	buffer_put(b, s, strlen(s));
}

void buffer_put_zeros(struct buffer *b, size_t n);
void buffer_put_u16(struct buffer *b, uint16_t v);
void buffer_put_u32(struct buffer *b, uint32_t v);
void buffer_put_u64(struct buffer *b, uint64_t v);
void buffer_put_f32(struct buffer *b, float v);
void buffer_put_f64(struct buffer *b, double v);
/* Digits, as %llu, which is slow where there are millions. */
void buffer_put_decimal(struct buffer *b, uint64_t v);
void buffer_format(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
