/*
 * lib/base/err.c - the thread's last error
 *
 * A text is formatted as it comes, then copied unit by unit: a unit is one printable character, or
 * one byte written \xNN. So a cut never splits either of them. What is too long loses its middle,
 * since the place stands at the front and the reason at the end.
 */
#include "lib/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/printable.h"

/* Two paths of the greatest length, and some words. */
#define RAW_MAX 8704

static _Thread_local char text[ERR_TEXT_MAX + 1];
static _Thread_local enum err_code last;
static _Thread_local int last_errno;

static const char gap[] = " ... ";

/* Writes the unit at *S to OUT when that is not NULL, and moves *S on. Its length in OUT, 1 to 4. */
static size_t unit(const char **s, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const char *from = *s;
	size_t n = printable_length(from, strnlen(from, 4));

	*s += n ? n : 1;
	if (n) {
		if (out)
			memcpy(out, from, n);
		return n;
	}
	if (out) {
		out[0] = '\\';
		out[1] = 'x';
		out[2] = digits[(unsigned char)from[0] >> 4];
		out[3] = digits[from[0] & 15];
	}
	return 4;
}

static size_t clean_size(const char *s)
{
	size_t n = 0;

	while (*s)
		n += unit(&s, NULL);
	return n;
}

/* Copies RAW to OUT, which has room for ERR_TEXT_MAX bytes and the NUL. */
static void clean(char *out, const char *raw)
{
	size_t left = clean_size(raw), at = 0;

	if (left > ERR_TEXT_MAX) {
		while (at + 4 <= ERR_TEXT_MAX / 2)
			at += unit(&raw, out + at);
		memcpy(out + at, gap, sizeof(gap) - 1);
		at += sizeof(gap) - 1;
		left = clean_size(raw);
		while (at + left > ERR_TEXT_MAX)
			left -= unit(&raw, NULL);
	}
	while (*raw)
		at += unit(&raw, out + at);
	out[at] = '\0';
}

/* Formats into RAW from AT on. Never fails: what printf cannot format stands there unformatted. */
static size_t append(char raw[RAW_MAX], size_t at, const char *format, va_list args)
{
	int n = vsnprintf(raw + at, RAW_MAX - at, format, args);

	if (n < 0)
		n = snprintf(raw + at, RAW_MAX - at, "%s", format);
	n = n < 0 ? 0 : n;
	return (size_t)n < RAW_MAX - at ? at + (size_t)n : RAW_MAX - 1;
}

static int set(enum err_code code, const char *raw)
{
	last = code;
	clean(text, raw);
	return -1;
}

int err_set(enum err_code code, const char *format, ...)
{
	char raw[RAW_MAX];
	va_list args;

	va_start(args, format);
	append(raw, 0, format, args);
	va_end(args);
	last_errno = 0;
	return set(code, raw);
}

int err_system(const char *format, ...)
{
	char raw[RAW_MAX], reason[256];
	int number = errno;
	va_list args;
	size_t at;

	if (strerror_r(number, reason, sizeof(reason)) != 0)
		snprintf(reason, sizeof(reason), "error %d", number);
	va_start(args, format);
	at = append(raw, 0, format, args);
	va_end(args);
	snprintf(raw + at, RAW_MAX - at, ": %s", reason);
	last_errno = errno = number;
	return set(ERR_IO, raw);
}

int err_memory(size_t size)
{
	return err_set(ERR_MEMORY, "out of memory: %zu bytes refused", size);
}

int err_prefix(const char *format, ...)
{
	char raw[RAW_MAX];
	va_list args;
	size_t at;

	va_start(args, format);
	at = append(raw, 0, format, args);
	va_end(args);
	snprintf(raw + at, RAW_MAX - at, ": %s", text);
	return set(last, raw);
}

const char *err_text(void)
{
	return text;
}

enum err_code err_last(void)
{
	return last;
}

int err_errno(void)
{
	return last_errno;
}

void err_save(struct err_saved *out)
{
	out->code = last;
	out->number = last_errno;
	memcpy(out->text, text, sizeof(text));
}

int err_restore(const struct err_saved *saved)
{
	last = saved->code;
	last_errno = saved->number;
	memcpy(text, saved->text, sizeof(text));
	return -1;
}
