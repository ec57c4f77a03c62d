/*
 * formats/tokenizer_kind.h - which kind of tokenizer lies with a model, by a look and no more
 */
#ifndef FORMATS_TOKENIZER_KIND_H
#define FORMATS_TOKENIZER_KIND_H

#include "formats/model.h"
#include "lib/base/buffer.h"

/*
 * Appends a short description: `gpt2, pre smollm, 49152 pieces` from a GGUF's metadata, `BPE
 * (tokenizer.json)` from a folder. 1; 0 when the model carries none; -1 with the error set when what it
 * carries cannot be read.
 */
int tokenizer_kind(const struct model *m, struct buffer *out);

#endif
