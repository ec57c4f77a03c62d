/*
 * formats/tokenizer_tekken.h - tekken.json, the tokenizers of Mistral
 *
 * The ids are those of mistral-common's Tekkenizer. man/man5/tokenizer-files.5 says what is read, and the limits.
 */
#ifndef FORMATS_TOKENIZER_TEKKEN_H
#define FORMATS_TOKENIZER_TEKKEN_H

#include "lib/text/spec.h"

/* Whether TEXT, a JSON object, is one: it has a `config` before anything that a tokenizer.json begins with. */
bool tokenizer_is_tekken(struct bytes text);

/* Fills *OUT; what it points to lives in ARENA. NAME is for messages. */
int tokenizer_tekken_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes text,
			   const char *name);

#endif
