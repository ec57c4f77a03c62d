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
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buffer.h"

struct progress;

struct progress_options {
	const char *label; /* `hash model.gguf`; borrowed */
	const char *unit;  /* `B` prints sizes, anything else counts */
	uint64_t total;	   /* 0: not known, so no share and no ETA */
	int fd;		   /* where to write; -1: nowhere */
	bool terminal;	   /* redraw in place */
};

int progress_new(struct progress **out, const struct progress_options *o);
/* Any thread; one atomic add and a look at the clock. P may be NULL. */
void progress_add(struct progress *p, uint64_t n);
/*
 * For who has a line of its own instead: whether it is time for one, and TEXT as that line (cut to the terminal's width). One thread. P may
 * be NULL: it is never time.
 */
bool progress_due(struct progress *p);
void progress_line(struct progress *p, const char *text);
/* Takes the line from a terminal, so that something else can be written; the next one comes as always. NULL is allowed. */
void progress_wipe(struct progress *p);
/* Wipes the line on a terminal; frees. NULL is allowed. */
void progress_end(struct progress *p);

/*
 * What a line says, without a line's end, after what is in B:
 *	hash model.gguf: 34 % of 253.1 MB, 1.21 GB/s, 0.2 s left
 *	read corpus.jsonl: 12.6 M lines, 310.4 k lines/s, 40.6 s
 * DONE units in SECONDS. At most COLUMNS wide, where a character outside ASCII is taken for two; the
 * label loses its front first. 0 is no limit.
 */
void progress_render(struct buffer *b, const struct progress_options *o, uint64_t done,
		     double seconds, size_t columns);

#endif
