/*
 * lib/text/model_parts.h - what a kind of model gives to model.c; for the files of the models alone
 *
 * A model is one table of functions and a struct of its own. model.c holds the vocabulary, checks the arguments and
 * calls them.
 */
#ifndef LIB_TEXT_MODEL_PARTS_H
#define LIB_TEXT_MODEL_PARTS_H

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/model.h"
#include "lib/text/pretokenize.h"
#include "lib/text/vocabulary.h"

struct text_model {
	const struct model_parts *parts;
	struct vocabulary vocabulary;
	struct model_spec
		spec; /* a copy; what it points to is the caller's and outlives the model */
	bool byte_level;
	void *own; /* the kind's tables */
};

struct model_scratch {
	const struct text_model *model;
	void *own; /* the kind's buffers; NULL when it has none */
	struct model_tokens tokens;
};

struct model_parts {
	/* Fills m->own; the vocabulary and the spec are there. On failure model.c calls unload. */
	int (*load)(struct text_model *m);
	void (*unload)(void *own); /* NULL is allowed as own */
	/* Both may be NULL together. */
	int (*scratch_new)(void **out, const struct text_model *m);
	void (*scratch_free)(void *own); /* NULL is allowed as own */
	/* As text_model_encode, OWN being the scratch's; PIECE is not empty and is below 4 GiB. */
	int (*encode)(const struct text_model *m, void *own, struct bytes piece,
		      struct model_tokens *out);
	/* As text_model_encode_from; NULL: encode. */
	int (*encode_from)(const struct text_model *m, void *own, struct bytes piece, size_t *at,
			   struct model_tokens *out);
	/* As text_model_encode_ids; NULL: encode, piece by piece. */
	int (*encode_ids)(const struct text_model *m, void *own, struct bytes text,
			  const struct piece *pieces, size_t n, struct model_ids *out,
			  size_t *done);
	/* As text_model_sample; NULL: encode. */
	int (*sample)(const struct text_model *m, void *own, struct bytes piece,
		      const struct model_sampling *how, struct model_tokens *out);
	/* As model_scratch_dropped; NULL: none. */
	uint64_t (*dropped)(const void *own);
};

extern const struct model_parts model_bpe, model_bpe_spm, model_unigram, model_unigram_spm,
	model_wordpiece, model_wordlevel;

/* Appends one token. 0, or -1 with the error set. */
static inline int model_tokens_put(struct model_tokens *t, uint32_t id, size_t from, size_t to)
{
	if (t->n == t->capacity &&
	    mem_grow(&t->items, &t->capacity, t->n + 1, sizeof(*t->items)) < 0)
		return -1;
	t->items[t->n++] = (struct model_token){ id, (uint32_t)from, (uint32_t)to };
	return 0;
}

/* Appends the ids of TOKENS. */
static inline int model_ids_put(struct model_ids *out, const struct model_tokens *tokens)
{
	if (out->capacity - out->n < tokens->n &&
	    mem_grow(&out->items, &out->capacity, out->n + tokens->n, sizeof(*out->items)) < 0)
		return -1;
	for (size_t i = 0; i < tokens->n; i++)
		out->items[out->n + i] = tokens->items[i].id;
	out->n += tokens->n;
	return 0;
}

#endif
