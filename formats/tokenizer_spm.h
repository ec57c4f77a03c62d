/*
 * formats/tokenizer_spm.h - SentencePiece's pieces, scores and types as a tokenizer
 *
 * Both a .model file and GGUF's `llama` and `t5` vocabularies hold them. A spec made of them says SentencePiece's own
 * rules (NORMALIZER_SENTENCEPIECE, model.sentencepiece): the ids are those of sentencepiece 0.2.3. A tokenizer.json
 * cannot say these: for it the spec is converted as transformers 5 converts a ModelProto
 * (build_tokenizer_from_spm_proto), with two differences: control pieces are no part of the model, so that no text
 * makes them, and user-defined pieces are added tokens where nothing but the escape of spaces comes before them.
 */
#ifndef FORMATS_TOKENIZER_SPM_H
#define FORMATS_TOKENIZER_SPM_H

#include "lib/text/spec.h"

enum spm_type {
	SPM_NORMAL = 1,
	SPM_UNKNOWN,
	SPM_CONTROL,
	SPM_USER_DEFINED,
	SPM_UNUSED,
	SPM_BYTE,
	SPM_GAP, /* not in any file: an id that no piece has */
};

struct spm_piece {
	struct bytes text; /* in the arena */
	double score;
	enum spm_type type;
};

struct spm_source {
	const char *file; /* for messages */
	const struct spm_piece *pieces;
	size_t n;
	enum model_kind_text kind; /* MODEL_BPE or MODEL_UNIGRAM */
	bool byte_fallback, add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
	bool whitespace_as_suffix;
	struct bytes charsmap; /* in the arena; empty: none */
};

/*
 * Fills all of *OUT but the roles and the flags beside them, which say nothing then. Control and unknown pieces are
 * special added tokens, all but the control pieces are pieces of the model.
 */
int tokenizer_spm_build(struct tokenizer_spec *out, struct arena *arena,
			const struct spm_source *source);

/* The other way round: what SPEC, made by tokenizer_spm_build, was made of. FILE is for messages. */
int tokenizer_spm_source(struct spm_source *out, struct arena *arena,
			 const struct tokenizer_spec *spec, const char *file);

/*
 * SPEC, made by tokenizer_spm_build, as the components of tokenizers; roles and flags are kept. Ids are the same for
 * most texts; man/man5/tokenizer-files.5 says where not. ERR_UNSUPPORTED where it would say something else altogether.
 */
int tokenizer_spm_convert(struct tokenizer_spec *out, struct arena *arena,
			  const struct tokenizer_spec *spec);

#endif
