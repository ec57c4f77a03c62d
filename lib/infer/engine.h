/*
 * lib/infer/engine.h - one language model that reads on in several sequences at once
 *
 * Keys and values of all sequences lie in one pool of pages; a page may be part of several sequences that begin alike. The entries of the pool lie
 * in the model's store (STORE_CACHE), so that a training run may sample from the weights that it trains.
 *
 * A text of at most ENGINE_FEW tokens that is appended goes by the plan of few rows (or of one, which has the same bits), a longer one by that of many,
 * cut where places are multiples of ROWS: a choice of its own length. Of either plan a row's result has nothing of the other rows
 * (each sequence's keys begin a tile of attention; products sum along one row), so a sequence's logits have the same bits whatever
 * runs beside it, on any number of threads, and whether the beginning of a text was computed for it or for another one.
 */
#ifndef LIB_INFER_ENGINE_H
#define LIB_INFER_ENGINE_H

#include "lib/graph/plan.h"
#include "lib/graph/store.h"
#include "lib/model/lm.h"

#define ENGINE_FEW 12 /* rows that products take one by one (kernels/cpu/matmul_few.c) */
#define ENGINE_FEW_ROUNDED \
 32 /* the same where all products are of rounded rows, whose bits no number of rows changes (kernels/cpu/matmul_rounded.h) */
#define ENGINE_PAGE	     96	 /* slots: a tile of attention (kernels/cpu/attention.h) */
#define ENGINE_ROWS	     512 /* of a pass, unless it is said */
#define ENGINE_SEQUENCES_MAX 1024

struct engine_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute; /* F32 or BF16 */
	bool round; /* activations that block-quantized weights multiply, to 8 bits (kernels/rounding.h) */
	bool repack; /* with it: weights are copied into a form that is read faster, where there is one; the same bits */
	enum dtype cache; /* of keys and values: F32, BF16 or F16 */
	size_t context;	  /* tokens of a sequence at most; 0: the configuration's */
	size_t sequences; /* at most; 0: one */
	size_t tokens; /* that the pool has room for, rounded up to pages; 0: every sequence may be as long as the context */
	size_t rows;   /* computed in one pass at most; 0: ENGINE_ROWS */
	bool rope_paired; /* of the weights: struct lm's */
	uint64_t memory;  /* bytes at most; 0: no limit */
	unsigned without; /* as plan_options */
	bool strict;	  /* as plan_options */
};

struct engine;

/*
 * C and S outlive it. Nothing is allocated before the first token. -1 with the error set: a family that does not continue text (bert), a
 * context that the model does not have, more than MEMORY, with what would fit.
 */
int engine_new(struct engine **out, const struct hf_config *c, struct store *s,
	       const struct engine_options *o);
void engine_free(struct engine *e); /* NULL is allowed; the pool's memory is given back */

/* --- sequences: small numbers, from 0 --- */

/* An empty one; -1 with the error set: there are as many as there can be. */
int engine_begin(struct engine *e);
/* One that has the first N tokens of SEQUENCE, and its logits when those are all. */
int engine_fork(struct engine *e, int sequence, size_t n);
void engine_end(struct engine *e, int sequence);

size_t engine_length(const struct engine *e, int sequence);
const int32_t *engine_ids(const struct engine *e,
			  int sequence); /* as many; valid until the next call */
size_t engine_context(const struct engine *e);
/*
 * How much of a text of N tokens SEQUENCE holds that may be taken over: what they have in common, down to whole pages, and not the last token, whose
 * logits nobody has.
 */
size_t engine_common(const struct engine *e, int sequence, const int32_t *ids, size_t n);
/* Forgets all but the first N tokens; the logits are gone unless nothing was forgotten. */
void engine_rewind(struct engine *e, int sequence, size_t n);

/* Pages that are not taken, and those that N more tokens of SEQUENCE take. */
size_t engine_pages_left(const struct engine *e);
size_t engine_pages_need(const struct engine *e, int sequence, size_t n);

/* --- running --- */

struct engine_item {
	int sequence;
	const int32_t *ids;
	size_t n;    /* at least 1 */
	size_t text; /* tokens of the text that these end, where the sequence had its beginning already; 0: they are all of it */
	bool logits; /* those after the last token are wanted */
};

/*
 * Appends to N sequences, each listed once. -1 with the error set, and nothing appended: an id that the vocabulary does not have, more
 * than the context or the pool holds. (No memory, or a device that fails: some may be appended.)
 */
int engine_run(struct engine *e, const struct engine_item *items, size_t n);
/* After the last token of SEQUENCE, f32 [vocab_size], soft cap applied; NULL where they were not wanted. Valid until the next run. */
const float *engine_logits(const struct engine *e, int sequence);

/* --- measures --- */

/* What appends one token to one sequence, and, with more than one, one to several (NULL). */
struct plan *engine_plan_of_one(const struct engine *e);
struct plan *engine_plan_of_few(const struct engine *e);
uint64_t engine_bytes(const struct engine *e, enum plan_memory kind);

/* --- what the pool holds, for files --- */

/* Page I of SEQUENCE, ENGINE_PAGE rows of keys (or VALUES) of LAYER, each of *ROW bytes; brought to the host. NULL with the error set. */
void *engine_page(struct engine *e, int sequence, uint32_t layer, bool values, size_t i,
		  size_t *row);
/* Makes an empty SEQUENCE hold N tokens, whose pages the caller is to fill. */
int engine_claim(struct engine *e, int sequence, const int32_t *ids, size_t n);
/* The rows at engine_page were written. */
void engine_filled(struct engine *e);

#endif
