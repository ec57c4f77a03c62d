/*
 * lib/infer/prompt.h - the tokens of a text that is to go on
 */
#ifndef LIB_INFER_PROMPT_H
#define LIB_INFER_PROMPT_H

#include "formats/hf_config.h"
#include "lib/text/tokenizer.h"

/*
 * IDS: owned by the caller, N of them, at least one. What the tokenizer puts at the end of a document is left out, for the text goes on;
 * an empty text is the token that texts begin with (the configuration's bos, else its first eos). -1 with the error set: there is
 * no such token, or the text cannot be encoded.
 */
int prompt_encode(int32_t **ids, size_t *n, const struct tokenizer *t, const struct hf_config *c,
		  struct bytes text, enum special_mode special);

#endif
