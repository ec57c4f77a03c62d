/*
 * Any bytes as a GGUF with a tokenizer: what is taken and can be written again is read back as what its fingerprint says.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_file.h"
#include "formats/tokenizer_gguf_write.h"
#include "lib/base/err.h"
#include "lib/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool plain_of(const struct tokenizer_spec *spec, struct hash128 *plain)
{
	struct hash128 whole;
	struct tokenizer *t;
	bool done;

	if (tokenizer_new(&t, spec) < 0)
		return false;
	done = tokenizer_fingerprint(t, plain, &whole) == 0;
	tokenizer_free(t);
	return done;
}

/* A GGUF's own keys say all that decides ids, so that nothing may be lost on the way back. */
static void read_back(const struct tokenizer_spec *before, const struct buffer *b,
		      struct arena *arena)
{
	struct tokenizer_spec after;
	struct hash128 x, y;
	struct gguf *g;

	if (gguf_open_memory(&g, b->data, b->size, "again") < 0)
		abort();
	if (tokenizer_gguf_read(&after, arena, g) < 0)
		abort();
	if (after.stated_plain) {
		after.stated_plain = NULL;
		if (!plain_of(before, &x) || !plain_of(&after, &y) ||
		    memcmp(&x, &y, sizeof(x)) != 0)
			abort();
	}
	gguf_close(g);
}

static void write_again(struct tokenizer_spec *spec, struct arena *arena)
{
	struct gguf_writer *w;
	struct buffer b = { 0 };

	spec->stated_plain = spec->stated_whole = NULL;
	if (gguf_writer_new(&w, 32) < 0)
		return;
	if (tokenizer_gguf_put(w, spec, NULL) == 0 && gguf_writer_preview(w, &b) == 0)
		read_back(spec, &b, arena);
	buffer_free(&b);
	gguf_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tokenizer_spec spec;
	struct arena *arena;
	struct gguf *g;

	if (gguf_open_memory(&g, data, size, "fuzz.gguf") < 0)
		return 0;
	if (arena_new(&arena) == 0) {
		if (tokenizer_gguf_read(&spec, arena, g) < 0) {
			if (!*err_text())
				abort();
		} else if (!gguf_get(g, "tokenizer.huggingface.json")) {
			write_again(&spec, arena);
		}
		arena_free(arena);
	}
	gguf_close(g);
	return 0;
}
