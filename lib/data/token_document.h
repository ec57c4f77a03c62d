/*
 * lib/data/token_document.h - documents as tokens and as text, to be looked at
 *
 * One document at a time, with the place of each token in its text. Of text the offsets are those that the encoder
 * gives: they may leave gaps, and the tokens of one character share its bytes. Of tokens the text is what they decode to, and
 * a token has the bytes that came out with it: none while the decoder holds them back.
 */
#ifndef LIB_DATA_TOKEN_DOCUMENT_H
#define LIB_DATA_TOKEN_DOCUMENT_H

#include <stdint.h>

#include "lib/text/tokenizer.h"

enum token_input {
	TOKEN_INPUT_TOKENS,  /* a token stream, or a packed token file: its first bytes say which */
	TOKEN_INPUT_IDS,     /* text: decimal ids, a document a line */
	TOKEN_INPUT_RECORDS, /* JSON lines with the text in a field */
	TOKEN_INPUT_TEXT,    /* the file is one document of plain text */
	TOKEN_INPUT_STRING,  /* the text itself is given */
};

struct token_span {
	size_t from, to; /* bytes of the document's text */
};

struct token_document {
	uint64_t number; /* from 0 */
	size_t n;	 /* tokens */
	const uint32_t *ids;
	const struct token_span *spans;
	const uint8_t *roles; /* enum token_role of each; NULL when no token has one */
	struct bytes text;
	bool cut; /* it has more tokens than were asked for */
};

struct token_document_options {
	enum token_input input;
	const char *path;	      /* of all but STRING */
	struct bytes text;	      /* of STRING */
	const char *field;	      /* of RECORDS: `text` unless given */
	const char *tokenizer_path;   /* for messages */
	struct encode_options encode; /* of text; offsets are always filled */
	uint64_t first;		      /* documents to pass over: at once in a packed file */
};

/* Whether PATH is a packed token file, as far as its first bytes tell. */
bool token_document_is_pack(const char *path);

struct token_documents;

/* T must outlive it, and what O points to. Tokens of another tokenizer are refused. */
int token_documents_open(struct token_documents **out, const struct tokenizer *t,
			 const struct token_document_options *o);
void token_documents_close(struct token_documents *d); /* NULL is allowed */

/*
 * 1 and the next document, of which at most LIMIT tokens are kept, and its text as far as they go; valid until the next call.
 * 0 at the end, -1 with the error set. A packed file is checked only as far as it is read.
 */
int token_documents_next(struct token_documents *d, size_t limit, struct token_document *out);

/*
 * The part of the text to show for each token, so that every byte is shown once and no character is cut: of tokens that share
 * a character the first with bytes of it has it. Starts with *SHOWN = 0, and moves it to the part's end. What lies between the old *SHOWN and
 * the part's start is of no token.
 */
struct token_span token_shown_part(struct bytes text, size_t *shown, struct token_span span);

#endif
