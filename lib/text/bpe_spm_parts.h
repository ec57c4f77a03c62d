/*
 * lib/text/bpe_spm_parts.h - what the files of BPE by SentencePiece's rules share
 *
 * As sentencepiece 0.2.3 does it: a text becomes its characters, but for user-defined pieces, which are never cut; then
 * of all neighbours that are a piece when joined those with the highest score become one symbol, the leftmost of
 * equals first. Each such pair is a merge of the table (bpe_spm_load.c), whose rank goes by the score alone. A character that
 * is no piece may be part of one: it has an id of its own past the vocabulary's. An unused piece is merged
 * like any and cut again in the end, into the two symbols that last could be merged to it in this text.
 */
#ifndef LIB_TEXT_BPE_SPM_PARTS_H
#define LIB_TEXT_BPE_SPM_PARTS_H

#include "lib/text/bpe_parts.h"
#include "lib/text/trie.h"

/* A character that is part of no piece; it merges with nothing. */
#define SYMBOL_UNKNOWN (UINT32_MAX - 1)

/* What an unused piece is cut into; left is TOKEN_NONE for a single character, which is unknown then. */
struct bpe_split {
	uint32_t left, right;
	uint32_t left_size; /* bytes */
};

struct bpe_spm {
	struct bpe_merges merges;
	struct bpe_cuts cuts;
	struct trie users;   /* the user-defined pieces, to their ids; no cells: there are none */
	bool begins[256];    /* a user-defined piece begins with this byte */
	uint32_t **points;   /* code point / 256: NULL, or the symbols of 256 code points */
	uint32_t bytes[256]; /* the byte pieces; TOKEN_NONE: not there */
	uint8_t *types;	     /* of each id below `size`; owned */
	uint32_t size;	     /* the vocabulary's; larger ids are characters that are no pieces */
	uint32_t unknown;
	bool falls_back;
	struct bpe_split *splits; /* by id; NULL: no piece is unused; owned */
	bool ambiguous;		  /* an unused piece can be made of different symbols */
};

#define POINT_BLOCKS (0x110000 / 256)

static inline uint32_t bpe_spm_symbol(const struct bpe_spm *b, uint32_t code_point)
{
	const uint32_t *block = b->points[code_point >> 8];

	return block ? block[code_point & 0xFF] : SYMBOL_UNKNOWN;
}

/*
 * bpe_spm_load.c: all of B from the vocabulary and the spec of M; or what bpe_spm_direct.c needs, without merges, cuts and splits, in a tenth
 * of the time: 1, 0 where that cannot serve, or -1.
 */
int bpe_spm_load(struct bpe_spm *b, const struct text_model *m);
int bpe_spm_load_direct(struct bpe_spm *b, const struct text_model *m);
void bpe_spm_clear(struct bpe_spm *b); /* a zeroed one too */

/*
 * bpe_spm_direct.c: merges the symbols of S, which stand in PIECE from byte AT on, by looking their joined texts up. Ids past the vocabulary
 * are characters that are no pieces, but for SYMBOL_BROKEN, which merges with nothing. 1; 0 where an unused piece could be made, which this does not
 * do, and S is spoiled; or -1.
 */
#define SYMBOL_BROKEN (UINT32_MAX - 2)
int bpe_spm_merge_direct(const struct text_model *m, const struct bpe_spm *b, struct bpe_scratch *s,
			 struct bytes piece, size_t at);

/* bpe_spm_put.c: the tokens of symbol ID, bytes FROM to FROM + SIZE of the piece. SPLITS are those of this text. */
int bpe_spm_put(const struct bpe_spm *b, const struct bpe_split *splits, struct bpe_symbol symbol,
		struct bytes piece, size_t from, struct model_tokens *out);

#endif
