/*
 * formats/jsonl.h - JSON lines from a file or a pipe
 *
 * man/man5/jsonl.5 describes the format. A record is a line, of any length up to a limit; the
 * reader holds one line at a time. A byte order mark at the very start is passed over. What is in a line is not looked at: json.h reads it.
 *
 *	while ((got = jsonl_next(r, &record)) > 0)
 *		json_init(j, record.data, record.size, jsonl_name(r),
 *			  &(struct json_limits){ .line = jsonl_line(r) });
 */
#ifndef FORMATS_JSONL_H
#define FORMATS_JSONL_H

#include <stdint.h>

#include "lib/base/bytes.h"

#define JSONL_LINE_MAX ((size_t)1 << 30)

struct jsonl_options {
	size_t line_max; /* longest record in bytes, its line end not counted; 0: JSONL_LINE_MAX */
	size_t buffer;	 /* bytes to begin with; 0: 1 MiB */
};

struct jsonl;

/* O may be NULL. */
int jsonl_open(struct jsonl **out, const char *path, const struct jsonl_options *o);
/* FD stays the caller's, and is read from where it stands; NAME, for messages, is copied. */
int jsonl_open_fd(struct jsonl **out, int fd, const char *name, const struct jsonl_options *o);
/* From anything that can be read: up to N bytes, at least one or the end (*GOT is 0); -1 with the error
   set, which jsonl_next passes on. ARG stays the caller's. */
typedef int jsonl_reader(void *arg, void *data, size_t n, size_t *got);
int jsonl_open_reader(struct jsonl **out, jsonl_reader *read, void *arg, const char *name,
		      const struct jsonl_options *o);
void jsonl_close(struct jsonl *r); /* NULL is allowed */

/*
 * 1 and the next record without its line end (LF, or CR LF), valid until the next call; 0 at the
 * end, which needs no line end before it; -1 with `NAME:LINE: what`, and -1 ever after. Lines of
 * spaces, tabs and CRs only are passed over, but counted.
 */
int jsonl_next(struct jsonl *r, struct bytes *record);

/* Gives back what a long line needed, where that is much; the record that came last is not valid any more. */
void jsonl_shrink(struct jsonl *r);

/* Of the record that came last: its line, from 1, and its first byte's place in the input. */
uint64_t jsonl_line(const struct jsonl *r);
uint64_t jsonl_offset(const struct jsonl *r);
const char *jsonl_name(const struct jsonl *r); /* until jsonl_close */

#endif
