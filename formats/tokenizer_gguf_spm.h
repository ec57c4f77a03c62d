/*
 * formats/tokenizer_gguf_spm.h - SentencePiece's flags from the steps of a spec
 */
#ifndef FORMATS_TOKENIZER_GGUF_SPM_H
#define FORMATS_TOKENIZER_GGUF_SPM_H

#include "formats/tokenizer_gguf_plan.h"
#include "lib/base/names.h"

/* Sets the flags of P's source; adds to USER the texts of pieces that a Split keeps whole. Tells of no loss. */
int gguf_spm_steps(struct gguf_plan *p, struct names *user);

/* Tells where the steps of P's spec are others than those of AGAIN, which a reader makes of the flags. */
int gguf_spm_compare_steps(struct gguf_plan *p, const struct tokenizer_spec *again);

#endif
