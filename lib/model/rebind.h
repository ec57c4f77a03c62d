/*
 * lib/model/rebind.h - a checkpoint's tensors under another format's names and in its order, row by row
 *
 * Hugging Face's files and GGUF hold the same parameters: names differ, gpt2's matrices lie the other way round, rows of q and k are paired
 * in llama's GGUF, and gemma's norms are larger by 1 there. The rules of both formats (lib/model/lm.h) say what becomes what; nothing
 * is held in memory but the rows that are asked for.
 */
#ifndef LIB_MODEL_REBIND_H
#define LIB_MODEL_REBIND_H

#include "formats/model.h"
#include "lib/base/arena.h"
#include "lib/base/buffer.h"

/* A tensor that is to be written, and where its values come from. */
struct rebound {
	struct tensor_info to; /* no data; the dtype is FROM's until rebind_retype */
	const struct tensor_info *from;
	uint64_t paired; /* rows a head whose order changes; 0: none */
	bool to_pairs;	 /* halves become pairs of neighbours; else back */
	bool transposed;
	double added; /* to the values of FROM */
};

struct rebind {
	struct rebound *items; /* in the order in which the model uses them */
	size_t n;
	/* Of the model: what the other format has no place for, and what no rule names. */
	const struct tensor_info **dropped, **unknown;
	size_t n_dropped, n_unknown;
	struct arena *arena;
};

/*
 * Every parameter that C asks for, out of M, for a file of the kind TO. A tensor that is missing or of another shape: -1 with the error
 * set, naming it as M does. M must outlive *OUT.
 */
int rebind_new(struct rebind **out, const struct model *m, const struct hf_config *c,
	       enum model_kind to);
void rebind_free(struct rebind *r); /* NULL is allowed */

/* The values are to be of T, a plain float type unless it is FROM's. False: there is no such size. */
bool rebind_retype(struct rebound *r, enum dtype t);
/* Whether the bytes of FROM are those of TO. */
bool rebind_is_plain(const struct rebound *r);

/*
 * Rows FIRST to FIRST + N - 1 (runs along the last axis; a vector is one row) into OUT, as f32 or as TO's dtype has them. -1: values of a type that
 * are not decoded. Any thread may call them.
 */
int rebind_rows_f32(const struct rebound *r, uint64_t first, uint64_t n, float *out);
int rebind_rows(const struct rebound *r, uint64_t first, uint64_t n, void *out);
/* How many rows there are, and values in each. */
uint64_t rebind_n_rows(const struct tensor_info *t);
uint64_t rebind_row_values(const struct tensor_info *t);

/* How many values of R are not what FROM's are, with what was added, in the precision of TO's dtype. */
int rebind_inexact(const struct rebound *r, uint64_t *out);

#endif
