/*
 * lib/data/token_output.h - one file of token ids, or a folder of several that share the documents
 *
 * A file appears under its name, and a folder with all of its files, when all of them are whole.
 *
 *	token_output_new(&t, "data/", split, n, "");
 *	token_output_open(t, &options);			 once it is known whose tokens come
 *	token_router_add(token_output_router(t), ...);
 *	token_output_commit(t, seed, &counts);
 */
#ifndef LIB_DATA_TOKEN_OUTPUT_H
#define LIB_DATA_TOKEN_OUTPUT_H

#include "formats/token_stream.h"
#include "lib/data/token_router.h"

#define TOKEN_OUTPUT_PARTS_MAX 9

struct token_output_options {
	enum token_format format;
	struct token_header header;
	struct token_pack_options pack;
	bool shuffle;
};

/* A file that was written. */
struct token_output_file {
	const char *path; /* NULL: stdout */
	struct token_sink_counts counts;
};

struct token_output;

/*
 * SPLIT are N texts NAME=SHARE; what they leave goes to the part `train`, which is the last. PATH is a folder when it ends
 * in a slash or is one, and must be with any SPLIT; `-` is stdout. PATH and KEY (token_split.h) must outlive it. Nothing is
 * made on the disk yet.
 */
int token_output_new(struct token_output **out, const char *path, const char *const *split,
		     size_t n, const char *key);
void token_output_free(
	struct token_output *t); /* NULL is allowed; what was not committed does not appear */

int token_output_open(struct token_output *t, const struct token_output_options *o);
struct token_router *token_output_router(const struct token_output *t); /* where documents go */

/*
 * Ends all files; SEED is for the shuffling. IN are the documents and tokens that came: every one of them must have gone out,
 * and nothing else but separators.
 */
int token_output_commit(struct token_output *t, uint64_t seed, const struct token_counts *in);

/* Of the files, after that. */
size_t token_output_files(const struct token_output *t);
struct token_output_file token_output_file(const struct token_output *t, size_t i);

#endif
