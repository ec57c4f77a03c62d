/*
 * lib/base/progress.h - how far, how fast, how long still
 *
 * On a terminal one line redrawn in place at most 10 times a second; elsewhere a plain line
 * after 10 seconds and then every 30. Nothing at all is written for work that ends before the
 * first would be due (0.5 s on a terminal). Writes go to the descriptor that the caller gave.
 */
#ifndef LIB_BASE_PROGRESS_H
#define LIB_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

struct progress_options {
	const char *label; /* `hash model.gguf`; borrowed */
	const char *unit;  /* `B` prints sizes, anything else counts */
	uint64_t total;	   /* 0: not known, so no share and no ETA */
	int fd;		   /* where to write; -1: nowhere */
	bool terminal;	   /* redraw in place */
};

int progress_new(struct progress **out, const struct progress_options *o);
/* Any thread; cheap (one atomic add, and a look at the clock now and then). P may be NULL. */
void progress_add(struct progress *p, uint64_t n);
/* Wipes the line on a terminal; frees. NULL is allowed. */
void progress_end(struct progress *p);

#endif
