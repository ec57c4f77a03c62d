/*
 * lib/text/regex.h - regular expressions of other engines, run by PCRE2
 *
 * A pattern in the dialect of its file is translated to a PCRE2 pattern that matches the same: classes
 * (\p{..} \s \w \d \h \b, POSIX brackets) become explicit ranges of the dialect's own Unicode version, && is
 * worked out, possessive and greedy marks, ^ $ and flags are rewritten to mean what they mean there
 * (man/man7/nnutils-regex.7 has the table). A construct that the translator does not know is ERR_UNSUPPORTED and
 * named with its place. Compiled with PCRE2's JIT.
 */
#ifndef LIB_TEXT_REGEX_H
#define LIB_TEXT_REGEX_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

struct regex;	      /* immutable; any number of threads */
struct regex_scratch; /* one a thread */

int regex_new(struct regex **out, struct bytes pattern, enum regex_dialect dialect);
void regex_free(struct regex *r); /* NULL is allowed */
int regex_scratch_new(struct regex_scratch **out);
void regex_scratch_free(struct regex_scratch *s); /* NULL is allowed */

/*
 * The first match in TEXT (well-formed UTF-8) at or after FROM, as the source engine's find_iter would: 1 with
 * *BEGIN and *END, 0 when there is none, -1 with the error set (match limit, named).
 * Look-behind sees what is before FROM. Going through a text, both engines skip an empty match where the match before
 * it ended: the caller then looks again from the next character.
 */
int regex_find(const struct regex *r, struct regex_scratch *s, struct bytes text, size_t from,
	       size_t *begin, size_t *end);

/* The PCRE2 pattern that PATTERN becomes, for tests and for people. */
int regex_translate(struct buffer *out, struct bytes pattern, enum regex_dialect dialect);

#endif
