/*
 * lib/data/record_text.h - the document in a JSON record: a field of text, or the same in base64
 */
#ifndef LIB_DATA_RECORD_TEXT_H
#define LIB_DATA_RECORD_TEXT_H

#include <stdint.h>

#include "formats/json.h"
#include "lib/base/buffer.h"

/*
 * RECORD, line LINE of NAME, is an object; its FIELD, or FIELD_base64, goes to *OUT, which is valid until the next use
 * of J and DECODED. 0, or -1 with `NAME:LINE: what`.
 */
int record_text(struct bytes *out, struct json *j, struct buffer *decoded, struct bytes record,
		const char *field, const char *name, uint64_t line);

#endif
