/*
 * Any bytes as a tokenizer.json. What is taken and can be written is read again, and written the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/tokenizer_json.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(struct bytes text)
{
	struct buffer again = { 0 };
	struct tokenizer_spec spec;
	struct arena *arena;

	if (arena_new(&arena))
		return;
	if (tokenizer_json_parse(&spec, arena, text, "again.json"))
		abort();
	if (tokenizer_json_put(&again, &spec) || !bytes_equal(text, buffer_bytes(&again)))
		abort();
	buffer_free(&again);
	arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text = { (const char *)data, size };
	struct buffer once = { 0 };
	struct tokenizer_spec spec;
	struct arena *arena;

	if (arena_new(&arena))
		return 0;
	if (tokenizer_json_parse(&spec, arena, text, "fuzz.json")) {
		if (!*err_text())
			abort();
	} else if (tokenizer_json_put(&once, &spec) == 0) {
		write_again(buffer_bytes(&once));
	}
	buffer_free(&once);
	arena_free(arena);
	return 0;
}
