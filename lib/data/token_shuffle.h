/*
 * lib/data/token_shuffle.h - documents put aside, and given back in another order
 *
 * Ids, runs and the table of documents lie in spools (formats/token_spool.h), so that memory does not grow
 * with the corpus; the disk holds it twice while it is shuffled. The order is random_permute of the
 * seed, scope "documents" and the name that the caller gives.
 */
#ifndef LIB_DATA_TOKEN_SHUFFLE_H
#define LIB_DATA_TOKEN_SHUFFLE_H

#include "lib/data/token_sink.h"

struct token_shuffle;

int token_shuffle_new(struct token_shuffle **out, uint32_t vocab, const char *near);
void token_shuffle_free(struct token_shuffle *s); /* NULL is allowed */

int token_shuffle_add(struct token_shuffle *s, const uint32_t *ids, size_t n);
int token_shuffle_add_run(struct token_shuffle *s, const struct token_run *run);
/* SEPARATOR goes after the document's ids, unless it is TOKEN_NONE. */
int token_shuffle_end_document(struct token_shuffle *s, uint32_t separator);

/* Everything to SINK. Once, at the end. */
int token_shuffle_give(struct token_shuffle *s, struct token_sink *sink, uint64_t seed,
		       const char *name);

#endif
