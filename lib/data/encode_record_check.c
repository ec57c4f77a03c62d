/* lib/data/encode_record_check.c - whether a document's tokens decode to its bytes */

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/data/encode_record_parts.h"

#define SHOWN 24 /* bytes of either side at most */

static int decode(struct record_encoder *e, const uint32_t *ids, size_t n)
{
	const struct tokenizer *t = e->tokenizer;
	const struct tokenizer_spec *s = tokenizer_spec(t);

	if (!e->decoder && text_decoder_new(&e->decoder, s->decoders, s->n_decoders,
					    tokenizer_is_byte_level(t), true) < 0)
		return -1;
	buffer_clear(&e->back);
	for (size_t i = 0; i < n; i++)
		if (text_decoder_add(e->decoder, tokenizer_piece(t, ids[i]),
				     tokenizer_added(t, ids[i]) != NULL, &e->back) < 0)
			return -1;
	if (text_decoder_end(e->decoder, &e->back) < 0)
		return -1;
	return buffer_check(&e->back);
}

static size_t first_difference(struct bytes a, struct bytes b)
{
	size_t i = 0;

	while (i < a.size && i < b.size && a.data[i] == b.data[i])
		i++;
	return i;
}

/* At most SHOWN bytes from AT, what cannot be printed escaped. */
static void put_shown(struct buffer *b, struct bytes text, size_t at)
{
	struct bytes rest = { text.data + at, text.size - at };

	if (rest.size == 0) {
		buffer_put_text(b, "the end");
		return;
	}
	if (rest.size > SHOWN)
		rest.size = SHOWN;
	quote_text(b, rest);
}

int record_check(struct record_encoder *e, const uint32_t *ids, size_t n, struct bytes document,
		 char **difference)
{
	struct buffer text = { 0 };
	struct bytes back;
	size_t at;
	int result = -1;

	if (decode(e, ids, n) < 0)
		return -1;
	back = buffer_bytes(&e->back);
	if (bytes_equal(back, document))
		return 0;
	at = first_difference(document, back);
	buffer_format(&text, "byte %zu: ", at);
	put_shown(&text, document, at);
	buffer_put_text(&text, " comes back as ");
	put_shown(&text, back, at);
	if (buffer_check(&text) == 0)
		*difference = mem_copy(text.data, text.size);
	if (*difference)
		result = 0;
	buffer_free(&text);
	return result;
}
