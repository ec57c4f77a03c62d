/* formats/tokenizer_base64.c - bytes that tokenizer files carry in base64 */

#include "formats/tokenizer_base64.h"

#include "lib/base/err.h"

int base64_decode(struct arena *arena, struct bytes text, struct bytes *out)
{
	struct buffer decoded = { 0 };
	char *copy = NULL;
	size_t bad;

	if (!base64_get(&decoded, text, &bad))
		err_set(ERR_FORMAT, "not base64 at its byte %zu", bad);
	else if (buffer_check(&decoded) == 0)
		copy = arena_copy(arena, buffer_bytes(&decoded));
	*out = (struct bytes){ copy, decoded.size };
	buffer_free(&decoded);
	return copy ? 0 : -1;
}
