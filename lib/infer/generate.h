/*
 * lib/infer/generate.h - text goes on: tokenizer, session and sampler together
 *
 * Pieces come as whole characters: bytes of a character that is not whole yet are held over to the next token.
 */
#ifndef LIB_INFER_GENERATE_H
#define LIB_INFER_GENERATE_H

#include "lib/base/bytes.h"
#include "lib/infer/sampler.h"
#include "lib/infer/session.h"
#include "lib/text/tokenizer.h"

enum generate_reason {
	GENERATE_STOP,	 /* an end-of-text token */
	GENERATE_LENGTH, /* as many tokens as asked for, or the context is full */
	GENERATE_CANCEL, /* the caller's function said so */
};

struct generate_options {
	size_t tokens;	       /* at most; 0: to the end of the context */
	const uint32_t *stops; /* ids that end the text and are no part of it */
	size_t n_stops;
	/*
	 * The text so far, which the session holds: the sampler's history, places are counted from its start, and it matters to how the next
	 * tokens read (a space before the first word).
	 */
	const int32_t *before;
	size_t n_before;
	const float *logits; /* after it; NULL: the session's */
	/*
	 * When the context is full: go on after the first KEEP tokens and the last half of what else would fit, which are read anew as a text of their own, at
	 * the places 0, 1, 2 ... of the context. KEEP is below the context less 1. Else the text ends.
	 */
	bool shift;
	size_t keep;
	/* Called with each piece of new text; other than 0 ends. NULL: none. */
	int (*piece)(void *to, struct bytes text);
	/* Called with each token before its text comes, and with the logits that it was drawn from; other than 0 ends. NULL: none. */
	int (*token)(void *to, int32_t id, const float *logits);
	void *to; /* what both of them are given */
};

struct generate_result {
	enum generate_reason reason;
	size_t tokens; /* made; a stop is not counted */
	int32_t last; /* the last of them, which the session does not hold yet; -1: none was made */
	size_t shifts;	/* how often the context was full */
	double seconds; /* of them all */
};

/*
 * Goes on after what SESSION holds (at least one token) until one of the reasons. Special tokens have no text. 0, or -1 with the error set.
 */
int generate(struct session *session, struct sampler *sampler, const struct tokenizer *tokenizer,
	     const struct generate_options *o, struct generate_result *out);

#endif
