/*
 * formats/logits_file.h - the logits of a model for given tokens, kept to be compared with
 *
 * A safetensors file (man/man5/logits.5) that says what it was made of: the model's hash, the tokenizer's fingerprint, the tokens, what was
 * computed in and at which level. Its key is a hash of all of these, so that equal questions have one file.
 */
#ifndef FORMATS_LOGITS_FILE_H
#define FORMATS_LOGITS_FILE_H

#include "kernels/dtype.h"
#include "lib/base/hash.h"
#include "lib/base/outfile.h"

/* Windows of tokens: window I holds IDS from STARTS[I] on, up to STARTS[I + 1]. */
struct logits_tokens {
	const uint32_t *ids;
	const uint64_t *starts; /* n_windows + 1 of them, the first 0 */
	size_t n_windows;
};

struct logits_origin {
	struct hash128 model;		       /* lm_hash */
	struct hash128 tokenizer;	       /* of plain text */
	const char *name;		       /* of the model, for people */
	const char *weights;		       /* the type of most of their bytes */
	const char *compute, *cache, *kernels; /* types, and the level or device */
	uint32_t context;
	uint32_t vocab;
	enum dtype dtype; /* of the logits in the file: F32 or F16 */
};

/* Of what the logits are, not of what they came to. -1: no memory. */
int logits_key(struct hash128 *out, const struct logits_origin *o, const struct logits_tokens *t);

/* --- writing --- */

struct logits_writer;
int logits_writer_new(struct logits_writer **out, struct outfile *f, const struct logits_origin *o,
		      const struct logits_tokens *t);
void logits_writer_free(struct logits_writer *w); /* NULL is allowed */
/* The next N rows, f32 [n, vocab]. */
int logits_writer_rows(struct logits_writer *w, const float *rows, size_t n);
int logits_writer_end(struct logits_writer *w); /* -1 unless every token had its row */

/* --- reading --- */

struct logits_file;
/* 1 and the file; 0: a file of another kind; -1 with the error set. PATH outlives it. */
int logits_file_open(struct logits_file **out, const char *path);
/* DATA and NAME, for messages, outlive it. */
int logits_file_open_memory(struct logits_file **out, const void *data, size_t size,
			    const char *name);
void logits_file_close(struct logits_file *f); /* NULL is allowed */
/* Both live until close. */
const struct logits_origin *logits_file_origin(const struct logits_file *f);
const struct logits_tokens *logits_file_tokens(const struct logits_file *f);
/* Rows FIRST to FIRST + N - 1 of all tokens to OUT, f32 [n, vocab]. */
void logits_file_rows(const struct logits_file *f, uint64_t first, size_t n, float *out);

#endif
