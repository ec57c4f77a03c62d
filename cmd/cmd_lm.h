/* cmd/cmd_lm.h - what tools that use a language model open: the model, and a tokenizer */
#ifndef CMD_CMD_LM_H
#define CMD_CMD_LM_H

#include "lib/base/arena.h"
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

#endif
