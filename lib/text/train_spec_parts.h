/* lib/text/train_spec_parts.h - what the files of train_spec share */
#ifndef LIB_TEXT_TRAIN_SPEC_PARTS_H
#define LIB_TEXT_TRAIN_SPEC_PARTS_H

#include "lib/text/train_spec.h"

#define TRAIN_MARK	 "\xE2\x96\x81" /* U+2581, a space of SentencePiece's */
#define TRAIN_MARK_POINT 0x2581

/* Whether spaces are marked: SentencePiece's kinds. */
static inline bool train_marks_spaces(enum train_kind kind)
{
	return kind == TRAIN_SENTENCEPIECE || kind == TRAIN_UNIGRAM;
}

/* Whether the text gets a space before it. */
bool train_prefix_space(const struct train_spec_options *o);

/* Normalizers, pre-tokenizers and decoders of OUT->spec and OUT->cut. */
int train_spec_steps(struct train_spec *out, struct arena *arena,
		     const struct train_spec_options *o);

/*
 * Appends to OUT->cut's pre-tokenizers the steps that cut off ends of lines and, where MARKS says so (some tokenizers have
 * no pre-tokenizer at all), before marks of spaces.
 */
int train_spec_cut_lines(struct train_spec *out, struct arena *arena, bool marks);

#endif
