/*
 * formats/tokenizer_gguf_write.h - a tokenizer as the metadata of a GGUF
 *
 * Two readers are served. llama.cpp and its kin read tokenizer.ggml.*, which know four kinds of vocabularies
 * (gpt2, llama, t5, bert) and a fixed list of split patterns by name. nnutils reads tokenizer.huggingface.json first,
 * where it is there, and so gets back the whole. man/man5/tokenizer-files.5 lists the keys.
 */
#ifndef FORMATS_TOKENIZER_GGUF_WRITE_H
#define FORMATS_TOKENIZER_GGUF_WRITE_H

#include "formats/gguf.h"
#include "lib/text/spec.h"

struct tokenizer_gguf_options {
	/*
	 * tokenizer.ggml.pre of a byte-level BPE, whatever it implies; NULL: the name that means exactly the spec's
	 * pre-tokenizers and flags. A name that no reader of ours knows is ERR_ARGUMENT.
	 */
	const char *pre;
	/* Write keys that give other ids than the spec (a normalizer, flags of added tokens) instead of refusing. */
	bool inexact;
	/* Also tokenizer.huggingface.json: the text JSON or, when that is empty, what tokenizer_json_put makes. */
	bool with_json;
	struct bytes json;
	/* Ids at least, as many as the model has rows; those without a piece are [unusedN]. More pieces than that are ERR_MISMATCH. 0: any. */
	uint64_t n_ids;
	/* A line for each thing of the spec that tokenizer.ggml.* do not say; or NULL. */
	struct buffer *differences;
};

/*
 * Declares the keys of SPEC in W. OPTIONS may be NULL. ERR_UNSUPPORTED names what of the spec the keys cannot say, or
 * say otherwise, when that changes ids and OPTIONS do not allow it: a kind of model, a split pattern, a `pre`
 * that implies other flags, a normalizer, an added token's flags. The two fingerprints are written only where
 * a reader of ours gets the same ids, or the same whole, from the keys that are written.
 */
int tokenizer_gguf_put(struct gguf_writer *w, const struct tokenizer_spec *spec,
		       const struct tokenizer_gguf_options *options);

#endif
