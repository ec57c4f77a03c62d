/*
 * lib/text/train_bpe.c - from counted words to a byte-pair vocabulary
 *
 * When a merge spells a piece that exists, the merge stands and makes that piece. A pair that is merged again (for new
 * places of it came up) counts as the later merge; so in the peer.
 */
#include "lib/text/train_bpe.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

static int check_options(const struct train_bpe_options *o)
{
	const struct model_spec *old = o->old;

	if (!(o->character_coverage >= 0 && o->character_coverage <= 1))
		return err_set(ERR_ARGUMENT, "the character coverage %g is not from 0 to 1",
			       o->character_coverage);
	if (!old)
		return 0;
	if (old->kind != MODEL_BPE || old->merge_by_rank)
		return err_set(ERR_UNSUPPORTED,
			       "only a byte-pair model with merges can be extended");
	if ((o->continuing_prefix.size &&
	     !bytes_equal(o->continuing_prefix, old->continuing_prefix)) ||
	    (o->end_of_word_suffix.size &&
	     !bytes_equal(o->end_of_word_suffix, old->end_of_word_suffix)))
		return err_set(ERR_MISMATCH,
			       "prefix and suffix must be those of the model that is extended");
	return 0;
}

static int copy(struct arena *arena, struct bytes *text)
{
	text->data = arena_copy(arena, *text);
	return text->data ? 0 : -1;
}

static int copy_options(struct train_bpe *t)
{
	struct train_bpe_options *o = &t->options;

	if (o->old) {
		o->continuing_prefix = o->old->continuing_prefix;
		o->end_of_word_suffix = o->old->end_of_word_suffix;
	}
	t->first = arena_alloc(t->arena, o->n_first, sizeof(*t->first));
	if (!t->first || copy(t->arena, &o->continuing_prefix) < 0 ||
	    copy(t->arena, &o->end_of_word_suffix) < 0)
		return -1;
	for (size_t i = 0; i < o->n_first; i++) {
		t->first[i] = o->first[i];
		if (copy(t->arena, &t->first[i]) < 0)
			return -1;
	}
	return 0;
}

int train_bpe_new(struct train_bpe **out, const struct train_bpe_options *o)
{
	struct train_bpe *t;

	if (check_options(o) < 0)
		return -1;
	t = mem_new(1, sizeof(*t));
	if (!t)
		return -1;
	t->options = *o;
	t->memory.limit = o->memory;
	t->store.memory = t->lists.memory = t->symbols.memory = &t->memory;
	train_pairs_init(&t->pairs, &t->memory);
	train_queue_init(&t->queue, &t->memory);
	if (arena_new(&t->arena) < 0 || copy_options(t) < 0 || train_alphabet_init(t) < 0 ||
	    train_step_init(t) < 0) {
		train_bpe_free(t);
		return -1;
	}
	t->symbols.arena = t->arena;
	*out = t;
	return 0;
}

static void free_places(struct train_bpe *t)
{
	for (size_t i = 0; i < t->pairs.n; i++)
		train_lists_free(&t->lists, &t->pairs.items[i].places, t->pairs.items[i].n);
	train_lists_clear(&t->lists);
}

void train_bpe_free(struct train_bpe *t)
{
	if (!t)
		return;
	free_places(t);
	train_step_clear(t);
	train_queue_clear(&t->queue);
	train_pairs_clear(&t->pairs);
	train_cells_clear(&t->cells);
	train_symbols_clear(&t->symbols);
	train_alphabet_clear(&t->alphabet);
	train_store_clear(&t->store);
	train_old_free(t->old);
	free(t->places);
	free(t->merges);
	arena_free(t->arena);
	free(t);
}

int train_bpe_add(struct train_bpe *t, struct bytes word, uint64_t count)
{
	uint64_t weight;

	if (word.size == 0 || count == 0)
		return 0;
	if (__builtin_mul_overflow(count, (uint64_t)word.size, &weight) ||
	    __builtin_add_overflow(weight, t->weight, &weight))
		return err_set(ERR_LIMIT, "the counts of all words together are past 64 bits");
	if (train_alphabet_count(t, word, count) < 0 || train_store_add(&t->store, word, count) < 0)
		return -1;
	t->weight = weight;
	return 0;
}

/* --- learning --- */

static struct bytes without_prefix(const struct train_bpe *t, struct bytes text)
{
	struct bytes prefix = t->options.continuing_prefix;

	if (text.size < prefix.size || memcmp(text.data, prefix.data, prefix.size) != 0)
		return text;
	return (struct bytes){ text.data + prefix.size, text.size - prefix.size };
}

/* The piece that a pair makes. */
static int put_result(struct train_bpe *t, uint32_t left, uint32_t right, uint32_t *result)
{
	struct train_symbol *items = t->symbols.items, *a = &items[left], *b = &items[right];
	uint32_t span = a->span + b->span, reach = a->reach + b->reach;
	const struct bytes none = { 0 };

	if (train_symbols_put(&t->symbols, a->text, without_prefix(t, b->text), none, result) < 0)
		return -1;
	a = &t->symbols.items[*result];
	if (a->span == 0)
		a->span = span;
	if (a->reach < reach)
		a->reach = reach;
	return 0;
}

static int note_merge(struct train_bpe *t, uint32_t pair, uint32_t result)
{
	const struct train_pair *p = &t->pairs.items[pair];

	if (train_old_has(t->old, p->left, p->right))
		return 0;
	if (train_memory_grow(&t->memory, &t->merges, &t->merges_capacity, t->n_merges + 1,
			      sizeof(*t->merges)) < 0)
		return -1;
	t->merges[t->n_merges++] = (struct train_merge){ pair, result };
	return 0;
}

/* 1: a merge was made; 0: no pair is left. */
static int learn_one(struct train_bpe *t)
{
	uint32_t record, pair, result;
	int got;

	while ((got = train_queue_pop(&t->queue, &t->pairs, &record)) > 0) {
		struct train_pair *p = &t->pairs.items[record];
		uint64_t count;

		t->steps++;
		pair = p->extra ? (uint32_t)p->count : record;
		count = t->pairs.items[pair].count;
		if (p->queued == count)
			break;
		p->queued = count;
		p->step = t->steps & TRAIN_STEPS;
		if (train_queue_push(&t->queue, &t->pairs, record) < 0)
			return -1;
	}
	if (got <= 0)
		return got;
	if (t->pairs.items[pair].count < 1 || t->pairs.items[pair].count < t->options.min_frequency)
		return 0;
	if (put_result(t, t->pairs.items[pair].left, t->pairs.items[pair].right, &result) < 0 ||
	    note_merge(t, pair, result) < 0 || train_step(t, record, result) < 0)
		return -1;
	return 1;
}

static int learn(struct train_bpe *t)
{
	int got = 1;

	while (got > 0 && t->symbols.n < t->options.vocab_size) {
		got = learn_one(t);
		if (got > 0 && t->options.progress)
			progress_add(t->options.progress, 1);
	}
	return got < 0 ? -1 : 0;
}

/* --- the result --- */

static int give_pieces(const struct train_bpe *t, struct arena *arena, struct model_spec *out)
{
	struct piece_spec *pieces = arena_alloc(arena, t->symbols.n, sizeof(*pieces));

	if (!pieces)
		return -1;
	for (uint32_t i = 0; i < t->symbols.n; i++) {
		pieces[i].text = t->symbols.items[i].text;
		pieces[i].id = t->symbols.items[i].id;
		if (copy(arena, &pieces[i].text) < 0)
			return -1;
	}
	out->pieces = pieces;
	out->n_pieces = t->symbols.n;
	return 0;
}

/* Of a pair that was merged again the last merge is kept. Returns how many are. */
static int drop_repeated(struct train_bpe *t)
{
	bool *seen = mem_new(t->pairs.n, sizeof(*seen));
	size_t at = t->n_merges;

	if (!seen)
		return -1;
	for (size_t i = t->n_merges; i-- > 0;) {
		if (seen[t->merges[i].pair])
			continue;
		seen[t->merges[i].pair] = true;
		t->merges[--at] = t->merges[i];
	}
	t->n_merges -= at;
	memmove(t->merges, t->merges + at, t->n_merges * sizeof(*t->merges));
	free(seen);
	return 0;
}

static struct merge_spec with_ids(const struct train_bpe *t, struct merge_spec m)
{
	const struct train_symbol *items = t->symbols.items;

	return (struct merge_spec){ items[m.left].id, items[m.right].id, items[m.result].id };
}

static int give_merges(struct train_bpe *t, struct arena *arena, struct model_spec *out)
{
	size_t n_old;
	const struct merge_spec *old = train_old_merges(t->old, &n_old);
	struct merge_spec *merges;

	if (t->n_merges && drop_repeated(t) < 0)
		return -1;
	merges = arena_alloc(arena, n_old + t->n_merges, sizeof(*merges));
	if (!merges)
		return -1;
	for (size_t i = 0; i < n_old; i++)
		merges[i] = with_ids(t, old[i]);
	for (size_t i = 0; i < t->n_merges; i++) {
		const struct train_pair *p = &t->pairs.items[t->merges[i].pair];

		merges[n_old + i] =
			with_ids(t, (struct merge_spec){ p->left, p->right, t->merges[i].result });
	}
	out->merges = merges;
	out->n_merges = n_old + t->n_merges;
	return 0;
}

static int give(struct train_bpe *t, struct arena *arena, struct model_spec *out)
{
	struct bytes prefix = t->options.continuing_prefix, suffix = t->options.end_of_word_suffix;

	if (copy(arena, &prefix) < 0 || copy(arena, &suffix) < 0 ||
	    give_pieces(t, arena, out) < 0 || give_merges(t, arena, out) < 0)
		return -1;
	out->kind = MODEL_BPE;
	out->continuing_prefix = prefix;
	out->end_of_word_suffix = suffix;
	return 0;
}

int train_bpe_run(struct train_bpe *t, struct arena *arena, struct model_spec *out)
{
	if (t->done)
		return err_set(ERR_ARGUMENT, "a trainer runs once");
	t->done = true;
	if (t->options.old && train_old_load(t) < 0)
		return -1;
	if (train_alphabet_choose(t) < 0 || train_cells_fill(t) < 0)
		return -1;
	train_store_clear(&t->store);
	if (train_count(t) < 0 || learn(t) < 0)
		return -1;
	return give(t, arena, out);
}

uint64_t train_bpe_left_out(const struct train_bpe *t)
{
	return t->alphabet.left_out;
}
