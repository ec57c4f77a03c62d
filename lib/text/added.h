/*
 * lib/text/added.h - added tokens, found in text before anything else looks at it
 *
 * As `tokenizers`' AddedVocabulary: those that are not `normalized` are looked for in the text as it is, then what lies
 * between them is normalized, then the `normalized` ones are looked for there, by their own normalized text.
 * Of several at one place the longest wins. single_word needs no word character on either side; lstrip and
 * rstrip take the white space beside it.
 */
#ifndef LIB_TEXT_ADDED_H
#define LIB_TEXT_ADDED_H

#include "lib/text/spec.h"

struct added_set; /* immutable; any number of threads */

/* One of a set's texts, its token and how it matches. TEXT must outlive the set. */
struct added_entry {
	struct bytes text;
	const struct added_spec *token;
};

/* ENTRIES with an empty text are left out; of two with one text the later wins. */
int added_set_new(struct added_set **out, const struct added_entry *entries, size_t n);
void added_set_free(struct added_set *s); /* NULL is allowed */

/* Bytes FROM to TO of the text are TOKEN. */
struct added_match {
	size_t from, to;
	const struct added_spec *token;
};

/* How far a search has come: zeroed at the start of a text. */
struct added_search {
	size_t resume; /* where the next bare text may begin */
	size_t last;   /* where the last match ended, stripped white space included */
};

/*
 * The next match in TEXT: 1 and *OUT, or 0. With NO_SPECIAL, special tokens do not match (their text is ordinary
 * text). OUT->from is before search->last only where a token that begins with white space follows one that
 * strips it: then both hold that space, as in the peer.
 */
int added_set_find(const struct added_set *s, struct bytes text, struct added_search *search,
		   bool no_special, struct added_match *out);

#endif
