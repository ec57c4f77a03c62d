/*
 * lib/text/literal.h - looks for one string, in time linear in the text whatever the string
 *
 * Knuth, Morris and Pratt (1977). A search can also go over a text that comes in parts.
 */
#ifndef LIB_TEXT_LITERAL_H
#define LIB_TEXT_LITERAL_H

#include "lib/base/bytes.h"

struct literal {
	struct bytes text; /* borrowed; not empty */
	size_t *border; /* owned: of each start of TEXT the length of the longest border, its last byte included */
};

/* 0, or -1 with the error set. TEXT is not empty and must outlive it. */
int literal_new(struct literal *l, struct bytes text);
void literal_free(struct literal *l); /* a zeroed struct is allowed */

/* The bytes of L that a search has matched when BYTE comes after MATCHED (< size) of them. */
size_t literal_step(const struct literal *l, size_t matched, char byte);
/* The first match in TEXT at or after FROM: its beginning, or text.size. */
size_t literal_find(const struct literal *l, struct bytes text, size_t from);

#endif
