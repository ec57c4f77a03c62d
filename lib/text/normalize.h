/*
 * lib/text/normalize.h - the normalizers of `tokenizers`, each to the byte
 *
 * Their tables differ in Unicode version (man page nnutils-unicode(7)); lib/text/unicode_normalize.h has them as derived
 * from the pinned peer by scripts/gen-unicode.
 */
#ifndef LIB_TEXT_NORMALIZE_H
#define LIB_TEXT_NORMALIZE_H

#include "lib/text/spec.h"
#include "lib/text/text.h"

struct normalizer;

/* Compiles N steps (patterns, character maps). SPECS' bytes must outlive it. */
int normalizer_new(struct normalizer **out, const struct normalizer_spec *specs, size_t n);
void normalizer_free(struct normalizer *n); /* NULL is allowed */

/* Any thread; SCRATCH is the caller's and lends its memory. 0, or -1 with the error set (memory). */
int normalizer_run(const struct normalizer *n, struct text *text, struct text *scratch);

/*
 * Bytes at the start of DATA that no step changes and that no step's change to what follows can reach
 * back into (ASCII under NFC, say): N when the whole text is left as it is. So that plain text is not copied.
 */
size_t normalizer_unchanged(const struct normalizer *n, const char *data, size_t size);

#endif
