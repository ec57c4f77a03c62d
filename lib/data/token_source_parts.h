/* lib/data/token_source_parts.h - what a kind of source gives to token_source.c */
#ifndef LIB_DATA_TOKEN_SOURCE_PARTS_H
#define LIB_DATA_TOKEN_SOURCE_PARTS_H

#include "lib/data/token_source.h"

struct token_source {
	const struct token_source_kind *kind;
	void *state; /* the kind's own */
	char *name;
	struct token_header header;
	uint32_t separator;
	struct token_counts counts;
	bool failed;
};

struct token_source_kind {
	/* Sets state (which close frees, also after a failure) and, where the file says it, header. */
	int (*open)(struct token_source *s, const char *path);
	int (*next)(struct token_source *s, struct token_event *e);
	void (*close)(void *state);
};

extern const struct token_source_kind token_source_stream, token_source_packed, token_source_ids,
	token_source_llmc, token_source_nanogpt;

/* -1, naming the source, when one of N ids is not below the vocabulary size. */
int token_source_check(const struct token_source *s, uint32_t top);

#endif
