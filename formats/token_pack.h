/*
 * formats/token_pack.h - documents of token ids in a file that is mapped
 *
 * man/man5/token-pack.5 describes the format. Opening costs the same for any size, so it looks neither at
 * the ids nor at the tables: every function that takes something from them checks it.
 */
#ifndef FORMATS_TOKEN_PACK_H
#define FORMATS_TOKEN_PACK_H

#include "formats/token_header.h"
#include "lib/base/outfile.h"
#include "lib/base/team.h"

/* How windows are filled from documents (lib/data/windows.h). */
enum token_fit {
	FIT_NONE, /* not said */
	FIT_CUT,
	FIT_BEST,
	FIT_ONE,
	N_FITS,
};

struct token_pack_info {
	struct token_header header;
	uint64_t n_tokens, n_documents, n_runs;
	uint64_t n_separators; /* of the tokens */
	uint32_t learnt;       /* bits of roles */
	enum token_fit fit;
	uint64_t window; /* the length that was meant; 0: not said */
};

/* --- reading --- */

struct token_pack;

int token_pack_open(struct token_pack **out, const char *path);
/* DATA must outlive the pack; NAME, for messages, is copied. */
int token_pack_open_memory(struct token_pack **out, const void *data, size_t size,
			   const char *name);
void token_pack_close(struct token_pack *p); /* NULL is allowed */

const struct token_pack_info *token_pack_info(const struct token_pack *p);
const char *token_pack_name(const struct token_pack *p);
/* As the end record says; token_pack_check compares it with the bytes. */
struct hash128 token_pack_hash(const struct token_pack *p);

/* What was read of the file leaves the process's memory: of a large one it would grow with all that was ever looked at. */
void token_pack_forget(const struct token_pack *p);

/* N ids from token AT on. -1 past the end, or when one is not below the vocabulary size. */
int token_pack_read(const struct token_pack *p, uint64_t at, size_t n, uint32_t *ids);

/* Document I (below n_documents) has the tokens from *FROM to *TO. */
int token_pack_document(const struct token_pack *p, uint64_t i, uint64_t *from, uint64_t *to);
/* The document of token AT (below n_tokens); of several that begin there the last, which is not empty. */
int token_pack_find(const struct token_pack *p, uint64_t at, uint64_t *document);

/* Run I (below n_runs), counted from the first token of the file. */
int token_pack_run(const struct token_pack *p, uint64_t i, struct token_run *run);
/* The first run that ends after token AT; n_runs when there is none. */
int token_pack_find_run(const struct token_pack *p, uint64_t at, uint64_t *run);
/* The roles of N tokens from AT on. */
int token_pack_roles(const struct token_pack *p, uint64_t at, size_t n, uint8_t *roles);

/* Everything: hash, ids, tables, gaps. T may be NULL. Reads the whole file. */
int token_pack_check(const struct token_pack *p, struct team *t);

/* --- writing --- */

struct token_pack_options {
	uint32_t learnt; /* bits of roles */
	enum token_fit fit;
	uint64_t window;
};

struct token_pack_writer;

/* F stays the caller's, who commits it after token_pack_end. Tables are put aside near NEAR. */
int token_pack_new(struct token_pack_writer **out, struct outfile *f, const struct token_header *h,
		   const struct token_pack_options *o, const char *near);
void token_pack_free(struct token_pack_writer *w); /* NULL is allowed */

/* An id at or past the vocabulary size is refused. */
int token_pack_add(struct token_pack_writer *w, const uint32_t *ids, size_t n);
/* One more id of the document, counted as a separator. */
int token_pack_add_separator(struct token_pack_writer *w, uint32_t id);
/* Counted from the start of the document, whose tokens were added; ascending. */
int token_pack_add_run(struct token_pack_writer *w, const struct token_run *run);
int token_pack_end_document(struct token_pack_writer *w);
/* Tables and the end record. */
int token_pack_end(struct token_pack_writer *w);

#endif
