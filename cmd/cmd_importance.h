/* cmd/cmd_importance.h - eval-lm --importance: what each column of a model's weights is multiplied with, in a file for quantize */
#ifndef CMD_CMD_IMPORTANCE_H
#define CMD_CMD_IMPORTANCE_H

#include "cmd/cmd_lm.h"
#include "lib/data/token_document.h"

/*
 * Reads at most MAX_DOCS documents of IN in windows of CONTEXT tokens, and writes PATH (lib/model/importance.h). DATASET is what the file calls them.
 * Ends the tool where that cannot be.
 */
void cmd_importance(const struct cmd_lm *lm, struct token_documents *in, const char *dataset,
		    const char *path, uint32_t context, uint64_t max_docs);

#endif
