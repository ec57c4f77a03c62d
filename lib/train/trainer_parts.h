/* lib/train/trainer_parts.h - what a trainer holds; users include trainer.h */
#ifndef LIB_TRAIN_TRAINER_PARTS_H
#define LIB_TRAIN_TRAINER_PARTS_H

#include "lib/train/trainer.h"
#include "lib/train/update.h"

enum trainer_graph {
	TRAINER_MICRO,	 /* loss and gradients of a micro-batch, added to the sums */
	TRAINER_MEASURE, /* the loss so far, and the squares of the sums */
	TRAINER_UPDATE,
	TRAINER_WATCHED,  /* the update, and how far each parameter moved */
	TRAINER_CLEAR,	  /* the sums of a step that is not to be: 0 */
	TRAINER_EVALUATE, /* losses of a batch, nothing else */
	TRAINER_GRAPH_COUNT
};

/* The inputs of the micro-batch, and of the evaluation. */
struct trainer_inputs {
	struct tensor *ids, *targets, *positions, *documents;
	struct tensor
		*weights; /* f32 [tokens]: 1 / targets of the step; of the micro-batch alone */
};

struct trainer {
	const struct hf_config *config;
	struct store *store;
	struct trainer_options options;
	struct plan_arena *arena;		   /* owned; shared by all plans */
	struct graph *graphs[TRAINER_GRAPH_COUNT]; /* owned */
	struct plan *plans[TRAINER_GRAPH_COUNT];   /* owned */
	struct trainer_inputs micro, evaluate;
	struct update_scalars scalars, watched_scalars;
	struct store_entry *loss;  /* f32 [1]: the step's so far */
	struct update_item *items; /* owned; what is trained, in the store's order */
	size_t n_items;
	/* Outputs: */
	struct tensor *step_loss, *squares; /* f32 [1], f32 [items] */
	struct tensor *moved, *before; /* f32 [items]: squares of the step and of the parameter */
	struct tensor *row_losses;
	/* Of the caller's rows and the present step: */
	struct trainer_batch batch; /* owned: one block, at ids */
	bool allocated;
	bool dirty; /* sums or loss hold something */
	uint64_t step, targets, counted, micros;
	/* Of the last step: */
	bool watch, was_watched;
	float *watched; /* owned: three an item: squares of the gradient, the step, the parameter */
};

/* --- trainer_graphs.c: everything is built and planned, nothing allocated --- */
int trainer_plan_all(struct trainer *t);
void trainer_drop_plans(struct trainer *t);

/* --- trainer_memory.c --- */
/* What a trainer with O would need, whatever its limit; 0 with the error set. */
uint64_t trainer_needs(const struct hf_config *c, struct store *s, const struct trainer_options *o);
int trainer_check_memory(const struct trainer *t);

/* --- trainer_watch.c --- */
/* In the graph of the update: squares of what each item moved by and of what it was; outputs. */
void trainer_build_watched(struct trainer *t, struct graph *g);
int trainer_keep_watched(struct trainer *t, const float *squares);

/* Tensors of [1], in their order, as one of [n]. */
struct tensor *trainer_joined(struct graph *g, struct tensor **parts, size_t n);

#endif
