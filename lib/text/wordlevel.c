/* lib/text/wordlevel.c - the WordLevel model: a word is in the vocabulary, or is unknown */
#include <stdlib.h>

#include "lib/text/model_parts.h"

/* Own is the unknown token's id, or TOKEN_NONE. */
static int load(struct text_model *m)
{
	struct bytes text = m->spec.unk_text;
	uint32_t *unknown = mem_new(1, sizeof(*unknown));

	if (!unknown)
		return -1;
	*unknown = m->spec.unk;
	if (*unknown == TOKEN_NONE && m->spec.has_unk_text)
		*unknown = vocabulary_find(&m->vocabulary, text.data, text.size);
	m->own = unknown;
	return 0;
}

static void unload(void *own)
{
	free(own);
}

static int encode(const struct text_model *m, void *own, struct bytes piece,
		  struct model_tokens *out)
{
	const uint32_t *unknown = m->own;
	uint32_t id = vocabulary_find(&m->vocabulary, piece.data, piece.size);

	if (id == TOKEN_NONE)
		id = *unknown;
	if (id == TOKEN_NONE)
		return err_set(ERR_FORMAT,
			       "no piece for " BYTES_FMT ", and the model has no unknown token",
			       BYTES_ARG(piece));
	return model_tokens_put(out, id, 0, piece.size);
}

const struct model_parts model_wordlevel = { .load = load, .unload = unload, .encode = encode };
