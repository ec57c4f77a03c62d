/* lib/text/vocabulary.c - the pieces of a model, found by their bytes and by their ids */
#include "lib/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"
#include "lib/text/short_key.h"

#define ID_MAX	   (UINT32_C(1) << 31)
#define FREE	   TOKEN_NONE
#define PIECES_MAX (1u << 28)
/* A file made to collide under one seed is tried under others, so that loading stays linear. */
#define SEEDS	  8
#define STEPS_MAX 64 /* a piece, on average */

static uint64_t hash_text(const struct vocabulary *v, const char *data, size_t size)
{
	if (size == 0 || size > SHORT_KEY_MAX)
		return hash_short(data, size, v->seed);
	return short_key_hash(short_key(data, size), size, v->seed);
}

static bool same(const struct vocabulary_piece *p, const char *data, size_t size)
{
	return p->size == size && (size == 0 || memcmp(p->data, data, size) == 0);
}

uint32_t vocabulary_place(const struct vocabulary *v, const char *data, size_t size)
{
	uint64_t hash;

	if (size > v->longest)
		return TOKEN_NONE;
	hash = hash_text(v, data, size);
	for (uint32_t i = (uint32_t)(hash >> 32) & v->mask;; i = (i + 1) & v->mask) {
		const struct vocabulary_slot *s = &v->slots[i];

		if (s->at == FREE)
			return TOKEN_NONE;
		if (s->hash == (uint32_t)hash && same(&v->pieces[s->at], data, size))
			return s->at;
	}
}

uint32_t vocabulary_find(const struct vocabulary *v, const char *data, size_t size)
{
	uint32_t at = vocabulary_place(v, data, size);

	return at == TOKEN_NONE ? TOKEN_NONE : v->pieces[at].id;
}

const struct vocabulary_piece *vocabulary_at(const struct vocabulary *v, uint32_t id)
{
	size_t low = 0, high = v->n;

	if (id < v->n && v->pieces[id].id == id)
		return &v->pieces[id];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v->pieces[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < v->n && v->pieces[low].id == id ? &v->pieces[low] : NULL;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct vocabulary_piece *)a)->id;
	uint32_t y = ((const struct vocabulary_piece *)b)->id;

	return (x > y) - (x < y);
}

static int take_pieces(struct vocabulary *v, const struct model_spec *spec)
{
	bool sorted = true;

	v->pieces = mem_new(spec->n_pieces, sizeof(*v->pieces));
	if (!v->pieces)
		return -1;
	v->n = (uint32_t)spec->n_pieces;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct piece_spec *p = &spec->pieces[i];

		if (p->id >= ID_MAX || p->text.size > UINT32_MAX)
			return err_set(ERR_FORMAT, "piece %u: id %u is past 2^31", i, p->id);
		v->pieces[i] =
			(struct vocabulary_piece){ p->text.data, (uint32_t)p->text.size, p->id };
		sorted = sorted && (i == 0 || v->pieces[i - 1].id < p->id);
	}
	if (!sorted)
		qsort(v->pieces, v->n, sizeof(*v->pieces), by_id);
	for (uint32_t i = 1; i < v->n; i++)
		if (v->pieces[i].id == v->pieces[i - 1].id)
			return err_set(ERR_FORMAT, "two pieces have the id %u", v->pieces[i].id);
	v->size = v->n ? v->pieces[v->n - 1].id + 1 : 0;
	return 0;
}

/* TEXT mapped back into OUT, which has room for as many bytes; false when a character is not in the alphabet. */
static bool alphabet_bytes(struct bytes text, char *out, size_t *n)
{
	uint32_t code_point;
	size_t step;

	*n = 0;
	for (size_t i = 0; i < text.size; i += step) {
		int byte;

		step = utf8_decode(text.data + i, text.size - i, &code_point);
		byte = step ? bytelevel_byte(code_point) : -1;
		if (byte < 0)
			return false;
		out[(*n)++] = (char)byte;
	}
	return true;
}

/* Rewrites what is in ByteLevel's alphabet; FINDABLE gets a mark for each piece of that kind. */
static int take_bytes(struct vocabulary *v, bool *findable)
{
	size_t total = 0, used = 0;

	for (uint32_t i = 0; i < v->n; i++)
		total += v->pieces[i].size;
	v->bytes = malloc(total ? total : 1);
	if (!v->bytes)
		return err_memory(total);
	for (uint32_t i = 0; i < v->n; i++) {
		struct vocabulary_piece *p = &v->pieces[i];
		size_t n;

		findable[i] =
			alphabet_bytes((struct bytes){ p->data, p->size }, v->bytes + used, &n);
		if (!findable[i])
			continue;
		p->data = v->bytes + used;
		p->size = (uint32_t)n;
		used += n;
	}
	return 0;
}

/* False when the pieces collide too much under this seed. */
static bool fill(struct vocabulary *v, const bool *findable)
{
	uint64_t steps = (uint64_t)STEPS_MAX * v->n + 4096;

	for (uint64_t i = 0; i <= v->mask; i++)
		v->slots[i].at = FREE;
	for (uint32_t at = 0; at < v->n; at++) {
		const struct vocabulary_piece *p = &v->pieces[at];
		uint64_t hash = hash_text(v, p->data, p->size);
		uint32_t i = (uint32_t)(hash >> 32) & v->mask;

		if (findable && !findable[at])
			continue;
		for (; v->slots[i].at != FREE; i = (i + 1) & v->mask) {
			if (steps-- == 0)
				return false;
			if (v->slots[i].hash == (uint32_t)hash &&
			    same(&v->pieces[v->slots[i].at], p->data, p->size))
				break;
		}
		v->slots[i] = (struct vocabulary_slot){ (uint32_t)hash, at };
		v->longest = p->size > v->longest ? p->size : v->longest;
	}
	return true;
}

static int make_slots(struct vocabulary *v, const bool *findable)
{
	size_t slots = 16;

	while (slots < (size_t)v->n * 2)
		slots *= 2;
	v->slots = mem_new(slots, sizeof(*v->slots));
	if (!v->slots)
		return -1;
	v->mask = (uint32_t)(slots - 1);
	for (int i = 0; i < SEEDS; i++) {
		v->seed = UINT64_C(0x632BE59BD9B4E019) * (uint64_t)(i + 1);
		if (fill(v, findable))
			return 0;
	}
	return err_set(ERR_LIMIT, "the pieces collide in every hash that was tried");
}

int vocabulary_init(struct vocabulary *v, const struct model_spec *spec, bool byte_level)
{
	bool *findable = NULL;
	int result = -1;

	*v = (struct vocabulary){ 0 };
	if (spec->n_pieces > PIECES_MAX)
		return err_set(ERR_LIMIT, "%zu pieces: at most %u are read", spec->n_pieces,
			       PIECES_MAX);
	if (take_pieces(v, spec) < 0)
		goto out;
	if (byte_level) {
		findable = mem_new(v->n, sizeof(*findable));
		if (!findable || take_bytes(v, findable) < 0)
			goto out;
	}
	result = make_slots(v, findable);
out:
	free(findable);
	if (result < 0)
		vocabulary_clear(v);
	return result;
}

void vocabulary_clear(struct vocabulary *v)
{
	free(v->pieces);
	free(v->slots);
	free(v->bytes);
	*v = (struct vocabulary){ 0 };
}

int vocabulary_trie(const struct vocabulary *v, struct trie *t)
{
	struct trie_key *keys = mem_new(v->n, sizeof(*keys));
	size_t n = 0;
	int result;

	if (!keys)
		return -1;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct vocabulary_piece *p = &v->pieces[i];

		if (vocabulary_place(v, p->data, p->size) == i)
			keys[n++] = (struct trie_key){ { p->data, p->size }, i };
	}
	result = trie_init(t, keys, n);
	free(keys);
	return result;
}
