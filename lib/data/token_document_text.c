/* lib/data/token_document_text.c - documents of text, encoded here */

#include <inttypes.h>
#include <stdlib.h>

#include "formats/jsonl.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/data/record_text.h"
#include "lib/data/token_document_parts.h"

/* A document of plain text is held whole. */
#define TEXT_MAX ((size_t)1 << 30)

struct texts {
	struct encoder *encoder;
	struct encoding encoding;
	struct jsonl *lines; /* RECORDS */
	struct json *json;
	struct buffer decoded;
	char *whole; /* TEXT */
	size_t size;
	bool given; /* the one document of TEXT or STRING */
};

static int text_open(struct token_documents *d)
{
	struct texts *t = mem_new(1, sizeof(*t));

	d->state = t;
	d->o.encode.offsets = true;
	if (!d->o.field)
		d->o.field = "text";
	if (!t || encoder_new(&t->encoder, d->tokenizer) < 0 || json_new(&t->json) < 0)
		return -1;
	if (d->o.input == TOKEN_INPUT_RECORDS)
		return jsonl_open(&t->lines, d->o.path, NULL);
	if (d->o.input == TOKEN_INPUT_TEXT)
		return file_read(d->o.path, TEXT_MAX, &t->whole, &t->size);
	return 0;
}

/* 1 and the text of the next document. */
static int find_text(struct token_documents *d, struct texts *t)
{
	struct bytes record;
	int got;

	if (d->o.input == TOKEN_INPUT_RECORDS) {
		got = jsonl_next(t->lines, &record);
		if (got > 0 && record_text(&d->text, t->json, &t->decoded, record, d->o.field,
					   jsonl_name(t->lines), jsonl_line(t->lines)) < 0)
			return -1;
		return got;
	}
	if (t->given)
		return 0;
	t->given = true;
	d->text = t->whole ? (struct bytes){ t->whole, t->size } : d->o.text;
	return 1;
}

static int place(const struct token_documents *d, const struct texts *t)
{
	if (t->lines)
		return err_prefix("%s:%" PRIu64, d->o.path, jsonl_line(t->lines));
	return d->o.path ? err_prefix("%s", d->o.path) : -1;
}

static int text_next(struct token_documents *d, bool pass)
{
	struct texts *t = d->state;
	int got = find_text(d, t);

	if (got <= 0 || pass)
		return got;
	if (encoder_run(t->encoder, d->text, &d->o.encode, &t->encoding) < 0)
		return place(d, t);
	if (token_document_add(d, t->encoding.ids, t->encoding.n) < 0 ||
	    mem_grow(&d->spans, &d->spans_capacity, d->n, sizeof(*d->spans)) < 0)
		return -1;
	for (size_t i = 0; i < d->n; i++)
		d->spans[i] = (struct token_span){ t->encoding.offsets[i].from,
						   t->encoding.offsets[i].to };
	return 1;
}

static void text_close(void *state)
{
	struct texts *t = state;

	if (!t)
		return;
	encoder_free(t->encoder);
	encoding_free(&t->encoding);
	jsonl_close(t->lines);
	json_free(t->json);
	buffer_free(&t->decoded);
	free(t->whole);
	free(t);
}

const struct token_document_kind token_document_text = { text_open, text_next, text_close, true };
