/*
 * lib/data/token_router.h - documents of a stream, each to its part of a split
 *
 * Which part a document belongs to is known from its first ids (token_split.h): until then they are held here, SPLIT_IDS_MAX
 * at most, with the runs of their roles; from then on they go straight to the part's sink, or to its shuffle.
 */
#ifndef LIB_DATA_TOKEN_ROUTER_H
#define LIB_DATA_TOKEN_ROUTER_H

#include "lib/data/token_shuffle.h"
#include "lib/data/token_sink.h"
#include "lib/data/token_split.h"

struct token_part {
	double share; /* of the documents; the last part takes what is left */
	struct token_sink *sink;
	struct token_shuffle *shuffle; /* or NULL */
};

struct token_router;

/* PARTS, N of them, are copied; what they point to, and KEY, stay the caller's and outlive the router. */
int token_router_new(struct token_router **out, const struct token_part *parts, uint32_t n,
		     const char *key);
void token_router_free(struct token_router *r); /* NULL is allowed */

/* The next ids of the document, and the role of some of them. 0, or -1 with the error set. */
int token_router_add(struct token_router *r, const uint32_t *ids, size_t n);
int token_router_add_run(struct token_router *r, const struct token_run *run);
/* Ends the document with SEPARATOR, unless that is TOKEN_NONE, or it ends so by itself, or has no ids. */
int token_router_end_document(struct token_router *r, uint32_t separator);

#endif
