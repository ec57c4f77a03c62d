/*
 * lib/base/bytes.h - a run of bytes with its length
 *
 * Names, strings and file contents travel as (data, size), since any of them may hold
 * NUL bytes. A struct bytes never owns what it points to; the function that gives one
 * says how long it is valid.
 */
#ifndef LIB_BASE_BYTES_H
#define LIB_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
	const char *data;
	size_t size;
};

/* For printf: printf("tensor " BYTES_FMT, BYTES_ARG(name)). Long names are cut at 200 bytes. */
#define BYTES_FMT    "%.*s"
#define BYTES_ARG(b) (int)((b).size > 200 ? 200 : (b).size), (b).data

static inline struct bytes bytes_of(const char *s)
{
	return (struct bytes){ s, strlen(s) };
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool bytes_are(struct bytes a, const char *s)
{
	return bytes_equal(a, bytes_of(s));
}

static inline bool bytes_start_with(struct bytes a, const char *prefix)
{
	size_t n = strlen(prefix);

	return n == 0 || (a.size >= n && memcmp(a.data, prefix, n) == 0);
}

static inline bool bytes_end_with(struct bytes a, const char *suffix)
{
	size_t n = strlen(suffix);

	return n == 0 || (a.size >= n && memcmp(a.data + (a.size - n), suffix, n) == 0);
}

/* As memcmp, a prefix before what it starts: negative, 0 or positive. */
int bytes_compare(struct bytes a, struct bytes b);

/*
 * Whether NAME matches the shell pattern: * any run (dots and slashes too), ? one byte,
 * [a-z] and [!a-z] one byte of a set, \ the next byte as it is. Time is at most
 * proportional to name x pattern; a [ without its ] stands for itself.
 */
bool bytes_match(struct bytes name, const char *pattern);

#endif
