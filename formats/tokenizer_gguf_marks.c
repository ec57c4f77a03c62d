/* formats/tokenizer_gguf_marks.c - how a GGUF spells the pieces of SentencePiece and WordPiece */

#include "formats/tokenizer_gguf_marks.h"

#include "formats/tokenizer_pieces.h"

#define MARK "\xE2\x96\x81" /* U+2581 */

/* Takes over what B holds, and frees it. */
static int keep(struct arena *arena, struct buffer *b, struct bytes *text)
{
	*text = buffer_check(b) ? (struct bytes){ 0 } : tokenizer_copy(arena, buffer_bytes(b));
	buffer_free(b);
	return text->data ? 0 : -1;
}

static int put_before(struct arena *arena, const char *before, struct bytes *text)
{
	struct buffer b = { 0 };

	buffer_put_text(&b, before);
	buffer_put(&b, text->data, text->size);
	return keep(arena, &b, text);
}

static bool stays(enum spm_type type, struct bytes t)
{
	return type == SPM_CONTROL || type == SPM_UNKNOWN ||
	       (t.size > 1 && bytes_start_with(t, "[") && bytes_end_with(t, "]"));
}

int gguf_mark(struct arena *arena, enum spm_type type, struct bytes *text)
{
	if (stays(type, *text))
		return 0;
	if (bytes_start_with(*text, "##")) {
		*text = (struct bytes){ text->data + 2, text->size - 2 };
		return 0;
	}
	return put_before(arena, MARK, text);
}

int gguf_unmark(struct arena *arena, enum spm_type type, struct bytes *text)
{
	if (stays(type, *text))
		return 0;
	if (bytes_start_with(*text, MARK)) {
		*text = (struct bytes){ text->data + 3, text->size - 3 };
		return 0;
	}
	return put_before(arena, "##", text);
}

/* Each FROM becomes TO. */
static int replace(struct arena *arena, const char *from, const char *to, struct bytes *text)
{
	size_t n = strlen(from), at = 0;
	struct buffer b = { 0 };

	while (at < text->size) {
		struct bytes rest = { text->data + at, text->size - at };

		if (bytes_start_with(rest, from)) {
			buffer_put_text(&b, to);
			at += n;
		} else {
			buffer_put(&b, rest.data, 1);
			at++;
		}
	}
	return keep(arena, &b, text);
}

int gguf_escape_spaces(struct arena *arena, struct bytes *text)
{
	if (!text->size || !memchr(text->data, ' ', text->size))
		return 0;
	return replace(arena, " ", MARK, text);
}

int gguf_unescape_spaces(struct arena *arena, struct bytes *text)
{
	return text->size ? replace(arena, MARK, " ", text) : 0;
}
