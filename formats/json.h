/*
 * formats/json.h - a pull reader for JSON records and headers, and a writer
 *
 * RFC 8259, strictly: UTF-8 only, no byte order mark, no trailing bytes, no raw control
 * characters, no lone surrogates, no duplicate keys within an object. Strings come with their
 * length, NUL kept. Numbers come as the text that stood there, with exact 64-bit integers on
 * request. What a caller does not know it skips, and gets as raw bytes.
 *
 *	json_init(j, data, size, "file", limits);
 *	json_object(j);
 *	while ((got = json_key(j, &key)) > 0)
 *		if (bytes_are(key, "text"))	json_string(j, &text);
 *		else				json_skip(j, &raw);
 *	json_end(j)
 *
 * The first error sticks: `file: byte N: what` (or `file:LINE: byte N of the line: what` when
 * limits.line is given, for JSON lines); later calls fail at once and set it again. Its code is
 * ERR_FORMAT, also for a value of another type than the one that was asked for; ERR_LIMIT for
 * depth; ERR_ARGUMENT for a call that does not fit (a key asked for before the value was read).
 * A string without escapes points into the input; another one into the reader's memory, which
 * lives until json_free (or until json_init reuses it).
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/bytes.h"

#define JSON_DEPTH_MAX 128

struct json_limits {
	uint32_t depth; /* nesting, at most JSON_DEPTH_MAX; 0 means that */
	uint64_t line;	/* line number of the record, for messages; 0: none */
	bool any_bytes; /* strings may hold bytes that are not UTF-8, and keep them */
};

enum json_type {
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json; /* one reader; reused for any number of texts */

int json_new(struct json **out);
void json_free(struct json *j); /* NULL is allowed */

/* Starts on a text, which must outlive the reading, as must FILE. LIMITS may be NULL. */
void json_init(struct json *j, const void *data, size_t size, const char *file,
	       const struct json_limits *limits);

/* The type of the next value, which is not consumed; -1 at an error. */
int json_peek(struct json *j);

/* Enters an object or array; -1 when the next value is something else. */
int json_object(struct json *j);
int json_array(struct json *j);

/* In an object: 1 and the next key, whose value must be read or skipped next; 0 after the last (the
   object is left); -1. */
int json_key(struct json *j, struct bytes *key);
/* In an array: 1 when an item follows, which must be read or skipped; 0 after the last; -1. */
int json_item(struct json *j);

int json_string(struct json *j, struct bytes *out);
int json_u64(struct json *j, uint64_t *out); /* whole, in range; 1e3, 1.0 and -0 are refused */
int json_i64(struct json *j, int64_t *out);  /* likewise, but -0 is 0 */
int json_f64(struct json *j, double *out);   /* correctly rounded; overflow is an error */
int json_bool(struct json *j, bool *out);
int json_number(struct json *j, struct bytes *out); /* as it stands in the text */
/* Any value, checked in full (nested keys too); its raw bytes, in the input, to *RAW when that is
   not NULL. */
int json_skip(struct json *j, struct bytes *raw);

/* After the value: only white space may follow. 0, or -1 for trailing bytes or an earlier error. */
int json_end(struct json *j);

/* Byte offset of the next read, and an error at it in the reader's own format; returns -1. */
size_t json_offset(const struct json *j);
int json_fail(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- writing: appends to a buffer, no white space --- */

#define JSON_BEHIND ((size_t)128)

/* A string in quotes: " \ and control characters escaped (\n \t … \u00XX), everything else as it is.
   Ill-formed UTF-8 becomes U+FFFD, byte by byte. */
void json_put_string(struct buffer *b, struct bytes s);
/* What stands between the quotes, as it is but for the escapes: S may be a part of a text. Where BEHIND bytes, JSON_BEHIND
   or more, can be read behind S, whatever they are, its last ones need not be copied first. */
void json_put_escaped(struct buffer *b, struct bytes s, size_t behind);
/* `"key":` with a comma before it unless the object was just opened: the buffer is empty or ends in
   an opening bracket. */
void json_put_key(struct buffer *b, const char *key);
/* The same for an array item, or a key that is put as a string: the comma alone. */
void json_put_comma(struct buffer *b);
void json_put_u64(struct buffer *b, uint64_t v);
void json_put_i64(struct buffer *b, int64_t v);
/* Shortest text that reads back; null for NaN and infinities, which JSON does not have. */
void json_put_f64(struct buffer *b, double v);
void json_put_f32(struct buffer *b, float v);

/* A key and its value together. */
void json_put_text_member(struct buffer *b, const char *key, struct bytes value);
void json_put_u64_member(struct buffer *b, const char *key, uint64_t value);
void json_put_f64_member(struct buffer *b, const char *key, double value);

#endif
