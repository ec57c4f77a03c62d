/* lib/data/record_text.c - the document in a JSON record: a field of text, or the same in base64 */

#include "lib/data/record_text.h"

#include <inttypes.h>

#include "lib/base/base64.h"
#include "lib/base/err.h"

#define SUFFIX "_base64"

enum record_form record_form(struct bytes key, const char *field)
{
	size_t n = strlen(field);

	if (!bytes_start_with(key, field))
		return RECORD_OTHER;
	if (key.size == n)
		return RECORD_PLAIN;
	return key.size == n + strlen(SUFFIX) && bytes_end_with(key, SUFFIX) ? RECORD_BASE64
									     : RECORD_OTHER;
}

int record_decode(struct buffer *decoded, struct bytes *text, const char *field)
{
	size_t from = decoded->size, bad;

	if (!base64_get(decoded, *text, &bad))
		return err_set(ERR_FORMAT, "\"%s" SUFFIX "\" is not base64 at its byte %zu", field,
			       bad);
	if (buffer_check(decoded) < 0)
		return -1;
	*text = (struct bytes){ decoded->data + from, decoded->size - from };
	return 0;
}

int record_begins(struct bytes record, const char *name, uint64_t line)
{
	size_t i = 0;

	while (i < record.size && (record.data[i] == ' ' || record.data[i] == '\t'))
		i++;
	if (i < record.size && record.data[i] == '{')
		return 0;
	return err_set(ERR_FORMAT,
		       "%s:%" PRIu64
		       ": not a JSON record (plain text needs --raw, or cat-docs before)",
		       name, line);
}

int record_text(struct bytes *out, struct json *j, struct buffer *decoded, struct bytes record,
		const char *field, const char *name, uint64_t line)
{
	struct bytes key, encoded = { 0 };
	bool plain = false, base64 = false;

	if (record_begins(record, name, line) < 0)
		return -1;
	json_init(j, record.data, record.size, name, &(struct json_limits){ .line = line });
	json_object(j);
	while (json_key(j, &key) > 0) {
		switch (record_form(key, field)) {
		case RECORD_PLAIN: plain = json_string(j, out) == 0; break;
		case RECORD_BASE64: base64 = json_string(j, &encoded) == 0; break;
		default: json_skip(j, NULL);
		}
	}
	if (json_end(j) < 0)
		return -1;
	if (plain)
		return 0;
	if (!base64)
		return err_set(ERR_MISSING, "%s:%" PRIu64 ": has no field \"%s\"", name, line,
			       field);
	buffer_clear(decoded);
	*out = encoded;
	return record_decode(decoded, out, field) < 0 ? err_prefix("%s:%" PRIu64, name, line) : 0;
}
