/*
 * formats/token_header.h - whose tokens these are
 *
 * The first 80 bytes that token streams and packed token files share (man/man5/token-stream.5), and
 * what decides whether two of them belong together.
 */
#ifndef FORMATS_TOKEN_HEADER_H
#define FORMATS_TOKEN_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"
#include "lib/text/spec.h"

#define TOKEN_HEADER_SIZE  80
#define TOKEN_VOCAB_MAX	   ((uint32_t)1 << 31)
#define TOKEN_STREAM_MAGIC "NNTOKSTR"
#define TOKEN_PACK_MAGIC   "NNTOKPAK"

struct token_header {
	uint32_t vocab;		/* every id is below it; 1 to TOKEN_VOCAB_MAX */
	uint32_t bos, eos, pad; /* below vocab, or TOKEN_NONE */
	struct hash128 plain;	/* of what decides the ids of plain text; zeros: not known */
	struct hash128 whole;	/* of the whole tokenizer */
};

/* Bytes an id: 2 up to a vocabulary of 65,536, then 4. */
static inline uint32_t token_width(uint32_t vocab)
{
	return vocab <= 65536 ? 2 : 4;
}

/* 0, or -1 with the error set, naming NAME, when a field is out of its range. */
int token_header_check(const struct token_header *h, const char *name);

/* H was checked. MAGIC is one of the two above. */
void token_header_encode(const struct token_header *h, const char *magic,
			 unsigned char out[TOKEN_HEADER_SIZE]);

/* From the N bytes at the start of NAME. What is wrong is told with its byte. */
int token_header_decode(struct token_header *h, const char *magic, const void *data, size_t n,
			const char *name);

/* Whether the tokenizer is known. */
bool token_header_known(const struct token_header *h);

/* 0 when tokens of A and B may be mixed: the same vocabulary size and the same first fingerprint.
   Else -1 with an error that names both sides. */
int token_header_match(const struct token_header *a, const char *name_a,
		       const struct token_header *b, const char *name_b);

/* --- roles --- */

enum token_role {
	ROLE_TEXT, /* no run covers the token */
	ROLE_PROMPT,
	ROLE_COMPLETION,
	ROLE_SYSTEM,
	ROLE_USER,
	ROLE_ASSISTANT,
	ROLE_TOOL,
	ROLE_SCAFFOLD,
	N_ROLES,
};

#define ROLE_BIT(r) ((uint32_t)1 << (r))
#define ROLES_ALL   (ROLE_BIT(N_ROLES) - 1)
/* Learnt unless something else is said: plain text and what the model itself says. */
#define ROLES_LEARNT (ROLE_BIT(ROLE_TEXT) | ROLE_BIT(ROLE_COMPLETION) | ROLE_BIT(ROLE_ASSISTANT))

#define TOKEN_RUN_SIZE 24

/* LENGTH tokens from START on have ROLE. */
struct token_run {
	uint64_t start, length;
	uint32_t role;
};

void token_run_encode(const struct token_run *r, unsigned char out[TOKEN_RUN_SIZE]);
/* NULL, or what is wrong with the run by itself: a length of 0, a role that is none, a sum that wraps. */
const char *token_run_decode(struct token_run *r, const unsigned char data[TOKEN_RUN_SIZE]);

const char *token_role_name(enum token_role r);
int token_role_find(const char *name, enum token_role *out); /* -1 with the error set */

/* --- ids as they lie in files --- */

/* Writes N ids with WIDTH (2 or 4) bytes each. They fit. */
void token_ids_encode(unsigned char *out, const uint32_t *ids, size_t n, uint32_t width);
/* Reads N ids, and returns the largest, 0 for none. */
uint32_t token_ids_decode(uint32_t *out, const unsigned char *data, size_t n, uint32_t width);

#endif
