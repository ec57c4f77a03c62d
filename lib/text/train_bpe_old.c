/*
 * lib/text/train_bpe_old.c - the model to go on from
 *
 * Its pieces are the first symbols, in the order of their ids, so that equally frequent pairs are told apart by id as ever.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/bpe_parts.h"
#include "lib/text/train_bpe_parts.h"

struct train_old {
	struct bpe_merges table;
	struct bpe_scratch scratch;
	struct merge_spec *merges;
	size_t n_merges;
};

void train_old_free(struct train_old *old)
{
	if (!old)
		return;
	bpe_merges_clear(&old->table);
	free(old->scratch.symbols);
	free(old->scratch.nodes);
	free(old->scratch.heap);
	free(old->merges);
	free(old);
}

static int by_id(const void *a, const void *b)
{
	const struct piece_spec *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static int put_piece(struct train_bpe *t, const struct piece_spec *piece, size_t at)
{
	const struct bytes none = { 0 };
	uint32_t symbol;

	if (piece->id >= TRAIN_HOLE)
		return err_set(ERR_FORMAT, "piece %zu: the id %u is too large", at, piece->id);
	if (at > 0 && piece->id < t->symbols.next_id)
		return err_set(ERR_FORMAT, "two pieces have the id %u", piece->id);
	t->symbols.next_id = piece->id;
	if (train_symbols_put(&t->symbols, piece->text, none, none, &symbol) < 0)
		return -1;
	if (symbol != at)
		return err_set(ERR_FORMAT, "the pieces %u and %u have one text",
			       t->symbols.items[symbol].id, piece->id);
	return 0;
}

static int put_pieces(struct train_bpe *t, const struct model_spec *spec)
{
	const struct piece_spec **sorted = mem_new(spec->n_pieces, sizeof(*sorted));
	int result = 0;

	if (!sorted)
		return -1;
	for (size_t i = 0; i < spec->n_pieces; i++)
		sorted[i] = &spec->pieces[i];
	qsort(sorted, spec->n_pieces, sizeof(*sorted), by_id);
	for (size_t i = 0; i < spec->n_pieces && result == 0; i++)
		result = put_piece(t, sorted[i], i);
	free(sorted);
	return result;
}

static uint32_t symbol_of(const struct train_symbols *s, uint32_t id)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->items[low].id == id ? low : TRAIN_NONE;
}

static int put_merge(struct train_bpe *t, struct train_old *old, const struct merge_spec *m)
{
	struct merge_spec *mine = &old->merges[old->n_merges];

	mine->left = symbol_of(&t->symbols, m->left);
	mine->right = symbol_of(&t->symbols, m->right);
	mine->result = symbol_of(&t->symbols, m->result);
	if (mine->left == TRAIN_NONE || mine->right == TRAIN_NONE || mine->result == TRAIN_NONE)
		return err_set(ERR_FORMAT, "merge %zu: %u and %u to %u: no piece has such an id",
			       old->n_merges, m->left, m->right, m->result);
	return bpe_merges_put(&old->table, mine, (uint32_t)old->n_merges++);
}

int train_old_load(struct train_bpe *t)
{
	const struct model_spec *spec = t->options.old;
	struct train_old *old = mem_new(1, sizeof(*old));

	t->old = old;
	if (!old)
		return -1;
	old->merges = mem_new(spec->n_merges, sizeof(*old->merges));
	if (!old->merges || bpe_merges_init(&old->table, spec->n_merges) < 0 ||
	    put_pieces(t, spec) < 0)
		return -1;
	for (size_t i = 0; i < spec->n_merges; i++)
		if (put_merge(t, old, &spec->merges[i]) < 0)
			return -1;
	if (t->symbols.next_id < t->options.next_id)
		t->symbols.next_id = t->options.next_id;
	return 0;
}

int train_old_merge(struct train_old *old, uint32_t *symbols, uint32_t *sizes, size_t *n)
{
	struct bpe_scratch *s = &old->scratch;

	if (mem_grow(&s->symbols, &s->capacity, *n, sizeof(*s->symbols)) < 0)
		return -1;
	for (size_t i = 0; i < *n; i++)
		s->symbols[i] = (struct bpe_symbol){ symbols[i], 1 };
	s->n = *n;
	if (bpe_merge(&old->table, s) < 0)
		return -1;
	*n = s->n;
	for (size_t i = 0; i < *n; i++) {
		symbols[i] = s->symbols[i].id;
		sizes[i] = s->symbols[i].size;
	}
	return 0;
}

bool train_old_has(const struct train_old *old, uint32_t left, uint32_t right)
{
	return old && bpe_merges_find(&old->table, left, right);
}

const struct merge_spec *train_old_merges(const struct train_old *old, size_t *n)
{
	*n = old ? old->n_merges : 0;
	return old ? old->merges : NULL;
}
