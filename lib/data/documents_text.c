/*
 * lib/data/documents_text.c - plain text, cut into documents
 *
 * One buffer holds the bytes that were read and not given out. It grows for a long document, and is
 * used again for the next input. No byte is searched twice.
 */
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/scan.h"
#include "lib/base/utf8.h"
#include "lib/data/documents_parts.h"

#define FIRST_BUFFER ((size_t)1 << 20)
#define LARGE_FILE   ((size_t)1 << 24)
#define READ_MOST    ((size_t)1 << 18) /* bytes that are still in the cache when they are looked at */

void text_reader_free(struct text_reader *r)
{
	free(r->data);
	buffer_free(&r->source);
	buffer_free(&r->text);
	*r = (struct text_reader){ 0 };
}

void text_reader_begin(struct text_reader *r, const struct reader_options *o, struct input *in)
{
	r->o = o;
	r->in = in;
	r->base = in->offset;
	r->from = r->to = r->line_from = r->searched = r->valid = r->no_cr = 0;
	r->ends = 0;
	r->line = r->source_line = 0;
	r->has_text = r->file_done = false;
	buffer_clear(&r->source);
	buffer_put_text(&r->source, in->name);
	r->name_size = r->source.size;
}

/* --- filling --- */

static int fail_long(const struct text_reader *r)
{
	return err_set(ERR_LIMIT,
		       "%s: byte %llu: a document of more than %zu bytes (--max-bytes, or --split)",
		       r->in->name, (unsigned long long)(r->base + r->from), r->o->max_bytes);
}

/* Moves what is not given out to the front of the buffer, while no end is kept. */
static void move_front(struct text_reader *r)
{
	memmove(r->data, r->data + r->from, r->to - r->from);
	r->base += r->from;
	r->searched -= r->from;
	r->no_cr = r->no_cr > r->from ? r->no_cr - r->from : 0;
	r->valid = r->valid > r->from ? r->valid - r->from : 0;
	r->line_from -= r->from;
	r->to -= r->from;
	r->from = 0;
}

static int make_room(struct text_reader *r)
{
	if (r->capacity == 0)
		return mem_grow(&r->data, &r->capacity, FIRST_BUFFER, 1);
	if (r->to < r->capacity)
		return 0;
	if (r->from > 0)
		move_front(r);
	if (r->to <= r->capacity / 2)
		return 0;
	return mem_grow(&r->data, &r->capacity, r->capacity + 1, 1);
}

/*
 * Room for a large file at once, while nothing is held: growing step by step takes longer than reading.
 * Where there is not so much, it grows all the same.
 */
static void make_room_for_file(struct text_reader *r)
{
	uint64_t size = r->in->size_hint;

	if (size < r->capacity || size < LARGE_FILE || size > r->o->max_bytes)
		return;
	free(r->data);
	r->data = mem_pages((size_t)size + 1); /* one to see that nothing follows */
	r->capacity = r->data ? (size_t)size + 1 : 0;
}

/* Many documents' bytes are looked at together, while they are in the cache. */
static void check_utf8(struct text_reader *r)
{
	r->valid += utf8_valid_prefix(r->data + r->valid, r->to - r->valid);
}

/* Reads what comes: *MORE tells whether anything did. A document may be longer by its end, CR LF. */
static int fill(struct text_reader *r, bool *more)
{
	size_t n, got;

	if (r->to - r->from > r->o->max_bytes && r->to - r->from - r->o->max_bytes > 2)
		return fail_long(r);
	if (make_room(r))
		return -1;
	n = r->capacity - r->to < READ_MOST ? r->capacity - r->to : READ_MOST;
	/* Touched here, the page may be a huge one: a page that read() is the first to touch is small. */
	r->data[r->to] = 0;
	if (input_read(r->in, r->data + r->to, n, &got))
		return -1;
	r->to += got;
	*more = got > 0;
	check_utf8(r);
	return 0;
}

/* Whether the bytes from SEARCHED on hold an END. Those that follow it in its block are kept: lines are short. */
static bool search(struct text_reader *r, char end)
{
	size_t at = r->searched;
	const char *found;

	for (; r->to - at >= SCAN_BLOCK; at += SCAN_BLOCK) {
		r->ends = scan_block(r->data + at, end);
		if (r->ends) {
			r->ends_at = at;
			r->searched = at + SCAN_BLOCK;
			return true;
		}
	}
	found = r->to > at ? memchr(r->data + at, end, r->to - at) : NULL;
	r->ends = found != NULL;
	r->ends_at = found ? (size_t)(found - r->data) : at;
	r->searched = found ? r->ends_at + 1 : r->to;
	return found != NULL;
}

/*
 * The end of the line that begins at line_from, behind its END, or where the input ends: 1 and its
 * place to *AT, 0 when the input had ended before, -1.
 */
static int find_end(struct text_reader *r, char end, size_t *at)
{
	bool more;

	while (!r->ends && !search(r, end)) {
		if (fill(r, &more))
			return -1;
		if (!more) {
			*at = r->to;
			return r->to > r->line_from;
		}
	}
	*at = r->ends_at + scan_first(r->ends) + 1;
	r->ends &= r->ends - 1;
	return 1;
}

/* --- pieces --- */

static bool is_blank(const char *p, size_t n)
{
	while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r' || p[n - 1] == '\n'))
		n--;
	return n == 0;
}

/* Everything before LINE_FROM is done with. */
static void pass(struct text_reader *r)
{
	r->from = r->line_from;
}

/* A line with something in it, without its LF. */
static int next_line(struct text_reader *r, struct bytes *piece)
{
	size_t at, n;
	int got;

	while ((got = find_end(r, '\n', &at)) > 0) {
		const char *line = r->data + r->line_from;

		n = at - r->line_from;
		r->line_from = at;
		r->piece_line = ++r->line;
		if (is_blank(line, n)) {
			pass(r);
			continue;
		}
		*piece = (struct bytes){ line, n - (line[n - 1] == '\n') };
		return 1;
	}
	return got;
}

/* Lines of the paragraph that lie in the buffer as a whole, and are not blank at first sight. */
static void take_full_lines(struct text_reader *r)
{
	uint64_t lines = 0;
	size_t n = full_lines(r->data + r->line_from, r->to - r->line_from, &lines);

	if (!n)
		return;
	if (!r->has_text)
		r->piece_line = r->line + 1;
	r->has_text = true;
	r->line += lines;
	r->line_from += n;
	r->searched = r->line_from;
	r->ends = 0;
}

/* Lines up to a blank one, without the last line's LF. */
static int next_paragraph(struct text_reader *r, struct bytes *piece)
{
	size_t at, end = 0;
	int got;

	r->has_text = false;
	for (;;) {
		bool blank;

		take_full_lines(r);
		if (r->has_text)
			end = r->line_from - r->from;
		got = find_end(r, '\n', &at);
		if (got <= 0)
			break;
		blank = is_blank(r->data + r->line_from, at - r->line_from);

		r->line_from = at;
		r->line++;
		if (blank && r->has_text)
			break;
		if (blank) {
			pass(r);
			continue;
		}
		if (!r->has_text)
			r->piece_line = r->line;
		r->has_text = true;
		end = at - r->from;
	}
	if (got < 0 || !r->has_text)
		return got;
	/* find_end may have moved the bytes: END counts from r->from, which moves along. */
	*piece = (struct bytes){ r->data + r->from, end };
	if (piece->data[end - 1] == '\n')
		piece->size--;
	return 1;
}

/* What stands between form feeds, unless nothing does. */
static int next_page(struct text_reader *r, struct bytes *piece)
{
	size_t at, n;
	int got;

	while ((got = find_end(r, '\f', &at)) > 0) {
		const char *page = r->data + r->line_from;

		n = at - r->line_from;
		r->line_from = at;
		r->piece_line = ++r->line;
		n -= page[n - 1] == '\f';
		if (n) {
			*piece = (struct bytes){ page, n };
			return 1;
		}
		pass(r);
	}
	return got;
}

/* The first CR from AT on, or where the bytes end that are there: each is looked at once. */
static size_t find_cr(struct text_reader *r, size_t at)
{
	const char *cr;

	if (at < r->no_cr)
		at = r->no_cr;
	if (at == r->to || r->data[at] == '\r')
		return at;
	cr = memchr(r->data + at, '\r', r->to - at);
	r->no_cr = cr ? (size_t)(cr - r->data) : r->to;
	return r->no_cr;
}

/* The whole input. What was read is looked at while it is in the cache, and while a thread may unpack more. */
static int next_file(struct text_reader *r, struct bytes *piece)
{
	bool more = true;

	if (r->file_done)
		return 0;
	make_room_for_file(r);
	while (more) {
		if (fill(r, &more))
			return -1;
		find_cr(r, 0);
	}
	r->file_done = true;
	r->line_from = r->to;
	*piece = (struct bytes){ r->data, r->to };
	return 1;
}

static int next_piece(struct text_reader *r, struct bytes *piece)
{
	switch (r->o->options->split) {
	case DOCUMENTS_LINE: return next_line(r, piece);
	case DOCUMENTS_BLANK: return next_paragraph(r, piece);
	case DOCUMENTS_FORM_FEED: return next_page(r, piece);
	default: return next_file(r, piece);
	}
}

/* --- documents --- */

/* Each CR LF becomes LF, in place, and so does a CR whose LF was the end of the piece. */
static void drop_cr(char *p, size_t *n, bool at_line_end)
{
	size_t to = 0;

	for (size_t i = 0; i < *n; i++)
		if (p[i] != '\r' || (i + 1 < *n ? p[i + 1] != '\n' : !at_line_end))
			p[to++] = p[i];
	*n = to;
}

static bool has_crlf(struct bytes text, bool at_line_end)
{
	const char *p = text.data, *end = p + text.size;

	while (p < end && (p = memchr(p, '\r', (size_t)(end - p)))) {
		if (++p == end)
			return at_line_end;
		if (*p == '\n')
			return true;
	}
	return false;
}

/* TEXT lies in the reader's own memory, so it may be changed there. */
static void look_at_crlf(struct text_reader *r, struct bytes *text)
{
	enum documents_split split = r->o->options->split;
	bool lines = split == DOCUMENTS_LINE || split == DOCUMENTS_BLANK;
	bool mended = text->data == r->text.data;
	size_t at = mended ? 0 : (size_t)(text->data - r->data);

	if (!mended && find_cr(r, at) >= at + text->size)
		return;
	if (!has_crlf(*text, lines))
		return;
	r->o->counts->with_crlf++;
	if (r->o->options->crlf)
		drop_cr(mended ? r->text.data : r->data + at, &text->size, lines);
}

/* Adds N, at most 9, to the digits at the end of the source; false when it has too few. */
static bool count_on(struct text_reader *r, uint64_t n)
{
	char *digit = r->source.data + r->source.size - 1;

	if ((*digit = (char)(*digit + n)) <= '9')
		return true;
	for (*digit = (char)(*digit - 10); *--digit == '9';)
		*digit = '0';
	if (*digit == ':')
		return false;
	++*digit;
	return true;
}

/* The name, and the line or page where there are several documents in the input: mostly one of the next few. */
static int set_source(struct text_reader *r, struct document *out)
{
	uint64_t on = r->piece_line - r->source_line;

	if (r->o->options->split != DOCUMENTS_FILE &&
	    (!r->source_line || on > 9 || !count_on(r, on))) {
		r->source.size = r->name_size;
		buffer_put_u8(&r->source, ':');
		buffer_put_decimal(&r->source, r->piece_line);
	}
	r->source_line = r->piece_line;
	out->source = buffer_bytes(&r->source);
	out->source_name = r->name_size;
	return buffer_check(&r->source);
}

/* How many bytes of the piece that begins AT are known to be UTF-8. Pieces end with a character. */
static size_t known_valid(struct text_reader *r, size_t at, size_t n)
{
	if (r->valid < at)
		r->valid = at; /* past what was not */
	if (r->valid < at + n)
		check_utf8(r);
	return r->valid < at + n ? r->valid - at : n;
}

int text_reader_next(struct text_reader *r, struct document *out)
{
	size_t at;
	int got;

	pass(r);
	*out = (struct document){ .fields = { "", 0 } };
	got = next_piece(r, &out->text);
	if (got <= 0)
		return got;
	if (out->text.size > r->o->max_bytes)
		return fail_long(r);
	at = (size_t)(out->text.data - r->data);
	out->utf8 = r->valid >= at + out->text.size;
	if (!out->utf8 && document_check(r->o, known_valid(r, at, out->text.size), &r->text,
					 r->in->name, r->base + at, out))
		return -1;
	if (out->text.data != r->text.data)
		out->behind = r->to - at - out->text.size;
	look_at_crlf(r, &out->text);
	return set_source(r, out) ? -1 : 1;
}

int text_whole(struct input *in, struct buffer *b, size_t max)
{
	size_t got;

	do {
		if (buffer_reserve(b, 1 << 16) ||
		    input_read(in, b->data + b->size, b->capacity - b->size, &got))
			return -1;
		b->size += got;
		if (b->size > max)
			return err_set(ERR_LIMIT, "%s: more than %zu bytes (--max-bytes)", in->name,
				       max);
	} while (got);
	return 0;
}
