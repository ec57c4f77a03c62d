/*
 * cmd/cmd_sample.h - a text goes on, as a model that is being trained would write it
 *
 * The weights are those in the store, whatever they are at the moment; the same weights write the same text.
 */
#ifndef CMD_CMD_SAMPLE_H
#define CMD_CMD_SAMPLE_H

#include "lib/infer/generate.h"

/* Share of the probability that is drawn from: what is rarer would spoil a short text. */
#define CMD_SAMPLE_TOP_P 0.95

struct cmd_sample_options {
	const struct hf_config *config;
	struct store *store;
	const struct tokenizer *tokenizer;
	const struct backend *backend;
	struct team *team;
	enum dtype compute;
	const char *prompt;
	size_t tokens; /* new ones, at most */
	double temperature;
	uint64_t seed;
};

struct cmd_sample;

/* What O points to outlives it. Nothing is computed yet. -1 with the error set: the model does not go on with texts, or the prompt is too long. */
int cmd_sample_new(struct cmd_sample **out, const struct cmd_sample_options *o);
void cmd_sample_free(struct cmd_sample *s); /* NULL is allowed */
/* Appends the prompt and what comes after it. */
int cmd_sample_write(struct cmd_sample *s, struct buffer *text);

#endif
