/* lib/text/word_counts_hash.c - one thread's table of words: finding, adding, growing */
#include "lib/text/word_counts_hash.h"

#include <endian.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

#define FIRST_CAPACITY ((size_t)1024)

_Static_assert(sizeof(struct word_slot) == 24, "three slots in 72 bytes");

struct word_chunk {
	struct word_chunk *before;
	size_t used, size;
	char text[];
};

void word_hash_init(struct word_hash *h, size_t chunk_bytes)
{
	*h = (struct word_hash){ .chunk_bytes = chunk_bytes };
	if (getentropy(&h->seed, sizeof(h->seed)) != 0)
		h->seed = clock_ns() * UINT64_C(0x9E3779B97F4A7C15);
}

static void free_chunks(struct word_hash *h)
{
	struct word_chunk *before;

	for (struct word_chunk *c = h->chunks; c; c = before) {
		before = c->before;
		free(c);
	}
	h->chunks = NULL;
}

void word_hash_free(struct word_hash *h)
{
	free_chunks(h);
	free(h->slots);
	*h = (struct word_hash){ .chunk_bytes = h->chunk_bytes, .seed = h->seed };
}

void word_hash_clear(struct word_hash *h)
{
	free_chunks(h);
	if (h->slots)
		memset(h->slots, 0, h->capacity * sizeof(*h->slots));
	h->n = 0;
	h->bytes = h->capacity * sizeof(*h->slots);
}

/* --- a word as a slot has it --- */

static inline uint64_t big_64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline uint64_t big_32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* Low of N bytes, 1 to WORD_SLOT_BYTES; nothing past them is read. Parts overlap, and what is there twice is shifted out. */
static inline uint64_t short_low(const char *p, size_t n)
{
	const unsigned char *b = (const unsigned char *)p;

	if (n >= 8)
		return big_64(p);
	if (n >= 4)
		return big_32(p) << 32 | (uint32_t)(big_32(p + n - 4) << 8 * (8 - n));
	return (uint64_t)b[0] << 56 | (uint64_t)b[n / 2] << (56 - 8 * (n / 2)) |
	       (uint64_t)b[n - 1] << (56 - 8 * (n - 1));
}

/* The slot of WORD, whose text is still the caller's. Its parts stay in registers: written and read again at once they
   would take longer than all the rest. */
static inline struct word_slot make_slot(struct bytes word)
{
	struct word_slot s = { .tag = (uint64_t)word.size << 32 };

	if (word.size > WORD_SLOT_BYTES) {
		s.text = word.data;
		s.tag |= big_32(word.data);
		return s;
	}
	s.low = short_low(word.data, word.size);
	if (word.size > 8)
		s.tag |= (uint32_t)(big_32(word.data + word.size - 4) << 8 * (12 - word.size));
	return s;
}

static inline uint64_t hash_slot(const struct word_hash *h, struct word_slot s)
{
	uint64_t v;

	if (s.tag >> 32 > WORD_SLOT_BYTES)
		return hash_short(s.text, s.tag >> 32, h->seed);
	v = (s.low ^ h->seed) * UINT64_C(0x9E3779B97F4A7C15);
	v ^= v >> 32;
	v = (v ^ s.tag) * UINT64_C(0xD6E8FEB86659FD93);
	v ^= v >> 32;
	return v * UINT64_C(0xBF58476D1CE4E5B9);
}

struct bytes word_slot_text(const struct word_slot *s, char buffer[WORD_SLOT_BYTES])
{
	uint64_t low = htobe64(s->low);
	uint32_t high = htobe32((uint32_t)s->tag), size = word_slot_size(s);

	if (size > WORD_SLOT_BYTES)
		return (struct bytes){ s->text, size };
	memcpy(buffer, &low, sizeof(low));
	memcpy(buffer + sizeof(low), &high, sizeof(high));
	return (struct bytes){ buffer, size };
}

/* --- finding --- */

static inline bool same_word(const struct word_slot *a, struct word_slot b)
{
	if (a->tag != b.tag)
		return false;
	return b.tag >> 32 <= WORD_SLOT_BYTES ? a->low == b.low
					      : memcmp(a->text, b.text, b.tag >> 32) == 0;
}

/* The slot that holds the word, or the free one where it belongs. */
static inline struct word_slot *find(const struct word_hash *h, struct word_slot word)
{
	size_t at = hash_slot(h, word) >> h->shift;

	while (h->slots[at].tag && !same_word(&h->slots[at], word))
		at = (at + 1) & (h->capacity - 1);
	return &h->slots[at];
}

/* --- room --- */

/* The free slot where a word belongs that is not there. */
static struct word_slot *free_slot(const struct word_hash *h, struct word_slot word)
{
	size_t at = hash_slot(h, word) >> h->shift;

	while (h->slots[at].tag)
		at = (at + 1) & (h->capacity - 1);
	return &h->slots[at];
}

static int set_capacity(struct word_hash *h, size_t capacity)
{
	struct word_hash old = *h;

	h->slots = mem_new(capacity, sizeof(*h->slots));
	if (!h->slots) {
		h->slots = old.slots;
		return -1;
	}
	h->capacity = capacity;
	h->n_max = capacity / 8 * 5;
	h->shift = 64 - __builtin_ctzll(capacity);
	h->bytes += (capacity - old.capacity) * sizeof(*h->slots);
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i].tag)
			*free_slot(h, old.slots[i]) = old.slots[i];
	free(old.slots);
	return 0;
}

/* 1, 0 or -1 as word_hash_add. While it grows the old slots are there beside the new ones. */
static int make_room(struct word_hash *h, size_t limit)
{
	size_t more = 2 * h->capacity * sizeof(*h->slots);

	if (!h->slots)
		return set_capacity(h, FIRST_CAPACITY) < 0 ? -1 : 1;
	if (h->n < h->n_max)
		return 1;
	if (h->bytes > limit || more > limit - h->bytes)
		return 0;
	return set_capacity(h, 2 * h->capacity) < 0 ? -1 : 1;
}

/* A chunk with SIZE bytes free. One made for a long word goes behind the newest, which may still have room. */
static struct word_chunk *chunk_for(struct word_hash *h, size_t size)
{
	size_t room = size > h->chunk_bytes ? size : h->chunk_bytes;
	struct word_chunk *c;

	if (h->chunks && size <= h->chunks->size - h->chunks->used)
		return h->chunks;
	c = malloc(sizeof(*c) + room);
	if (!c) {
		err_memory(sizeof(*c) + room);
		return NULL;
	}
	*c = (struct word_chunk){ .size = room };
	if (h->chunks && size > h->chunk_bytes) {
		c->before = h->chunks->before;
		h->chunks->before = c;
	} else {
		c->before = h->chunks;
		h->chunks = c;
	}
	h->bytes += sizeof(*c) + room;
	return c;
}

/* Copies the text of a long word. 1, 0 or -1 as word_hash_add. */
static int keep_text(struct word_hash *h, struct bytes word, size_t limit, const char **out)
{
	size_t need = sizeof(struct word_chunk) +
		      (word.size > h->chunk_bytes ? word.size : h->chunk_bytes);
	bool fits = h->chunks && word.size <= h->chunks->size - h->chunks->used;
	struct word_chunk *c;

	if (!fits && h->n && (h->bytes > limit || need > limit - h->bytes))
		return 0;
	c = chunk_for(h, word.size);
	if (!c)
		return -1;
	memcpy(c->text + c->used, word.data, word.size);
	*out = c->text + c->used;
	c->used += word.size;
	return 1;
}

static int add_new(struct word_hash *h, struct bytes word, uint64_t count, size_t limit)
{
	struct word_slot s = make_slot(word);
	int got = make_room(h, limit);

	if (got == 1 && word.size > WORD_SLOT_BYTES)
		got = keep_text(h, word, limit, &s.text);
	if (got == 1) {
		s.count = count;
		*free_slot(h, s) = s;
		h->n++;
	}
	return got;
}

int word_hash_add(struct word_hash *h, struct bytes word, uint64_t count, size_t limit)
{
	if (h->slots) {
		struct word_slot *there = find(h, make_slot(word));

		if (there->tag) {
			there->count += count;
			return 1;
		}
	}
	return add_new(h, word, count, limit);
}
