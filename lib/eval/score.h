/*
 * lib/eval/score.h - multiple choice, and continuations, counted as lm-evaluation-harness counts them
 *
 * Text becomes tokens as there (api/model.py, TemplateLM._encode_pair): white space that ends a context goes to the continuation; both together
 * are encoded at once, and what follows the context's own number of tokens is the continuation. An empty context is one token, BOS or, without
 * one, EOS. What is too long loses the front of its context.
 *
 * A record has either `choices`, of which the likeliest is the answer (acc), or the likeliest a character (acc_norm), or a `completion`,
 * which is right when each of its tokens is the likeliest one (acc).
 */
#ifndef LIB_EVAL_SCORE_H
#define LIB_EVAL_SCORE_H

#include "lib/base/buffer.h"
#include "lib/eval/continuations.h"
#include "lib/text/tokenizer.h"

struct score_options {
	const struct tokenizer *tokenizer;
	uint32_t
		before; /* put before every context that does not begin with it; TOKEN_NONE: nothing */
	uint32_t alone; /* the token of an empty context; TOKEN_NONE: such a record is refused */
	size_t context; /* as continuations_options.context */
	const char *between; /* put between context and continuation */
	enum special_mode special;
};

struct score_sums {
	uint64_t records, continuations, cut; /* cut: continuations whose context lost its front */
	uint64_t judged, right, right_norm;   /* records with a gold answer */
	uint64_t completions, greedy;
	uint64_t bytes; /* of gold answers and completions */
	double logprob; /* theirs */
};

struct score;

/* C, and what O points to, outlive it. */
int score_new(struct score **out, struct continuations *c, const struct score_options *o);
void score_free(struct score *s); /* NULL is allowed */

/* Takes a record: a JSON object of line LINE of the input NAME. What it came to is there after score_flush. -1 with its place in the error. */
int score_add(struct score *s, struct bytes record, const char *name, uint64_t line);
/* Records that were taken since the last flush. */
size_t score_n(const struct score *s);
/* Computes them, and appends each as a line: its fields as they were, then what was found. */
int score_flush(struct score *s, struct buffer *out);

const struct score_sums *score_sums(const struct score *s);
/* Appends the sums as a JSON object. */
void score_put_sums(struct buffer *b, const struct score_sums *s);
/* Of a share of N, as lm-eval has it: the standard error of a mean of N draws; NaN below two. */
double score_error(double share, uint64_t n);

#endif
