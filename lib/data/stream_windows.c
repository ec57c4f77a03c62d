/* lib/data/stream_windows.c - windows of a token stream, which is read once and forwards */

#include "lib/data/stream_windows.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/base/size.h"
#include "lib/data/windows.h"

#define MARK_FIRST 0x80 /* of a document; the rest of a mark is the role */

struct stream_windows {
	struct token_reader *reader;
	struct stream_windows_options options;
	size_t span_tokens; /* from the start of a span to that of the next */
	uint32_t *ids;	    /* tokens held */
	uint8_t *marks;
	size_t ids_room, marks_room, n;
	uint64_t base;	   /* which token of the stream ids[0] is: the span's first */
	uint64_t document; /* which one the current document begins with */
	uint64_t given;	   /* tokens before it are in windows of spans that are gone */
	uint64_t span;
	bool loaded, ended, failed;
};

static int open_reader(struct token_reader **out, const char *path)
{
	return strcmp(path, "-") == 0 ? token_reader_open_fd(out, STDIN_FILENO, "stdin")
				      : token_reader_open(out, path);
}

int stream_windows_open(struct stream_windows **out, const char *path,
			const struct stream_windows_options *o)
{
	struct stream_windows *s;

	*out = NULL;
	if (o->length == 0 || o->length > WINDOW_LENGTH_MAX || o->span == 0)
		return err_set(ERR_ARGUMENT,
			       "windows of %" PRIu32 " tokens: 1 to 2^24 are possible", o->length);
	s = mem_new(1, sizeof(*s));
	if (!s)
		return -1;
	s->options = *o;
	if (!size_mul(o->span, o->length, &s->span_tokens) || s->span_tokens > SIZE_MAX / 2) {
		err_set(ERR_LIMIT, "%s: %zu windows held together", path, o->span);
		goto failed;
	}
	if (open_reader(&s->reader, path) < 0)
		goto failed;
	*out = s;
	return 0;
failed:
	stream_windows_close(s);
	return -1;
}

void stream_windows_close(struct stream_windows *s)
{
	if (!s)
		return;
	token_reader_close(s->reader);
	free(s->ids);
	free(s->marks);
	free(s);
}

const struct token_header *stream_windows_header(const struct stream_windows *s)
{
	return token_reader_header(s->reader);
}

const char *stream_windows_name(const struct stream_windows *s)
{
	return token_reader_name(s->reader);
}

struct token_counts stream_windows_counts(const struct stream_windows *s)
{
	return token_reader_counts(s->reader);
}

/* --- what comes ------------------------------------------------------------------------- */

static int add_ids(struct stream_windows *s, const uint32_t *ids, size_t n)
{
	if (n == 0)
		return 0;
	if (mem_grow(&s->ids, &s->ids_room, s->n + n, sizeof(*s->ids)) < 0 ||
	    mem_grow(&s->marks, &s->marks_room, s->n + n, 1) < 0)
		return -1;
	memcpy(s->ids + s->n, ids, n * sizeof(*ids));
	memset(s->marks + s->n, ROLE_TEXT, n);
	if (s->base + s->n == s->document)
		s->marks[s->n] |= MARK_FIRST;
	s->n += n;
	return 0;
}

/* The reader has checked that the run's tokens were sent. */
static int add_run(struct stream_windows *s, const struct token_run *run)
{
	uint64_t from = s->document + run->start;

	if (from < s->given)
		return err_set(ERR_LIMIT,
			       "%s: document %" PRIu64
			       ": a role comes more than %zu tokens after its token, "
			       "which is in use; pack-tokens takes such documents",
			       stream_windows_name(s), stream_windows_counts(s).documents + 1,
			       STREAM_WINDOWS_AHEAD);
	for (uint64_t i = from - s->base; i < from - s->base + run->length; i++)
		s->marks[i] = (uint8_t)((s->marks[i] & MARK_FIRST) | run->role);
	return 0;
}

static int end_document(struct stream_windows *s)
{
	uint32_t eos = stream_windows_header(s)->eos;
	bool some = s->base + s->n > s->document;

	if (some && eos != TOKEN_NONE && s->ids[s->n - 1] != eos && add_ids(s, &eos, 1) < 0)
		return -1;
	s->document = s->base + s->n;
	return 0;
}

static int take_event(struct stream_windows *s)
{
	struct token_event e;
	int got = token_reader_next(s->reader, &e);

	if (got <= 0) {
		s->ended = got == 0;
		return got;
	}
	switch (e.kind) {
	case TOKEN_EVENT_IDS: return add_ids(s, e.ids, e.n);
	case TOKEN_EVENT_RUN: return add_run(s, &e.run);
	case TOKEN_EVENT_END: break;
	}
	return end_document(s);
}

/* --- spans ------------------------------------------------------------------------------ */

/* Every token of the span has come, with its role. A span's last token is the next one's first. */
static bool is_complete(const struct stream_windows *s)
{
	size_t end = s->span_tokens + 1;

	return s->ended || (s->n >= end &&
			    (s->document >= s->base + end || s->n - end >= STREAM_WINDOWS_AHEAD));
}

static int read_span(struct stream_windows *s)
{
	while (!is_complete(s))
		if (take_event(s) < 0)
			return -1;
	s->loaded = true;
	return 0;
}

static void leave_span(struct stream_windows *s)
{
	size_t gone = s->span_tokens < s->n ? s->span_tokens : s->n;

	s->n -= gone;
	memmove(s->ids, s->ids + gone, s->n * sizeof(*s->ids));
	memmove(s->marks, s->marks + gone, s->n);
	s->base += gone;
	s->given = s->base + 1;
	s->span++;
	s->loaded = false;
}

/* How many windows the span has: fewer than it could hold at the end of the stream. */
static uint64_t span_windows(const struct stream_windows *s)
{
	size_t tokens = s->n < s->span_tokens + 1 ? s->n : s->span_tokens + 1;

	return tokens < 2 ? 0 : (tokens - 2) / s->options.length + 1;
}

static int go_to_span(struct stream_windows *s, uint64_t span)
{
	if (span < s->span)
		return err_set(ERR_ARGUMENT,
			       "%s: window %" PRIu64 " has been passed: a stream is read forwards",
			       stream_windows_name(s), span * s->options.span);
	if (!s->loaded && read_span(s) < 0)
		return -1;
	while (s->span < span && !(s->ended && s->n < 2)) {
		leave_span(s);
		if (read_span(s) < 0)
			return -1;
	}
	return 0;
}

/* --- a window --------------------------------------------------------------------------- */

/* The N tokens from AT on, of LENGTH + 1. */
static void put_tokens(const struct stream_windows *s, size_t at, size_t n, uint32_t *ids,
		       uint32_t *documents, uint8_t *learnt)
{
	uint32_t document = 0;

	memcpy(ids, s->ids + at, n * sizeof(*ids));
	for (size_t i = 0; i < n; i++) {
		bool first = s->options.apart && (s->marks[at + i] & MARK_FIRST);

		document += i > 0 && first;
		documents[i] = document;
		if (i > 0)
			learnt[i - 1] =
				(ROLES_LEARNT >> (s->marks[at + i] & ~MARK_FIRST) & 1) && !first;
	}
}

static void put_padding(const struct stream_windows *s, size_t n, uint32_t *ids,
			uint32_t *documents, uint8_t *learnt)
{
	uint32_t pad = stream_windows_header(s)->pad;
	uint32_t number = documents[n - 1] + 1;

	for (size_t i = n; i < (size_t)s->options.length + 1; i++) {
		ids[i] = pad == TOKEN_NONE ? 0 : pad;
		documents[i] = number;
		learnt[i - 1] = 0;
	}
}

static void put_window(const struct stream_windows *s, uint64_t window, uint32_t *ids,
		       uint32_t *documents, uint8_t *learnt)
{
	size_t at = (size_t)window * s->options.length, room = (size_t)s->options.length + 1;
	size_t n = s->n - at < room ? s->n - at : room;

	put_tokens(s, at, n, ids, documents, learnt);
	put_padding(s, n, ids, documents, learnt);
}

int stream_windows_get(struct stream_windows *s, uint64_t place, uint32_t *ids, uint32_t *documents,
		       uint8_t *learnt)
{
	uint64_t span = place / s->options.span, k = place % s->options.span, n;
	struct random_stream r =
		random_at(s->options.seed, span, hash_short("stream windows", 14, 0));

	if (s->failed)
		return err_set(ERR_ARGUMENT, "%s: reading has failed before",
			       stream_windows_name(s));
	if (go_to_span(s, span) < 0) {
		s->failed = span >= s->span;
		return -1;
	}
	n = s->span == span ? span_windows(s) : 0;
	if (k >= n)
		return 0;
	put_window(s, random_permute(&r, 0, n, k), ids, documents, learnt);
	return 1;
}
