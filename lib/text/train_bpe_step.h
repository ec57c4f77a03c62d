/*
 * lib/text/train_bpe_step.h - what the files of one merge share
 *
 * train_bpe_step.c joins the pair and sums up what stands beside it; train_bpe_fresh.c makes the lists of the pairs that
 * came up, and queues them. Nobody else includes this.
 */
#ifndef LIB_TEXT_TRAIN_BPE_STEP_H
#define LIB_TEXT_TRAIN_BPE_STEP_H

#include "lib/text/train_bpe_parts.h"

struct neighbour {
	uint64_t sum;	 /* of counts */
	uint32_t *place; /* where the next place goes; NULL: nowhere */
	uint32_t n;	 /* places; while parts are summed up: those of the parts before */
};

struct event {
	uint32_t symbol, place;
};

struct side {
	struct neighbour *by_symbol;
	uint32_t *touched;
	struct event *events;
	size_t capacity, touched_capacity, events_capacity;
	size_t n_touched, n_events;
};

struct train_worker {
	struct side left, right;
	size_t from, to; /* of the places */
};

/* A pair that came up, and the places that did. */
struct fresh {
	uint32_t symbol, record, n;
	union train_places places;
};

struct step {
	struct train_bpe *t;
	const uint32_t *places;
	uint32_t n;
	uint32_t a, b, z;
	int parts;
	struct fresh *left, *right;
	size_t n_left, n_right;
	uint32_t record; /* of (a, b) */
};

/* --- train_bpe_fresh.c --- */

/* Room for the places of each of N pairs. 0, or -1 with the error set. */
int train_fresh_lists(struct step *s, struct fresh *fresh, size_t n);
/* Tells each part where its places of each symbol go, of the pairs on one side. */
void train_fresh_aim(struct step *s, bool left);
/* An entry of the queue for each pair. 0, or -1 with the error set. */
int train_fresh_queue(struct step *s);
/* FRESH, and the lists that no entry has. */
void train_fresh_free(struct step *s, struct fresh *fresh, size_t n);

#endif
