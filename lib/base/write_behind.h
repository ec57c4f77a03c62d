/*
 * lib/base/write_behind.h - bytes that another thread writes while more are made
 *
 * Copying to a pipe, and waking who reads it, then take no time of the maker's. The bytes come out in order.
 */
#ifndef LIB_BASE_WRITE_BEHIND_H
#define LIB_BASE_WRITE_BEHIND_H

#include "lib/base/buffer.h"

struct write_behind;

/* To FD, which stays the caller's; NAME, for messages, must outlive it. Where no thread can be had, the caller writes. */
int write_behind_new(struct write_behind **out, int fd, const char *name);
/* Waits for what is being written. NULL is allowed. */
void write_behind_free(struct write_behind *w);

/*
 * Takes B's bytes, with their memory, and leaves it empty, with memory that was written before. Waits while too much is
 * not written yet. -1 with the error set, also when what was taken before could not be written.
 */
int write_behind_put(struct write_behind *w, struct buffer *b);
/* Until all is written: 0, or -1. */
int write_behind_wait(struct write_behind *w);

#endif
