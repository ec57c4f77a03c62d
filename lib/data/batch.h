/*
 * lib/data/batch.h - records encoded by a team, in order
 *
 * Records are read until a batch is full, then all threads encode them, each record by one thread, and they are given out in
 * the order in which they were read: the same for any number of threads. While the threads are at one batch, the caller's
 * hands on what came of the one before and reads the next one, then helps.
 */
#ifndef LIB_DATA_BATCH_H
#define LIB_DATA_BATCH_H

#include "lib/base/team.h"
#include "lib/data/encode_record.h"

/* Where records come from and go to; called by the thread that calls batch_pump alone, never two at a time. */
struct batch_io {
	/*
	 * 1 with the next record, valid until the next call, and its name and line (`document` is counted here); 0 after the last;
	 * -1 with the error set. The name must outlive the batch.
	 */
	int (*read)(void *arg, struct bytes *record, struct record_place *place);
	/* 0, or -1 with the error set. */
	int (*write)(void *arg, const struct encoded_record *r, const struct record_place *place);
	void *arg;
};

struct batch;

/* T, TEAM and what O points to must outlive it. BYTES of records make a batch; 0: 4 MiB. */
int batch_new(struct batch **out, const struct tokenizer *t, struct team *team,
	      const struct record_options *o, size_t bytes);
void batch_free(struct batch *b); /* NULL is allowed */

/*
 * Reads, encodes and writes all records. 0, or -1 with the first error in the order of the records, those before it having
 * been written, unless it was writing that failed.
 */
int batch_pump(struct batch *b, const struct batch_io *io);

/* Characters that vanished so far (model_spec's drop_unknown). */
uint64_t batch_dropped(const struct batch *b);

#endif
