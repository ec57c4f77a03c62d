/* lib/base/cursor.c - reads a run of bytes that an attacker may have written */
#include "lib/base/cursor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/err.h"

void cursor_init(struct cursor *c, const void *data, size_t size, const char *file)
{
	/* NULL plus 0 is not defined, and an empty file has no data. */
	c->start = data ? data : (const void *)"";
	c->at = c->start;
	c->end = c->start + size;
	c->file = file;
}

int cursor_fail(const struct cursor *c, const char *format, ...)
{
	char what[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return err_set(ERR_FORMAT, "%s: byte %zu: %s", c->file, cursor_offset(c), what);
}

int cursor_bytes(struct cursor *c, uint64_t n, struct bytes *out, const char *what)
{
	if (n > cursor_left(c))
		return cursor_fail(c, "%s: needs %" PRIu64 " bytes, %zu left", what, n,
				   cursor_left(c));
	*out = (struct bytes){ (const char *)c->at, (size_t)n };
	c->at += n;
	return 0;
}

/* An integer of N bytes, the least significant first. */
static int read_integer(struct cursor *c, size_t n, uint64_t *out, const char *what)
{
	const unsigned char *from = c->at;
	struct bytes b;

	if (cursor_bytes(c, n, &b, what))
		return -1;
	*out = 0;
	for (size_t i = n; i-- > 0;)
		*out = *out << 8 | from[i];
	return 0;
}

int cursor_u8(struct cursor *c, uint8_t *out, const char *what)
{
	uint64_t v;

	if (read_integer(c, 1, &v, what))
		return -1;
	*out = (uint8_t)v;
	return 0;
}

int cursor_u16(struct cursor *c, uint16_t *out, const char *what)
{
	uint64_t v;

	if (read_integer(c, 2, &v, what))
		return -1;
	*out = (uint16_t)v;
	return 0;
}

int cursor_u32(struct cursor *c, uint32_t *out, const char *what)
{
	uint64_t v;

	if (read_integer(c, 4, &v, what))
		return -1;
	*out = (uint32_t)v;
	return 0;
}

int cursor_u64(struct cursor *c, uint64_t *out, const char *what)
{
	return read_integer(c, 8, out, what);
}

int cursor_f32(struct cursor *c, float *out, const char *what)
{
	uint32_t bits;

	if (cursor_u32(c, &bits, what))
		return -1;
	memcpy(out, &bits, sizeof(bits));
	return 0;
}

int cursor_f64(struct cursor *c, double *out, const char *what)
{
	uint64_t bits;

	if (cursor_u64(c, &bits, what))
		return -1;
	memcpy(out, &bits, sizeof(bits));
	return 0;
}

int cursor_seek(struct cursor *c, uint64_t offset, const char *what)
{
	if (offset > (uint64_t)(c->end - c->start))
		return cursor_fail(c, "%s: is at byte %" PRIu64 ", past the end of %zu bytes", what,
				   offset, (size_t)(c->end - c->start));
	c->at = c->start + offset;
	return 0;
}
