/* lib/data/hash_set.c - which 128-bit hashes were there before: open addressing, a power of two */
#include "lib/data/hash_set.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FIRST_PLACES 1024

static const struct hash128 zero;

void hash_set_free(struct hash_set *s)
{
	free(s->places);
	*s = (struct hash_set){ 0 };
}

size_t hash_set_bytes(const struct hash_set *s)
{
	return s->n_places * sizeof *s->places;
}

/* The place of H, or the free one where it belongs. */
static struct hash128 *find(struct hash128 *places, size_t n, const struct hash128 *h)
{
	uint64_t at;

	memcpy(&at, h->digest, sizeof at);
	for (;; at++) {
		struct hash128 *p = &places[at & (n - 1)];

		if (memcmp(p, &zero, sizeof zero) == 0 || memcmp(p, h, sizeof *h) == 0)
			return p;
	}
}

static int grow(struct hash_set *s)
{
	size_t n = s->n_places ? s->n_places * 2 : FIRST_PLACES;
	struct hash128 *places = mem_new(n, sizeof *places);

	if (!places)
		return -1;
	for (size_t i = 0; i < s->n_places; i++)
		if (memcmp(&s->places[i], &zero, sizeof zero) != 0)
			*find(places, n, &s->places[i]) = s->places[i];
	free(s->places);
	s->places = places;
	s->n_places = n;
	return 0;
}

int hash_set_add(struct hash_set *s, const struct hash128 *h)
{
	struct hash128 *place;

	if (memcmp(h, &zero, sizeof zero) == 0) {
		bool added = !s->has_zero;

		s->has_zero = true;
		return added;
	}
	if (s->n + 1 > s->n_places / 4 * 3 && grow(s))
		return -1;
	place = find(s->places, s->n_places, h);
	if (memcmp(place, h, sizeof *h) == 0)
		return 0;
	*place = *h;
	s->n++;
	return 1;
}
