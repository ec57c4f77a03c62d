/*
 * lib/data/record_text.h - the document in a JSON record: a field of text, or the same in base64
 */
#ifndef LIB_DATA_RECORD_TEXT_H
#define LIB_DATA_RECORD_TEXT_H

#include <stdint.h>

#include "formats/json.h"
#include "lib/base/buffer.h"

/* How a record has a field: as text, or as base64 under the name with _base64 behind. */
enum record_form { RECORD_PLAIN, RECORD_BASE64, RECORD_OTHER };

/* Which KEY is of FIELD. */
enum record_form record_form(struct bytes key, const char *field);
/* Appends what the base64 of FIELD stands for to DECODED, and makes *TEXT that. 0, or -1. */
int record_decode(struct buffer *decoded, struct bytes *text, const char *field);

/* 0 when RECORD, line LINE of NAME, begins as an object does; else -1, and what to do with plain text. */
int record_begins(struct bytes record, const char *name, uint64_t line);

/*
 * RECORD, line LINE of NAME, is an object; its FIELD, or FIELD_base64, goes to *OUT, which is valid until the next use
 * of J and DECODED. 0, or -1 with `NAME:LINE: what`.
 */
int record_text(struct bytes *out, struct json *j, struct buffer *decoded, struct bytes record,
		const char *field, const char *name, uint64_t line);

#endif
