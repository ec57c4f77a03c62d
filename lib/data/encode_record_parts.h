/* lib/data/encode_record_parts.h - what the files of the record encoder share */
#ifndef LIB_DATA_ENCODE_RECORD_PARTS_H
#define LIB_DATA_ENCODE_RECORD_PARTS_H

#include "formats/json.h"
#include "lib/data/encode_record.h"
#include "lib/text/decode.h"

/* A part of a record's document. */
struct record_part {
	struct bytes text;
	const char *field; /* its name, for messages; or NULL */
	enum token_role role;
	bool scaffold; /* special tokens in it are what they say */
	bool spaced;   /* as chat_part's */
};

struct record_message {
	struct bytes content;
	size_t joined; /* where it stands in `joined`, whose place is not known before the end */
	bool is_joined;
};

struct record_encoder {
	const struct tokenizer *tokenizer;
	struct record_options o;
	struct chat_options chat;
	struct encoder *encoder;
	struct json *json;
	struct text_decoder *decoder;
	struct record_part *parts; /* of the present record */
	size_t n, capacity;
	struct buffer decoded;	/* from base64, of all parts */
	struct buffer document; /* the parts' texts, where they do not stand together anyway */
	struct chat_message *messages;
	struct record_message *contents;
	size_t n_messages, messages_capacity, contents_capacity;
	struct buffer joined; /* contents that came in several texts */
	struct chat_parts rendered;
	struct encoding part; /* of one part */
	struct buffer back;   /* the check's */
};

/* Finds the parts of RECORD, valid until the next one, and returns their text as a whole (encode_record_read.c). */
int record_read(struct record_encoder *e, struct bytes record, const struct record_place *place,
		struct bytes *document);

/* Decodes the N ids and sets *DIFFERENCE when that is not DOCUMENT (encode_record_check.c). */
int record_check(struct record_encoder *e, const uint32_t *ids, size_t n, struct bytes document,
		 char **difference);

/* Turns spans of bytes into spans of characters (encode_record_offsets.c). */
void record_count_characters(struct text_span *spans, size_t n, struct bytes document);

#endif
