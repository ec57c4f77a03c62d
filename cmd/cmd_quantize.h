/* cmd/cmd_quantize.h - how well a model foretells a text, for quantize's before and after */
#ifndef CMD_CMD_QUANTIZE_H
#define CMD_CMD_QUANTIZE_H

#include <stdint.h>

struct cmd_quantize_perplexity {
	uint64_t scored;
	double loss, error; /* a token; its standard error */
};

/* MODEL and TOKENIZER are paths, TEXT a file of plain text; CONTEXT: tokens of a window, 0: 512. Ends the tool where it cannot be done. */
void cmd_quantize_perplexity(struct cmd_quantize_perplexity *out, const char *model,
			     const char *tokenizer, const char *text, uint64_t context);

#endif
