/* lib/infer/token_text.c - tokens that come one by one, as text */

#include "lib/infer/token_text.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/decode.h"

struct token_text {
	const struct tokenizer *tokenizer;
	struct text_decoder *decoder; /* owned */
};

static int begin(struct token_text *x, const int32_t *before, size_t n)
{
	const struct tokenizer_spec *s = tokenizer_spec(x->tokenizer);
	struct buffer passed = { 0 };
	int result = text_decoder_new(&x->decoder, s->decoders, s->n_decoders,
				      tokenizer_is_byte_level(x->tokenizer), false);

	for (size_t i = 0; i < n && result == 0; i++) {
		result = token_text_add(x, before[i], &passed);
		buffer_clear(&passed);
	}
	buffer_free(&passed);
	return result;
}

int token_text_new(struct token_text **out, const struct tokenizer *t, const int32_t *before,
		   size_t n)
{
	struct token_text *x = mem_new(1, sizeof(*x));

	*out = NULL;
	if (!x)
		return -1;
	x->tokenizer = t;
	if (begin(x, before, n) < 0) {
		struct err_saved saved;

		err_save(&saved);
		token_text_free(x);
		return err_restore(&saved);
	}
	*out = x;
	return 0;
}

void token_text_free(struct token_text *x)
{
	if (!x)
		return;
	text_decoder_free(x->decoder);
	free(x);
}

int token_text_add(struct token_text *x, int32_t id, struct buffer *out)
{
	const struct added_spec *added = tokenizer_added(x->tokenizer, (uint32_t)id);

	if (added && added->special)
		return 0;
	return text_decoder_add(x->decoder, tokenizer_piece(x->tokenizer, (uint32_t)id),
				added != NULL, out);
}

int token_text_end(struct token_text *x, struct buffer *out)
{
	return text_decoder_end(x->decoder, out);
}
