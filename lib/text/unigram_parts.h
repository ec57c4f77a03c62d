/*
 * lib/text/unigram_parts.h - what the files of the Unigram model share
 *
 * Kudo 2018, "Subword Regularization": a piece of text is cut into the pieces whose scores, logarithms of
 * probabilities, have the largest sum. A character that is no piece by itself can be cut off as an unknown one, for ten
 * less than the lowest score; neighbours of this kind are one token in the end.
 */
#ifndef LIB_TEXT_UNIGRAM_PARTS_H
#define LIB_TEXT_UNIGRAM_PARTS_H

#include "lib/text/model_parts.h"
#include "lib/text/trie.h"

#define UNIGRAM_UNKNOWN \
 ((uint32_t)INT32_MAX) /* in place of a piece's place: an unknown character */

struct unigram {
	struct trie trie; /* text to place in the vocabulary's pieces */
	double *scores;	  /* by place; owned */
	double unknown_score;
	uint32_t unknown;	/* its id or TOKEN_NONE */
	bool falls_back;	/* unknown characters become the pieces of their bytes */
	uint32_t byte_ids[256]; /* of <0x00> to <0xFF>; TOKEN_NONE: not there */
};

/* The best way to come to a place in the text. */
struct unigram_step {
	double score;
	uint32_t from;	/* where its last piece begins; TOKEN_NONE: nothing has come here yet */
	uint32_t place; /* of that piece, or UNIGRAM_UNKNOWN */
};

struct unigram_scratch {
	struct unigram_step *steps;
	size_t steps_capacity;
	void *rounded; /* by SentencePiece's rules, instead of steps */
	size_t rounded_capacity;
	double *scores; /* sampling: of what follows each place */
	size_t scores_capacity;
	struct model_tokens raw; /* before unknown neighbours are joined */
	struct unigram_paths *paths;
};

/* Bytes of the character at AT: by its first byte, no more than are left; 1 in byte-level models. */
static inline size_t unigram_width(const struct text_model *m, struct bytes piece, size_t at)
{
	unsigned char c = (unsigned char)piece.data[at];
	size_t width = m->byte_level || c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return width < piece.size - at ? width : piece.size - at;
}

static inline uint32_t unigram_id(const struct text_model *m, uint32_t place)
{
	const struct unigram *u = m->own;

	return place == UNIGRAM_UNKNOWN ? u->unknown : m->vocabulary.pieces[place].id;
}

/*
 * Ends the work on PIECE: of OUT's tokens from FIRST on, runs of the unknown one become one token, the piece that their
 * bytes spell as a whole, or the pieces of their bytes where the model falls back on those.
 */
int unigram_join_unknown(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
			 size_t first, struct model_tokens *out);

/* The pieces that begin at AT of PIECE, shortest first, and the unknown character where no piece is one character. */
struct unigram_edge {
	uint32_t to, place;
	double score;
};
struct unigram_edges {
	const struct text_model *model;
	struct bytes piece;
	size_t at, next, width;
	uint32_t node;
	bool single, ended;
};
void unigram_edges_begin(struct unigram_edges *e, const struct text_model *m, struct bytes piece,
			 size_t at);
bool unigram_edges_next(struct unigram_edges *e, struct unigram_edge *out);

/* As text_model_encode and text_model_sample. */
int unigram_encode(const struct text_model *m, void *own, struct bytes piece,
		   struct model_tokens *out);
int unigram_sample(const struct text_model *m, void *own, struct bytes piece,
		   const struct model_sampling *how, struct model_tokens *out);

/*
 * Finds the N_BEST best ways to cut PIECE and draws one of them, its chance proportional to exp(alpha x score);
 * appends its tokens.
 */
int unigram_sample_best(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
			const struct model_sampling *how, struct model_tokens *out);
void unigram_paths_free(struct unigram_paths *p); /* NULL is allowed */

/* As the first case of unigram_sample_best, of all ways. Unknown characters are tokens of their own yet. */
int unigram_sample_all(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
		       const struct model_sampling *how, struct model_tokens *out);

/* For the kinds that have the same tables (a struct unigram) and scratch. */
void unigram_unload(void *own);
int unigram_scratch_new(void **out, const struct text_model *m);
void unigram_scratch_free(void *own);

/* The draw of PLACE under HOW's keys: [0, 1). */
double unigram_draw(const struct model_sampling *how, size_t place);

#endif
