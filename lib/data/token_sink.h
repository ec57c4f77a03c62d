/*
 * lib/data/token_sink.h - documents of token ids into any kind of file
 *
 * The kinds are those of lib/data/token_source.h, but for ids. The .bin files have no place for roles, and
 * mark no documents but by the separators among the ids: runs are dropped and counted.
 */
#ifndef LIB_DATA_TOKEN_SINK_H
#define LIB_DATA_TOKEN_SINK_H

#include "formats/token_pack.h"
#include "lib/data/token_source.h"

struct token_sink_options {
	enum token_format format;
	struct token_header header;
	struct token_pack_options pack;
	const char *near; /* where tables may be put aside (formats/token_spool.h) */
};

struct token_sink_counts {
	uint64_t documents, tokens, separators, runs, runs_dropped; /* tokens: with separators */
};

struct token_sink;

/* F stays the caller's, who commits it after token_sink_end. A kind that has no room for ids of this
   vocabulary is refused. */
int token_sink_new(struct token_sink **out, struct outfile *f, const struct token_sink_options *o);
void token_sink_free(struct token_sink *s); /* NULL is allowed */

int token_sink_add(struct token_sink *s, const uint32_t *ids, size_t n);
int token_sink_add_separator(struct token_sink *s, uint32_t id);
int token_sink_add_run(struct token_sink *s, const struct token_run *run);
int token_sink_end_document(struct token_sink *s);
int token_sink_end(struct token_sink *s);
struct token_sink_counts token_sink_counts(const struct token_sink *s);

#endif
