/* lib/data/token_page_frame.c - tokens as a page for a browser: what stands around the documents */

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/data/token_page_parts.h"

/* No scripts, no pictures, nothing from elsewhere: even if something got past the escaping. */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

static const char *const kind_classes[] = { "", "s", "x", "y", "u", "u" };
/* Follows the kind's name in the legend. */
static const char *const kind_names[] = {
	"<b class=b>tokens</b> <b class=c>take</b> <b class=d>turns</b>",
	"control marks",
	"words beside the vocabulary",
	"single bytes",
	"text that has no piece",
	"ids without a token",
};

static void put_name(struct buffer *b, struct bytes name)
{
	struct buffer quoted = { 0 };

	quote_name(&quoted, name);
	html_escape(b, buffer_bytes(&quoted));
	b->failed |= quoted.failed;
	buffer_free(&quoted);
}

/* --- the head --------------------------------------------------------------------------------------- */

static void put_start(struct buffer *b, const struct token_page_options *o)
{
	buffer_put_text(b, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
			   "<meta http-equiv=Content-Security-Policy content=\"" POLICY "\">\n"
			   "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
			   "<meta name=color-scheme content=\"light dark\">\n<title>Tokens of ");
	put_name(b, o->source);
	buffer_put_text(b, "</title>\n<style>\n");
	buffer_put_text(b, token_page_style);
	buffer_put_text(b, "</style>\n</head>\n<body>\n<header>\n<h1>Tokens of <span>");
	put_name(b, o->source);
	buffer_put_text(b, "</span></h1>\n<p>as <span>");
	put_name(b, o->tokenizer);
	buffer_put_text(b, "</span> cuts them</p>\n");
}

static void put_count(struct buffer *b, const char *name, uint64_t n)
{
	buffer_format(b, "<div><dt>%s</dt><dd>", name);
	html_number(b, n);
	buffer_put_text(b, "</dd></div>\n");
}

static void put_ratio(struct buffer *b, const char *name, uint64_t n, uint64_t of)
{
	buffer_format(b, "<div><dt>%s</dt><dd>%.2f</dd></div>\n", name,
		      of ? (double)n / (double)of : 0);
}

static void put_counts(struct buffer *b, const struct token_totals *t)
{
	buffer_put_text(b, "<dl>\n");
	put_count(b, "tokens", t->tokens);
	put_count(b, t->documents == 1 ? "document" : "documents", t->documents);
	put_count(b, "bytes", t->bytes);
	put_count(b, "characters", t->characters);
	put_ratio(b, "bytes a token", t->bytes, t->tokens);
	put_ratio(b, "tokens a word", t->tokens, t->words);
	buffer_put_text(b, "<div><dt>vocabulary used</dt><dd>");
	html_number(b, t->used);
	buffer_put_text(b, " <small>of ");
	html_number(b, t->vocabulary);
	buffer_put_text(b, "</small></dd></div>\n</dl>\n");
}

static void put_more(struct buffer *b, const struct token_totals *t)
{
	buffer_put_text(b, "<p class=more>The input goes on: its first ");
	html_number(b, t->tokens);
	buffer_put_text(b, " tokens are shown and counted here.</p>\n");
}

static void put_legend(struct buffer *b, const struct token_totals *t)
{
	buffer_put_text(b, "<ul class=legend>\n");
	for (int k = 0; k < N_TOKEN_KINDS; k++) {
		if (t->kinds[k] == 0)
			continue;
		buffer_format(b, "<li><b class=\"a %s\">%s</b> %s ", kind_classes[k],
			      token_kind_name((enum token_kind)k), kind_names[k]);
		buffer_put_text(b, "<small>");
		html_number(b, t->kinds[k]);
		buffer_put_text(b, "</small></li>\n");
	}
	if (t->partial)
		buffer_put_text(b, "<li><b class=\"a p\">A9</b> bytes of a character that a token "
				   "beside shows</li>\n");
	buffer_put_text(b, "</ul>\n");
}

int token_page_head(struct buffer *b, const struct token_page_options *o,
		    const struct token_stats *s, const struct tokenizer *t, bool more)
{
	struct token_totals all;

	token_stats_totals(s, &all);
	put_start(b, o);
	put_counts(b, &all);
	if (more)
		put_more(b, &all);
	put_legend(b, &all);
	buffer_put_text(
		b, "</header>\n<nav>\n<label><input type=checkbox id=spaces> white space</label>\n"
		   "<label><input type=checkbox id=ids> ids</label>\n"
		   "<span>Point at a token, or go there with Tab, to see what it is.</span>\n"
		   "<a href=\"#used\">Most used</a>\n</nav>\n<div class=page>\n<main>\n");
	return buffer_check(b);
}

/* --- the tail --------------------------------------------------------------------------------------- */

static void put_used(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		     size_t i, uint32_t id, uint64_t most)
{
	uint64_t count = token_stats_count(s, id);
	struct bytes piece = tokenizer_piece(t, id);
	char byte;

	if (token_kind(t, id) == TOKEN_KIND_BYTE)
		piece = token_bytes(t, id, &byte);
	buffer_format(b, "<tr><td>%zu</td><td><b class=\"%c %s\">", i + 1, "abcde"[i % 5],
		      kind_classes[token_kind(t, id)]);
	html_text(b, (struct bytes){ piece.data, piece.size < 64 ? piece.size : 64 });
	buffer_format(b, "</b></td><td>%" PRIu32 "</td><td style=\"--part:%.1f%%\">", id,
		      most ? 100 * (double)count / (double)most : 0);
	html_number(b, count);
	buffer_put_text(b, "</td></tr>\n");
}

static int put_most_used(struct buffer *b, const struct token_page_options *o,
			 const struct token_stats *s, const struct tokenizer *t)
{
	uint32_t *ids = mem_new(o->top, sizeof(*ids));
	int64_t n = ids ? token_stats_top(s, ids, o->top) : -1;

	if (n < 0) {
		free(ids);
		return -1;
	}
	buffer_put_text(b, "<h2 id=used>Most used</h2>\n<table class=used>\n<thead><tr><th></th>"
			   "<th>token</th><th>id</th><th>times</th></tr></thead>\n<tbody>\n");
	for (int64_t i = 0; i < n; i++)
		put_used(b, s, t, (size_t)i, ids[i], token_stats_count(s, ids[0]));
	buffer_put_text(b, "</tbody></table>\n");
	free(ids);
	return 0;
}

static void put_lengths(struct buffer *b, const struct token_totals *t)
{
	uint64_t most = 0;
	int first = TOKEN_LENGTHS, last = 0;

	for (int i = 0; i < TOKEN_LENGTHS; i++) {
		if (t->lengths[i] == 0)
			continue;
		most = t->lengths[i] > most ? t->lengths[i] : most;
		first = i < first ? i : first;
		last = i;
	}
	buffer_put_text(b, "<h2>Bytes a token</h2>\n<table class=lengths>\n<tbody>\n");
	for (int i = first; i <= last; i++) {
		buffer_format(b, "<tr><td>%d%s</td><td style=\"--part:%.1f%%\">", i,
			      i == TOKEN_LENGTHS - 1 ? "+" : "",
			      100 * (double)t->lengths[i] / (double)most);
		html_number(b, t->lengths[i]);
		buffer_put_text(b, "</td></tr>\n");
	}
	buffer_put_text(b, "</tbody></table>\n");
}

int token_page_tail(struct buffer *b, const struct token_page_options *o,
		    const struct token_stats *s, const struct tokenizer *t)
{
	struct token_totals all;

	token_stats_totals(s, &all);
	buffer_put_text(b, "</main>\n<aside>\n");
	if (o->top && put_most_used(b, o, s, t) < 0)
		return -1;
	put_lengths(b, &all);
	buffer_put_text(b, "</aside>\n</div>\n</body>\n</html>\n");
	return buffer_check(b);
}
