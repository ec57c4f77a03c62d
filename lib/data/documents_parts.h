/*
 * lib/data/documents_parts.h - what the parts of the document source share
 *
 * An input is a stream of bytes with a name: a file, what a compressed input unpacks to, or a member
 * of an archive. documents.c keeps a stack of them; the readers of plain text, JSON lines
 * and samples make documents of the top one. Nobody else includes this.
 */
#ifndef LIB_DATA_DOCUMENTS_PARTS_H
#define LIB_DATA_DOCUMENTS_PARTS_H

#include "formats/json.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/data/documents.h"

/* --- documents_input.c: a stream of bytes that can be looked at before it is read --- */

/* Up to N bytes, at least one or the end (*GOT is 0). -1 with the error set, the place in it. */
typedef int input_reader(void *state, void *data, size_t n, size_t *got);

struct input {
	char *name; /* owned: for messages and sources */
	input_reader *read;
	void (*close)(void *state);
	void *state;
	struct buffer head; /* looked at, not yet read from HEAD_AT on */
	size_t head_at;
	uint64_t offset; /* bytes that were read */
	bool at_end;
	enum err_code failed; /* met while looking: told when HEAD has been read */
	char *error;	      /* owned */
	bool regular;	      /* a file: reading never waits for somebody */
	uint64_t size_hint;   /* bytes of a file, as it was opened; else 0 */
	bool unpacked;	      /* its name is that of the compressed input */
	int fd;		      /* that can seek, or -1 */
};

/* STATE is closed also when this fails. */
int input_new(struct input **out, const char *name, input_reader *read, void (*close)(void *),
	      void *state);
/* PATH, `-` being stdin; a symbolic link is refused unless FOLLOW. */
int input_open(struct input **out, const char *path, bool follow);
void input_close(struct input *in); /* NULL is allowed */

int input_read(struct input *in, void *data, size_t n, size_t *got);
/* At least N bytes, fewer before the end or an error, without reading them; valid until the next call. */
int input_peek(struct input *in, size_t n, struct bytes *out);
/* Back to OFFSET of an input that can seek, forgetting what was looked at. */
int input_seek(struct input *in, uint64_t offset);

/* --- documents_kind.c --- */

enum input_kind {
	INPUT_TEXT,
	INPUT_RECORDS, /* JSON lines */
	INPUT_GZIP,
	INPUT_ZSTD, /* by its bytes; where its name or a frame of user data says so, the next */
	INPUT_COMPRESSED, /* in any other way */
	INPUT_TAR,
	INPUT_ZIP,
};

/* By its first bytes, then by its name; FIELD tells a record. */
int input_kind(struct input *in, struct json *json, const char *field, size_t max_bytes);
/* Bytes of NAME without the ending of a compression (.gz, .zst, …). */
size_t input_plain_name(const char *name);

/* --- documents_blocks.c: what libarchive gives, for the two below --- */

struct archive;

struct blocks {
	const void *data;
	size_t size, at;
	uint64_t given, hole; /* bytes given out; zeros that come next */
	bool ended;
};

/* As input_reader, but -1 leaves the error with the archive; blocks_error tells it. */
int blocks_read(struct blocks *b, struct archive *a, void *data, size_t n, size_t *got);
const char *blocks_error(struct archive *a);

/* --- documents_gunzip.c: through zlib; documents_unzstd.c: through libzstd; documents_unpack.c,
   documents_members.c: through libarchive --- */

/* What FROM unpacks to, under its name; FROM is owned from now on, also when this fails. */
int input_gunzip(struct input **out, struct input *from);
int input_unzstd(struct input **out, struct input *from);
int input_unpack(struct input **out, struct input *from);

struct members; /* of a tar or zip archive */

enum member_kind { MEMBER_FILE, MEMBER_FOLDER, MEMBER_LINK, MEMBER_SPECIAL };

/* FROM is owned from now on, also when this fails. */
int members_open(struct members **out, struct input *from, enum input_kind kind);
void members_close(struct members *m); /* NULL is allowed */
/* 1 and the next member, whose PATH is as the archive has it, valid until the next call; 0; -1. */
int members_next(struct members *m, struct bytes *path, enum member_kind *kind);
/* What the present member holds, under the name `ARCHIVE:MEMBER`; close it before the next one. */
int members_input(struct members *m, struct input **out);
const char *members_name(const struct members *m);

/* --- documents_ahead.c --- */

/* Lets a thread of its own read *IN from now on; where none can be had, *IN stays as it is. After a
   failure *IN may be NULL. */
int input_ahead(struct input **in);

/* --- documents_walk.c: paths and what lies in folders, in order --- */

struct walk;

int walk_open(struct walk **out, const char *const *paths, size_t n,
	      struct documents_counts *counts);
void walk_close(struct walk *w); /* NULL is allowed */
/* 1 and the next file, valid until the next call; *INSIDE tells that it was found in a folder; 0; -1. */
int walk_next(struct walk *w, const char **path, bool *inside);

/* --- documents_mend.c: text that is not what it should be --- */

/* Appends TEXT with U+FFFD for each maximal subpart of an ill-formed sequence. Returns how many. */
uint64_t mend_text(struct buffer *b, struct bytes text);
/* The same for a JSON text, where lone surrogates in escapes become \ufffd too. */
uint64_t mend_json(struct buffer *b, struct bytes text);

/* --- the readers: documents of one input --- */

struct reader_options {
	const struct documents_options *options;
	struct documents_counts *counts;
	const char *field;
	size_t max_bytes;
};

/* documents_text.c: one struct for all inputs, so that its memory is used again. */
struct text_reader {
	const struct reader_options *o;
	struct input *in;
	char *data; /* bytes FROM..TO are not given out */
	size_t capacity, from, to;
	size_t line_from,
		searched; /* of the line that is looked at; what is not searched for ends */
	uint64_t ends;	  /* before SEARCHED that were not met: a mask of scan_block, */
	size_t ends_at;	  /* of the bytes from here on */
	uint64_t base;	  /* place of data[0] in the input */
	uint64_t line;	  /* lines, or pages, that ended before LINE_FROM */
	uint64_t piece_line,
		source_line; /* of the present piece; whose digits end the source, or 0 */
	size_t valid;	     /* bytes before it, from FROM on, are known to be UTF-8 */
	size_t no_cr;	     /* no CR from FROM on stands before it */
	bool has_text, file_done;
	struct buffer source, text; /* the source begins with the input's name */
	size_t name_size;
};

/* documents_lines.c: the bytes of the whole lines at P that surely are not blank; their number is added to *LINES. */
size_t full_lines(const char *p, size_t n, uint64_t *lines);

void text_reader_free(struct text_reader *r);
void text_reader_begin(struct text_reader *r, const struct reader_options *o, struct input *in);
int text_reader_next(struct text_reader *r, struct document *out);
/* All that IN has, at most MAX bytes, appended to B. -1 names the limit. */
int text_whole(struct input *in, struct buffer *b, size_t max);

struct record_reader; /* documents_records.c */

int records_open(struct record_reader **out, const struct reader_options *o, struct input *in);
void records_close(struct record_reader *r);
int records_next(struct record_reader *r, struct document *out);

struct sample_reader; /* documents_samples.c */

/* M stays the caller's. */
int samples_open(struct sample_reader **out, const struct reader_options *o, struct members *m);
void samples_close(struct sample_reader *r);
int samples_next(struct sample_reader *r, struct document *out);

/* What the options say about text that came from NAME at OFFSET (of its file; or UINT64_MAX where there is
   no sense in one), of which VALID bytes are known to be UTF-8: sets out->text and out->utf8, mending into B. */
int document_check(const struct reader_options *o, size_t valid, struct buffer *b, const char *name,
		   uint64_t offset, struct document *out);

/* Whether the options leave out the file NAME; LEAF: include counts too. */
bool name_excluded(const struct documents_options *o, struct bytes name, bool leaf);

#endif
