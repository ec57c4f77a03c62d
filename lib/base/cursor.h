/*
 * lib/base/cursor.h - reads a run of bytes that an attacker may have written
 *
 * Every read is checked against the bytes that are left before it is made, and never moves
 * past the end. Integers and floats are little-endian wherever the machine stands. A failed
 * read sets `FILE: byte N: WHAT: needs A bytes, B left`, returns -1 and moves nothing.
 */
#ifndef LIB_BASE_CURSOR_H
#define LIB_BASE_CURSOR_H

#include <stdint.h>

#include "lib/base/bytes.h"

struct cursor {
	const unsigned char *start, *at, *end;
	const char *file; /* for messages; borrowed */
};

/* Both DATA and FILE must outlive the cursor. */
void cursor_init(struct cursor *c, const void *data, size_t size, const char *file);

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Bytes from the start to the place of the next read. */
static inline size_t cursor_offset(const struct cursor *c)
{
	return (size_t)(c->at - c->start);
}

/* WHAT names the thing that is read, for the message. 0, or -1 with the error set. */
int cursor_u8(struct cursor *c, uint8_t *out, const char *what);
int cursor_u16(struct cursor *c, uint16_t *out, const char *what);
int cursor_u32(struct cursor *c, uint32_t *out, const char *what);
int cursor_u64(struct cursor *c, uint64_t *out, const char *what);
int cursor_f32(struct cursor *c, float *out, const char *what);
int cursor_f64(struct cursor *c, double *out, const char *what);

/* The next N bytes, in place: valid as long as the data under the cursor. */
int cursor_bytes(struct cursor *c, uint64_t n, struct bytes *out, const char *what);

/* Moves to OFFSET from the start; -1 past the end. */
int cursor_seek(struct cursor *c, uint64_t offset, const char *what);

/* ERR_FORMAT with `FILE: byte N: ` before the text; returns -1. */
int cursor_fail(const struct cursor *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
