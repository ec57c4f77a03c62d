/* lib/text/train_model_parts.h - what the files of train_model share */
#ifndef LIB_TEXT_TRAIN_MODEL_PARTS_H
#define LIB_TEXT_TRAIN_MODEL_PARTS_H

#include "lib/text/train_model.h"

/* As train_model, for Unigram. */
int train_model_unigram(struct train_spec *t, struct arena *arena, struct word_counts *counts,
			const struct train_model_options *o, struct train_model_report *report);

#endif
