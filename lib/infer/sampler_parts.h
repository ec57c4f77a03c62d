/*
 * lib/infer/sampler_parts.h - what the files of the sampler share
 *
 * What may still be chosen is either the whole vocabulary, as LOGITS with a few values changed, or a list in the order of ids, once
 * something was cut. The whole is looked at block by block, of which most are as they came, and is never copied.
 */
#ifndef LIB_INFER_SAMPLER_PARTS_H
#define LIB_INFER_SAMPLER_PARTS_H

#include "lib/infer/sampler.h"

#define SAMPLER_BLOCK	 256	 /* logits */
#define SAMPLER_SHARE_LN (-50.0) /* what has a smaller share than this power of e has none */

struct candidate {
	float logit;
	int32_t id;
};

/* How often a token came. */
struct tally {
	int32_t id;
	uint32_t count;
};

struct sampler_room {
	struct candidate *list, *changed; /* owned; `changed`: in the order of ids */
	float *tops;			  /* owned: the largest of each block */
	float *values;			  /* owned: for selecting */
	double *shares, *keys;		  /* owned: of the list */
	struct tally *tally;		  /* owned */
	uint32_t *lengths;		  /* owned: dry's */
	size_t list_room, changed_room, tops_room, values_room, shares_room, keys_room, tally_room,
		lengths_room;
};

struct sampler {
	struct sampler_options options; /* `bias` owned, `breakers` not kept */
	size_t vocabulary;
	struct sampler_room *room, *own_room; /* own_room: owned */
	unsigned char *is_breaker;	      /* owned, a bit for each id; NULL: none */
};

/* One pick under way. */
struct choice {
	struct sampler *sampler;
	struct sampler_room *room;
	const float *logits;
	const int32_t *history;
	size_t n_history;
	bool listed;
	size_t n_changed; /* of the whole */
	size_t n;	  /* of the list */
	double t;	  /* the temperature so far */
	bool scanned;	  /* `tops`, `top` are known */
	struct candidate top;
};

/* --- the set (sampler_set.c) --- */

/* A walk over the blocks of the whole, which patches those where something is changed. */
struct walk {
	const struct choice *c;
	size_t from, n; /* the present block */
	size_t next;	/* of what is changed */
	float patched[SAMPLER_BLOCK];
	const float *raw, *values;
};

struct walk walk_of(const struct choice *c);
bool walk_on(struct walk *w); /* to the next block, if there is one */

/* Makes sure that these ids, sorted and each once, are among what is changed. Of the whole only. */
int choice_change(struct choice *c, const struct tally *ids, size_t n);
/* What is changed, or the candidate, of this id; NULL: it is not there. */
struct candidate *choice_find(struct choice *c, int32_t id);
/* Finds the largest, and looks for what is no logit. -1: there is one, or no token is left. */
int choice_scan(struct choice *c);

/* --- cuts (sampler_keep.c) --- */

/* Leaves those with logits of at least LEAST, in a list. */
int choice_keep_from(struct choice *c, double least);
/* Leaves the K largest, of equal ones the lower ids first. */
int choice_keep_largest(struct choice *c, size_t k);
/* Mean square deviation of all that is left. */
int choice_deviation(struct choice *c, double *out);
/* Makes the list, if it is not there, of all that has a share. */
int choice_list(struct choice *c);

/* --- shares (sampler_shares.c, sampler_exp.c) --- */

/*
 * Sums of shares, the largest 1. Of the whole `shares` has a sum for each block, and FALL, unless it is NULL, is the mean of how far tokens are below the
 * largest, over the temperature; of the list, which is made if it is not there, `shares` has each token's.
 */
int choice_weigh_whole(struct choice *c, double *sum, double *fall);
int choice_weigh_list(struct choice *c, double *sum);
int32_t choice_draw(struct choice *c, uint64_t place);
/* Those of a block at most, TOP being the largest; 0 below e^SAMPLER_SHARE_LN. */
void sampler_shares(const float *logits, size_t n, double top, double t, double *out);

/* --- cuts by mass (sampler_mass.c) --- */

int choice_top_p(struct choice *c, double p);
int choice_typical(struct choice *c, double p);

/* --- penalties (sampler_penalties.c, sampler_dry.c) --- */

int choice_bias(struct choice *c);
int choice_penalties(struct choice *c);
int choice_dry(struct choice *c);
/* Ids sorted, each once: equal ones are joined by FOLD, the sum of counts or the largest. How many are left. */
size_t tally_join(struct tally *t, size_t n, bool largest);

#endif
