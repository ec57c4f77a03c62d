/* lib/infer/engine_parts.h - what the files of the engine share; private to lib/infer/engine*.c */
#ifndef LIB_INFER_ENGINE_PARTS_H
#define LIB_INFER_ENGINE_PARTS_H

#include "lib/infer/cache_pages.h"
#include "lib/infer/engine.h"

/* One pass: its inputs and its result. */
struct pass {
	struct graph *graph;	    /* owned */
	struct plan *plan;	    /* owned */
	size_t rows, pages, wanted; /* at most: tokens, listed pages, logits */
	/* Lengths at run time: tokens (NULL in the pass of one row), listed pages, their slots, logits (NULL in the pass of one row). */
	struct tensor *n_rows, *n_pages, *n_slots, *n_wanted;
	struct tensor *ids, *positions, *documents, *write;	/* of rows */
	struct tensor *table, *slot_positions, *slot_documents; /* of pages and of their slots */
	struct tensor *which; /* the rows whose logits are wanted; NULL in the pass of one row */
	struct tensor *logits;
};

struct sequence {
	bool open;
	struct cache_table table;
	int32_t *ids; /* owned: as many as the table is long */
	size_t ids_capacity;
	const float *logits; /* in the arena, or OWN; NULL: none */
	float *own;	     /* owned, or NULL: kept beyond the pass that made them */
};

struct engine {
	const struct hf_config *config;
	struct store *store;
	struct engine_options options; /* what was left open filled in */
	char name[24];		       /* of its entries in the store */
	size_t slots;		       /* of the pool */
	struct cache_pages *pages;     /* owned */
	struct sequence *sequences;    /* owned */
	struct plan_arena *arena;      /* owned */
	size_t most_few;	       /* rows of a pass of few */
	struct pass one, few, many;    /* few, many: without a plan where no piece is for them */
};

/* Tokens of one sequence, to go through a pass together. */
struct piece {
	int sequence;
	const int32_t *ids;
	size_t n;
	bool wanted; /* its last token's logits */
};

/* Builds P for at most ROWS rows and PAGES listed pages. */
int engine_make_pass(struct engine *e, struct pass *p, size_t rows, size_t pages);
void engine_drop_pass(struct pass *p);
/* Appends N pieces, of different sequences, which P has room for; the tables are long enough already, by as much as the pieces. */
int engine_run_pass(struct engine *e, struct pass *p, const struct piece *pieces, size_t n);

/* S holds these from place AT on, as far as its ids go. */
int engine_keep_ids(struct sequence *s, size_t at, const int32_t *ids, size_t n);

struct store_entry *engine_entry(const struct engine *e, uint32_t layer, bool values);
/* The rows of pages that have other holders now lie in pages of their own as well. */
int engine_copy_page(struct engine *e, const struct cache_copy *c);

#endif
