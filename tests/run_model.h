/*
 * tests/run_model.h - a small llama to be saved by a run, whose values tell which step they are of
 *
 * Every value of an entry follows from its name, its place, the step and the rollbacks, so that what was read back can be told right
 * from wrong without a second copy.
 */
#ifndef TESTS_RUN_MODEL_H
#define TESTS_RUN_MODEL_H

#include "lib/train/run_folder.h"

struct run_model {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
	struct bind_rules rules; /* names are those of the folder */
};

/* Parameters f32, one bf16 norm aside; `m` f32, `v` u8 and `ema` f32 beside each. Ends the program when memory is refused. */
void run_model_new(struct run_model *m);
void run_model_free(struct run_model *m);

void run_model_fill(struct run_model *m, uint64_t step, uint64_t rollbacks);
/* Whether all states in the store, and the parameters of the folder at PATH, are those of (STEP, ROLLBACKS). */
bool run_model_has_states(const struct run_model *m, uint64_t step, uint64_t rollbacks);
bool run_model_is_saved(const struct run_model *m, const char *path, uint64_t step,
			uint64_t rollbacks);

/* Checkpoints what M holds as STEP of R; settings and identities are made up. */
int run_model_checkpoint(struct run_model *m, struct run_folder *r, uint64_t step,
			 uint64_t rollbacks, const char *companions);

#endif
