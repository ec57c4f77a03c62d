/*
 * formats/tokenizer_wordpiece.h - BERT's steps around a WordPiece vocabulary
 */
#ifndef FORMATS_TOKENIZER_WORDPIECE_H
#define FORMATS_TOKENIZER_WORDPIECE_H

#include "lib/text/spec.h"

struct wordpiece_options {
	bool lowercase, keep_chinese; /* keep_chinese: no spaces around CJK characters */
	enum tristate strip_accents;
	uint32_t cls, sep, unk; /* TOKEN_NONE: the piece named [CLS], [SEP], [UNK], if any */
};

/* Everything of *OUT but its pieces and added tokens, which are there: as transformers' BertConverter. */
int wordpiece_assemble(struct tokenizer_spec *out, struct arena *arena, const char *file,
		       const struct wordpiece_options *options);

#endif
