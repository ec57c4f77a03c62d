/*
 * formats/tokenizer_json.h - tokenizer.json of Hugging Face `tokenizers`
 *
 * man/man5/tokenizer-json.5 lists the components that are read; one that is not in the list is ERR_UNSUPPORTED and
 * named with its path in the file, never skipped. Versions of the file back to tokenizers 0.10 (merges as `a b` or
 * as ["a","b"]; Unigram vocabularies as pairs; vocabularies as objects).
 */
#ifndef FORMATS_TOKENIZER_JSON_H
#define FORMATS_TOKENIZER_JSON_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

/* Fills *OUT; what it points to lives in ARENA. NAME is for messages. Linear time, through the pull reader. */
int tokenizer_json_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes text,
			 const char *name);
int tokenizer_json_read(struct tokenizer_spec *out, struct arena *arena, const char *path);

/* Appends the file, indented by two as `tokenizers` saves it: equal bytes where its version fixes them. */
int tokenizer_json_put(struct buffer *b, const struct tokenizer_spec *spec);

#endif
