/*
 * lib/infer/stop_text.h - strings that end a text, found wherever pieces of it begin and end
 *
 * Text that may be the beginning of such a string is held back until it is known whether it is one. The first string to be whole ends
 * the text; of several that end at the same byte, the longest.
 */
#ifndef LIB_INFER_STOP_TEXT_H
#define LIB_INFER_STOP_TEXT_H

#include "lib/base/buffer.h"

struct stop_text;

/* STRINGS outlive it, and none is empty; there may be none. -1 with the error set. */
int stop_text_new(struct stop_text **out, const struct bytes *strings, size_t n);
void stop_text_free(struct stop_text *s); /* NULL is allowed */

/* Reads TEXT, and appends to OUT what is certain not to belong to a stop. 1: a stop is whole, and OUT
   has all that stood before it. -1: no memory. */
int stop_text_add(struct stop_text *s, struct bytes text, struct buffer *out);
/* No more text comes: appends what was held back (nothing after a stop). */
void stop_text_end(struct stop_text *s, struct buffer *out);
/* The string that ended the text, as an index; -1: none did. */
int stop_text_found(const struct stop_text *s);

#endif
