/*
 * A config.json in memory. What is read and can be written must be read again from what was
 * written, and then be written the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/hf_config.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct hf_config *c, struct arena *arena)
{
	struct buffer one = { 0 }, two = { 0 };
	struct hf_config again;

	if (hf_config_put(&one, c) == 0) {
		if (hf_config_parse(&again, arena, buffer_bytes(&one), "written.json") ||
		    hf_config_put(&two, &again) ||
		    !bytes_equal(buffer_bytes(&one), buffer_bytes(&two)))
			abort();
	}
	buffer_free(&one);
	buffer_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = NULL;
	struct hf_config c;
	uint64_t n;

	if (arena_new(&arena))
		return 0;
	if (hf_config_parse(&c, arena, (struct bytes){ (const char *)data, size }, "fuzz.json")) {
		if (!*err_text())
			abort();
	} else {
		hf_config_n_parameters(&c, &n);
		check_written(&c, arena);
	}
	arena_free(arena);
	return 0;
}
