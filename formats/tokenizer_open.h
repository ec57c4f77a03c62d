/*
 * formats/tokenizer_open.h - a tokenizer ready for use, from whatever file holds one
 */
#ifndef FORMATS_TOKENIZER_OPEN_H
#define FORMATS_TOKENIZER_OPEN_H

#include "formats/token_header.h"
#include "lib/base/arena.h"
#include "lib/text/tokenizer.h"

/*
 * Reads PATH (formats/tokenizer_file.h) and compiles it. SPLIT: the pattern of a rank file by its name, or NULL. The spec
 * lives in ARENA, which must outlive *OUT.
 */
int tokenizer_open(struct tokenizer **out, struct arena *arena, const char *path,
		   const char *split);

/*
 * Whether tokens with the header H, of the file NAME, are of T, which PATH holds. 0, also when H does not say; else -1
 * with an error that names both.
 */
int tokenizer_match(const struct tokenizer *t, const char *path, const struct token_header *h,
		    const char *name);

#endif
