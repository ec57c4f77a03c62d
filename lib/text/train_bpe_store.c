/*
 * lib/text/train_bpe_store.c - the words as they came
 *
 * A word is its count and its size, seven bits a byte with the lowest first, then its bytes; no word crosses from one
 * chunk to the next.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/text/train_bpe_parts.h"

#define CHUNK_SIZE ((size_t)1 << 20)
#define HEAD_MAX   20 /* two numbers of 64 bits */

struct train_chunk {
	struct train_chunk *next;
	size_t used, size;
	unsigned char data[];
};

static int add_chunk(struct train_store *s, size_t need)
{
	size_t size = need > CHUNK_SIZE ? need : CHUNK_SIZE;
	struct train_chunk *c;

	if (train_memory_take(s->memory, size) < 0)
		return -1;
	c = malloc(sizeof(*c) + size);
	if (!c) {
		train_memory_give(s->memory, size);
		return err_memory(size);
	}
	*c = (struct train_chunk){ .size = size };
	*(s->last ? &s->last->next : &s->first) = c;
	s->last = c;
	return 0;
}

static void put_number(struct train_chunk *c, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		c->data[c->used++] = (unsigned char)(v | 0x80);
	c->data[c->used++] = (unsigned char)v;
}

int train_store_add(struct train_store *s, struct bytes word, uint64_t count)
{
	size_t need;

	if (!size_add(word.size, HEAD_MAX + sizeof(struct train_chunk), &need))
		return err_memory(word.size);
	if (!s->last || need > s->last->size - s->last->used) {
		if (add_chunk(s, need) < 0)
			return -1;
	}
	put_number(s->last, count);
	put_number(s->last, word.size);
	memcpy(s->last->data + s->last->used, word.data, word.size);
	s->last->used += word.size;
	return 0;
}

void train_store_clear(struct train_store *s)
{
	struct train_chunk *next;

	for (struct train_chunk *c = s->first; c; c = next) {
		next = c->next;
		train_memory_give(s->memory, c->size);
		free(c);
	}
	s->first = s->last = NULL;
}

struct train_store_reader train_store_read(const struct train_store *s)
{
	return (struct train_store_reader){ s->first, 0 };
}

static uint64_t get_number(struct train_store_reader *r)
{
	uint64_t v = 0;
	unsigned char byte;
	int shift = 0;

	do {
		byte = r->chunk->data[r->at++];
		v |= (uint64_t)(byte & 0x7F) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

bool train_store_next(struct train_store_reader *r, struct bytes *word, uint64_t *count)
{
	if (r->chunk && r->at == r->chunk->used) {
		r->chunk = r->chunk->next;
		r->at = 0;
	}
	if (!r->chunk)
		return false;
	*count = get_number(r);
	word->size = (size_t)get_number(r);
	word->data = (const char *)r->chunk->data + r->at;
	r->at += word->size;
	return true;
}
