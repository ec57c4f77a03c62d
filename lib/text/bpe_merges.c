/* lib/text/bpe_merges.c - the table of merges: a pair of ids to its rank and its result */
#include "lib/text/bpe_parts.h"

#define MERGES_MAX (1u << 30)
/* A file made to collide under one multiplier is tried under others, so that loading stays linear. */
#define TRIES	  8
#define STEPS_MAX 64

static uint64_t allowed_steps(size_t n)
{
	return (uint64_t)STEPS_MAX * n + 4096;
}

int bpe_merges_init(struct bpe_merges *t, size_t n)
{
	size_t slots = 16;

	t->shift = 60;
	while (slots < n + n / 2) {
		slots *= 2;
		t->shift--;
	}
	t->slots = mem_table(slots, sizeof(*t->slots));
	t->filter = t->slots ? mem_new(BPE_FILTER_BITS / 64, sizeof(*t->filter)) : NULL;
	if (!t->filter)
		return -1;
	t->mask = slots - 1;
	t->steps = allowed_steps(n);
	t->multiplier = UINT64_C(0x9E3779B97F4A7C15);
	memset(t->slots, 0xFF, slots * sizeof(*t->slots));
	return 0;
}

void bpe_merges_clear(struct bpe_merges *t)
{
	free(t->slots);
	free(t->filter);
	t->slots = NULL;
	t->filter = NULL;
}

static bool put(struct bpe_merges *t, struct bpe_merge merge)
{
	uint64_t hash = bpe_hash(t, merge.pair);
	size_t i = hash >> t->shift, bit = bpe_filter_bit(hash);

	for (; t->slots[i].pair != merge.pair && t->slots[i].pair != UINT64_MAX;
	     i = (i + 1) & t->mask)
		if (t->steps-- == 0)
			return false;
	t->slots[i] = merge;
	t->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
	return true;
}

static int collide(void)
{
	return err_set(ERR_LIMIT, "the merges collide in every hash that was tried");
}

int bpe_merges_put(struct bpe_merges *t, const struct merge_spec *merge, uint32_t rank)
{
	uint64_t pair = bpe_pair(merge->left, merge->right);

	return put(t, (struct bpe_merge){ pair, rank, merge->result }) ? 0 : collide();
}

static int check(const struct model_spec *spec, const struct vocabulary *v, size_t i)
{
	const struct merge_spec *m = &spec->merges[i];
	const uint32_t ids[3] = { m->left, m->right, m->result };

	for (int k = 0; k < 3; k++)
		if (!vocabulary_at(v, ids[k]))
			return err_set(ERR_FORMAT, "merge %zu: no piece has the id %u", i, ids[k]);
	return 0;
}

static bool fill(struct bpe_merges *t, const struct merge_spec *merges, const uint32_t *ranks,
		 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct merge_spec *m = &merges[i];
		uint32_t rank = ranks ? ranks[i] : (uint32_t)i;

		if (!put(t, (struct bpe_merge){ bpe_pair(m->left, m->right), rank, m->result }))
			return false;
	}
	return true;
}

int bpe_merges_fill(struct bpe_merges *t, const struct merge_spec *merges, const uint32_t *ranks,
		    size_t n)
{
	if (n > MERGES_MAX)
		return err_set(ERR_LIMIT, "%zu merges: at most %u are read", n, MERGES_MAX);
	if (bpe_merges_init(t, n) < 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		if (fill(t, merges, ranks, n))
			return 0;
		t->multiplier = t->multiplier * UINT64_C(0xD1342543DE82EF95) | 1;
		t->steps = allowed_steps(n);
		memset(t->slots, 0xFF, (t->mask + 1) * sizeof(*t->slots));
	}
	return collide();
}

int bpe_merges_load(struct bpe_merges *t, const struct model_spec *spec, const struct vocabulary *v)
{
	if (spec->n_merges > MERGES_MAX)
		return err_set(ERR_LIMIT, "%zu merges: at most %u are read", spec->n_merges,
			       MERGES_MAX);
	for (size_t i = 0; i < spec->n_merges; i++)
		if (check(spec, v, i) < 0)
			return -1;
	return bpe_merges_fill(t, spec->merges, NULL, spec->n_merges);
}
