/* lib/data/token_lines.c - tokens as lines for people and for programs */

#include "lib/data/token_lines.h"

#include <inttypes.h>

#include "formats/json.h"
#include "formats/token_header.h"
#include "lib/base/base64.h"
#include "lib/base/printable.h"
#include "lib/base/utf8.h"
#include "lib/data/token_bytes.h"
#include "lib/text/token_kind.h"

/* Pale backgrounds of the 256 colors, under black text: to be read on a dark terminal and on a light one. */
static const char *const backgrounds[] = { "153", "157", "223", "183", "229" };

#define N_BACKGROUNDS (sizeof(backgrounds) / sizeof(backgrounds[0]))
#define RESET	      "\033[0m"

static void begin_color(struct buffer *b, size_t i, bool special)
{
	buffer_format(b, "\033[%s38;5;16;48;5;%sm", special ? "1;4;" : "",
		      backgrounds[i % N_BACKGROUNDS]);
}

static const char *role_name(const struct token_document *d, size_t i)
{
	if (!d->roles || d->roles[i] == ROLE_TEXT)
		return NULL;
	return token_role_name((enum token_role)d->roles[i]);
}

/* --- a line a token --------------------------------------------------------------------------------- */

void token_line_headings(struct buffer *b, const struct token_line_style *style)
{
	buffer_format(b, "document\tposition\tid\tpiece\tfrom\tto\tkind\trole%s\n",
		      style->bytes ? "\tbytes" : "");
}

/* With a tab after it. */
static void put_number(struct buffer *b, uint64_t n)
{
	buffer_put_decimal(b, n);
	buffer_put_u8(b, '\t');
}

void token_line(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		size_t i, const struct token_line_style *style)
{
	const char *role = role_name(d, i);

	put_number(b, d->number);
	put_number(b, i);
	put_number(b, d->ids[i]);
	quote_text(b, tokenizer_piece(t, d->ids[i]));
	buffer_put_u8(b, '\t');
	put_number(b, d->spans[i].from);
	put_number(b, d->spans[i].to);
	buffer_put_text(b, token_kind_name(token_kind(t, d->ids[i])));
	buffer_put_u8(b, '\t');
	buffer_put_text(b, role ? role : "-");
	if (style->bytes) {
		buffer_put_u8(b, '\t');
		token_bytes_hex(b, t, d->ids[i]);
	}
	buffer_put_u8(b, '\n');
}

void token_line_json(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		     size_t i, const struct token_line_style *style)
{
	const char *role = role_name(d, i);

	buffer_put_u8(b, '{');
	json_put_u64_member(b, "document", d->number);
	json_put_u64_member(b, "position", i);
	json_put_u64_member(b, "id", d->ids[i]);
	token_bytes_json(b, "piece", tokenizer_piece(t, d->ids[i]));
	json_put_u64_member(b, "from", d->spans[i].from);
	json_put_u64_member(b, "to", d->spans[i].to);
	json_put_text_member(b, "kind", bytes_of(token_kind_name(token_kind(t, d->ids[i]))));
	if (role)
		json_put_text_member(b, "role", bytes_of(role));
	if (style->bytes) {
		json_put_key(b, "bytes");
		buffer_put_u8(b, '"');
		token_bytes_hex(b, t, d->ids[i]);
		buffer_put_u8(b, '"');
	}
	buffer_put_text(b, "}\n");
}

void token_line_aligned(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
			size_t i, const struct token_line_style *style)
{
	const char *role = role_name(d, i);
	enum token_kind kind = token_kind(t, d->ids[i]);

	buffer_format(b, "%8zu %8" PRIu32 " %8zu %8zu  %-8s", i, d->ids[i], d->spans[i].from,
		      d->spans[i].to, token_kind_name(kind));
	if (d->roles)
		buffer_format(b, "%-11s", role ? role : "-");
	if (style->color)
		begin_color(b, i, kind == TOKEN_KIND_SPECIAL);
	quote_text(b, tokenizer_piece(t, d->ids[i]));
	if (style->color)
		buffer_put_text(b, RESET);
	if (style->bytes) {
		buffer_put_text(b, "  ");
		token_bytes_hex(b, t, d->ids[i]);
	}
	buffer_put_u8(b, '\n');
}

void token_line_title(struct buffer *b, const struct token_document *d)
{
	buffer_format(b, "document %" PRIu64 ": ", d->number);
	if (d->cut)
		buffer_put_text(b, "its first ");
	buffer_format(b, "%zu token%s, %zu byte%s\n", d->n, d->n == 1 ? "" : "s", d->text.size,
		      d->text.size == 1 ? "" : "s");
}

/* --- running text ------------------------------------------------------------------------------------ */

struct inline_text {
	struct buffer *b;
	bool color;   /* colors are wanted, */
	bool on;      /* and one is on */
	size_t token; /* whose */
	bool special;
};

static void color_on(struct inline_text *x)
{
	if (x->color && !x->on)
		begin_color(x->b, x->token, x->special);
	x->on = x->color;
}

static void color_off(struct inline_text *x)
{
	if (x->on)
		buffer_put_text(x->b, RESET);
	x->on = false;
}

/* A line end is shown, and ends the line; the color is off meanwhile, or it would fill the line. */
static void put_safe(struct inline_text *x, struct bytes text)
{
	for (size_t i = 0; i < text.size;) {
		size_t n = printable_length(text.data + i, text.size - i);

		color_on(x);
		if (n) {
			buffer_put(x->b, text.data + i, n);
		} else if (text.data[i] == '\n') {
			buffer_put_text(x->b, "\xe2\x8f\x8e"); /* a return symbol */
			color_off(x);
			buffer_put_u8(x->b, '\n');
		} else if (text.data[i] == '\t') {
			buffer_put_u8(x->b, '\t');
		} else {
			buffer_format(x->b, "\\x%02x", (unsigned char)text.data[i]);
		}
		i += n ? n : 1;
	}
	color_off(x);
}

/* What is of no token has no color. */
static void put_gap(struct inline_text *x, struct bytes text, size_t from, size_t to)
{
	bool color = x->color;

	x->color = false;
	put_safe(x, (struct bytes){ text.data + from, to - from });
	x->color = color;
}

static void put_inline(struct inline_text *x, const struct tokenizer *t, uint32_t id,
		       struct bytes part)
{
	char byte;

	x->special = token_kind(t, id) == TOKEN_KIND_SPECIAL;
	put_safe(x, part.size ? part : token_bytes(t, id, &byte));
}

void token_inline(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		  size_t from, size_t to, bool color)
{
	struct inline_text x = { .b = b, .color = color };
	size_t shown = 0;

	for (size_t i = 0; i < to; i++) {
		size_t before = shown;
		struct token_span part = token_shown_part(d->text, &shown, d->spans[i]);

		if (i < from)
			continue;
		x.token = i;
		if (i > from && !color)
			buffer_put_u8(b, '|');
		if (i > from)
			put_gap(&x, d->text, before, part.from);
		put_inline(&x, t, d->ids[i],
			   (struct bytes){ d->text.data + part.from, part.to - part.from });
	}
	if (b->size && b->data[b->size - 1] != '\n')
		buffer_put_u8(b, '\n');
}
