/*
 * lib/text/train_bpe_cells.c - the words as one array of symbols
 *
 * Words of one symbol have no pair and are left out. Each region of words that occur equally often begins with a
 * block of cells, so that the count of a word is found from any place in it.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

#define BLOCK	  ((uint64_t)1 << TRAIN_BLOCK)
#define CELLS_MAX (UINT32_MAX - 64)
#define FEWEST	  1024
/* Bytes a cell while pairs are counted: itself, its place in a list, its share of the block's count. */
#define CELL_BYTES 9

struct region {
	uint64_t count;
	uint64_t cells; /* 0: a free slot */
	uint64_t at;
};

/* Regions by their count; at most half full. */
struct regions {
	struct region *slots;
	size_t n, mask;
};

static struct region *find(const struct regions *r, uint64_t count)
{
	size_t i = (size_t)((count * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & r->mask;

	while (r->slots[i].cells && r->slots[i].count != count)
		i = (i + 1) & r->mask;
	return &r->slots[i];
}

static int resize(struct regions *r, size_t size)
{
	struct regions grown = { mem_new(size, sizeof(*grown.slots)), r->n, size - 1 };

	if (!grown.slots)
		return -1;
	for (size_t i = 0; r->slots && i <= r->mask; i++)
		if (r->slots[i].cells)
			*find(&grown, r->slots[i].count) = r->slots[i];
	free(r->slots);
	*r = grown;
	return 0;
}

static int add_cells(struct regions *r, uint64_t count, size_t symbols)
{
	struct region *region = find(r, count);

	if (region->cells == 0) {
		if (r->n * 2 >= r->mask) {
			if (resize(r, 2 * (r->mask + 1)) < 0)
				return -1;
			region = find(r, count);
		}
		*region = (struct region){ .count = count, .cells = 1 };
		r->n++;
	}
	region->cells += symbols + 1;
	return 0;
}

/* What a thread of the words goes through: room for the symbols of the longest. */
struct speller {
	uint32_t *symbols, *sizes;
	size_t capacity, sizes_capacity;
};

static void speller_clear(struct speller *s)
{
	free(s->symbols);
	free(s->sizes);
}

static int spell(const struct train_bpe *t, struct speller *s, struct bytes word, size_t *n)
{
	if (mem_grow(&s->symbols, &s->capacity, word.size, sizeof(*s->symbols)) < 0)
		return -1;
	*n = train_alphabet_spell(t, word, s->symbols);
	return 0;
}

static int measure(const struct train_bpe *t, struct speller *s, struct regions *r)
{
	struct train_store_reader reader = train_store_read(&t->store);
	struct bytes word;
	uint64_t count;
	size_t n;

	while (train_store_next(&reader, &word, &count))
		if (spell(t, s, word, &n) < 0 || (n > 1 && add_cells(r, count, n) < 0))
			return -1;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct region *const *x = a, *const *y = b;

	return (*x)->count < (*y)->count ? 1 : -1;
}

/* The frequent words come first. Returns the cells of all. */
static int place(struct regions *r, uint64_t *cells)
{
	struct region **sorted = mem_new(r->n, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return -1;
	for (size_t i = 0; i <= r->mask; i++)
		if (r->slots[i].cells)
			sorted[n++] = &r->slots[i];
	qsort(sorted, n, sizeof(*sorted), by_count);
	*cells = 0;
	for (size_t i = 0; i < n; i++) {
		sorted[i]->at = *cells;
		*cells += (sorted[i]->cells + BLOCK - 1) / BLOCK * BLOCK;
	}
	free(sorted);
	return 0;
}

static int allocate(struct train_bpe *t, uint64_t cells)
{
	struct train_cells *c = &t->cells;
	uint64_t bytes = cells * sizeof(*c->cells) + cells / BLOCK * sizeof(*c->counts);
	uint64_t need = t->memory.used + cells * CELL_BYTES;

	if (cells > CELLS_MAX)
		return err_set(ERR_LIMIT,
			       "words of %llu characters in all: at most %u can be trained on",
			       (unsigned long long)cells, CELLS_MAX);
	if (t->memory.limit && need > t->memory.limit)
		return err_set(ERR_LIMIT,
			       "training on these words needs %.1f MB of memory or more, and may "
			       "take %.1f MB",
			       (double)need / 1e6, (double)t->memory.limit / 1e6);
	if (train_memory_take(&t->memory, bytes) < 0)
		return -1;
	c->n = (size_t)cells;
	c->cells = malloc(cells ? c->n * sizeof(*c->cells) : 1);
	c->counts = mem_new((size_t)(cells / BLOCK), sizeof(*c->counts));
	if (!c->cells || !c->counts)
		return err_memory((size_t)bytes);
	return 0;
}

/* The first mark and the counts of each region. */
static void begin_regions(struct train_cells *c, struct regions *r)
{
	for (size_t i = 0; i <= r->mask; i++) {
		struct region *region = &r->slots[i];
		uint64_t blocks = (region->cells + BLOCK - 1) / BLOCK;

		for (uint64_t b = 0; b < blocks; b++)
			c->counts[region->at / BLOCK + b] = region->count;
		if (region->cells)
			c->cells[region->at++] = TRAIN_MARK;
	}
}

static void put_symbol(struct train_bpe *t, uint32_t at, uint32_t symbol, uint32_t size)
{
	struct train_symbol *item = &t->symbols.items[symbol];

	t->cells.cells[at] = symbol;
	if (size > 1)
		train_cells_join(t->cells.cells, at, at + 1, at + size, symbol);
	if (item->span == 0)
		item->span = size;
	if (item->reach < size)
		item->reach = size;
}

static int put_merged(struct train_bpe *t, struct speller *s, uint32_t at, size_t n)
{
	if (mem_grow(&s->sizes, &s->sizes_capacity, n, sizeof(*s->sizes)) < 0 ||
	    train_old_merge(t->old, s->symbols, s->sizes, &n) < 0)
		return -1;
	for (size_t i = 0; i < n; at += s->sizes[i++])
		put_symbol(t, at, s->symbols[i], s->sizes[i]);
	return 0;
}

static int note_long(struct train_cells *c, uint32_t at, size_t n)
{
	if (n <= TRAIN_LONG)
		return 0;
	if (mem_grow(&c->long_words, &c->long_capacity, c->n_long + 1, sizeof(*c->long_words)) < 0)
		return -1;
	c->long_words[c->n_long++] = (struct train_range){ at, at + (uint32_t)n };
	return 0;
}

static int put_word(struct train_bpe *t, struct speller *s, struct region *region, size_t n)
{
	uint32_t at = (uint32_t)region->at, *cells = t->cells.cells;

	cells[at + n] = TRAIN_MARK;
	region->at += n + 1;
	if (note_long(&t->cells, at, n) < 0)
		return -1;
	if (t->old)
		return put_merged(t, s, at, n);
	memcpy(cells + at, s->symbols, n * sizeof(*cells));
	return 0;
}

static int fill(struct train_bpe *t, struct speller *s, struct regions *r)
{
	struct train_store_reader reader = train_store_read(&t->store);
	struct bytes word;
	uint64_t count;
	size_t n;

	begin_regions(&t->cells, r);
	while (train_store_next(&reader, &word, &count))
		if (spell(t, s, word, &n) < 0 || (n > 1 && put_word(t, s, find(r, count), n) < 0))
			return -1;
	for (size_t i = 0; i <= r->mask; i++)
		for (struct region *g = &r->slots[i]; g->cells && g->at % BLOCK;)
			t->cells.cells[g->at++] = TRAIN_MARK;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct train_range *x = a, *y = b;

	return x->from < y->from ? -1 : 1;
}

int train_cells_fill(struct train_bpe *t)
{
	struct speller s = { 0 };
	struct regions r = { 0 };
	uint64_t cells = 0;
	int result = -1;

	t->cells.memory = &t->memory;
	if (resize(&r, FEWEST) == 0 && measure(t, &s, &r) == 0 && place(&r, &cells) == 0 &&
	    allocate(t, cells) == 0)
		result = fill(t, &s, &r);
	if (t->cells.n_long)
		qsort(t->cells.long_words, t->cells.n_long, sizeof(*t->cells.long_words), by_place);
	speller_clear(&s);
	free(r.slots);
	return result;
}

void train_cells_clear(struct train_cells *c)
{
	if (c->cells && c->counts)
		train_memory_give(c->memory,
				  c->n * sizeof(*c->cells) + c->n / BLOCK * sizeof(*c->counts));
	free(c->cells);
	free(c->counts);
	free(c->long_words);
	*c = (struct train_cells){ 0 };
}

/* The last long word that begins at AT or before. */
static const struct train_range *long_word(const struct train_cells *c, uint32_t at)
{
	size_t low = 0, high = c->n_long;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->long_words[middle].from <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &c->long_words[low - 1] : NULL;
}

bool train_cells_word(const struct train_cells *c, uint32_t at, struct train_range *word)
{
	const struct train_range *l = long_word(c, at);

	if (l && at < l->to)
		return false;
	word->from = word->to = at;
	while (c->cells[word->from - 1] != TRAIN_MARK)
		word->from--;
	while (c->cells[word->to] != TRAIN_MARK)
		word->to++;
	return true;
}
