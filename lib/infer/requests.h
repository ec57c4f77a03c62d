/*
 * lib/infer/requests.h - requests to a language model, and their answers, as JSON lines
 *
 * A request is an object with `prompt` (a text) or `messages` ([{role, content}]), and may have `id`, `max_tokens`, `temperature`, `top_p`, `top_k`,
 * `min_p`, `typical_p`, `top_n_sigma`, `repetition_penalty`, `frequency_penalty`, `presence_penalty`, `seed`, `stop` (a text or several), `n` (answers), `logit_bias`
 * ({id: number}), `logprobs` (true, or how many alternatives), `ignore_eos`; null is what is not said. The answer is the request with all its
 * fields, and `text`, `finish_reason` (stop, length, error), `usage` {prompt_tokens, completion_tokens}, `logprobs` where they were
 * asked for; with `n` above 1 `choices`, an array of answers, and the sum of their tokens. Where there is no answer, `error` says why.
 */
#ifndef LIB_INFER_REQUESTS_H
#define LIB_INFER_REQUESTS_H

#include "formats/hf_config.h"
#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/infer/sampler.h"
#include "lib/text/chat.h"
#include "lib/text/tokenizer.h"

#define REQUEST_SAMPLES_MAX  1024
#define REQUEST_LOGPROBS_MAX 1000
#define REQUEST_STOPS_MAX    1000
#define REQUEST_NO_LOGPROBS  SIZE_MAX

/* What decides how a text goes on. */
struct request_options {
	size_t tokens; /* new ones at most; 0: to the end of the context */
	struct sampler_options sampler;
	size_t samples;	 /* answers: `n` */
	size_t logprobs; /* alternatives beside each token; REQUEST_NO_LOGPROBS: none of it */
	bool ignore_eos;
	const struct bytes *stops;
	size_t n_stops;
};

enum answer_reason {
	ANSWER_STOP,   /* an end of text, or a stop */
	ANSWER_LENGTH, /* as many tokens as asked for, or the context is full */
};

struct answer {
	struct buffer text;
	struct buffer logprobs; /* the items of an array */
	size_t tokens;
	enum answer_reason reason;
};

/* Freed with request_free; all that it points to is its own. */
struct request {
	struct arena *arena;
	struct bytes
		fields; /* the members of the object, as they stood there, but for those of an answer */
	struct request_options options;
	int32_t *ids; /* owned: the prompt's */
	size_t n_ids;
	struct answer *answers; /* owned: options.samples */
	char *error;		/* owned: why there is no answer; NULL: there is */
};
void request_free(struct request *r); /* NULL is allowed */
/* Takes the thread's error for REQUEST's. -1: no memory. */
int request_fail(struct request *r);

struct request_reader_options {
	const struct tokenizer *tokenizer;
	const struct hf_config *config;
	size_t context;		   /* tokens of prompt and answer together */
	enum special_mode special; /* in prompts */
	enum chat chat; /* the template of messages; CHAT_NONE: such requests are refused */
	struct request_options defaults; /* of what a request does not say */
};

struct request_reader;

/* What O points to outlives it. */
int request_reader_new(struct request_reader **out, const struct request_reader_options *o);
void request_reader_free(struct request_reader *r); /* NULL is allowed */
/* RECORD is line LINE of NAME. A request that cannot be answered has its error; -1 with the error set: no memory. */
int request_read(struct request_reader *r, struct bytes record, const char *name, uint64_t line,
		 struct request **out);

/* Appends the answer to R, a line. */
void request_put(struct buffer *b, const struct request *r);

#endif
