/*
 * cmd/cmd_decode_jsonl.h - decode --jsonl: requests of a file, several at once
 *
 * decode.c opens the model and reads the options; what a request does not say itself is as they say it. decode_jsonl reads the requests, writes a line
 * for each in their order, and reports. A bad request is a line that says so; the tool's exit status is 2 then (the caller's, by the number
 * that comes back), and the others are answered.
 */
#ifndef CMD_CMD_DECODE_JSONL_H
#define CMD_CMD_DECODE_JSONL_H

#include "cmd/cmd_decode.h"
#include "cmd/cmd_lm.h"
#include "lib/infer/requests.h"
#include "lib/text/chat.h"

struct cmd_decode_jsonl_options {
	const struct cmd_lm *lm;
	const char *input;    /* JSON lines; NULL: stdin */
	size_t parallel;      /* sequences at once; 0: chosen */
	size_t context;	      /* tokens of a request and its answer at most; 0: the model's */
	bool batch_invariant; /* refuse a device that does not keep it: a request alone gives the very text that it gives beside others */
	enum dtype compute;   /* what is computed in */
	bool round;	      /* engine_options' */
	enum cmd_repack repack;
	enum dtype cache;	   /* of keys and values: F32, F16, BF16, Q8_0 */
	enum special_mode special; /* in prompts */
	enum chat
		chat; /* the template of `messages`; CHAT_NONE: requests with messages are refused */
	const uint32_t *ends; /* tokens that end a text */
	size_t n_ends;
	struct request_options defaults; /* of what a request does not say */
};

/* How many requests could not be answered. Ends the tool where none can be: memory, the output. */
size_t cmd_decode_jsonl(const struct cmd_decode_jsonl_options *o);

#endif
