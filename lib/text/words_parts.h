/* lib/text/words_parts.h - the steps before a model, as words.c and tokenizer.c compile them; users include words.h */
#ifndef LIB_TEXT_WORDS_PARTS_H
#define LIB_TEXT_WORDS_PARTS_H

#include "lib/text/normalize.h"
#include "lib/text/pretokenize.h"
#include "lib/text/words.h"

struct words {
	struct normalizer *normalizer;	   /* NULL: none */
	struct pretokenizer *pretokenizer; /* NULL: none */
	bool byte_level;
	bool needs_spans; /* a step asks where the document begins, and normalizers may cut there */
};

/* Where the bytes from AT on, which begin no character, end: at the next character. */
size_t words_invalid_end(struct bytes document, size_t at);

#endif
