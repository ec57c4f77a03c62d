/*
 * lib/data/record_writer.h - encoded records as a token stream, or as lines of text
 *
 * A line is written part by part, since it may be many times as long as its document.
 */
#ifndef LIB_DATA_RECORD_WRITER_H
#define LIB_DATA_RECORD_WRITER_H

#include "lib/base/outfile.h"
#include "lib/data/encode_record.h"

enum record_output {
	WRITE_STREAM,  /* man/man5/token-stream.5 */
	WRITE_IDS,     /* ids with spaces between */
	WRITE_OFFSETS, /* `{"ids":[…],"offsets":[[FROM,TO],…]}` */
};

struct record_writer;

/* T and F stay the caller's, who commits F after record_writer_end. RUNS: lines of WRITE_OFFSETS have "runs" too. */
int record_writer_new(struct record_writer **out, const struct tokenizer *t, struct outfile *f,
		      enum record_output kind, bool runs);
void record_writer_free(struct record_writer *w); /* NULL is allowed; writes nothing */

int record_writer_put(struct record_writer *w, const struct encoded_record *r);
/* Hands on what is held back, where the input ended in an error: a stream has no end record then. */
int record_writer_flush(struct record_writer *w);
int record_writer_end(struct record_writer *w);

#endif
