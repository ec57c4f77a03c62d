/*
 * lib/text/token_kind.h - what sort of token an id is, and which bytes it stands for
 */
#ifndef LIB_TEXT_TOKEN_KIND_H
#define LIB_TEXT_TOKEN_KIND_H

#include "lib/text/tokenizer.h"

enum token_kind {
	TOKEN_KIND_NORMAL,
	TOKEN_KIND_SPECIAL, /* added, and control: BOS, the ends of turns */
	TOKEN_KIND_ADDED,   /* added, and text like any other */
	TOKEN_KIND_BYTE,    /* `<0x0A>` of a model that falls back to bytes */
	TOKEN_KIND_UNKNOWN, /* what the model says for text that it has no piece for */
	TOKEN_KIND_NONE,    /* no such id */
	N_TOKEN_KINDS,
};

/* `normal`, `special`, `added`, `byte`, `unknown`, `none`. */
const char *token_kind_name(enum token_kind k);

/* The unknown token is that first, whatever else it is. */
enum token_kind token_kind(const struct tokenizer *t, uint32_t id);

/*
 * The bytes that the token stands for: as tokenizer_piece, but a byte token's are its one byte, which goes to
 * BYTE. Valid as long as T and BYTE.
 */
struct bytes token_bytes(const struct tokenizer *t, uint32_t id, char *byte);

#endif
