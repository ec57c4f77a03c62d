/*
 * lib/infer/requests.h - requests to a language model, and their answers, as JSON lines
 *
 * A request is an object with `prompt` (a text) or `messages` ([{role, content}]), and may have `id`, `max_tokens`, `temperature`, `top_p`, `top_k`,
 * `min_p`, `seed`, `stop` (a text or several), `n` (answers), `logit_bias` ({id: number}), `logprobs` (true, or how many alternatives), `ignore_eos`.
 * The answer is the request with all its fields, and `text`, `finish_reason` (stop, length, error), `usage` {prompt_tokens,
 * completion_tokens}, `logprobs` where they were asked for; with `n` above 1 `choices`, an array of these, and the sum of their tokens.
 */
#ifndef LIB_INFER_REQUESTS_H
#define LIB_INFER_REQUESTS_H

#include "lib/base/bytes.h"
#include "lib/infer/sampler.h"

#define REQUEST_SAMPLES_MAX  1024
#define REQUEST_LOGPROBS_MAX 1000
#define REQUEST_NO_LOGPROBS  SIZE_MAX

struct request_bias {
	int32_t id;
	float value; /* added to the logit before all else */
};

/* What decides how a text goes on. */
struct request_options {
	size_t tokens; /* new ones at most; 0: to the end of the context */
	struct sampler_options sampler;
	size_t samples;	 /* answers: `n` */
	size_t logprobs; /* alternatives beside each token; REQUEST_NO_LOGPROBS: none of it */
	bool ignore_eos;
	const struct bytes *stops;
	size_t n_stops;
	const struct request_bias *bias;
	size_t n_bias;
};

#endif
