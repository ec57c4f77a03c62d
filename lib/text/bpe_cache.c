/*
 * lib/text/bpe_cache.c - words that were cut before, in bounded memory
 *
 * Text repeats its words, so most of encoding is looking here. Short words lie in sets of two, the newer first, with
 * their tokens beside them: one line of the processor's cache is all that is read. What does not fit there goes
 * into a ring that forgets the oldest. Hashes are no secret: text made to
 * collide costs what text without repetition costs, no more.
 */
#include "lib/text/bpe_cache.h"

#include "lib/base/hash.h"
#include "lib/text/model_parts.h"

#define LONG_BITS  14
#define RING	   ((uint64_t)1 << 20)
#define LONG_MAX   512 /* bytes of a word that is kept */
#define TOKENS_MAX 128

struct long_entry {
	uint32_t size, n;
	/* then SIZE bytes, padded to 4, then N tokens: id, end */
};

int bpe_cache_init(struct bpe_cache *c)
{
	*c = (struct bpe_cache){ .end = 8 };
	c->words = mem_table((size_t)1 << BPE_SETS_BITS, sizeof(*c->words));
	c->slots = c->words ? mem_new((size_t)1 << LONG_BITS, sizeof(*c->slots)) : NULL;
	c->ring = c->slots ? mem_new(RING, 1) : NULL;
	return c->ring ? 0 : -1;
}

void bpe_cache_clear(struct bpe_cache *c)
{
	free(c->words);
	free(c->slots);
	free(c->ring);
	*c = (struct bpe_cache){ 0 };
}

static struct bpe_place place_of(const struct bpe_cache *c, struct bytes word, bool part)
{
	return bpe_cache_place(c, short_key(word.data, word.size), word.size, part);
}

static int get_short(const struct bpe_cache *c, struct bytes word, bool part, size_t at,
		     struct model_tokens *out)
{
	struct bpe_place place = place_of(c, word, part);
	const struct bpe_cached *e = bpe_cache_at(&place);
	struct model_token *to;

	if (!e)
		return 0;
	if (out->capacity - out->n < BPE_CACHED &&
	    mem_grow(&out->items, &out->capacity, out->n + BPE_CACHED, sizeof(*out->items)) < 0)
		return -1;
	/* All that there could be, since how many there are cannot be foreseen; those too many are overwritten. */
	to = &out->items[out->n];
	to[0] = (struct model_token){ e->ids[0], (uint32_t)at, (uint32_t)at + e->ends[0] };
	for (int i = 1; i < BPE_CACHED; i++)
		to[i] = (struct model_token){ e->ids[i], (uint32_t)at + e->ends[i - 1],
					      (uint32_t)at + e->ends[i] };
	out->n += e->n;
	return 1;
}

static void put_short(struct bpe_cache *c, struct bytes word, bool part, size_t at,
		      const struct model_token *tokens, size_t n)
{
	struct bpe_place place = place_of(c, word, part);
	struct bpe_cached *set = place.set;

	set[1] = set[0];
	set[0] = (struct bpe_cached){ .key = place.key, .mark = place.mark & 63, .n = n & 3 };
	for (size_t i = 0; i < n; i++) {
		set[0].ids[i] = tokens[i].id;
		set[0].ends[i] = (uint8_t)(tokens[i].to - at);
	}
}

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static int get_long(const struct bpe_cache *c, struct bytes word, bool part, size_t at,
		    struct model_tokens *out)
{
	uint64_t hash = hash_short(word.data, word.size, part);
	const struct bpe_long_slot *slot = &c->slots[hash >> (64 - LONG_BITS)];
	const unsigned char *p = c->ring + slot->at % RING;
	struct long_entry e;
	uint32_t token[2], from = (uint32_t)at;

	if (slot->hash != hash || slot->at == 0 || c->end - slot->at > RING)
		return 0;
	memcpy(&e, p, sizeof(e));
	p += sizeof(e);
	if (e.size != word.size || memcmp(p, word.data, e.size) != 0)
		return 0;
	p += padded(e.size);
	for (uint32_t i = 0; i < e.n; i++, p += sizeof(token)) {
		memcpy(token, p, sizeof(token));
		if (model_tokens_put(out, token[0], from, at + token[1]) < 0)
			return -1;
		from = (uint32_t)at + token[1];
	}
	return 1;
}

static void put_long(struct bpe_cache *c, struct bytes word, bool part, size_t at,
		     const struct model_token *tokens, size_t n)
{
	uint64_t hash = hash_short(word.data, word.size, part);
	struct long_entry e = { (uint32_t)word.size, (uint32_t)n };
	size_t need = (sizeof(e) + padded(word.size) + 8 * n + 7) & ~(size_t)7;
	unsigned char *p;

	if (word.size > LONG_MAX || n > TOKENS_MAX)
		return;
	if (RING - c->end % RING < need)
		c->end += RING - c->end % RING;
	c->slots[hash >> (64 - LONG_BITS)] = (struct bpe_long_slot){ hash, c->end };
	p = c->ring + c->end % RING;
	c->end += need;
	memcpy(p, &e, sizeof(e));
	p += sizeof(e);
	memcpy(p, word.data, word.size);
	p += padded(word.size);
	for (size_t i = 0; i < n; i++, p += 8) {
		const uint32_t token[2] = { tokens[i].id, tokens[i].to - (uint32_t)at };

		memcpy(p, token, sizeof(token));
	}
}

int bpe_cache_get(const struct bpe_cache *c, struct bytes word, bool part, size_t at,
		  struct model_tokens *out)
{
	int known = word.size <= SHORT_KEY_MAX ? get_short(c, word, part, at, out) : 0;

	if (known != 0)
		return known;
	return word.size > BPE_CACHED && word.size <= LONG_MAX ? get_long(c, word, part, at, out)
							       : 0;
}

void bpe_cache_put(struct bpe_cache *c, struct bytes word, bool part, size_t at,
		   const struct model_token *tokens, size_t n)
{
	if (word.size <= SHORT_KEY_MAX && n <= BPE_CACHED)
		put_short(c, word, part, at, tokens, n);
	else
		put_long(c, word, part, at, tokens, n);
}
