/* lib/text/tokenizer_parts.h - what a compiled tokenizer holds; users include
 * tokenizer.h */
#ifndef LIB_TEXT_TOKENIZER_PARTS_H
#define LIB_TEXT_TOKENIZER_PARTS_H

#include "lib/text/added.h"
#include "lib/text/tokenizer.h"
#include "lib/text/words_parts.h"

/* Steps without those that put something before a text (inside.c). */
struct inside_spec {
	struct normalizer_spec *normalizers; /* owned */
	struct pretokenizer_spec *pretokenizers;
};
/* *OUT is NULL when SPEC has no such step. S must outlive it. */
int words_inside_new(struct words **out, struct inside_spec *s, const struct tokenizer_spec *spec);

struct tokenizer {
	const struct tokenizer_spec *spec;
	struct words *words;  /* what comes before the model */
	struct words *inside; /* the same for a text that goes on another; NULL: the very same */
	struct inside_spec inside_spec;
	struct text_model *model;
	uint32_t vocab_size;
	const struct added_spec **added; /* by id */
	struct added_set *bare;		 /* not normalized; NULL: none */
	struct added_set *after;	 /* normalized; NULL: none */
	struct text *normalized;	 /* their texts */
	size_t n_normalized;
};

/* Adds what the file's post-processor adds, and trims offsets as it does
 * (post.c). */
int post_process(const struct tokenizer *t, const struct encode_options *o, struct bytes document,
		 struct encoding *e);

/* Room for one more token, then the token. */
int encoding_add(struct encoding *e, uint32_t id, const struct text_span *offsets);

#endif
