/*
 * lib/model/gguf_import.h - a GGUF written as a Hugging Face folder
 *
 * What gguf_source wrote under `nnutils.*` and `tokenizer.huggingface.json` comes back as it was; of another program's file what can be made of
 * its keys, and the notes say what was guessed.
 */
#ifndef LIB_MODEL_GGUF_IMPORT_H
#define LIB_MODEL_GGUF_IMPORT_H

#include "formats/model.h"
#include "lib/base/progress.h"
#include "lib/model/narrow.h"

struct gguf_import_options {
	/*
	 * Of all tensors: f32, f16 or bf16. DTYPE_UNKNOWN: matrices of a plain type keep it, blocks become f16 (bf16 in a gemma3, whose
	 * activations pass f16's range), and vectors have the type that they once had, else that of most matrices.
	 */
	enum dtype dtype;
	bool clamp; /* see struct narrow */
	bool unknown_tensors; /* those that the architecture does not have are left out; else they are refused */
	bool no_tokenizer; /* one that cannot be written as tokenizer.json is left out */
};

struct gguf_import;

/* M, a GGUF, must outlive *OUT. */
int gguf_import_new(struct gguf_import **out, struct model *m, const struct gguf_import_options *o);
void gguf_import_free(struct gguf_import *i); /* NULL is allowed */

/* Bytes of the tensors that will be written. */
uint64_t gguf_import_bytes(const struct gguf_import *i);
/* Writes the folder TARGET, which must not exist or be empty, and appears when it is whole. P may be NULL; it counts bytes. */
int gguf_import_write(struct gguf_import *i, const char *target, struct progress *p);

/* After writing. Lines for people. */
const struct buffer *gguf_import_notes(const struct gguf_import *i);
struct gguf_import_report {
	uint64_t n_tensors, n_decoded, bytes; /* n_decoded: of block types */
	enum dtype blocks;		      /* what these became */
	uint64_t n_rounded; /* values of plain types that a narrower type does not have */
	uint64_t n_clamped, n_inexact; /* norms of gemma, less 1 */
};
struct gguf_import_report gguf_import_report(const struct gguf_import *i);

#endif
