/* lib/text/encode_part.c - a part of a document, encoded apart from those around it */

#include "lib/text/encode_part.h"

#include "lib/base/err.h"

static bool has_special(const struct tokenizer_spec *s, const char *text)
{
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].special && bytes_are(s->added[i].text, text))
			return true;
	return false;
}

int encode_part_check(const struct tokenizer_spec *s, enum chat chat)
{
	for (const char *const *t = chat_specials(chat); *t; t++)
		if (!has_special(s, *t))
			return err_set(ERR_MISSING,
				       "the template %s needs the special token %s, which the "
				       "tokenizer lacks",
				       chat_name(chat), *t);
	return 0;
}

/* A vocabulary may have a special token's text as a piece, and some models then make it of plain text. */
static int check_plain(const struct tokenizer *t, const struct encoding *part)
{
	for (size_t i = 0; i < part->n; i++) {
		const struct added_spec *a = tokenizer_added(t, part->ids[i]);

		if (a && a->special && a->id != tokenizer_spec(t)->model.unk)
			return err_set(ERR_FORMAT,
				       "text becomes the special token " BYTES_FMT
				       ", which this tokenizer makes of it",
				       BYTES_ARG(a->text));
	}
	return 0;
}

static enum encode_start start_of(const struct tokenizer *t, const struct text_part *part,
				  const uint32_t *before, size_t n)
{
	if (part->spaced)
		return START_INSIDE;
	if (n == 0)
		return START_DOCUMENT;
	return tokenizer_added(t, before[n - 1]) ? START_SECTION : START_INSIDE;
}

int encode_part(struct encoder *e, const struct tokenizer *t, const struct text_part *part,
		const struct encode_options *options, const uint32_t *before, size_t n,
		struct encoding *out)
{
	struct encode_options o = *options;

	o.start = start_of(t, part, before, n);
	if (part->scaffold) {
		o.special = SPECIAL_PARSE;
		o.sampling = NULL;
	}
	if (encoder_run(e, part->text, &o, out) < 0)
		return -1;
	return part->scaffold ? 0 : check_plain(t, out);
}
