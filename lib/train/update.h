/*
 * lib/train/update.h - the nodes that move one parameter: its optimizer, its average
 *
 * State lies beside the parameter in the store; the gradient is the store's sum. What changes from step to step comes in
 * as scalars.
 */
#ifndef LIB_TRAIN_UPDATE_H
#define LIB_TRAIN_UPDATE_H

#include "lib/graph/ops.h"
#include "lib/graph/store.h"
#include "lib/train/trainer.h"

/* How one parameter is moved. RULE is never TRAINER_MUON for what is no matrix. */
struct update_item {
	struct store_entry *entry;
	enum trainer_optimizer rule;
	bool decays;
};

/* Inputs of the update's graph. */
struct update_scalars {
	struct tensor *h;     /* f32 [4]: rate, the gradient's scale, 1 - beta1^t, 1 - beta2^t */
	struct tensor *plain; /* f32 [2]: rate, 1 */
	struct tensor *ema;   /* f32 [1]: the averages' decay */
};
void update_scalars(struct graph *g, struct update_scalars *s);

/* Values of those inputs for step T. */
struct update_values {
	float h[4], plain[2], ema[1];
};
struct update_values update_values(const struct trainer_options *o, double rate, double scale,
				   uint64_t t);

/* Appends the update of ITEM; the parameter after it, or NULL (the error is in G). */
struct tensor *update_append(struct graph *g, const struct update_item *item,
			     const struct trainer_options *o, const struct update_scalars *s);
/* The sum of gradients of E becomes 0. */
void update_clear(struct graph *g, struct store_entry *sum);

/* lib/train/update_muon.c */
struct tensor *update_muon(struct graph *g, const struct update_item *item,
			   const struct trainer_options *o, const struct update_scalars *s,
			   const struct optimizer_attributes *a);

#endif
