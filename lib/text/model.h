/*
 * lib/text/model.h - the models: a piece of text into tokens
 *
 * bpe.c, unigram.c, wordpiece.c and wordlevel.c implement this one interface, to the id as `tokenizers` does.
 */
#ifndef LIB_TEXT_MODEL_H
#define LIB_TEXT_MODEL_H

#include "lib/text/spec.h"

struct text_model;    /* immutable; any number of threads */
struct model_scratch; /* one a thread: buffers, and BPE's cache of words */

/* A token and the bytes of the piece that it stands for (FROM to TO, within the piece). */
struct model_token {
	uint32_t id;
	uint32_t from, to;
};

struct model_tokens {
	struct model_token *items; /* owned */
	size_t n, capacity;
};

struct model_ids {
	uint32_t *items; /* owned */
	size_t n, capacity;
};

/*
 * BYTE_LEVEL: pieces are raw bytes, and the vocabulary is mapped from ByteLevel's alphabet back to bytes; what is not in
 * that alphabet can only be an added token. SPEC's bytes must outlive it. Errors name the piece or merge.
 */
int text_model_new(struct text_model **out, const struct model_spec *spec, bool byte_level);
void text_model_free(struct text_model *m); /* NULL is allowed */

int model_scratch_new(struct model_scratch **out, const struct text_model *m);
void model_scratch_free(struct model_scratch *s); /* NULL is allowed */
/* Characters (bytes, of byte-level models) that vanished so far: model_spec's drop_unknown. */
uint64_t model_scratch_dropped(const struct model_scratch *s);

/*
 * Appends the tokens of PIECE (not empty). Time is at most n log n in its length, and no recursion goes by it. 0, or
 * -1 with the error set: memory, or text that the model cannot stand for and that has no unknown token.
 */
int text_model_encode(const struct text_model *m, struct model_scratch *s, struct bytes piece,
		      struct model_tokens *out);

/*
 * The same from byte *AT of PIECE on, of a long piece not always to its end: *AT is where to go on then. The first call is
 * at 0, and the last one leaves *AT at the end.
 */
int text_model_encode_from(const struct text_model *m, struct model_scratch *s, struct bytes piece,
			   size_t *at, struct model_tokens *out);

/*
 * The same for N pieces of TEXT (pretokenize.h), ids alone, which is faster. *DONE: how many pieces went well; when it fails, it
 * was at the one behind them.
 */
struct piece;
int text_model_encode_ids(const struct text_model *m, struct model_scratch *s, struct bytes text,
			  const struct piece *pieces, size_t n, struct model_ids *out,
			  size_t *done);

/* Draws for dropout (BPE) and sampling (Unigram with alpha); without them the best tokens are given. */
struct model_sampling {
	uint64_t seed, document, position; /* keys of the draws */
	double dropout;			   /* bpe: the chance that a merge is skipped */
	double alpha;			   /* unigram: temperature; 0: best */
	uint32_t n_best;		   /* unigram: of the N best; 0: of all */
};
int text_model_sample(const struct text_model *m, struct model_scratch *s, struct bytes piece,
		      const struct model_sampling *how, struct model_tokens *out);

/* The piece's bytes as they stand in text (byte-level: raw); empty for an id that is not in the vocabulary. */
struct bytes text_model_piece(const struct text_model *m, uint32_t id);
/* TOKEN_NONE when there is none. */
uint32_t text_model_id(const struct text_model *m, struct bytes piece);
/* BPE's merges by rank, those that rank files imply too; none for other models. Valid as long as M. */
const struct merge_spec *text_model_merges(const struct text_model *m, size_t *n);
uint32_t text_model_size(const struct text_model *m); /* the largest id + 1 */

#endif
