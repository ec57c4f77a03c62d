/* lib/data/token_document.c - documents as tokens and as text, to be looked at */

#include "lib/data/token_document_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "formats/token_pack.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

/* --- making ------------------------------------------------------------------------------------- */

/* A packed file must be a regular one. Whatever else is wrong is told by who opens it. */
bool token_document_is_pack(const char *path)
{
	char magic[8] = { 0 };
	struct stat s;
	FILE *f;

	if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || !(f = fopen(path, "rb")))
		return false;
	if (fread(magic, 1, sizeof(magic), f) < sizeof(magic))
		magic[0] = '\0';
	fclose(f);
	return memcmp(magic, TOKEN_PACK_MAGIC, sizeof(magic)) == 0;
}

static const struct token_document_kind *find_kind(const struct token_document_options *o)
{
	switch (o->input) {
	case TOKEN_INPUT_TOKENS:
		return token_document_is_pack(o->path) ? &token_document_pack
						       : &token_document_source;
	case TOKEN_INPUT_IDS: return &token_document_source;
	default: return &token_document_text;
	}
}

/* BPEDecoder gives a token when the next one comes. */
static size_t find_lag(const struct tokenizer_spec *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_decoders; i++)
		n += s->decoders[i].kind == DECODER_BPE;
	return n;
}

int token_documents_open(struct token_documents **out, const struct tokenizer *t,
			 const struct token_document_options *o)
{
	const struct tokenizer_spec *s = tokenizer_spec(t);
	struct token_documents *d = mem_new(1, sizeof(*d));
	int got = 1;

	*out = NULL;
	if (!d)
		return -1;
	d->tokenizer = t;
	d->o = *o;
	d->kind = find_kind(o);
	d->lag = find_lag(s);
	if (text_decoder_new(&d->decoder, s->decoders, s->n_decoders, tokenizer_is_byte_level(t),
			     true) < 0 ||
	    d->kind->open(d) < 0)
		got = -1;
	while (got > 0 && d->number < d->o.first) {
		got = d->kind->next(d, true);
		d->number += got > 0;
	}
	if (got < 0) {
		token_documents_close(d);
		return -1;
	}
	*out = d;
	return 0;
}

void token_documents_close(struct token_documents *d)
{
	if (!d)
		return;
	d->kind->close(d->state);
	text_decoder_free(d->decoder);
	buffer_free(&d->decoded);
	free(d->ids);
	free(d->spans);
	free(d->roles);
	free(d);
}

/* --- what the kinds add --------------------------------------------------------------------------- */

int token_document_add(struct token_documents *d, const uint32_t *ids, size_t n)
{
	if (n > d->limit - d->n) {
		n = d->limit - d->n;
		d->cut = true;
	}
	if (n == 0)
		return 0;
	if (mem_grow(&d->ids, &d->ids_capacity, d->n + n, sizeof(*d->ids)) < 0)
		return -1;
	memcpy(d->ids + d->n, ids, n * sizeof(*ids));
	d->n += n;
	return 0;
}

int token_document_role(struct token_documents *d, const struct token_run *run)
{
	size_t length;

	if (run->start >= d->n)
		return 0;
	if (!d->has_roles) {
		if (mem_grow(&d->roles, &d->roles_capacity, d->n, sizeof(*d->roles)) < 0)
			return -1;
		memset(d->roles, ROLE_TEXT, d->n);
		d->has_roles = true;
	}
	length = run->length < d->n - run->start ? (size_t)run->length : d->n - (size_t)run->start;
	memset(d->roles + run->start, (int)run->role, length);
	return 0;
}

/* --- the text of tokens --------------------------------------------------------------------------- */

/* A span begins where the one before ends, so that only ends are set here. */
static int decode(struct token_documents *d)
{
	const struct tokenizer *t = d->tokenizer;
	size_t from = 0;

	if (mem_grow(&d->spans, &d->spans_capacity, d->n, sizeof(*d->spans)) < 0)
		return -1;
	buffer_clear(&d->decoded);
	for (size_t i = 0; i < d->n; i++) {
		uint32_t id = d->ids[i];

		if (text_decoder_add(d->decoder, tokenizer_piece(t, id),
				     tokenizer_added(t, id) != NULL, &d->decoded) < 0)
			return -1;
		if (i >= d->lag)
			d->spans[i - d->lag].to = d->decoded.size;
	}
	if (text_decoder_end(d->decoder, &d->decoded) < 0)
		return -1;
	for (size_t i = d->n > d->lag ? d->n - d->lag : 0; i < d->n; i++)
		d->spans[i].to = d->decoded.size;
	if (d->n)
		d->spans[d->n - 1].to = d->decoded.size;
	for (size_t i = 0; i < d->n; i++) {
		d->spans[i].from = from;
		from = d->spans[i].to;
	}
	d->text = buffer_bytes(&d->decoded);
	return buffer_check(&d->decoded);
}

int token_documents_next(struct token_documents *d, size_t limit, struct token_document *out)
{
	int got;

	d->n = 0;
	d->limit = limit;
	d->has_roles = d->cut = false;
	got = d->kind->next(d, false);
	if (got <= 0)
		return got;
	if (!d->kind->has_text && decode(d) < 0)
		return -1;
	if (d->kind->has_text && d->cut)
		d->text.size = d->n ? d->spans[d->n - 1].to : 0;
	*out = (struct token_document){
		.number = d->number++,
		.n = d->n,
		.ids = d->ids,
		.spans = d->spans,
		.roles = d->has_roles ? d->roles : NULL,
		.text = d->text,
		.cut = d->cut,
	};
	return 1;
}

/* --- what is shown for a token ---------------------------------------------------------------------- */

/* The end of the character that AT lies in; AT where one begins, or where there is none. */
static size_t character_end(struct bytes text, size_t at)
{
	uint32_t c;

	for (size_t back = 1; back < 4 && back <= at && at < text.size; back++) {
		size_t from = at - back, n = utf8_decode(text.data + from, text.size - from, &c);

		if (n)
			return n > back ? from + n : at;
	}
	return at;
}

struct token_span token_shown_part(struct bytes text, size_t *shown, struct token_span span)
{
	struct token_span part;

	if (span.to <= *shown)
		return (struct token_span){ *shown, *shown };
	part.from = span.from > *shown ? character_end(text, span.from) : *shown;
	part.to = span.to > part.from ? character_end(text, span.to) : part.from;
	*shown = part.to;
	return part;
}
