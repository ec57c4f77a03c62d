/* lib/text/pretokenize_parts.h - what the files of the pre-tokenizers share */
#ifndef LIB_TEXT_PRETOKENIZE_PARTS_H
#define LIB_TEXT_PRETOKENIZE_PARTS_H

#include "lib/text/literal.h"
#include "lib/text/pretokenize.h"
#include "lib/text/regex.h"
#include "lib/text/scanner.h"

enum step_kind {
	/* cut at single characters */
	STEP_CLASS,
	STEP_DELIMITER,
	STEP_WORDS,
	STEP_FIXED_LENGTH,
	STEP_SCRIPTS,
	/* cut by a pattern */
	STEP_LITERAL,
	STEP_REGEX,
	STEP_SCANNER,
	/* change the text, and cut nothing */
	STEP_METASPACE,
	STEP_PREFIX_SPACE,
};

/* What a component of tokenizer.json becomes: one step or two. */
struct step {
	enum step_kind kind;
	enum split_behavior behavior;
	bool invert;
	unsigned class;	     /* STEP_CLASS: bits of enum unicode_class */
	bool ascii[128];     /* STEP_CLASS, STEP_DELIMITER: what matches */
	uint32_t code_point; /* STEP_DELIMITER; STEP_METASPACE: the replacement */
	uint32_t length;     /* STEP_FIXED_LENGTH */
	enum prepend_scheme scheme;
	enum scanner scanner;
	struct literal literal; /* of an empty string when it matches between all characters */
	struct regex *regex;
};

struct pretokenizer_scratch {
	struct regex_scratch *regex;
	struct pieces pieces;
	struct text text;
};

/* 0, or -1 with the error set. An empty piece is left out. */
int pieces_add(struct pieces *out, size_t from, size_t to);

/*
 * Makes pieces of what a pattern matched and what lies between, as the behaviour says. Parts come in
 * order, each either a match or what lies between matches. The first failure sticks.
 */
struct cutter {
	enum split_behavior behavior;
	bool invert;
	bool previous; /* was the last part a match */
	bool holds;    /* a piece that the next part may still lengthen */
	bool failed;
	struct piece held;
	struct pieces *out;
};
void cutter_begin(struct cutter *c, const struct step *step, struct pieces *out);
void cutter_add(struct cutter *c, size_t from, size_t to, bool match);
int cutter_end(struct cutter *c); /* 0, or -1 with the error set */

/* Fills the table of a STEP_CLASS or STEP_DELIMITER. */
void step_prepare_characters(struct step *step);

/* Append the pieces of TEXT, which is PIECE of the whole, to OUT. 0, or -1 with the error set. */
int step_cut_characters(const struct step *step, struct bytes text, struct piece piece,
			struct pieces *out);
int step_cut_pattern(const struct step *step, struct pretokenizer_scratch *s, struct bytes text,
		     struct piece piece, struct pieces *out);

/*
 * STEP_METASPACE, STEP_PREFIX_SPACE: changes TEXT, and PIECES to where they are then. WHOLE: nothing has been cut
 * so far, so that FIRST says whether the one piece begins the document; else its span does.
 */
int step_rewrite(const struct step *step, struct pretokenizer_scratch *s, struct text *text,
		 bool first, bool whole, struct pieces *pieces);

/* Length of the character at AT; 1 for a byte that begins none. *CODE_POINT is then U+FFFD. */
size_t text_character(struct bytes text, size_t at, uint32_t *code_point);

#endif
