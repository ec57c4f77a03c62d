/* lib/data/token_source.c - documents of token ids from any kind of file; streams and packed files */
#include <inttypes.h>
#include <string.h>

#include "formats/token_pack.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/token_source_parts.h"

/* --- streams ---------------------------------------------------------------------------- */

static int stream_open(struct token_source *s, const char *path)
{
	struct token_reader *r;

	if (token_reader_open(&r, path) != 0)
		return -1;
	s->state = r;
	s->header = *token_reader_header(r);
	return 0;
}

static int stream_next(struct token_source *s, struct token_event *e)
{
	return token_reader_next(s->state, e);
}

static void stream_close(void *state)
{
	token_reader_close(state);
}

const struct token_source_kind token_source_stream = { stream_open, stream_next, stream_close };

/* --- packed files ------------------------------------------------------------------------ */

struct packed {
	struct token_pack *pack;
	const struct token_pack_info *info;
	uint64_t document, run; /* the next ones */
	uint64_t from, at, to;	/* of the document that is being given, when there is one */
	bool inside;
	uint32_t ids[TOKEN_EVENT_IDS_MAX];
};

static int packed_open(struct token_source *s, const char *path)
{
	struct packed *p = mem_new(1, sizeof(*p));

	s->state = p;
	if (!p || token_pack_open(&p->pack, path) != 0 || token_pack_check(p->pack, NULL) != 0)
		return -1;
	p->info = token_pack_info(p->pack);
	s->header = p->info->header;
	return 0;
}

static int packed_ids(struct packed *p, struct token_event *e)
{
	uint64_t left = p->to - p->at;
	size_t n = left < TOKEN_EVENT_IDS_MAX ? (size_t)left : TOKEN_EVENT_IDS_MAX;

	if (token_pack_read(p->pack, p->at, n, p->ids) != 0)
		return -1;
	p->at += n;
	*e = (struct token_event){ .kind = TOKEN_EVENT_IDS, .ids = p->ids, .n = n };
	return 1;
}

/* 1 and the document's next run, or 0 when it has no more. */
static int packed_run(struct packed *p, struct token_event *e)
{
	*e = (struct token_event){ .kind = TOKEN_EVENT_RUN };
	if (p->run == p->info->n_runs)
		return 0;
	if (token_pack_run(p->pack, p->run, &e->run) != 0)
		return -1;
	if (e->run.start >= p->to)
		return 0;
	e->run.start -= p->from;
	p->run++;
	return 1;
}

static int packed_next(struct token_source *s, struct token_event *e)
{
	struct packed *p = s->state;
	int got;

	if (!p->inside) {
		if (p->document == p->info->n_documents)
			return 0;
		if (token_pack_document(p->pack, p->document++, &p->from, &p->to) != 0)
			return -1;
		p->at = p->from;
		p->inside = true;
	}
	if (p->at < p->to)
		return packed_ids(p, e);
	got = packed_run(p, e);
	if (got)
		return got;
	p->inside = false;
	e->kind = TOKEN_EVENT_END;
	return 1;
}

static void packed_close(void *state)
{
	struct packed *p = state;

	if (p)
		token_pack_close(p->pack);
	free(p);
}

const struct token_source_kind token_source_packed = { packed_open, packed_next, packed_close };

/* --- any --------------------------------------------------------------------------------- */

static const struct token_source_kind *const kinds[] = {
	[TOKENS_STREAM] = &token_source_stream,	  [TOKENS_PACKED] = &token_source_packed,
	[TOKENS_IDS] = &token_source_ids,	  [TOKENS_LLMC] = &token_source_llmc,
	[TOKENS_NANOGPT] = &token_source_nanogpt,
};

int token_source_open(struct token_source **out, const char *path,
		      const struct token_source_options *o)
{
	struct token_source *s = mem_new(1, sizeof(*s));

	if (!s)
		return -1;
	s->kind = kinds[o->format];
	s->header = o->header;
	s->separator = o->separator;
	s->name = mem_copy(path, strlen(path));
	if (!s->name || s->kind->open(s, path) != 0) {
		token_source_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void token_source_close(struct token_source *s)
{
	if (!s)
		return;
	s->kind->close(s->state);
	free(s->name);
	free(s);
}

int token_source_check(const struct token_source *s, uint32_t top)
{
	if (top < s->header.vocab)
		return 0;
	return err_set(ERR_FORMAT,
		       "%s: token id %" PRIu32 " is not below the vocabulary size %" PRIu32,
		       s->name, top, s->header.vocab);
}

int token_source_next(struct token_source *s, struct token_event *e)
{
	int got;

	if (s->failed)
		return err_set(ERR_FORMAT, "%s: could not be read before", s->name);
	got = s->kind->next(s, e);
	s->failed = got < 0;
	if (got > 0 && e->kind == TOKEN_EVENT_IDS)
		s->counts.tokens += e->n;
	if (got > 0 && e->kind == TOKEN_EVENT_END)
		s->counts.documents++;
	return got;
}

const struct token_header *token_source_header(const struct token_source *s)
{
	return &s->header;
}

const char *token_source_name(const struct token_source *s)
{
	return s->name;
}

struct token_counts token_source_counts(const struct token_source *s)
{
	return s->counts;
}
