/* lib/data/record_text.c - the document in a JSON record: a field of text, or the same in base64 */

#include "lib/data/record_text.h"

#include <inttypes.h>

#include "lib/base/base64.h"
#include "lib/base/err.h"

#define SUFFIX "_base64"

static bool is_base64_of(struct bytes key, const char *field)
{
	return key.size == strlen(field) + strlen(SUFFIX) && bytes_start_with(key, field) &&
	       bytes_end_with(key, SUFFIX);
}

int record_text(struct bytes *out, struct json *j, struct buffer *decoded, struct bytes record,
		const char *field, const char *name, uint64_t line)
{
	struct bytes key, encoded = { 0 };
	bool plain = false, base64 = false;
	size_t bad;

	json_init(j, record.data, record.size, name, &(struct json_limits){ .line = line });
	json_object(j);
	while (json_key(j, &key) > 0) {
		if (bytes_are(key, field))
			plain = json_string(j, out) == 0;
		else if (is_base64_of(key, field))
			base64 = json_string(j, &encoded) == 0;
		else
			json_skip(j, NULL);
	}
	if (json_end(j) < 0)
		return -1;
	if (plain)
		return 0;
	if (!base64)
		return err_set(ERR_MISSING, "%s:%" PRIu64 ": has no field \"%s\"", name, line,
			       field);
	buffer_clear(decoded);
	if (!base64_get(decoded, encoded, &bad))
		return err_set(ERR_FORMAT,
			       "%s:%" PRIu64 ": \"%s" SUFFIX "\" is not base64 at its byte %zu",
			       name, line, field, bad);
	*out = buffer_bytes(decoded);
	return buffer_check(decoded);
}
