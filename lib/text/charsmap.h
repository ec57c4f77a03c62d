/*
 * lib/text/charsmap.h - SentencePiece's precompiled character map
 *
 * A u32 with the bytes of a double-array trie (Darts: units of u32, little-endian), the trie, whose
 * keys are UTF-8 and whose values are offsets into what follows it: UTF-8 texts, each with a NUL after it.
 */
#ifndef LIB_TEXT_CHARSMAP_H
#define LIB_TEXT_CHARSMAP_H

#include <stdbool.h>

#include "lib/base/bytes.h"

struct charsmap;

/* DATA must outlive it. ERR_FORMAT when the sizes do not fit or the texts are not UTF-8. */
int charsmap_new(struct charsmap **out, struct bytes data);
void charsmap_free(struct charsmap *m); /* NULL is allowed */

/*
 * The shortest key that TEXT starts with, as `tokenizers` looks it up: 1 with what it
 * stands for in *PUT, which points into the map; 0 when there is none; -1 with the error set when the map's value
 * points past its texts or into a character. A NUL is part of no key.
 */
int charsmap_find(const struct charsmap *m, struct bytes text, struct bytes *put);

/* The longest key, as SentencePiece looks it up: 1 with its bytes to *TAKEN; else as charsmap_find. */
int charsmap_find_longest(const struct charsmap *m, struct bytes text, struct bytes *put,
			  size_t *taken);

/* Whether a key starts with byte A, and one with A and then B. */
bool charsmap_begins(const struct charsmap *m, unsigned char a);
bool charsmap_begins_two(const struct charsmap *m, unsigned char a, unsigned char b);

#endif
