/*
 * lib/infer/ends.h - the tokens that end a text
 *
 * All that a model says of it somewhere: the configuration's eos, generation_config.json's in the model's folder, the tokenizer's. A chat model
 * often ends its turn with another one than its documents, and names only the one or the other in a place.
 */
#ifndef LIB_INFER_ENDS_H
#define LIB_INFER_ENDS_H

#include "formats/hf_config.h"
#include "lib/text/spec.h"

struct text_ends {
	uint32_t *ids; /* owned; each once */
	size_t n, room;
};

/* PATH: the model's; what is no folder has no generation_config.json. -1 with the error set: that file is damaged, or no memory. */
int text_ends_find(struct text_ends *out, const struct hf_config *c, const struct tokenizer_spec *s,
		   const char *path);
/* ID too, unless it is there or TOKEN_NONE. */
int text_ends_add(struct text_ends *e, uint32_t id);
void text_ends_free(struct text_ends *e); /* what it holds */

#endif
