/* lib/infer/answers_parts.h - what the files of answers.h share; private to lib/infer/answers*.c */
#ifndef LIB_INFER_ANSWERS_PARTS_H
#define LIB_INFER_ANSWERS_PARTS_H

#include "lib/infer/answers.h"
#include "lib/infer/logprobs.h"
#include "lib/infer/stop_text.h"
#include "lib/infer/token_text.h"

/* A request in its turn. */
struct entry {
	struct request *request; /* owned until answers_next */
	size_t begun, ended;	 /* answers */
	/* With several answers: a sequence that holds the prompt, and its logits (owned); -1: there is none yet, or no more. */
	int trunk;
	float *logits;
	bool reading; /* a place reads the prompt for them */
};

/* A text under way, or a prompt that is read for several. */
struct place {
	struct entry *entry; /* NULL: the place is free */
	bool trunk;
	size_t answer; /* which */
	int sequence;
	size_t tokens; /* new ones at most */
	int32_t *ids;  /* owned: the prompt and what came of it */
	size_t n_ids, capacity;
	struct sampler *sampler; /* owned, as are the others */
	struct token_text *text;
	struct stop_text *stops;
	struct logprob *top;
};

struct answers {
	struct answers_options o;
	struct sampler_room *room; /* owned: of all samplers */
	struct place *places;	   /* owned: O.parallel */
	struct entry **entries;	   /* owned: FIRST to LAST - 1, a ring of CAPACITY */
	size_t first, last, capacity;
	size_t waiting; /* entries at the end that have answers not yet begun */
	int *kept;	/* owned: sequences that ended, the oldest first */
	size_t n_kept, most_kept;
	struct engine_item *items; /* owned */
	size_t *owners;		   /* owned: places of the items */
	struct answers_counts counts;
};

/* --- answers_place.c: one text --- */

/* P answers its entry's request: sampler, text and stops are made; its sequence is the caller's. */
int place_begin(struct answers *b, struct place *p, struct entry *e);
/* Draws the next token of P. 1: the text goes on, 0: it has ended, -1: no memory. */
int place_draw(struct answers *b, struct place *p, const float *logits);
/* Frees what it holds, and the place; its sequence is the caller's. */
void place_end(struct place *p);
/* Tokens that its sequence comes to at most. */
size_t place_most(const struct place *p);

/* --- answers.c --- */

/* SEQUENCE ended, and may be the beginning of others. */
void answers_keep(struct answers *b, int sequence);
/* Its answer is whole. */
void answers_end_place(struct answers *b, struct place *p);

/* --- answers_begin.c: whose turn it is --- */

/* Begins as many answers as there are places and room for. */
int answers_begin(struct answers *b);

#endif
