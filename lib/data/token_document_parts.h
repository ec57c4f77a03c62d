/* lib/data/token_document_parts.h - what a kind of input gives to token_document.c */
#ifndef LIB_DATA_TOKEN_DOCUMENT_PARTS_H
#define LIB_DATA_TOKEN_DOCUMENT_PARTS_H

#include "formats/token_stream.h"
#include "lib/base/buffer.h"
#include "lib/data/token_document.h"
#include "lib/text/decode.h"

struct token_documents {
	const struct tokenizer *tokenizer;
	struct token_document_options o;
	const struct token_document_kind *kind;
	void *state; /* the kind's own */
	uint64_t number;
	size_t limit; /* of the present document */

	/* The present document. */
	uint32_t *ids;
	struct token_span *spans;
	uint8_t *roles;
	size_t n, ids_capacity, spans_capacity, roles_capacity;
	bool has_roles, cut;
	struct bytes text;

	/* Of tokens: */
	struct text_decoder *decoder;
	size_t lag; /* tokens that the decoder holds back */
	struct buffer decoded;
};

struct token_document_kind {
	/* Sets state, which close frees, also after a failure. */
	int (*open)(struct token_documents *d);
	/* 1: ids, and roles or spans and text as the kind has them; 0 at the end; -1. PASS: it is not wanted. */
	int (*next)(struct token_documents *d, bool pass);
	void (*close)(void *state);
	bool has_text; /* spans and text come with it; else they are decoded */
};

extern const struct token_document_kind token_document_source, token_document_pack,
	token_document_text;

/* Adds ids up to the limit, and notes when there were more. */
int token_document_add(struct token_documents *d, const uint32_t *ids, size_t n);
/* The role of tokens that were added; those past the limit are not meant. */
int token_document_role(struct token_documents *d, const struct token_run *run);

#endif
