/*
 * formats/tokenizer_gguf_marks.h - how a GGUF spells the pieces of SentencePiece and WordPiece
 */
#ifndef FORMATS_TOKENIZER_GGUF_MARKS_H
#define FORMATS_TOKENIZER_GGUF_MARKS_H

#include "formats/tokenizer_spm.h"

/*
 * WordPiece: words are marked there by U+2581, and what continues one is not: the other way round than in vocab.txt. Control
 * pieces and those in brackets stay. *TEXT lies in ARENA. 0, or -1 with the error set.
 */
int gguf_mark(struct arena *arena, enum spm_type type, struct bytes *text);
int gguf_unmark(struct arena *arena, enum spm_type type, struct bytes *text);

/* SentencePiece: user-defined pieces stand there as text: their spaces are what the model sees escaped. */
int gguf_escape_spaces(struct arena *arena, struct bytes *text);
int gguf_unescape_spaces(struct arena *arena, struct bytes *text);

#endif
