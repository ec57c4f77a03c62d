/* lib/train/masking.c - which rows are masked, and what they show instead */

#include "lib/train/masking.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/random.h"

#define SCOPE	  "masking"
#define SHOW_MASK 0.8
#define SHOW_ANY  0.9 /* up to here: any token; from here on: itself */

enum { DRAW_CHOSEN, DRAW_SHOWN, DRAW_TOKEN }; /* elements of a row's draws */

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool is_special(const struct masking *m, int32_t id)
{
	uint32_t key = (uint32_t)id;

	return m->n_special && bsearch(&key, m->special, m->n_special, sizeof(key), by_id);
}

static struct random_stream stream_of(const struct masking *m, uint64_t step)
{
	return random_at(m->seed, step, hash_short(SCOPE, sizeof(SCOPE) - 1, 0));
}

static bool is_chosen(const struct masking *m, const struct random_stream *r, int32_t id,
		      uint64_t row)
{
	return id >= 0 && random_uniform53(r, row, DRAW_CHOSEN) < m->share && !is_special(m, id);
}

/* The token at PLACE of those that are not special. */
static int32_t ordinary_token(const struct masking *m, uint64_t place)
{
	for (size_t i = 0; i < m->n_special && m->special[i] <= place; i++)
		place++;
	return (int32_t)place;
}

static int32_t shown(const struct masking *m, const struct random_stream *r, int32_t id,
		     uint64_t row)
{
	double draw = random_uniform53(r, row, DRAW_SHOWN);

	if (draw < SHOW_MASK)
		return m->mask;
	if (draw < SHOW_ANY)
		return ordinary_token(
			m, random_below(r, row, DRAW_TOKEN, m->vocabulary - m->n_special));
	return id;
}

uint64_t masking_apply(const struct masking *m, const struct trainer_batch *b, size_t n,
		       uint64_t step, uint64_t first)
{
	struct random_stream r = stream_of(m, step);
	uint64_t targets = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t id = b->ids[i];

		b->targets[i] = -1;
		if (!is_chosen(m, &r, id, first + i))
			continue;
		b->targets[i] = id;
		b->ids[i] = shown(m, &r, id, first + i);
		targets++;
	}
	return targets;
}

uint64_t masking_count(const struct masking *m, const int32_t *ids, size_t n, uint64_t step,
		       uint64_t first)
{
	struct random_stream r = stream_of(m, step);
	uint64_t targets = 0;

	for (size_t i = 0; i < n; i++)
		targets += is_chosen(m, &r, ids[i], first + i);
	return targets;
}
