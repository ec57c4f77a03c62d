/*
 * lib/text/bpe_cache.h - words that were cut before, in bounded memory
 *
 * Text repeats its words, so most of encoding is looking here.
 */
#ifndef LIB_TEXT_BPE_CACHE_H
#define LIB_TEXT_BPE_CACHE_H

#include "lib/text/model.h"
#include "lib/text/short_key.h"

/* Words of at most SHORT_KEY_MAX bytes and BPE_CACHED tokens; two such share a line of the processor's cache. */
#define BPE_CACHED 3
struct bpe_cached {
	struct short_key key;
	uint32_t ids[BPE_CACHED];
	uint8_t mark : 6;	  /* its size, + 32 for a part; 0: free */
	uint8_t n : 2;		  /* tokens */
	uint8_t ends[BPE_CACHED]; /* of the tokens */
};

/* Longer ones: the text and the tokens lie in a ring that forgets the oldest. */
struct bpe_long_slot {
	uint64_t hash;
	uint64_t at; /* counted from the first byte that ever went into the ring; 0: free */
};

struct bpe_cache {
	struct bpe_cached (*words)[2];
	struct bpe_long_slot *slots;
	unsigned char *ring;
	uint64_t end;
};

int bpe_cache_init(struct bpe_cache *c);
void bpe_cache_clear(struct bpe_cache *c);
/*
 * Appends the tokens of WORD, which stands at byte AT of the piece: 1; 0 when they are not known; -1 with the error set.
 * With ignore_merges a word may be other tokens as PART of one than alone.
 */
int bpe_cache_get(const struct bpe_cache *c, struct bytes word, bool part, size_t at,
		  struct model_tokens *out);
/* Keeps the N tokens of WORD, which are at byte AT of the piece, if there is room for such. */
void bpe_cache_put(struct bpe_cache *c, struct bytes word, bool part, size_t at,
		   const struct model_token *tokens, size_t n);

/* --- short words one by one, for who looks for many of them (bpe_ids.c) --- */

#define BPE_SETS_BITS 16 /* 4 MiB */

/* Where a word would be. */
struct bpe_place {
	struct short_key key;
	struct bpe_cached *set;
	uint8_t mark;
};

static inline struct bpe_place bpe_cache_place(const struct bpe_cache *c, struct short_key key,
					       size_t size, bool part)
{
	uint8_t mark = (uint8_t)(size | (part ? 32 : 0));

	return (struct bpe_place){ key,
				   c->words[short_key_hash(key, mark, 0) >> (64 - BPE_SETS_BITS)],
				   mark };
}

static inline bool bpe_cache_is(const struct bpe_cached *e, const struct bpe_place *p)
{
	/* Not &&: which of the three differs cannot be foreseen. */
	return ((e->key.low ^ p->key.low) | (e->key.high ^ p->key.high) |
		(uint64_t)(e->mark ^ p->mark)) == 0;
}

/* The word's entry, or NULL. */
static inline const struct bpe_cached *bpe_cache_at(const struct bpe_place *p)
{
	const struct bpe_cached *e = p->set + !bpe_cache_is(p->set, p);

	return bpe_cache_is(e, p) ? e : NULL;
}

#endif
