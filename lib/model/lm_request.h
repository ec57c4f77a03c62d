/*
 * lib/model/lm_request.h - what a person asks of a new language model, made into a configuration
 *
 * Begun from a config.json, a preset, a number of parameters, or layers and width; single sizes given beside change those. What
 * is given changes alone, but with the width the heads and the feed-forward follow it, and with the heads those of keys and values and
 * their size, unless they are given too.
 */
#ifndef LIB_MODEL_LM_REQUEST_H
#define LIB_MODEL_LM_REQUEST_H

#include "lib/model/lm_shape.h"
#include "lib/text/spec.h"

struct lm_request {
	const char *config; /* a config.json; NULL: none */
	const struct lm_preset *preset;
	uint64_t parameters;
	enum hf_architecture architecture; /* HF_UNKNOWN: the file's, else llama */
	struct lm_shape shape;
	uint64_t context, vocabulary;
	uint64_t window; /* of sliding layers: mistral's all, gemma3's five of six */
	enum tristate tie;
	double rope_theta; /* of gemma3's full layers */
	double initializer_range, norm_eps;
};

/*
 * OUT has its class with a head; what it points to lives in ARENA. Without a file: a tied head, no roles, no sliding layers but gemma3's,
 * 512 tokens each. Of a file goes what belongs to its weights and not to the model: quantization, code, a vision model around it. -1 with the
 * error set, ERR_ARGUMENT where the request is at fault.
 */
int lm_request_config(struct hf_config *out, struct arena *arena, const struct lm_request *r);

/* Gives C the ids of SPEC's roles, none where it has none. */
int lm_request_roles(struct hf_config *c, struct arena *arena, const struct tokenizer_spec *spec);

#endif
