/* lib/data/token_source_ids.c - documents of decimal token ids, one a line */
#include <inttypes.h>

#include "formats/jsonl.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/token_source_parts.h"

struct text {
	struct jsonl *lines;
	struct bytes line; /* what is left of it */
	bool inside;
	uint32_t ids[TOKEN_EVENT_IDS_MAX];
};

static int text_open(struct token_source *s, const char *path)
{
	struct text *t = mem_new(1, sizeof(*t));

	s->state = t;
	if (!t)
		return -1;
	return jsonl_open(&t->lines, path, NULL);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip(struct bytes *b)
{
	b->data++;
	b->size--;
}

/* The next id of the line, which does not begin with a space. */
static int parse_id(const struct token_source *s, struct text *t, uint32_t *out)
{
	uint64_t v = 0;

	do {
		char c = *t->line.data;

		if (c < '0' || c > '9')
			return err_set(ERR_FORMAT, "%s:%" PRIu64 ": a token id that is no number",
				       s->name, jsonl_line(t->lines));
		v = v * 10 + (uint64_t)(c - '0');
		if (v >= s->header.vocab)
			return err_set(ERR_FORMAT,
				       "%s:%" PRIu64 ": a token id from %" PRIu64
				       " on is not below the vocabulary size %" PRIu32,
				       s->name, jsonl_line(t->lines), v, s->header.vocab);
		skip(&t->line);
	} while (t->line.size && !is_space(*t->line.data));
	*out = (uint32_t)v;
	return 0;
}

static int parse_ids(const struct token_source *s, struct text *t, struct token_event *e)
{
	size_t n = 0;

	for (;;) {
		while (t->line.size && is_space(*t->line.data))
			skip(&t->line);
		if (t->line.size == 0 || n == TOKEN_EVENT_IDS_MAX)
			break;
		if (parse_id(s, t, &t->ids[n++]) != 0)
			return -1;
	}
	*e = (struct token_event){ .kind = TOKEN_EVENT_IDS, .ids = t->ids, .n = n };
	return 1;
}

static int text_next(struct token_source *s, struct token_event *e)
{
	struct text *t = s->state;

	if (!t->inside) {
		int got = jsonl_next(t->lines, &t->line);

		if (got <= 0)
			return got;
		t->inside = true;
	}
	if (t->line.size)
		return parse_ids(s, t, e);
	t->inside = false;
	*e = (struct token_event){ .kind = TOKEN_EVENT_END };
	return 1;
}

static void text_close(void *state)
{
	struct text *t = state;

	if (t)
		jsonl_close(t->lines);
	free(t);
}

const struct token_source_kind token_source_ids = { text_open, text_next, text_close };
