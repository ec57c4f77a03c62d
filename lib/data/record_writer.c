/* lib/data/record_writer.c - encoded records as a token stream, or as lines of text */
#include "lib/data/record_writer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/token_stream.h"
#include "lib/base/buffer.h"
#include "lib/base/memory.h"

#define LINE_PART ((size_t)64 << 10) /* bytes of a line that are handed on at once */

struct record_writer {
	const struct tokenizer *tokenizer;
	struct outfile *file;
	enum record_output kind;
	bool runs;
	struct token_writer *stream; /* from the first record on */
	struct buffer line;
};

int record_writer_new(struct record_writer **out, const struct tokenizer *t, struct outfile *f,
		      enum record_output kind, bool runs)
{
	struct record_writer *w = mem_new(1, sizeof(*w));

	*out = w;
	if (!w)
		return -1;
	w->tokenizer = t;
	w->file = f;
	w->kind = kind;
	w->runs = runs;
	return 0;
}

void record_writer_free(struct record_writer *w)
{
	if (!w)
		return;
	token_writer_free(w->stream);
	buffer_free(&w->line);
	free(w);
}

/* --- a stream --- */

static int write_out(void *arg, const void *data, size_t n)
{
	return outfile_write(arg, data, n);
}

/* With the first record, not before: other threads are at work by then, and the fingerprints take their time. */
static int begin_stream(struct record_writer *w)
{
	const struct tokenizer_spec *s = tokenizer_spec(w->tokenizer);
	struct token_header h = {
		.vocab = tokenizer_vocab_size(w->tokenizer),
		.bos = s->bos,
		.eos = s->eos,
		.pad = s->pad,
	};

	if (w->stream)
		return 0;
	if (tokenizer_fingerprint(w->tokenizer, &h.plain, &h.whole) < 0)
		return -1;
	return token_writer_new(&w->stream, &h, write_out, w->file);
}

static int put_document(struct record_writer *w, const struct encoded_record *r)
{
	if (begin_stream(w) < 0 || token_writer_add(w->stream, r->encoding.ids, r->encoding.n) < 0)
		return -1;
	for (size_t i = 0; i < r->n_runs; i++)
		if (token_writer_run(w->stream, &r->runs[i]) < 0)
			return -1;
	return token_writer_end_document(w->stream);
}

/* --- lines --- */

/* What there is of the line so far, once it is LEAST bytes. */
static int pass_on(struct record_writer *w, size_t least)
{
	int got = 0;

	if (w->line.size < least)
		return 0;
	got = buffer_check(&w->line) < 0 ? -1 : outfile_write(w->file, w->line.data, w->line.size);
	buffer_clear(&w->line);
	return got;
}

static int put_ids(struct record_writer *w, const struct encoding *e, char between)
{
	for (size_t i = 0; i < e->n; i++) {
		if (i)
			buffer_put_u8(&w->line, (uint8_t)between);
		buffer_put_decimal(&w->line, e->ids[i]);
		if (pass_on(w, LINE_PART) < 0)
			return -1;
	}
	return 0;
}

static int put_spans(struct record_writer *w, const struct encoding *e)
{
	for (size_t i = 0; i < e->n; i++) {
		buffer_put_text(&w->line, i ? ",[" : "[");
		buffer_put_decimal(&w->line, e->offsets[i].from);
		buffer_put_u8(&w->line, ',');
		buffer_put_decimal(&w->line, e->offsets[i].to);
		buffer_put_u8(&w->line, ']');
		if (pass_on(w, LINE_PART) < 0)
			return -1;
	}
	return 0;
}

static void put_runs(struct record_writer *w, const struct encoded_record *r)
{
	buffer_put_text(&w->line, ",\"runs\":[");
	for (size_t i = 0; i < r->n_runs; i++)
		buffer_format(&w->line, "%s[%" PRIu64 ",%" PRIu64 ",\"%s\"]", i ? "," : "",
			      r->runs[i].start, r->runs[i].length,
			      token_role_name((enum token_role)r->runs[i].role));
	buffer_put_u8(&w->line, ']');
}

static int put_offsets(struct record_writer *w, const struct encoded_record *r)
{
	buffer_put_text(&w->line, "{\"ids\":[");
	if (put_ids(w, &r->encoding, ',') < 0)
		return -1;
	buffer_put_text(&w->line, "],\"offsets\":[");
	if (put_spans(w, &r->encoding) < 0)
		return -1;
	buffer_put_u8(&w->line, ']');
	if (w->runs)
		put_runs(w, r);
	buffer_put_u8(&w->line, '}');
	return 0;
}

/* --- any --- */

int record_writer_put(struct record_writer *w, const struct encoded_record *r)
{
	if (w->kind == WRITE_STREAM)
		return put_document(w, r);
	buffer_clear(&w->line);
	if ((w->kind == WRITE_OFFSETS ? put_offsets(w, r) : put_ids(w, &r->encoding, ' ')) < 0)
		return -1;
	buffer_put_u8(&w->line, '\n');
	return pass_on(w, 0);
}

int record_writer_flush(struct record_writer *w)
{
	if (w->kind != WRITE_STREAM)
		return 0;
	return begin_stream(w) < 0 ? -1 : token_writer_flush(w->stream);
}

int record_writer_end(struct record_writer *w)
{
	if (w->kind != WRITE_STREAM)
		return 0;
	return begin_stream(w) < 0 ? -1 : token_writer_end(w->stream);
}
