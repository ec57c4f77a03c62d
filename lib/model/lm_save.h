/*
 * lib/model/lm_save.h - a language model as a Hugging Face folder: config.json, model.safetensors, and the small files beside them
 *
 * Each function writes one file, or a few, into a folder that appears when its owner commits it. 0, or -1 with the error set.
 */
#ifndef LIB_MODEL_LM_SAVE_H
#define LIB_MODEL_LM_SAVE_H

#include "lib/base/outfile.h"
#include "lib/model/lm.h"

#define LM_WEIGHTS "model.safetensors"

/* config.json; its dtype is that of most bytes of S's parameters. */
int lm_save_config(struct outdir *d, const struct hf_config *c, const struct store *s);
/* generation_config.json: the ids of the roles. Nothing for a family that does not generate (bert). */
int lm_save_generation(struct outdir *d, const struct hf_config *c);
/* model.safetensors: every parameter of S by RULES. One tensor at a time is in memory besides S. */
int lm_save_weights(struct outdir *d, const struct store *s, const struct bind_rules *rules);
/* What FOLDER holds of tokenizer and generation, as it is there. */
int lm_save_companions(struct outdir *d, const char *folder);

#endif
