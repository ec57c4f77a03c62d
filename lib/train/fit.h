/*
 * lib/train/fit.h - how large a micro-batch is, and how many blocks are recomputed, so that training fits the memory
 *
 * The micro-batch decides the order of sums and so the bits of a run: it is chosen once, from the model, the batch and the limit, and
 * written down. So it must not depend on the threads, of which each has a workspace: one is counted, and FIT_ROOM of the limit is left to
 * the others. Recomputation changes no bit and may be chosen anew each time.
 */
#ifndef LIB_TRAIN_FIT_H
#define LIB_TRAIN_FIT_H

#include "lib/train/trainer.h"

/*
 * Rows of a micro-batch as chosen where no limit asks for fewer: those of a step of the models that training is measured with, so that
 * it is one micro-batch there. No other figure was tried.
 */
#define FIT_ROWS ((size_t)4096)
/* The part of a limit that is kept for the workspaces of threads when the micro-batch is chosen: one in so many. */
#define FIT_ROOM 16

/*
 * How many of SEQUENCES windows of LENGTH rows make a micro-batch: the most that divide SEQUENCES, have at most FIT_ROWS rows (one window at
 * least) and fit O->memory but for its FIT_ROOM with every block recomputed; 1 where it fits O->team though not a thread and the room.
 * -1 with the error set: one window does not fit; the message says what would. O->tokens and O->recompute_blocks are not read; the
 * answer, but for -1, does not depend on O->team. S may be one that is only declared.
 */
int fit_micro_batch(size_t *windows, const struct hf_config *c, struct store *s,
		    const struct trainer_options *o, size_t sequences, uint32_t length);

/* The fewest blocks whose recomputation makes O->tokens fit O->memory (0 without a limit; SIZE_MAX: all). -1: none does. */
int fit_recompute(size_t *blocks, const struct hf_config *c, struct store *s,
		  const struct trainer_options *o);

#endif
