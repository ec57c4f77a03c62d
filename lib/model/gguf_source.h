/*
 * lib/model/gguf_source.h - any model on disk, seen as the GGUF that it would be
 *
 * What export-gguf and quantize share. A .gguf passes its keys and tensors on as they are. A Hugging Face folder gives the tensors of
 * its family's rules (lib/model/lm.h), under llama.cpp's names and as llama.cpp has them (q and k of llama as pairs of neighbours,
 * gemma's norms with 1 added), and the keys that llama.cpp reads, those of its tokenizer among them. Nothing is held but what the reader
 * of rows asks for: a model may be larger than memory.
 */
#ifndef LIB_MODEL_GGUF_SOURCE_H
#define LIB_MODEL_GGUF_SOURCE_H

#include "formats/model.h"
#include "lib/base/buffer.h"

struct gguf_source;

struct gguf_source_options {
	const char *tokenizer; /* a folder or file in the place of the model's own; NULL: its own */
	const char *
		pre; /* tokenizer.ggml.pre; NULL: the name that means exactly what the tokenizer does */
	/*
	 * What GGUF cannot say exactly (a split pattern, flags that a `pre` implies, a sliding window) is refused by name unless ALLOW has
	 * that name; what was let through stands in the notes.
	 */
	const char *const *allow;
	size_t n_allow;
	bool plain; /* no nnutils.* keys and no tokenizer.huggingface.json */
};

/* PATH: a folder or a .gguf (split ones by their first part). -1 with the error set. */
int gguf_source_open(struct gguf_source **out, const char *path,
		     const struct gguf_source_options *o);
void gguf_source_close(struct gguf_source *s); /* NULL is allowed */

/* The model underneath, and its configuration (NULL: an architecture that we do not know, of a .gguf). */
struct model *gguf_source_model(const struct gguf_source *s);
const struct hf_config *gguf_source_config(const struct gguf_source *s);

/* In the order in which they are to be written. Name, dtype, n_dims, shape (slowest first), n_bytes; DATA only where the bytes lie in a map
   as they are. Valid until close. */
size_t gguf_source_n(const struct gguf_source *s);
const struct tensor_info *gguf_source_tensor(const struct gguf_source *s, size_t i);

/*
 * Rows FIRST to FIRST + N - 1 (runs along the last axis, all other axes taken together; a vector is one row) of tensor I to OUT: as its
 * dtype has them, or as f32. Any thread may call it, several at once.
 */
int gguf_source_rows(const struct gguf_source *s, size_t i, uint64_t first, uint64_t n, void *out);
int gguf_source_rows_f32(const struct gguf_source *s, size_t i, uint64_t first, uint64_t n,
			 float *out);

/* Declares every key in W, but those whose names are in LEFT_OUT (general.file_type and the like, which the caller writes itself). */
int gguf_source_put_keys(const struct gguf_source *s, struct gguf_writer *w,
			 const char *const *left_out, size_t n_left_out);

/* Lines for people: what was guessed, let through, or rounded (gemma's norms: how many). Valid until close. */
const struct buffer *gguf_source_notes(const struct gguf_source *s);

#endif
