/*
 * lib/data/encode_record.h - one record into tokens: a document, some fields of it, or messages
 *
 * Fields and messages are encoded part by part, so that no token reaches over the border of two (what a prompt's ids are
 * does not depend on its answer), and each part's tokens get a role. In a message's text, and in fields, special tokens are
 * text: only what a template says is parsed. The parts join to the document's text, which offsets are of.
 */
#ifndef LIB_DATA_ENCODE_RECORD_H
#define LIB_DATA_ENCODE_RECORD_H

#include "formats/token_header.h"
#include "lib/text/chat.h"
#include "lib/text/tokenizer.h"

/* What a record is: */
enum record_input {
	RECORD_TEXT,	 /* the document itself */
	RECORD_JSON,	 /* a JSON object whose FIELD holds it (or FIELD_base64) */
	RECORD_FIELDS,	 /* one whose FIELDS are its parts, in their order */
	RECORD_MESSAGES, /* one whose FIELD is an array of {role, content} */
};

struct record_field {
	const char *name;
	enum token_role role;
};

struct record_options {
	enum record_input input;
	const char *field;
	const struct record_field *fields;
	size_t n_fields;
	enum chat chat; /* the template of RECORD_MESSAGES, not CHAT_NONE */
	bool generation_prompt;
	/* Its `start` is not looked at. With parts: SPECIAL_PARSE and post_process are refused. */
	struct encode_options encode;
	/*
	 * Put the tokenizer's BOS, EOS at the ends, unless the document has it there already. Of fields they have the role of
	 * the first and the last one; of messages BOS is scaffold, and EOS has the role of what it stands behind.
	 */
	bool bos, eos;
	bool characters; /* offsets count characters; a byte that is not UTF-8 is one */
	bool check;	 /* also decode, and fill `difference` */
};

/* Where a record stands. */
struct record_place {
	const char *name; /* of the input, for messages */
	uint64_t line;
	uint64_t document; /* from 0: keys the draws of sampling */
};

/* Zeroed to begin with; reused for any number of records. */
struct encoded_record {
	struct encoding encoding;
	struct token_run *runs; /* owned; in order, none has ROLE_TEXT */
	size_t n_runs, runs_capacity;
	uint64_t bytes;	  /* of the document's text */
	char *difference; /* owned; NULL: decoding gave the text back, or was not asked for */
};
void encoded_record_free(struct encoded_record *r); /* what it holds */

struct record_encoder; /* one a thread */

/*
 * T and what O points to must outlive it. ERR_MISSING when a role's token or a special token of the template is not in the
 * tokenizer: its scaffold would be text that anyone can write.
 */
int record_encoder_new(struct record_encoder **out, const struct tokenizer *t,
		       const struct record_options *o);
void record_encoder_free(struct record_encoder *e); /* NULL is allowed */

/* 0, or -1 with `NAME:LINE: what`, and `byte N: ` of the text where a byte is at fault. */
int record_encode(struct record_encoder *e, struct bytes record, const struct record_place *place,
		  struct encoded_record *out);

/* As encoder_dropped. */
uint64_t record_encoder_dropped(const struct record_encoder *e);

#endif
