/*
 * lib/train/training_model.h - the model that a run trains: parameters that can be trained, and what goes with it into checkpoints
 *
 * A Hugging Face folder, a GGUF, or a run's checkpoint. Blocks of quantized weights become plain numbers; so it is full training.
 */
#ifndef LIB_TRAIN_TRAINING_MODEL_H
#define LIB_TRAIN_TRAINING_MODEL_H

#include "lib/model/lm.h"

struct training_model {
	struct lm lm;
	const struct hf_config *config; /* LM's */
	struct store *store;		/* LM's, or one of its own where blocks were decoded */
	bool own_store;
	struct arena *arena;
	struct bind_rules rules; /* to the names of a folder */
	const char *path;
	const char
		*folder; /* PATH, whose tokenizer files are copied along; NULL: a GGUF has none */
};

/* Parameters are of WEIGHTS, F32 or BF16. */
int training_model_open(struct training_model *out, const char *path, enum dtype weights);
void training_model_close(struct training_model *m);
/* Takes the values of the checkpoint at PATH, whose tensors are M's. */
int training_model_reload(struct training_model *m, const char *path);

#endif
