/* lib/data/token_router.c - documents of a stream, each to its part of a split */

#include "lib/data/token_router.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

struct token_router {
	struct token_part *parts; /* owned */
	double *shares;		  /* owned */
	uint32_t n_parts;
	const char *key;
	/* The document: */
	const struct token_part *part; /* NULL until it is known */
	uint32_t ids[SPLIT_IDS_MAX];   /* until then */
	size_t n;
	struct token_run *runs; /* owned */
	size_t n_runs, runs_capacity;
	uint32_t last; /* its last id so far, or TOKEN_NONE */
};

int token_router_new(struct token_router **out, const struct token_part *parts, uint32_t n,
		     const char *key)
{
	struct token_router *r = mem_new(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return -1;
	r->parts = mem_new(n, sizeof(*r->parts));
	r->shares = mem_new(n, sizeof(*r->shares));
	if (!r->parts || !r->shares) {
		token_router_free(r);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		r->parts[i] = parts[i];
		r->shares[i] = parts[i].share;
	}
	r->n_parts = n;
	r->key = key;
	r->last = TOKEN_NONE;
	*out = r;
	return 0;
}

void token_router_free(struct token_router *r)
{
	if (!r)
		return;
	free(r->parts);
	free(r->shares);
	free(r->runs);
	free(r);
}

static int put_ids(const struct token_part *p, const uint32_t *ids, size_t n)
{
	return p->shuffle ? token_shuffle_add(p->shuffle, ids, n) : token_sink_add(p->sink, ids, n);
}

static int put_run(const struct token_part *p, const struct token_run *run)
{
	return p->shuffle ? token_shuffle_add_run(p->shuffle, run)
			  : token_sink_add_run(p->sink, run);
}

/* Which part the document goes to; what was kept of it goes there. */
static int decide(struct token_router *r)
{
	r->part = &r->parts[token_split_part(r->ids, r->n, r->key, r->shares, r->n_parts)];
	if (put_ids(r->part, r->ids, r->n) < 0)
		return -1;
	for (size_t i = 0; i < r->n_runs; i++)
		if (put_run(r->part, &r->runs[i]) < 0)
			return -1;
	return 0;
}

int token_router_add(struct token_router *r, const uint32_t *ids, size_t n)
{
	size_t kept = n < SPLIT_IDS_MAX - r->n ? n : SPLIT_IDS_MAX - r->n;

	if (n == 0)
		return 0;
	r->last = ids[n - 1];
	if (r->part)
		return put_ids(r->part, ids, n);
	memcpy(r->ids + r->n, ids, kept * sizeof(*ids));
	r->n += kept;
	if (kept == n)
		return 0;
	return decide(r) < 0 ? -1 : put_ids(r->part, ids + kept, n - kept);
}

int token_router_add_run(struct token_router *r, const struct token_run *run)
{
	if (r->part)
		return put_run(r->part, run);
	if (mem_grow(&r->runs, &r->runs_capacity, r->n_runs + 1, sizeof(*run)) < 0)
		return -1;
	r->runs[r->n_runs++] = *run;
	return 0;
}

static int end_part(const struct token_part *p, uint32_t separator)
{
	if (p->shuffle)
		return token_shuffle_end_document(p->shuffle, separator);
	if (separator != TOKEN_NONE && token_sink_add_separator(p->sink, separator) < 0)
		return -1;
	return token_sink_end_document(p->sink);
}

int token_router_end_document(struct token_router *r, uint32_t separator)
{
	bool ends = r->last == TOKEN_NONE || r->last == separator;

	if (!r->part && decide(r) < 0)
		return -1;
	if (end_part(r->part, ends ? TOKEN_NONE : separator) < 0)
		return -1;
	r->part = NULL;
	r->n = r->n_runs = 0;
	r->last = TOKEN_NONE;
	return 0;
}
