/*
 * formats/tokenizer_gguf_pre.h - what the `pre` names of GGUF mean
 *
 * llama.cpp's table (src/llama-vocab.cpp): for byte-level BPE a name stands for a list of split patterns, each
 * applied to the pieces of the one before, and for flags. Where llama.cpp rewrites a pattern for its own
 * engine, the one of the model's tokenizer.json stands here. A name that is not in the table is refused.
 */
#ifndef FORMATS_TOKENIZER_GGUF_PRE_H
#define FORMATS_TOKENIZER_GGUF_PRE_H

#include "lib/text/spec.h"

struct gguf_pre {
	bool ignore_merges, add_bos, add_sep;
};

/* The pre-tokenizers of NAME into *OUT, in ARENA. ERR_UNSUPPORTED names FILE and NAME. */
int gguf_pre_find(const struct pretokenizer_spec **out, size_t *n, struct gguf_pre *flags,
		  struct arena *arena, struct bytes name, const char *file);

/*
 * The name that means the pre-tokenizers of S, which end in a ByteLevel: of several one that implies IGNORE_MERGES, if there is one. Empty
 * where no name means them. A pattern in another dialect than tokenizer.json's is the same when its scanner is.
 */
struct bytes gguf_pre_name(const struct tokenizer_spec *s, bool ignore_merges,
			   struct gguf_pre *flags);

/* Whether NAME means the pre-tokenizers of S. */
bool gguf_pre_is(const struct tokenizer_spec *s, struct bytes name);

#endif
