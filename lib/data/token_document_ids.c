/* lib/data/token_document_ids.c - documents of token streams, of ids as text, and of packed token files */

#include <stdlib.h>

#include "formats/token_pack.h"
#include "formats/tokenizer_open.h"
#include "lib/base/memory.h"
#include "lib/data/token_document_parts.h"
#include "lib/data/token_source.h"

/* --- streams, and ids as text ----------------------------------------------------------------------- */

static int source_open(struct token_documents *d)
{
	struct token_source_options o = {
		.format = d->o.input == TOKEN_INPUT_IDS ? TOKENS_IDS : TOKENS_STREAM,
		.header = { .vocab = tokenizer_vocab_size(d->tokenizer),
			    .bos = TOKEN_NONE,
			    .eos = TOKEN_NONE,
			    .pad = TOKEN_NONE },
	};
	struct token_source *s;

	if (token_source_open(&s, d->o.path, &o) < 0)
		return -1;
	d->state = s;
	return tokenizer_match(d->tokenizer, d->o.tokenizer_path, token_source_header(s),
			       token_source_name(s));
}

static int source_next(struct token_documents *d, bool pass)
{
	struct token_event e;
	int got;

	while ((got = token_source_next(d->state, &e)) > 0 && e.kind != TOKEN_EVENT_END) {
		if (pass)
			continue;
		if (e.kind == TOKEN_EVENT_IDS ? token_document_add(d, e.ids, e.n) < 0
					      : token_document_role(d, &e.run) < 0)
			return -1;
	}
	return got;
}

static void source_close(void *state)
{
	token_source_close(state);
}

const struct token_document_kind token_document_source = { source_open, source_next, source_close,
							   false };

/* --- packed files ------------------------------------------------------------------------------------ */

struct packed {
	struct token_pack *pack;
	uint64_t next, n_documents, n_runs;
};

static int packed_open(struct token_documents *d)
{
	struct packed *p = mem_new(1, sizeof(*p));
	const struct token_pack_info *info;

	d->state = p;
	if (!p || token_pack_open(&p->pack, d->o.path) < 0)
		return -1;
	info = token_pack_info(p->pack);
	p->n_documents = info->n_documents;
	p->n_runs = info->n_runs;
	return tokenizer_match(d->tokenizer, d->o.tokenizer_path, &info->header,
			       token_pack_name(p->pack));
}

static int packed_ids(struct token_documents *d, struct packed *p, uint64_t from, uint64_t to)
{
	uint32_t ids[4096];

	/* One more than is wanted tells that the document is cut. */
	while (from < to && !d->cut) {
		size_t n = to - from < 4096 ? (size_t)(to - from) : 4096;

		if (token_pack_read(p->pack, from, n, ids) < 0 || token_document_add(d, ids, n) < 0)
			return -1;
		from += n;
	}
	return 0;
}

static int packed_runs(struct token_documents *d, struct packed *p, uint64_t from, uint64_t to)
{
	struct token_run run;
	uint64_t i;

	if (from == to || token_pack_find_run(p->pack, from, &i) < 0)
		return from == to ? 0 : -1;
	for (; i < p->n_runs; i++) {
		if (token_pack_run(p->pack, i, &run) < 0)
			return -1;
		if (run.start >= to)
			break;
		run.start -= from;
		if (token_document_role(d, &run) < 0)
			return -1;
	}
	return 0;
}

static int packed_next(struct token_documents *d, bool pass)
{
	struct packed *p = d->state;
	uint64_t from, to;

	if (p->next == p->n_documents)
		return 0;
	if (pass) {
		p->next++;
		return 1;
	}
	if (token_pack_document(p->pack, p->next++, &from, &to) < 0 ||
	    packed_ids(d, p, from, to) < 0 || packed_runs(d, p, from, to) < 0)
		return -1;
	return 1;
}

static void packed_close(void *state)
{
	struct packed *p = state;

	if (p)
		token_pack_close(p->pack);
	free(p);
}

const struct token_document_kind token_document_pack = { packed_open, packed_next, packed_close,
							 false };
