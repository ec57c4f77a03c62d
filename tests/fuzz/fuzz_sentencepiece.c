/* Any bytes as a SentencePiece model: what is taken names ids that are there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(const struct model_spec *m, uint32_t id)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (m->pieces[i].id == id)
			return true;
	return false;
}

static void check(const struct tokenizer_spec *spec)
{
	const struct model_spec *m = &spec->model;

	if (m->unk != TOKEN_NONE && !has(m, m->unk))
		abort();
	for (size_t i = 0; i < m->n_merges && i < 64; i++)
		if (!has(m, m->merges[i].left) || !has(m, m->merges[i].right) ||
		    !has(m, m->merges[i].result))
			abort();
	for (size_t i = 1; i < spec->n_added; i++)
		if (spec->added[i - 1].id >= spec->added[i].id)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tokenizer_spec spec;
	struct arena *arena;

	if (arena_new(&arena))
		return 0;
	if (tokenizer_sentencepiece_parse(&spec, arena, (struct bytes){ (const char *)data, size },
					  "fuzz.model") == 0)
		check(&spec);
	else if (!*err_text())
		abort();
	arena_free(arena);
	return 0;
}
