/*
 * lib/data/token_source.h - documents of token ids from any kind of file
 *
 *	stream	 man/man5/token-stream.5
 *	packed	 man/man5/token-pack.5
 *	ids	 text: a document a line, decimal ids with spaces between; lines without ids are passed over
 *	llmc	 the .bin files of llm.c: 256 words of 4 bytes (magic 20240520, version 1, number of ids; or
 *		 20240801, version 7), then ids of 2 (or 4) bytes; a document begins at each separator
 *	nanogpt	 the .bin files of nanoGPT: ids of 2 bytes and nothing else; a document ends after each
 *		 separator
 *
 * The last three do not say whose tokens they are; the caller does.
 */
#ifndef LIB_DATA_TOKEN_SOURCE_H
#define LIB_DATA_TOKEN_SOURCE_H

#include "formats/token_stream.h"

enum token_format {
	TOKENS_STREAM,
	TOKENS_PACKED,
	TOKENS_IDS,
	TOKENS_LLMC,
	TOKENS_NANOGPT,
};

#define LLMC_HEADER_SIZE 1024
#define LLMC_MAGIC_2	 20240520u
#define LLMC_VERSION_2	 1
#define LLMC_MAGIC_4	 20240801u
#define LLMC_VERSION_4	 7
#define LLMC_IDS_MAX	 ((uint64_t)1 << 31) /* below it: the count is a signed 32-bit number */

struct token_source_options {
	enum token_format format;
	struct token_header header; /* ids, llmc, nanogpt */
	uint32_t separator;	    /* llmc, nanogpt; TOKEN_NONE: the whole file is one document */
};

struct token_source;

int token_source_open(struct token_source **out, const char *path,
		      const struct token_source_options *o);
void token_source_close(struct token_source *s); /* NULL is allowed */

/* As token_reader_next. */
int token_source_next(struct token_source *s, struct token_event *e);

const struct token_header *token_source_header(const struct token_source *s);
const char *token_source_name(const struct token_source *s);
struct token_counts token_source_counts(const struct token_source *s); /* so far */

#endif
