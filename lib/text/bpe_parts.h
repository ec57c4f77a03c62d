/*
 * lib/text/bpe_parts.h - what the files of BPE share
 *
 * Byte pair encoding (Sennrich, Haddow, Birch 2016) as `tokenizers` 0.23 does it: a piece becomes its characters (raw
 * bytes when byte-level), then the neighbours whose merge has the lowest rank become one symbol, the first of equals
 * first, until no merge applies.
 */
#ifndef LIB_TEXT_BPE_PARTS_H
#define LIB_TEXT_BPE_PARTS_H

#include "lib/text/bpe_cache.h"
#include "lib/text/model_parts.h"

#define RANK_NONE UINT32_MAX
#define BPE_MANY  ((size_t)1 << 16) /* tokens of a piece that are given out at once */

/* --- merges (bpe_merges.c): an open-addressing table of 16 bytes a slot, at most half full --- */

struct bpe_merge {
	uint64_t pair; /* left << 32 | right; UINT64_MAX: free */
	uint32_t rank, result;
};

struct bpe_merges {
	struct bpe_merge *slots;
	/* A bit a hash: most pairs that do not merge are told by it, and it stays in the processor's cache. */
	uint64_t *filter;
	uint64_t multiplier;
	size_t mask;
	uint64_t steps; /* that collisions may still cost */
	int shift;
};

/* Room for N merges. */
int bpe_merges_init(struct bpe_merges *t, size_t n);
void bpe_merges_clear(struct bpe_merges *t);
/* All of the spec's, whose ids are checked against V. Of two merges of one pair the later one holds, as in the peer. */
int bpe_merges_load(struct bpe_merges *t, const struct model_spec *spec,
		    const struct vocabulary *v);

/*
 * N merges, whose ids are not checked; RANKS, one each, or NULL: the place in the list. Equal ranks are taken from the left
 * of the word.
 */
int bpe_merges_fill(struct bpe_merges *t, const struct merge_spec *merges, const uint32_t *ranks,
		    size_t n);

/* Adds one. -1: too many collisions so far. */
int bpe_merges_put(struct bpe_merges *t, const struct merge_spec *merge, uint32_t rank);

static inline uint64_t bpe_pair(uint32_t left, uint32_t right)
{
	return (uint64_t)left << 32 | right;
}

static inline uint64_t bpe_hash(const struct bpe_merges *t, uint64_t pair)
{
	uint64_t h = pair * t->multiplier;

	return (h ^ h >> 32) * t->multiplier;
}

#define BPE_FILTER_BITS (1u << 20)

static inline size_t bpe_filter_bit(uint64_t hash)
{
	return hash >> 16 & (BPE_FILTER_BITS - 1);
}

/* NULL when LEFT and RIGHT do not merge. */
static inline const struct bpe_merge *bpe_merges_find(const struct bpe_merges *t, uint32_t left,
						      uint32_t right)
{
	uint64_t pair = bpe_pair(left, right), hash = bpe_hash(t, pair);
	size_t bit = bpe_filter_bit(hash);

	if (!(t->filter[bit / 64] >> (bit % 64) & 1))
		return NULL;
	for (size_t i = hash >> t->shift;; i = (i + 1) & t->mask) {
		if (t->slots[i].pair == pair)
			return &t->slots[i];
		if (t->slots[i].pair == UINT64_MAX)
			return NULL;
	}
}

/* --- cuts (bpe_cuts.c): places in a long piece that no merge can cross --- */

struct bpe_cuts {
	/* NULL: not used; a bit for each hash of two characters that a merge may join */
	uint64_t *pairs;
	/* A bit for each code point that is a piece; NULL when symbols are bytes. */
	uint64_t *plain;
	/* Then a bit for each two bytes that a merge may join where a character begins that it has no more than a part of. */
	uint64_t bytes[256 * 256 / 64];
};

/* Not used, with success, where it would not hold: prefixes, suffixes, characters that vanish, merges that are no joining of texts. */
int bpe_cuts_init(struct bpe_cuts *c, const struct text_model *m);
/* Begins one in which any place may be cut that is not marked: between the characters LEFT and RIGHT there is a merge. */
int bpe_cuts_begin(struct bpe_cuts *c);
void bpe_cuts_mark(struct bpe_cuts *c, uint32_t left, uint32_t right);
void bpe_cuts_clear(struct bpe_cuts *c);
/* The end of the part of PIECE that begins at AT: the first place after it that can be cut, or the piece's end. */
size_t bpe_cuts_next(const struct bpe_cuts *c, struct bytes piece, size_t at);

/* Whether some merge may join LEFT and RIGHT, the first byte of a character, where one of the two characters is not whole. */
static inline bool bpe_cuts_reaches_in(const struct bpe_cuts *c, uint8_t left, uint8_t right)
{
	return c->bytes[left * 4 + right / 64] >> (right % 64) & 1;
}

/* --- characters (bpe_characters.c) that byte-level words may begin with --- */

struct bpe_characters {
	uint16_t *index; /* of a code point / 256: a page; NULL: not used */
	uint32_t (*pages)[256];
	size_t n, capacity;
};

/* --- the model --- */

struct bpe {
	struct bpe_merges merges;
	struct bpe_cuts cuts;
	struct bpe_characters characters;
	/* Symbols of one byte: [2 x not the first + the last][byte]; TOKEN_NONE: none. */
	uint32_t symbols[4][256];
	uint32_t fallback[256]; /* the tokens <0x00> to <0xFF> */
	bool ignore_merges;
	struct merge_spec *derived; /* merge_by_rank: the merges, owned */
};

/* --- one thread's memory --- */

struct bpe_symbol {
	uint32_t id, size; /* bytes of the piece */
};

struct bpe_node;

struct bpe_scratch {
	struct bpe_cache cache;
	struct bpe_symbol *symbols;
	size_t n, capacity;
	struct bpe_node *nodes;
	size_t nodes_capacity;
	uint64_t *heap;
	size_t heap_capacity;
	uint64_t *skipped; /* dropout */
	size_t skipped_capacity;
	struct model_tokens tokens; /* of one word, where ids alone are asked for */
	char *joined;		    /* room for prefix, a character and suffix */
	uint64_t dropped;	    /* characters, bytes of byte-level models */
	/* By SentencePiece's rules: where each symbol begins, and bytes that were merged without the table of merges; the
	   user-defined piece that comes next, in a piece of which a part was encoded. */
	uint32_t *starts;
	size_t starts_capacity;
	uint64_t direct;
	uint32_t user;
	size_t user_at, user_size;
};

/* The symbols that WORD begins with, into S (bpe_symbols.c). */
int bpe_symbols_init(struct bpe *b, const struct text_model *m);
int bpe_symbols(const struct text_model *m, struct bpe_scratch *s, struct bytes word);
int bpe_symbols_add(struct bpe_scratch *s, uint32_t id, uint32_t size);

/* For models with cuts, once their merges are there. The second is bpe_symbols with characters where that is the same. */
int bpe_characters_init(struct bpe_characters *c, const struct text_model *m,
			struct bpe_scratch *s);
int bpe_characters(const struct text_model *m, struct bpe_scratch *s, struct bytes word);
void bpe_characters_clear(struct bpe_characters *c);

/* Merges the symbols of S, in place (bpe_merge.c, bpe_heap.c). */
int bpe_merge(const struct bpe_merges *t, struct bpe_scratch *s);
int bpe_merge_long(const struct bpe_merges *t, struct bpe_scratch *s);

/* The tokens of WORD without any cache or look at whole pieces; AT is where it stands in the piece. */
int bpe_encode_word(const struct text_model *m, struct bpe_scratch *s, struct bytes word, size_t at,
		    struct model_tokens *out);
int bpe_put_symbols(const struct bpe_scratch *s, struct bytes word, size_t at,
		    struct model_tokens *out);
/* The same for a byte-level word that lost bytes (bpe_lost.c). */
int bpe_put_lossy(const struct bpe *b, const struct bpe_scratch *s, struct bytes word, size_t at,
		  struct model_tokens *out);

/* bpe_ranks.c: the merges of merge_by_rank, into B and the model's spec; symbols are there. */
int bpe_ranks_load(struct bpe *b, struct text_model *m, struct bpe_scratch *s);

/* bpe_sample.c. The second merges the symbols of S as HOW's dropout and keys say. */
int bpe_sample(const struct text_model *m, void *own, struct bytes piece,
	       const struct model_sampling *how, struct model_tokens *out);
int bpe_merge_dropout(const struct bpe_merges *t, struct bpe_scratch *s,
		      const struct model_sampling *how);

/* As text_model_encode (bpe.c) and text_model_encode_ids (bpe_ids.c). */
int bpe_encode(const struct text_model *m, void *own, struct bytes piece, struct model_tokens *out);
int bpe_encode_ids(const struct text_model *m, void *own, struct bytes text,
		   const struct piece *pieces, size_t n, struct model_ids *out, size_t *done);
/* WORD, whole or part of a piece that is longer than the cache's short words (bpe.c). */
int bpe_encode_part(const struct text_model *m, struct bpe_scratch *s, struct bytes word, size_t at,
		    bool whole, struct model_tokens *out);

/* bpe.c, for kinds of BPE that have a bpe_scratch too. */
int bpe_scratch_new(void **out, const struct text_model *m);
void bpe_scratch_free(void *own);

#endif
