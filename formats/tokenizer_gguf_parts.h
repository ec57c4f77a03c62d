/*
 * formats/tokenizer_gguf_parts.h - what the kinds of GGUF vocabularies share
 */
#ifndef FORMATS_TOKENIZER_GGUF_PARTS_H
#define FORMATS_TOKENIZER_GGUF_PARTS_H

#include "formats/gguf.h"
#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_spm.h"

struct gguf_vocab {
	const struct gguf *g;
	const char *file;
	struct arena *arena;
	struct spm_piece *pieces; /* text, score (0 without), type (normal without); in the arena */
	size_t n;
	bool has_types, has_scores;
};

/* Roles that the file leaves out, by kind; TOKEN_NONE: none. */
struct gguf_roles {
	uint32_t bos, eos, pad, unk;
	bool add_bos, add_eos, add_sep;
};

/* Each fills the components and the model of *OUT, and the defaults of *ROLES. */
int gguf_vocab_gpt2(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles);
int gguf_vocab_bert(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles);
int gguf_vocab_spm(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles,
		   enum model_kind_text kind);

/* The id under KEY: 1 and the id when it is there and is a piece's; else 0, or -1. */
int gguf_vocab_id(const struct gguf_vocab *v, const char *key, uint32_t *out);

/* Control and unknown tokens (special) and user-defined ones as added tokens of *OUT. */
int gguf_vocab_added(struct tokenizer_spec *out, const struct gguf_vocab *v);

#endif
