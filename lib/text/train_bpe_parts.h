/*
 * lib/text/train_bpe_parts.h - what the files of the byte-pair trainer share
 *
 * The words lie as symbols in one array of cells. A pair of neighbours is counted once for all, and knows the places where it
 * stands; a merge goes to those places only, and tells the pairs around them. So the whole is linear in the symbols,
 * apart from the queue.
 *
 * Symbols are numbers from 0, in the order of their ids; ids and symbols differ only when going on from an old model.
 */
#ifndef LIB_TEXT_TRAIN_BPE_PARTS_H
#define LIB_TEXT_TRAIN_BPE_PARTS_H

#include "lib/text/train_bpe.h"

#define TRAIN_NONE UINT32_MAX

/* --- memory (train_bpe_memory.c): what is counted against the limit --- */

struct train_memory {
	uint64_t used, limit; /* bytes; limit 0: none */
};

/* 0, or -1 with the error set, and nothing taken. */
int train_memory_take(struct train_memory *m, uint64_t size);
void train_memory_give(struct train_memory *m, uint64_t size);
/* As mem_grow. */
int train_memory_grow(struct train_memory *m, void *items, size_t *capacity, size_t need,
		      size_t size);

/* --- the words as they came (train_bpe_store.c) --- */

struct train_chunk;

struct train_store {
	struct train_chunk *first, *last;
	struct train_memory *memory;
};

int train_store_add(struct train_store *s, struct bytes word, uint64_t count);
void train_store_clear(struct train_store *s);

struct train_store_reader {
	const struct train_chunk *chunk;
	size_t at;
};

struct train_store_reader train_store_read(const struct train_store *s);
bool train_store_next(struct train_store_reader *r, struct bytes *word, uint64_t *count);

/* --- symbols (train_bpe_symbols.c) --- */

struct train_symbol {
	struct bytes text;
	uint32_t id;
	uint32_t span;	/* characters; 0: not known yet, for no word had it */
	uint32_t reach; /* cells of its longest occurrence */
};

struct train_symbols {
	struct train_symbol *items;
	uint32_t n;
	size_t capacity;
	uint32_t *slots; /* symbol + 1 by the text; 0: free */
	size_t mask;
	uint32_t next_id;
	struct arena *arena;
	struct train_memory *memory;
};

void train_symbols_clear(struct train_symbols *s);
/* TRAIN_NONE when no symbol has this text. */
uint32_t train_symbols_find(const struct train_symbols *s, struct bytes text);
/* The symbol of A then B then C, made with the next id when there is none. */
int train_symbols_put(struct train_symbols *s, struct bytes a, struct bytes b, struct bytes c,
		      uint32_t *symbol);

/* --- characters (train_bpe_alphabet.c) --- */

#define TRAIN_KINDS 4 /* bit 0: takes the prefix; bit 1: takes the suffix */

struct train_alphabet {
	uint32_t end;	      /* past the last code point */
	uint64_t *counts;     /* occurrences */
	uint8_t *kinds;	      /* bits 1 << kind: those that occur; NULL without prefix and suffix */
	uint32_t *symbols;    /* [kind][code point]: symbol + 1; 0: left out */
	uint32_t points[256]; /* byte-level: the code point of a byte */
	uint64_t left_out;
};

struct train_bpe;

int train_alphabet_init(struct train_bpe *t);
void train_alphabet_clear(struct train_alphabet *a);
int train_alphabet_count(struct train_bpe *t, struct bytes word, uint64_t count);
/* The first pieces and the alphabet become symbols. */
int train_alphabet_choose(struct train_bpe *t);
/* The symbols of WORD into OUT, which has room for its size. Returns how many. */
size_t train_alphabet_spell(const struct train_bpe *t, struct bytes word, uint32_t *out);

/* --- the words as symbols (train_bpe_cells.c) --- */

/*
 * A symbol that stands for N > 1 characters has N cells: itself, then TRAIN_HOLE | N in the second and in the last, so that both
 * neighbours are found at once; between these is nothing of meaning, but never a symbol's start. Words have a mark at both ends.
 * Words of one count lie together, and no block of cells has words of two counts.
 */
#define TRAIN_MARK  UINT32_MAX
#define TRAIN_HOLE  0x80000000u
#define TRAIN_BLOCK 4 /* 1 << 4 cells */
#define TRAIN_LONG  65536u

struct train_range {
	uint32_t from, to;
};

struct train_cells {
	uint32_t *cells;
	size_t n;
	uint64_t *counts;		/* of each block */
	struct train_range *long_words; /* of more than TRAIN_LONG symbols, in order */
	size_t n_long;
	size_t long_capacity;
	struct train_memory *memory;
};

int train_cells_fill(struct train_bpe *t);
void train_cells_clear(struct train_cells *c);
/* The range of a word around AT; false in a long one. */
bool train_cells_word(const struct train_cells *c, uint32_t at, struct train_range *word);

static inline bool train_is_hole(uint32_t cell)
{
	return cell >= TRAIN_HOLE && cell != TRAIN_MARK;
}

/* Where the symbol after the one at AT begins. */
static inline uint32_t train_after(const uint32_t *cells, uint32_t at)
{
	uint32_t next = cells[at + 1];

	return train_is_hole(next) ? at + (next & ~TRAIN_HOLE) : at + 1;
}

/* Where the symbol before AT begins. */
static inline uint32_t train_before(const uint32_t *cells, uint32_t at)
{
	uint32_t last = cells[at - 1];

	return train_is_hole(last) ? at - (last & ~TRAIN_HOLE) : at - 1;
}

static inline void train_cells_join(uint32_t *cells, uint32_t at, uint32_t middle, uint32_t end,
				    uint32_t symbol)
{
	cells[at] = symbol;
	cells[middle] = TRAIN_HOLE;
	cells[at + 1] = TRAIN_HOLE | (end - at);
	cells[end - 1] = TRAIN_HOLE | (end - at);
}

/* --- places of pairs (train_bpe_lists.c) --- */

#define TRAIN_CLASSES 48
#define TRAIN_INLINE  2

/* Up to TRAIN_INLINE places lie in the pair itself. */
union train_places {
	uint32_t few[TRAIN_INLINE];
	uint32_t *many;
};

struct train_lists {
	void *free[TRAIN_CLASSES];
	void *slabs;
	unsigned char *at, *end; /* of the newest slab */
	struct train_memory *memory;
};

void train_lists_clear(struct train_lists *l);
/* Room for N places; N above TRAIN_INLINE takes memory. */
int train_lists_new(struct train_lists *l, union train_places *p, uint32_t n);
/* Those that were never made (NULL) too. */
void train_lists_free(struct train_lists *l, union train_places *p, uint32_t n);

static inline uint32_t *train_places(union train_places *p, uint32_t n)
{
	return n > TRAIN_INLINE ? p->many : p->few;
}

/* --- pairs (train_bpe_pairs.c) --- */

/*
 * A pair and its places. The peer queues a pair again whenever new places of it come up, with those places and the count of that
 * moment, beside what is queued already; a merge goes to the words of one entry. Merges come out the same only when that is
 * done alike: the first entry of a pair is in the pair's own record, further ones are `extra` records.
 */
#define TRAIN_STEPS 0x1FFFFFFFu

struct train_pair {
	uint32_t left, right;
	uint64_t
		count; /* occurrences, and those that were merged; of an extra record: the pair's own record */
	uint64_t queued; /* the count that the queue knows */
	union train_places places;
	uint32_t n;
	uint32_t step : 29;   /* when the entry was queued last: of equals the earlier first */
	uint32_t listed : 1;  /* the entry is alive */
	uint32_t several : 1; /* there were several entries at once */
	uint32_t extra : 1;
};

struct train_pairs {
	struct train_pair *items;
	size_t n, capacity;
	uint32_t *slots; /* record + 1; 0: free */
	size_t mask;
	uint32_t spare; /* the first unused extra record, TRAIN_NONE: none; `left` leads on */
	struct train_memory *memory; /* NULL: not counted */
};

void train_pairs_init(struct train_pairs *p, struct train_memory *memory);
void train_pairs_clear(struct train_pairs *p);
uint32_t train_pairs_find(const struct train_pairs *p, uint32_t left, uint32_t right);
int train_pairs_get(struct train_pairs *p, uint32_t left, uint32_t right, uint32_t *pair);
/* A record for one more entry of PAIR. */
int train_pairs_extra(struct train_pairs *p, uint32_t pair, uint32_t *extra);
void train_pairs_release(struct train_pairs *p, uint32_t extra);

static inline size_t train_pair_hash(uint32_t left, uint32_t right)
{
	uint64_t h = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);

	return (size_t)((h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 20);
}

/* Fetches the pair's slot, which is wanted soon. */
static inline void train_pairs_fetch_slot(const struct train_pairs *p, uint32_t left,
					  uint32_t right)
{
	__builtin_prefetch(&p->slots[train_pair_hash(left, right) & p->mask]);
}

/* Fetches what its slot leads to. */
static inline void train_pairs_fetch_item(const struct train_pairs *p, uint32_t left,
					  uint32_t right)
{
	uint32_t record = p->slots[train_pair_hash(left, right) & p->mask];

	if (record)
		__builtin_prefetch(&p->items[record - 1]);
}

/* --- the queue (train_bpe_queue.c) --- */

struct train_entry {
	uint64_t count;
	uint32_t left, right, step, record;
};

struct train_queue {
	struct train_entry *heap;
	size_t n, capacity;
	uint32_t *cold; /* records whose count is below FLOOR, in no order */
	size_t n_cold, cold_capacity;
	uint64_t floor;
	struct train_memory *memory;
};

void train_queue_init(struct train_queue *q, struct train_memory *memory);
void train_queue_clear(struct train_queue *q);
int train_queue_push(struct train_queue *q, const struct train_pairs *p, uint32_t record);
/* 1 and the record of the highest count; 0: empty; -1 with the error set. */
int train_queue_pop(struct train_queue *q, const struct train_pairs *p, uint32_t *record);

/* --- one merge (train_bpe_step.c) --- */

struct train_worker; /* what a thread saw around the places of a merged pair */
struct train_old;

struct train_merge {
	uint32_t pair; /* the pair's own record */
	uint32_t result;
};

struct train_bpe {
	struct train_bpe_options options;
	struct bytes *first; /* copies of the options' */
	struct arena *arena;
	struct train_memory memory;
	struct train_store store;
	uint64_t weight; /* the sum of count x size of the words: no count of a pair is more */
	struct train_alphabet alphabet;
	struct train_symbols symbols;
	struct train_cells cells;
	struct train_lists lists;
	struct train_pairs pairs;
	struct train_queue queue;
	struct train_merge *merges;
	size_t n_merges, merges_capacity;
	struct train_worker *workers;
	int parts;
	uint32_t steps;	  /* how often the queue was asked */
	uint32_t *places; /* of a pair with several entries */
	size_t n_places, places_capacity;
	struct train_old *old; /* or NULL */
	bool done;
};

static inline bool train_fits(const struct train_bpe *t, uint32_t left, uint32_t right)
{
	uint64_t span = (uint64_t)t->symbols.items[left].span + t->symbols.items[right].span;

	return t->options.max_piece == 0 || span <= t->options.max_piece;
}

/* --- the model to go on from (train_bpe_old.c) --- */

/* The old model's pieces become symbols. */
int train_old_load(struct train_bpe *t);
void train_old_free(struct train_old *old); /* NULL is allowed */
/* Merges the N symbols as the old model would; SIZES gets their characters. -1 with the error set. */
int train_old_merge(struct train_old *old, uint32_t *symbols, uint32_t *sizes, size_t *n);
bool train_old_has(const struct train_old *old, uint32_t left, uint32_t right);
/* Its merges, in symbols. */
const struct merge_spec *train_old_merges(const struct train_old *old, size_t *n);

/* train_bpe_count.c: all pairs of the cells, with their places, into the queue. */
int train_count(struct train_bpe *t);

int train_step_init(struct train_bpe *t);
void train_step_clear(struct train_bpe *t);
/* Merges the pair of RECORD, which was taken from the queue, into RESULT. */
int train_step(struct train_bpe *t, uint32_t record, uint32_t result);

#endif
