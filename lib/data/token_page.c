/* lib/data/token_page.c - tokens as a page for a browser: the documents */

#include "lib/data/token_page_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/token_header.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/data/token_bytes.h"

/* Colors that follow each other: classes of the style. */
#define COLORS "abcde"

struct token_page {
	const struct tokenizer *tokenizer;
	struct token_page_options o;
	struct token_stats *stats;
	struct buffer body, quoted;
};

int token_page_new(struct token_page **out, const struct tokenizer *t,
		   const struct token_page_options *o)
{
	struct token_page *p = mem_new(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -1;
	p->tokenizer = t;
	p->o = *o;
	if (token_stats_new(&p->stats, t, true) < 0) {
		token_page_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void token_page_free(struct token_page *p)
{
	if (!p)
		return;
	token_stats_free(p->stats);
	buffer_free(&p->body);
	buffer_free(&p->quoted);
	free(p);
}

/* --- a token --------------------------------------------------------------------------------------- */

/* Two digits a byte, spaces between; long ones cut. */
static void put_bytes(struct buffer *b, struct bytes bytes)
{
	for (size_t i = 0; i < bytes.size && i < 48; i++)
		buffer_format(b, "%s%02x", i ? " " : "", (unsigned char)bytes.data[i]);
	if (bytes.size > 48)
		buffer_put_text(b, " \xe2\x80\xa6"); /* an ellipsis */
}

/* What hover and focus show: the piece in the first line. */
static void put_about(struct token_page *p, const struct token_document *d, size_t i)
{
	struct buffer *b = &p->body;
	struct bytes piece = tokenizer_piece(p->tokenizer, d->ids[i]);
	char byte;

	buffer_clear(&p->quoted);
	quote_text(&p->quoted, (struct bytes){ piece.data, piece.size < 200 ? piece.size : 200 });
	html_escape(b, buffer_bytes(&p->quoted));
	buffer_format(b, "   id %" PRIu32 "   %s", d->ids[i],
		      token_kind_name(token_kind(p->tokenizer, d->ids[i])));
	if (d->roles && d->roles[i] != ROLE_TEXT)
		buffer_format(b, "   %s", token_role_name((enum token_role)d->roles[i]));
	buffer_format(b, "&#10;token %zu   text %zu\xe2\x80\x93%zu   bytes ", i, d->spans[i].from,
		      d->spans[i].to);
	put_bytes(b, token_bytes(p->tokenizer, d->ids[i], &byte));
}

static void put_token(struct token_page *p, const struct token_document *d, size_t i,
		      struct bytes part)
{
	static const char *const classes[] = { "", " s", " x", " y", " u", " u" };
	struct buffer *b = &p->body;
	uint32_t id = d->ids[i];
	char byte;

	buffer_format(b, "<b tabindex=0 class=\"%c%s%s\" data-n=%" PRIu32 " data-i=\"",
		      COLORS[i % (sizeof(COLORS) - 1)], classes[token_kind(p->tokenizer, id)],
		      part.size ? "" : " p", id);
	put_about(p, d, i);
	buffer_put_text(b, "\">");
	html_text(b, part.size ? part : token_bytes(p->tokenizer, id, &byte));
	buffer_put_text(b, "</b>");
}

/* --- a document ------------------------------------------------------------------------------------ */

static void put_title(struct buffer *b, const struct token_document *d, size_t n)
{
	buffer_format(b, "<section><h2>Document %" PRIu64 " <small>", d->number);
	html_number(b, n);
	buffer_put_text(b, n == 1 ? " token" : " tokens");
	if (d->cut || n < d->n)
		buffer_put_text(b, " of more");
	buffer_put_text(b, "</small></h2>\n<div class=text>");
}

/* The name of a role where it begins. */
static void put_role(struct buffer *b, const struct token_document *d, size_t i, size_t from)
{
	uint8_t role = d->roles[i];

	if (i > from ? role == d->roles[i - 1] : role == ROLE_TEXT)
		return;
	buffer_format(b, "<em>%s</em>", token_role_name((enum token_role)role));
}

int token_page_add(struct token_page *p, const struct token_document *d, size_t from, size_t to)
{
	struct buffer *b = &p->body;
	size_t shown = 0, begun = 0;

	put_title(b, d, to - from);
	for (size_t i = 0; i < to; i++) {
		size_t before = shown;
		struct token_span part = token_shown_part(d->text, &shown, d->spans[i]);

		if (i < from) {
			begun = shown;
			continue;
		}
		if (i > from)
			html_text(b, (struct bytes){ d->text.data + before, part.from - before });
		if (d->roles)
			put_role(b, d, i, from);
		put_token(p, d, i, (struct bytes){ d->text.data + part.from, part.to - part.from });
	}
	buffer_put_text(b, "</div></section>\n");
	if (buffer_check(b) < 0 || token_stats_add(p->stats, d->ids + from, to - from) < 0 ||
	    token_stats_text(p->stats, (struct bytes){ d->text.data + begun, shown - begun }) < 0)
		return -1;
	return token_stats_end_document(p->stats);
}

int token_page_end(struct token_page *p, bool more, struct buffer *out)
{
	if (token_page_head(out, &p->o, p->stats, p->tokenizer, more) < 0)
		return -1;
	buffer_put(out, p->body.data, p->body.size);
	return token_page_tail(out, &p->o, p->stats, p->tokenizer);
}
