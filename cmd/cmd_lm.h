/* cmd/cmd_lm.h - what tools that use a language model open: the model, and a tokenizer */
#ifndef CMD_CMD_LM_H
#define CMD_CMD_LM_H

#include "lib/base/arena.h"
#include "lib/data/token_document.h"
#include "lib/model/lm.h"
#include "lib/text/tokenizer.h"

/* For --special and --dtype; end with NULL. */
extern const char *const cmd_special_words[]; /* by enum special_mode */
extern const char *const cmd_dtype_words[];
enum dtype cmd_dtype(int word);

struct cmd_lm {
	struct lm model; /* its weights do not change */
	struct tokenizer *tokenizer;
	const char *tokenizer_path; /* for messages */
	struct arena *arena;	    /* of the tokenizer */
};

/*
 * PATH: a folder or a .gguf. TOKENIZER: a file of one, NULL: the model's. SPLIT: how a rank file splits text, or NULL. Ends the tool where
 * something cannot be opened; warns where the tokenizer has ids that the model has not.
 */
void cmd_lm_open(struct cmd_lm *out, const char *path, const char *tokenizer, const char *split);
void cmd_lm_close(struct cmd_lm *m);

/* What a tool is to read; M's tokenizer encodes what is text. */
struct cmd_lm_data {
	const char *path; /* NULL: stdin */
	bool raw, docs;	  /* one text; JSON lines; neither: tokens */
	const char *field;
	int special; /* of cmd_special_words */
};
/* Ends the tool where they cannot be opened, and says what text needs. */
struct token_documents *cmd_lm_documents(const struct cmd_lm *m, const struct cmd_lm_data *d);

#endif
