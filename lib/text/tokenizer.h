/*
 * lib/text/tokenizer.h - text to tokens and back
 *
 * A tokenizer is compiled from a spec (lib/text/spec.h), whatever file that came from, and gives the ids and the offsets
 * that `tokenizers` 0.23 gives for the same tokenizer.json.
 */
#ifndef LIB_TEXT_TOKENIZER_H
#define LIB_TEXT_TOKENIZER_H

#include "lib/base/hash.h"
#include "lib/text/model.h"
#include "lib/text/spec.h"
#include "lib/text/text.h"

struct tokenizer; /* immutable; any number of threads */

/* What SPEC points to must outlive the tokenizer. */
int tokenizer_new(struct tokenizer **out, const struct tokenizer_spec *spec);
void tokenizer_free(struct tokenizer *t); /* NULL is allowed */

const struct tokenizer_spec *tokenizer_spec(const struct tokenizer *t);
uint32_t tokenizer_vocab_size(const struct tokenizer *t); /* the largest id + 1, added tokens too */
bool tokenizer_is_byte_level(const struct tokenizer *t);

/* The bytes that a token stands for, as decoding gives them without its neighbours; empty for no such id. */
struct bytes tokenizer_piece(const struct tokenizer *t, uint32_t id);
/* The added token of this id, or NULL. */
const struct added_spec *tokenizer_added(const struct tokenizer *t, uint32_t id);

/* Added tokens that are special, in text: */
enum special_mode {
	SPECIAL_PLAIN, /* are text like any other; added tokens that are not special match all the same */
	SPECIAL_PARSE,	/* are what they say */
	SPECIAL_REFUSE, /* are an error that names the token and its place */
};

/* Where a text stands that is encoded by itself: */
enum encode_start {
	START_DOCUMENT, /* it begins a document */
	START_SECTION,	/* an added token stands before it */
	/* Text stands before it, which it goes on: the tokenizer puts nothing before it (a prefix space, say). */
	START_INSIDE,
};

struct encode_options {
	enum special_mode special;
	enum encode_start start;
	bool offsets;	   /* also fill encoding.offsets */
	bool post_process; /* add what the file's post-processor adds: BOS and the like */
	const struct model_sampling *sampling; /* or NULL */
};

struct encoding {
	uint32_t *ids; /* owned */
	struct text_span
		*offsets; /* owned; bytes of the document, as many as ids; only when asked for */
	size_t n, capacity, offsets_capacity;
};
void encoding_free(struct encoding *e); /* what it holds */

struct encoder; /* one a thread: the scratch of every part */
int encoder_new(struct encoder **out, const struct tokenizer *t);
void encoder_free(struct encoder *e); /* NULL is allowed */
/* As model_scratch_dropped. */
uint64_t encoder_dropped(const struct encoder *e);

/*
 * Encodes one document into OUT, emptied first. Bytes that are not UTF-8: kept by byte-level tokenizers (each
 * run is a piece by itself) and by byte fallback; elsewhere ERR_FORMAT. 0, or -1 with the error set, which begins
 * with `byte N: ` where a byte of the document is at fault.
 */
int encoder_run(struct encoder *e, struct bytes document, const struct encode_options *options,
		struct encoding *out);

/*
 * Two fingerprints (design, section 3): of what decides the ids of plain text, and of the whole. Equal specs give equal
 * fingerprints, whatever file they came from.
 */
int tokenizer_fingerprint(const struct tokenizer *t, struct hash128 *plain, struct hash128 *whole);

#endif
