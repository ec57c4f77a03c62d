/*
 * lib/data/batch.h - records encoded by a team, in order
 *
 * Each thread does what there is to do: it reads some records, encodes them, or writes what came of the next ones in order. So the
 * records are given out in the order in which they were read, the same for any number of threads, and none waits for
 * another but for its turn to read or to write, and where a long record is ahead of all.
 */
#ifndef LIB_DATA_BATCH_H
#define LIB_DATA_BATCH_H

#include "lib/base/team.h"
#include "lib/data/encode_record.h"

/*
 * Where records come from and go to. Either is called by any thread of the team, by one at a time, and one by one in order; but
 * while one thread reads, another may write.
 */
struct batch_io {
	/*
	 * 1 with the next record, valid until the next call, and its name and line (`document` is counted here); 0 after the last;
	 * -1 with the error set. The name must outlive the batch.
	 */
	int (*read)(void *arg, struct bytes *record, struct record_place *place);
	/* NULL, or called after some reads: what the last record lies in is not needed any more. */
	void (*rest)(void *arg);
	/* 0, or -1 with the error set. */
	int (*write)(void *arg, const struct encoded_record *r, const struct record_place *place);
	void *arg;
};

struct batch;

/* T, TEAM and what O points to must outlive it. A thread takes records of about so many BYTES; 0: 256 KiB. */
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
