/*
 * lib/data/documents.h - documents from files, folders, archives and pipes
 *
 * A document is a run of text with the name of where it came from. man/man5/nnutils-documents.5 says
 * how inputs are told apart, how they are cut into documents, and how documents travel on a pipe.
 * Everything is read once, from front to back, and archives are read as streams: no name in one
 * ever reaches the file system. Memory is proportional to the largest document, and with
 * dedup also to the number of documents.
 *
 *	documents_open(&d, paths, n, &options);
 *	while ((got = documents_next(d, &doc)) > 0)
 *		use(doc.text);
 *	documents_close(d);
 */
#ifndef LIB_DATA_DOCUMENTS_H
#define LIB_DATA_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* Inputs in inputs: `x.tar.gz` is two of them, and each archive in an archive one or two more. */
#define DOCUMENTS_DEPTH_MAX 8
#define DOCUMENTS_BYTES_MAX ((size_t)1 << 30)

struct document {
	struct bytes text;
	size_t behind; /* bytes that can be read behind the text */
	/* `path`, `path:LINE`, `archive:member`, …; empty when FIELDS holds the source that the
	   document came with. */
	struct bytes source;
	/* Its first bytes that are those of every document of the input: behind them a line's digits at most. */
	size_t source_name;
	/* Members of a record that are passed on: empty, or `"key":value,"key":value`. */
	struct bytes fields;
	bool utf8; /* the text is well-formed */
};

/* How plain text is cut. */
enum documents_split {
	DOCUMENTS_FILE,	     /* a file is a document */
	DOCUMENTS_LINE,	     /* so is a line, */
	DOCUMENTS_BLANK,     /* what stands between blank lines, */
	DOCUMENTS_FORM_FEED, /* or between form feeds */
};

/* Bytes that are not UTF-8. */
enum documents_invalid {
	DOCUMENTS_REFUSE,  /* an error with the place */
	DOCUMENTS_KEEP,	   /* kept; the document is not utf8 */
	DOCUMENTS_REPLACE, /* U+FFFD for each maximal subpart, counted */
};

struct documents_options {
	enum documents_split split;
	enum documents_invalid invalid;
	const char *field; /* of JSON records; NULL: text */
	/* Shell patterns, tried on the last part of a name, or on the whole when they have a slash. */
	const char *const *include, *const *exclude;
	size_t n_include, n_exclude;
	uint64_t min_bytes, max_documents; /* max 0: all */
	size_t max_bytes;		   /* of one document; 0: DOCUMENTS_BYTES_MAX */
	bool dedup;			   /* leave out a text that was there before */
	bool group;			   /* members of an archive by sample (WebDataset) */
	bool crlf;			   /* CR LF in plain text becomes LF */
};

struct documents_counts {
	uint64_t documents, bytes;	    /* given out */
	uint64_t too_short, duplicates;	    /* documents left out */
	uint64_t excluded, links, special;  /* files and members left out */
	uint64_t non_samples, without_text; /* group: members without a key; samples without text */
	uint64_t binary_members;	    /* group: members that are not UTF-8 */
	uint64_t replaced, kept,
		with_crlf;  /* U+FFFD put; documents that are not utf8, that have CR LF */
	size_t dedup_bytes; /* memory of the hashes */
};

struct documents;

/* Paths may be files, folders and `-` for stdin; none at all is stdin. They must outlive D, as must
   what O points to. O may be NULL. */
int documents_open(struct documents **out, const char *const *paths, size_t n,
		   const struct documents_options *o);
void documents_close(struct documents *d); /* NULL is allowed */

/* 1 and the next document, valid until the next call; 0 at the end; -1, and -1 ever after. */
int documents_next(struct documents *d, struct document *out);

const struct documents_counts *documents_counts(const struct documents *d);

#endif
