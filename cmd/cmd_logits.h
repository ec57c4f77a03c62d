/*
 * cmd/cmd_logits.h - what tools that look at all logits share: the tokens to read, and a model or kept logits that give them
 */
#ifndef CMD_CMD_LOGITS_H
#define CMD_CMD_LOGITS_H

#include "cmd/cmd.h"
#include "cmd/cmd_lm.h"
#include "formats/logits_file.h"
#include "lib/eval/logits.h"

/* What the options were given. */
struct cmd_logits {
	const char *data, *tokenizer, *split, *field;
	bool raw, docs;
	int special;
	uint64_t context, max_tokens;
};
extern struct cmd_logits cmd_logits;

/* For --compute and --cache-dtype; end with NULL. */
enum cmd_compute { CMD_COMPUTE_F32, CMD_COMPUTE_BF16, CMD_COMPUTE_ROUNDED };
extern const char *const cmd_compute_words[];
extern const char *const cmd_cache_words[];

#define CMD_LOGITS_CONTEXT_MOST ((uint64_t)1 << 24)

/* clang-format off */
#define CMD_LOGITS \
	CMD_PATH('d', "data", &cmd_logits.data, "FILE", "what to read: packed tokens, a token stream, or text (default stdin)"), \
	CMD_FLAG(0, "raw", &cmd_logits.raw, "the data are one document of plain text"), \
	CMD_FLAG(0, "docs", &cmd_logits.docs, "the data are documents: JSON lines"), \
	CMD_TEXT(0, "field", &cmd_logits.field, "NAME", "with --docs: the field that holds the text"), \
	CMD_PATH('t', "tokenizer", &cmd_logits.tokenizer, "FILE", "the tokenizer (default: the model's)"), \
	CMD_TEXT(0, "split", &cmd_logits.split, "NAME", "how a rank file splits text, as for tokenize"), \
	CMD_ENUM(0, "special", &cmd_logits.special, cmd_special_words, "HOW", "special tokens in text: plain (default), parse or refuse"), \
	CMD_SIZE('c', "ctx", &cmd_logits.context, 1, CMD_LOGITS_CONTEXT_MOST, "tokens of a window (default: the model's context, 512 at most)"), \
	CMD_SIZE('n', "max-tokens", &cmd_logits.max_tokens, 1, UINT64_MAX, "stop after N tokens")
/* clang-format on */

/* cpu's level, or the device. */
const char *cmd_logits_kernels(const struct backend *b);

/* Documents cut into windows of CONTEXT tokens. Owned. */
struct cmd_windows {
	uint32_t *ids;
	uint64_t *starts;
	struct logits_tokens tokens;
};
/* Ends the tool where there is nothing to read. */
void cmd_windows_read(struct cmd_windows *w, const struct cmd_lm *lm, uint32_t context);
void cmd_windows_free(struct cmd_windows *w);

struct cmd_side_options {
	const struct backend *backend;
	int compute, cache; /* words: of cmd_compute_words, cmd_cache_words */
	const char *const *taps;
	size_t n_taps;
};

/* A model, or its logits from a file. */
struct cmd_side {
	const char *path;
	struct logits_file *file; /* NULL: a model */
	struct cmd_lm lm;
	struct logits *logits;
	struct logits_origin origin;
	float *rows; /* owned: of a slice of a file */
};

/* FILE or a model; a model's logits are made ready by cmd_side_start. */
void cmd_side_open(struct cmd_side *s, const char *path);
/* The context that -c gives, or a default. */
uint32_t cmd_side_context(const struct cmd_side *s);
void cmd_side_start(struct cmd_side *s, uint32_t context, const struct cmd_side_options *o);
void cmd_side_close(struct cmd_side *s);
/* Window I of T: read; then its rows, N at most LOGITS_SLICE, valid until the next call for S. */
void cmd_side_read(struct cmd_side *s, const struct logits_tokens *t, size_t i);
const float *cmd_side_rows(struct cmd_side *s, const struct logits_tokens *t, size_t i,
			   size_t first, size_t n);

#endif
