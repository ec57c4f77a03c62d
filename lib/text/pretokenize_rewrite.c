/* lib/text/pretokenize_rewrite.c - the pre-tokenizers that change the text: Metaspace, ByteLevel's prefix space */
#include "lib/text/pretokenize_parts.h"

#include "lib/base/utf8.h"

struct rewriting {
	const struct step *step;
	struct text_rewrite w;
	char mark[4]; /* what stands for a space */
	size_t mark_size;
	bool first, whole;
};

static struct bytes piece_of(const struct rewriting *r, struct piece p)
{
	return (struct bytes){ r->w.in->data + p.from, p.to - p.from };
}

static bool begins_document(const struct rewriting *r, struct piece p)
{
	if (r->whole)
		return r->first;
	if (!r->first)
		return false;
	return r->w.in->tracked ? text_span_at(r->w.in, p.from).from == 0 : p.from == 0;
}

static bool wants_mark(const struct rewriting *r, struct piece p)
{
	struct bytes text = piece_of(r, p);

	if (text.data[0] == ' ' ||
	    (text.size >= r->mark_size && !memcmp(text.data, r->mark, r->mark_size)))
		return false;
	if (r->step->kind == STEP_PREFIX_SPACE || r->step->scheme == PREPEND_ALWAYS)
		return true;
	return r->step->scheme == PREPEND_FIRST && begins_document(r, p);
}

/* The mark and the first character take the place of the first character: both have its span. */
static size_t put_mark(struct rewriting *r, struct bytes text)
{
	char both[8];
	uint32_t ignored;
	size_t n = text_character(text, 0, &ignored);

	memcpy(both, r->mark, r->mark_size);
	memcpy(both + r->mark_size, text.data, n);
	text_put(&r->w, both, r->mark_size + n, n);
	return n;
}

static void rewrite_piece(struct rewriting *r, struct piece *p)
{
	struct bytes text = piece_of(r, *p);
	bool mark = wants_mark(r, *p);
	size_t at = 0;

	text_keep(&r->w, p->from - r->w.at);
	p->from = r->w.out->size;
	if (mark)
		at = put_mark(r, text);
	while (r->step->kind == STEP_METASPACE && at < text.size) {
		const char *space = memchr(text.data + at, ' ', text.size - at);
		size_t n = space ? (size_t)(space - text.data) - at : text.size - at;

		text_keep(&r->w, n);
		if (space)
			text_put(&r->w, r->mark, r->mark_size, 1);
		at += n + (space != NULL);
	}
	text_keep(&r->w, text.size - at);
	p->to = r->w.out->size;
}

/* Whether nothing would change: the usual case of a prefix space, and it saves a copy of the text. */
static bool is_idle(const struct rewriting *r, const struct pieces *pieces)
{
	for (size_t i = 0; i < pieces->n; i++) {
		struct bytes text = piece_of(r, pieces->items[i]);

		if (wants_mark(r, pieces->items[i]) ||
		    (r->step->kind == STEP_METASPACE && memchr(text.data, ' ', text.size)))
			return false;
	}
	return true;
}

int step_rewrite(const struct step *step, struct pretokenizer_scratch *s, struct text *text,
		 bool first, bool whole, struct pieces *pieces)
{
	struct rewriting r = { .step = step, .first = first, .whole = whole };
	struct text changed;

	r.mark_size = utf8_encode(step->code_point, r.mark);
	r.w.in = text;
	if (is_idle(&r, pieces))
		return 0;
	text_rewrite_begin(&r.w, text, &s->text);
	for (size_t i = 0; i < pieces->n; i++)
		rewrite_piece(&r, &pieces->items[i]);
	if (text_rewrite_end(&r.w))
		return -1;
	changed = s->text;
	s->text = *text;
	*text = changed;
	return 0;
}
