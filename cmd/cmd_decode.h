/*
 * cmd/cmd_decode.h - what decode's ways of going on share: one text, a conversation, an outside chooser
 */
#ifndef CMD_CMD_DECODE_H
#define CMD_CMD_DECODE_H

#include "cmd/cmd_lm.h"
#include "lib/infer/ends.h"
#include "lib/infer/generate.h"
#include "lib/infer/stop_text.h"
#include "lib/text/chat.h"

#define DECODE_NO_LOGPROBS UINT64_MAX

/* Whether weights are copied (session_options.repack). */
enum cmd_repack { REPACK_NONE, REPACK_IF_IT_FITS, REPACK_ALL };

struct cmd_decode {
	/* What was asked for. */
	uint64_t tokens;  /* 0: to the end of the context */
	uint64_t context; /* 0: not said */
	uint64_t samples, keep;
	uint64_t logprobs; /* or DECODE_NO_LOGPROBS */
	bool shift, echo;
	enum dtype compute, cache;
	bool round;
	enum cmd_repack repack;
	const char *prompt_cache; /* a file; NULL: none */
	struct bytes *stops;	  /* owned */
	size_t n_stops;

	/* What is open. */
	struct cmd_lm lm;
	struct text_ends ends;
	bool ends_count; /* not under --ignore-eos */
	struct session *session;
	struct sampler_options sampling;
	struct sampler *sampler;
	uint64_t started; /* clock_ns at the start of the tool */
};

/* A session of CONTEXT tokens with room for FORKS more, and the sampler. */
void cmd_decode_open(struct cmd_decode *d, size_t context, size_t forks);
/* The steps of sampling, on stderr. */
void cmd_decode_say_sampling(const struct cmd_decode *d);

/* Text as it becomes certain: what may begin a stop is held back. */
struct cmd_decode_writer {
	struct stop_text *stops;
	struct buffer certain;
	struct buffer *also; /* all that is printed goes there as well; NULL: nowhere */
	bool silent;	     /* prints nothing */
};
void cmd_decode_writer_begin(struct cmd_decode_writer *w, const struct cmd_decode *d);
/* generate_options.piece, with the writer as its `to`. */
int cmd_decode_write(void *writer, struct bytes piece);
/* Prints what was held back. */
void cmd_decode_writer_end(struct cmd_decode_writer *w);

/* Why it ended, in words. */
const char *cmd_decode_reason(const struct cmd_decode *d, const struct generate_result *r);

/* --- the ways --- */

/* One text, or --samples of them, after the N tokens of PROMPT. TEXT: the prompt's, for --echo. */
void cmd_decode_text(struct cmd_decode *d, const int32_t *prompt, size_t n, struct bytes text);
/* --chat: SYSTEM may be NULL. */
void cmd_decode_chat(struct cmd_decode *d, enum chat chat, const char *system);
/* --step=HOW: `npy`, a number of tokens a line, or empty. */
void cmd_decode_step(struct cmd_decode *d, const int32_t *prompt, size_t n, const char *how);

#endif
