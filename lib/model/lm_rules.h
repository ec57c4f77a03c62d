/* lib/model/lm_rules.h - how a Hugging Face file spells the names of a family; users include lm.h */
#ifndef LIB_MODEL_LM_RULES_H
#define LIB_MODEL_LM_RULES_H

#include "lib/model/lm.h"

struct lm_spelling {
	const char *body; /* what stands for `model.`, `transformer.`, `bert.`: maybe nothing */
	bool gamma;	  /* norms are called LayerNorm.gamma and LayerNorm.beta */
};

/* As lm_hidden has it, but for classes without a head (LlamaModel): nothing. */
struct lm_spelling lm_spelling_of_class(const struct hf_config *c);
/* As the tensors of M are called. */
struct lm_spelling lm_spelling_of_model(const struct hf_config *c, const struct model *m);

int lm_rules_spelled(struct bind_rules *out, struct arena *arena, const struct hf_config *c,
		     enum model_kind kind, bool permute, const struct lm_spelling *spelling);
/* Holds what M has against its configuration; RULES are those that it was loaded by. Notes what is not used. */
int lm_check(struct lm *m, const struct bind_rules *rules);
/* Whether q and k lie in a GGUF as pairs of neighbours. */
bool lm_pairs_in_gguf(const struct hf_config *c);

#endif
