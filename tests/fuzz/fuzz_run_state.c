/* A run.json in memory. What is read must be written, and be read again as the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/train/run_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct run_state *s, struct arena *arena)
{
	struct buffer one = { 0 }, two = { 0 };
	struct run_state again;

	if (run_state_put(&one, s) ||
	    run_state_parse(&again, arena, buffer_bytes(&one), "written.json") ||
	    run_state_put(&two, &again) || !bytes_equal(buffer_bytes(&one), buffer_bytes(&two)))
		abort();
	buffer_free(&one);
	buffer_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = NULL;
	struct run_state s;

	if (arena_new(&arena))
		return 0;
	if (run_state_parse(&s, arena, (struct bytes){ (const char *)data, size }, "fuzz.json")) {
		if (!*err_text())
			abort();
	} else {
		check_written(&s, arena);
	}
	arena_free(arena);
	return 0;
}
