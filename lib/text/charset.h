/*
 * lib/text/charset.h - sets of code points, as sorted ranges
 *
 * What the classes of a regular expression are worked out with before PCRE2 sees them. Surrogates may lie inside
 * a range and mean nothing.
 */
#ifndef LIB_TEXT_CHARSET_H
#define LIB_TEXT_CHARSET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

struct char_range {
	uint32_t first, last;
};

/* A zeroed struct is the empty set. Sorted, apart from each other, never touching. */
struct charset {
	struct char_range *items; /* owned */
	size_t n, capacity;
};

void charset_free(struct charset *s);
/* These change S; 0, or -1 with the error set (memory). */
int charset_add(struct charset *s, uint32_t first, uint32_t last);
int charset_unite(struct charset *s, const struct charset *other);
int charset_intersect(struct charset *s, const struct charset *other);
int charset_invert(struct charset *s);

/* Adds the set called NAME (lib/text/unicode_regex.h) in DIALECT: 1, 0 when there is none, -1 for memory. */
int charset_add_named(struct charset *s, struct bytes name, enum regex_dialect dialect);
/* Adds what each member matches under (?i), as one character. */
int charset_fold(struct charset *s, enum regex_dialect dialect);
bool charset_has(const struct charset *s, uint32_t code_point);

/* As a PCRE2 class, all ASCII. */
void charset_write(const struct charset *s, struct buffer *out);

#endif
