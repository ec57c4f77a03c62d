/*
 * lib/text/decode_parts.h - what the files of the decoders share
 *
 * A decoder of `tokenizers` makes a list of tokens from a list of tokens. Here each is a stage, and hands a token
 * on when it is certain. Behind a stage that joins everything (Fuse, ByteLevel) there is but one token, which
 * comes in parts as long as stages can work on parts; one that cannot collects it first.
 */
#ifndef LIB_TEXT_DECODE_PARTS_H
#define LIB_TEXT_DECODE_PARTS_H

#include "lib/text/decode.h"
#include "lib/text/literal.h"
#include "lib/text/regex.h"

/* CTC's: the padding, the clean-up's eleven, the delimiter. */
#define STAGE_REPLACERS 13

struct stage;

struct stage_kind {
	void (*token)(struct stage *s, struct bytes token); /* a whole token */
	void (*part)(struct stage *s,
		     struct bytes text); /* of the one token; NULL: it is collected */
	void (*end)(struct stage *s);	 /* gives what is held; NULL: nothing ever is */
	bool joins;			 /* gives one token whatever comes */
};

/* Replaces one string by another. An empty pattern matches before each character and at the end. */
struct replacer {
	struct literal literal;
	struct bytes content;
	size_t matched;	  /* bytes of the pattern at the end of what has come */
	bool spares_none; /* an empty pattern does not match in an empty token */
	bool seen;	  /* the token is not empty */
};

struct stage {
	const struct stage_kind *kind;
	const struct decoder_spec *spec;
	struct text_decoder *decoder;
	struct stage *next; /* NULL: the output */
	bool fused;	    /* one token comes, in parts */

	bool streams; /* it works on the parts */

	struct replacer replacers[STAGE_REPLACERS]; /* run one after the other */
	size_t n_replacers;
	char mark[4]; /* the character of Metaspace and Strip */
	size_t mark_size;
	struct regex *regex;
	struct buffer work[2], collected;

	/* What is begun anew after the end. */
	struct buffer held;
	size_t tokens;	/* whole ones that came */
	size_t checked; /* ByteFallback: bytes of held that are whole characters */
	bool broken;	/* ByteFallback: this run of bytes can no longer be UTF-8 */
	bool absent;	/* the one token was dropped by the stage before */
	uint32_t to_strip, trailing;
};

struct text_decoder {
	struct stage *stages;
	size_t n_stages;
	struct regex_scratch *regex_scratch;
	struct buffer *out;
	struct buffer spelled; /* a raw piece in ByteLevel's alphabet */
	bool byte_level, raw;
	bool as_bytes; /* the piece at hand is what it stands for, not spelled in the alphabet */
	bool failed;   /* the error is set */
};

extern const struct stage_kind stage_kinds[];

/* To the next stage, or out. */
void stage_give(struct stage *s, struct bytes text);
/* Remembers that B could not grow. */
void stage_check(struct stage *s, const struct buffer *b);

/* Adds one. 0, or -1 with the error set. PATTERN and CONTENT must outlive it. */
int stage_add_replacer(struct stage *s, struct bytes pattern, struct bytes content);
/* The eleven of the peer's clean-up. */
int stage_add_cleanup(struct stage *s);
/* TEXT through all replacers; what they hold back too if it ENDS. Valid until the next call. */
struct bytes stage_replace(struct stage *s, struct bytes text, bool ends);

/*
 * The longest start of N > 0 bytes that starts a well-formed sequence but is none, at least 1: what becomes one U+FFFD
 * (Unicode, section 3.9, "maximal subpart"). *OPEN: more bytes could complete it.
 */
size_t maximal_part(const char *data, size_t n, bool *open);

void stage_take_byte_level(struct stage *s, struct bytes token);
void stage_end_byte_level(struct stage *s);
void stage_take_byte_fallback(struct stage *s, struct bytes token);
void stage_end_byte_fallback(struct stage *s);
void stage_take_metaspace(struct stage *s, struct bytes token);
void stage_take_wordpiece(struct stage *s, struct bytes token);
void stage_take_bpe(struct stage *s, struct bytes token);
void stage_end_bpe(struct stage *s);
void stage_take_ctc(struct stage *s, struct bytes token);
void stage_take_replace(struct stage *s, struct bytes token);
void stage_take_strip(struct stage *s, struct bytes token);
void stage_part_strip(struct stage *s, struct bytes text);
void stage_part_replace(struct stage *s, struct bytes text);
void stage_end_replace(struct stage *s);

#endif
