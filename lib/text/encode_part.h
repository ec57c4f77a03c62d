/*
 * lib/text/encode_part.h - a part of a document, encoded apart from those around it
 *
 * No token reaches over the border of two parts, and no text becomes a special token: only a template's scaffold is parsed for them.
 */
#ifndef LIB_TEXT_ENCODE_PART_H
#define LIB_TEXT_ENCODE_PART_H

#include "lib/text/chat.h"
#include "lib/text/tokenizer.h"

struct text_part {
	struct bytes text;
	bool scaffold; /* special tokens in it are what they say */
	bool spaced;   /* as chat_part's */
};

/*
 * BEFORE: the N tokens of the parts before it. O's `start` is not looked at, nor `special` and `sampling` in scaffold. ERR_FORMAT where a
 * tokenizer makes a special token of plain text.
 */
int encode_part(struct encoder *e, const struct tokenizer *t, const struct text_part *part,
		const struct encode_options *o, const uint32_t *before, size_t n,
		struct encoding *out);

/* ERR_MISSING when a special token of the template C is not in the tokenizer: its scaffold would be text that anyone can write. */
int encode_part_check(const struct tokenizer_spec *s, enum chat c);

#endif
