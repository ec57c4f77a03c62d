/*
 * formats/token_stream.h - token ids on a pipe, document by document
 *
 * man/man5/token-stream.5 describes the format. Reader and writer hold a fixed number of bytes, however
 * long a document is. A stream has ended well only when the reader has returned 0.
 */
#ifndef FORMATS_TOKEN_STREAM_H
#define FORMATS_TOKEN_STREAM_H

#include "formats/token_header.h"

/* The most ids that one event brings. */
#define TOKEN_EVENT_IDS_MAX 8192

enum token_event_kind {
	TOKEN_EVENT_IDS, /* the next ids of the document */
	TOKEN_EVENT_RUN, /* tokens of the document, sent before, have a role */
	TOKEN_EVENT_END, /* of the document */
};

struct token_event {
	enum token_event_kind kind;
	const uint32_t *ids; /* N of them, valid until the next event */
	size_t n;
	struct token_run run; /* counted from the start of the document */
};

struct token_counts {
	uint64_t documents, tokens;
};

/* --- reading --- */

struct token_reader;

int token_reader_open(struct token_reader **out, const char *path);
/* FD stays the caller's; NAME, for messages, is copied. */
int token_reader_open_fd(struct token_reader **out, int fd, const char *name);
void token_reader_close(struct token_reader *r); /* NULL is allowed */

/*
 * 1 and the next event; 0 at the end, once the counts and the hash agreed and no byte followed; -1
 * with `NAME: byte N: what`, and -1 ever after. A stream that ends early fails with "cut".
 */
int token_reader_next(struct token_reader *r, struct token_event *e);

const struct token_header *token_reader_header(const struct token_reader *r);
const char *token_reader_name(const struct token_reader *r);
struct token_counts token_reader_counts(const struct token_reader *r); /* so far */

/* --- writing --- */

struct token_writer;

/* Where the bytes go: 0, or -1 with the error set. */
typedef int token_write_fn(void *arg, const void *data, size_t n);

/* H is copied; it was made by the caller and is checked here. */
int token_writer_new(struct token_writer **out, const struct token_header *h, token_write_fn *write,
		     void *arg);
void token_writer_free(struct token_writer *w); /* NULL is allowed; writes nothing */

/* An id at or past the vocabulary size is refused, and nothing of IDS is written. */
int token_writer_add(struct token_writer *w, const uint32_t *ids, size_t n);
/* The tokens were added before, and come after those of the last run. */
int token_writer_run(struct token_writer *w, const struct token_run *run);
int token_writer_end_document(struct token_writer *w);
/* Hands on what is held back; for a reader who waits for it. */
int token_writer_flush(struct token_writer *w);
/* The end record. A document that was begun must have been ended. */
int token_writer_end(struct token_writer *w);
struct token_counts token_writer_counts(const struct token_writer *w);

#endif
