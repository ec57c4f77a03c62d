/*
 * lib/text/train_word.h - a word and how often it occurs: what vocabularies are trained on
 */
#ifndef LIB_TEXT_TRAIN_WORD_H
#define LIB_TEXT_TRAIN_WORD_H

#include <stdint.h>

#include "lib/base/bytes.h"

struct train_word {
	struct bytes text; /* well-formed UTF-8, distinct, not empty */
	uint64_t count;	   /* 1 or more */
};

#endif
