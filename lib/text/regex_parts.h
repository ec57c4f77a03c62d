/* lib/text/regex_parts.h - what the parts of the translator share: regex_parse.c, regex_escape.c, regex_set.c */
#ifndef LIB_TEXT_REGEX_PARTS_H
#define LIB_TEXT_REGEX_PARTS_H

#include "lib/base/err.h"
#include "lib/text/charset.h"
#include "lib/text/regex.h"

#define REGEX_SIZE_MAX	 65536	    /* bytes of a pattern */
#define REGEX_OUTPUT_MAX (4u << 20) /* bytes of its translation */
#define REGEX_DEPTH_MAX	 64	    /* groups and sets inside each other */
#define REGEX_REPEAT_MAX 65535	    /* PCRE2's */

struct regex_flags {
	bool any_case;	/* (?i) */
	bool dot_all;	/* Oniguruma's (?m), Rust's (?s) */
	bool per_line;	/* Rust's (?m); always on for Oniguruma */
	bool free_form; /* (?x) */
};

struct translator {
	struct bytes in;
	size_t at;
	enum regex_dialect dialect;
	struct regex_flags flags;
	int depth;
	struct buffer *out;
	uint32_t tail
		[3]; /* literals just before, newest last, to see what folds to several characters */
};

/* -1 with `regular expression: byte N: WHAT`. */
int regex_refuse(const struct translator *t, enum err_code code, size_t at, const char *what);

static inline bool regex_more(const struct translator *t)
{
	return t->at < t->in.size;
}

/* The byte AHEAD of the present one, or -1. */
static inline int regex_peek(const struct translator *t, size_t ahead)
{
	return ahead < t->in.size - t->at ? (unsigned char)t->in.data[t->at + ahead] : -1;
}

bool regex_take(struct translator *t, const char *text); /* steps over TEXT if it is next */
/* The next character, well-formed or not, stepping over it. */
int regex_character(struct translator *t, uint32_t *out);

enum escape_kind {
	ESCAPE_CHARACTER,
	ESCAPE_SET,
	ESCAPE_ASSERTION, /* A Z z b B; not in a set */
};

struct escape {
	enum escape_kind kind;
	uint32_t character;
	struct charset set; /* the caller frees */
	bool negated_set;   /* SET is given as it is before the negation */
	char assertion;
};

/* At a backslash; steps over the escape. IN_SET: between brackets. */
int regex_escape(struct translator *t, bool in_set, struct escape *out);

/* At a `[`: the set that the brackets stand for, case folded if asked; steps over it. */
int regex_set(struct translator *t, struct charset *out);

/* -1 when Oniguruma would let a member of S match several characters. */
int regex_refuse_multi(struct translator *t, const struct charset *s, size_t at);

#endif
