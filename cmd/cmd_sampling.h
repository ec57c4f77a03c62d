/*
 * cmd/cmd_sampling.h - the options of a tool that draws tokens
 *
 * A tool puts CMD_SAMPLING into its table, and asks for the sampler's options when the tokenizer is open.
 */
#ifndef CMD_CMD_SAMPLING_H
#define CMD_CMD_SAMPLING_H

#include "cmd/cmd.h"
#include "lib/infer/ends.h"
#include "lib/infer/sampler.h"
#include "lib/text/tokenizer.h"

/* What the options were given; `sampler` has those that are numbers. */
struct cmd_sampling {
	uint64_t top_k, penalty_last, dry_allowed, dry_last, seed;
	double temperature, top_p, min_p, typical, top_n_sigma;
	double repetition, frequency, presence, dry_multiplier, dry_base;
	struct cmd_list samplers, bias, breakers;
	bool ignore_eos;
};
extern struct cmd_sampling cmd_sampling;

/* clang-format off */
#define CMD_SAMPLING \
	CMD_REAL(0, "temperature", &cmd_sampling.temperature, 0, 1e6, "what logits are divided by; 0: the most probable token (default)"), \
	CMD_SIZE(0, "top-k", &cmd_sampling.top_k, 0, INT32_MAX, "draw from the N most probable; 0: all"), \
	CMD_REAL(0, "top-p", &cmd_sampling.top_p, 1e-9, 1, "draw from the fewest that have this probability together (default 1)"), \
	CMD_REAL(0, "min-p", &cmd_sampling.min_p, 0, 1, "draw from those with this share of the largest probability (default 0)"), \
	CMD_REAL(0, "typical", &cmd_sampling.typical, 0, 1, "draw from those nearest to the entropy, with this probability together (default 1)"), \
	CMD_REAL(0, "top-n-sigma", &cmd_sampling.top_n_sigma, 0, 1e6, "draw from those at most X deviations below the largest logit; 0: all"), \
	CMD_REAL(0, "repetition-penalty", &cmd_sampling.repetition, 1e-6, 1e6, "divide logits of tokens that came by this (default 1)"), \
	CMD_REAL(0, "frequency-penalty", &cmd_sampling.frequency, -1e6, 1e6, "take this off for each time that a token came (default 0)"), \
	CMD_REAL(0, "presence-penalty", &cmd_sampling.presence, -1e6, 1e6, "take this off of tokens that came (default 0)"), \
	CMD_SIZE(0, "penalty-last", &cmd_sampling.penalty_last, 0, INT32_MAX, "of the last N tokens, the prompt's too (default 64); 0: of all"), \
	CMD_REAL(0, "dry-multiplier", &cmd_sampling.dry_multiplier, 0, 1e6, "take this off of what makes a repetition longer (default 0)"), \
	CMD_REAL(0, "dry-base", &cmd_sampling.dry_base, 1, 1e6, "times this for each token of it past the allowed ones (default 1.75)"), \
	CMD_SIZE(0, "dry-allowed-length", &cmd_sampling.dry_allowed, 1, INT32_MAX, "tokens that may be repeated (default 2)"), \
	CMD_SIZE(0, "dry-last", &cmd_sampling.dry_last, 0, INT32_MAX, "among the last N tokens; 0: among all (default)"), \
	CMD_TEXTS(0, "dry-breaker", &cmd_sampling.breakers, "TEXT", "no repetition goes over it; may be given again (default line end, : \" *)"), \
	CMD_TEXTS(0, "logit-bias", &cmd_sampling.bias, "ID=X", "add X to a token's logit, -inf: never; ID or TEXT; may be given again"), \
	CMD_FLAG(0, "ignore-eos", &cmd_sampling.ignore_eos, "never choose a token that ends texts"), \
	CMD_LIST(0, "samplers", &cmd_sampling.samplers, "STEPS", "the steps in this order, and no others"), \
	CMD_SIZE(0, "seed", &cmd_sampling.seed, 0, UINT64_MAX, "what draws are made of (default 0)")
/* clang-format on */

/*
 * OUT is valid until cmd_sampling_free; ENDS are the tokens that --ignore-eos bans. Ends the tool where options do not go together, or a
 * text is no single token.
 */
void cmd_sampling_options(struct sampler_options *out, const struct tokenizer *t, size_t vocabulary,
			  const struct text_ends *ends);
void cmd_sampling_free(void);

#endif
