/*
 * lib/data/token_contents.h - what a file of token ids holds, once it was read whole
 *
 * Every byte is looked at: counts and hashes must agree, and nothing may follow.
 */
#ifndef LIB_DATA_TOKEN_CONTENTS_H
#define LIB_DATA_TOKEN_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/team.h"

struct token_contents {
	bool packed; /* a packed file; else a stream */
	uint64_t documents, tokens, separators, runs;
};

/* PATH is a packed file, which must be a regular one, or a stream; `-` is stdin. T may be NULL. */
int token_contents_read(struct token_contents *out, const char *path, struct team *t);

#endif
