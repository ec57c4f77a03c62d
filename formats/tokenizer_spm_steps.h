/*
 * formats/tokenizer_spm_steps.h - what SentencePiece does around its model, as components
 */
#ifndef FORMATS_TOKENIZER_SPM_STEPS_H
#define FORMATS_TOKENIZER_SPM_STEPS_H

#include "formats/tokenizer_spm.h"

/* Whether spaces are escaped and nothing else is done to text. */
bool spm_plain(const struct spm_source *s);

/* Normalizers, pre-tokenizers and decoders of OUT; its ignore_merges where user-defined pieces ask for it. */
int spm_steps(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s);

/* The decoders alone. */
int spm_decoders(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s);

#endif
