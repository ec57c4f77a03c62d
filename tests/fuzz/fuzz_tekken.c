/* Any bytes as a tekken.json: what is taken has each id once, and special tokens before all others. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/tokenizer_tekken.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tokenizer_spec *spec)
{
	for (size_t i = 0; i < spec->n_added; i++)
		if (spec->added[i].id != i)
			abort();
	for (size_t i = 0; i < spec->model.n_pieces; i++)
		if (spec->model.pieces[i].id != spec->n_added + i)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text = { (const char *)data, size };
	struct tokenizer_spec spec;
	struct arena *arena;

	if (arena_new(&arena))
		return 0;
	tokenizer_is_tekken(text);
	if (tokenizer_tekken_parse(&spec, arena, text, "fuzz.json") == 0)
		check(&spec);
	else if (!*err_text())
		abort();
	arena_free(arena);
	return 0;
}
