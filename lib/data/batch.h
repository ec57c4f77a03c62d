/*
 * lib/data/batch.h - documents encoded by a team, in order
 *
 * Records are collected until a batch is full, then all threads parse and encode them, each document by
 * one thread, and the results are given out in the order of the records: the same for any number of threads.
 */
#ifndef LIB_DATA_BATCH_H
#define LIB_DATA_BATCH_H

#include "lib/base/team.h"
#include "lib/text/tokenizer.h"

/* What a record is: */
enum batch_input {
	BATCH_TEXT, /* the document itself */
	BATCH_JSON, /* a JSON object whose FIELD holds it (or FIELD_base64) */
};

struct batch_options {
	enum batch_input input;
	const char *field; /* `text` unless given; of BATCH_JSON */
	const char *name;  /* of the input, for messages */
	struct encode_options encode;
	size_t bytes; /* of records in a batch; 0: 4 MiB */
};

struct batch;

/* T and TEAM must outlive it; O is copied. */
int batch_new(struct batch **out, const struct tokenizer *t, struct team *team,
	      const struct batch_options *o);
void batch_free(struct batch *b); /* NULL is allowed */

/* Copies a record, number LINE of the input, in. 1 when the batch is full now, 0 when not, -1 with the error set. */
int batch_add(struct batch *b, struct bytes record, uint64_t line);

/*
 * Encodes all that was added. 0, or -1 with the error of the first record, in order, that failed: `NAME:LINE: what`;
 * those before it can still be had.
 */
int batch_run(struct batch *b);

/* After batch_run: the documents that were encoded, in order. Valid until batch_clear. */
size_t batch_n(const struct batch *b);
const struct encoding *batch_encoding(const struct batch *b, size_t i);
uint64_t batch_document_bytes(const struct batch *b, size_t i);

/* Characters that vanished in all batches so far (model_spec's drop_unknown). */
uint64_t batch_dropped(const struct batch *b);

void batch_clear(struct batch *b); /* for the next batch; memory is kept */

#endif
