/* lib/data/token_shuffle.c - documents put aside, and given back in another order */
#include "lib/data/token_shuffle.h"

#include <string.h>

#include "formats/token_spool.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"

#define STEP 8192

/* A document in the spool of documents; what is in the spools is our own, in the machine's order. */
struct entry {
	uint64_t first_id, n_ids, first_run, n_runs;
	uint64_t separator;
};

struct token_shuffle {
	uint32_t width;
	struct token_spool *ids, *runs, *entries;
	struct entry entry; /* the document that is being put aside */
	unsigned char bytes[STEP * 4];
};

void token_shuffle_free(struct token_shuffle *s)
{
	if (!s)
		return;
	token_spool_free(s->ids);
	token_spool_free(s->runs);
	token_spool_free(s->entries);
	free(s);
}

int token_shuffle_new(struct token_shuffle **out, uint32_t vocab, const char *near)
{
	struct token_shuffle *s = mem_new(1, sizeof(*s));

	if (!s)
		return -1;
	s->width = token_width(vocab);
	if (token_spool_new(&s->ids, near) != 0 || token_spool_new(&s->runs, near) != 0 ||
	    token_spool_new(&s->entries, near) != 0) {
		token_shuffle_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

int token_shuffle_add(struct token_shuffle *s, const uint32_t *ids, size_t n)
{
	for (size_t at = 0; at < n; at += STEP) {
		size_t m = n - at < STEP ? n - at : STEP;

		token_ids_encode(s->bytes, ids + at, m, s->width);
		if (token_spool_write(s->ids, s->bytes, m * s->width) != 0)
			return -1;
	}
	s->entry.n_ids += n;
	return 0;
}

int token_shuffle_add_run(struct token_shuffle *s, const struct token_run *run)
{
	unsigned char bytes[TOKEN_RUN_SIZE];

	token_run_encode(run, bytes);
	s->entry.n_runs++;
	return token_spool_write(s->runs, bytes, sizeof(bytes));
}

int token_shuffle_end_document(struct token_shuffle *s, uint32_t separator)
{
	s->entry.separator = separator;
	if (token_spool_write(s->entries, &s->entry, sizeof(s->entry)) != 0)
		return -1;
	s->entry = (struct entry){
		.first_id = s->entry.first_id + s->entry.n_ids,
		.first_run = s->entry.first_run + s->entry.n_runs,
	};
	return 0;
}

static int give_document(struct token_shuffle *s, const struct entry *e, struct bytes ids,
			 struct bytes runs, struct token_sink *sink)
{
	uint32_t part[STEP];
	struct token_run run;

	for (uint64_t at = 0; at < e->n_ids; at += STEP) {
		size_t n = e->n_ids - at < STEP ? (size_t)(e->n_ids - at) : STEP;

		token_ids_decode(part,
				 (const unsigned char *)ids.data + (e->first_id + at) * s->width, n,
				 s->width);
		if (token_sink_add(sink, part, n) != 0)
			return -1;
	}
	for (uint64_t i = 0; i < e->n_runs; i++) {
		const char *data = runs.data + (e->first_run + i) * TOKEN_RUN_SIZE;

		token_run_decode(&run, (const unsigned char *)data);
		if (token_sink_add_run(sink, &run) != 0)
			return -1;
	}
	if (e->separator != TOKEN_NONE &&
	    token_sink_add_separator(sink, (uint32_t)e->separator) != 0)
		return -1;
	return token_sink_end_document(sink);
}

int token_shuffle_give(struct token_shuffle *s, struct token_sink *sink, uint64_t seed,
		       const char *name)
{
	struct random_stream r =
		random_at(seed, hash_short(name, strlen(name), 0), hash_short("documents", 9, 0));
	struct bytes ids, runs, entries;
	uint64_t n;

	if (token_spool_bytes(s->ids, &ids) != 0 || token_spool_bytes(s->runs, &runs) != 0 ||
	    token_spool_bytes(s->entries, &entries) != 0)
		return -1;
	n = entries.size / sizeof(struct entry);
	for (uint64_t i = 0; i < n; i++) {
		struct entry e;

		memcpy(&e, entries.data + random_permute(&r, 0, n, i) * sizeof(e), sizeof(e));
		if (give_document(s, &e, ids, runs, sink) != 0)
			return -1;
	}
	return 0;
}
