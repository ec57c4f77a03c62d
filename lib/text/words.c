/*
 * lib/text/words.c - a text into the pieces that a model would be given
 *
 * Where one scanner does all the cutting, pieces are cut and handed on one by one, so that neither text nor pieces
 * are copied.
 */
#include "lib/text/words_parts.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

struct words_scratch {
	struct pretokenizer_scratch *pretokenizer;
	struct text text, other;
	struct pieces pieces;
};

/* --- making --- */

/* Metaspace's `first` is about the original text, whose start a normalizer may have removed. */
static bool asks_for_start(const struct tokenizer_spec *s)
{
	for (size_t i = 0; i < s->n_pretokenizers; i++)
		if (s->pretokenizers[i].kind == PRETOKENIZER_METASPACE &&
		    s->pretokenizers[i].metaspace.scheme == PREPEND_FIRST)
			return s->n_normalizers > 0;
	return false;
}

static int compile(struct words *w, const struct tokenizer_spec *s)
{
	if (s->n_normalizers &&
	    normalizer_new(&w->normalizer, s->normalizers, s->n_normalizers) < 0)
		return -1;
	if (s->n_pretokenizers &&
	    pretokenizer_new(&w->pretokenizer, s->pretokenizers, s->n_pretokenizers) < 0)
		return -1;
	w->byte_level = w->pretokenizer && pretokenizer_is_byte_level(w->pretokenizer);
	w->needs_spans =
		asks_for_start(s) || (w->pretokenizer && pretokenizer_wants_spans(w->pretokenizer));
	return 0;
}

int words_new(struct words **out, const struct tokenizer_spec *spec)
{
	struct words *w = mem_new(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return -1;
	if (compile(w, spec) < 0) {
		words_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void words_free(struct words *w)
{
	if (!w)
		return;
	normalizer_free(w->normalizer);
	pretokenizer_free(w->pretokenizer);
	free(w);
}

bool words_is_byte_level(const struct words *w)
{
	return w->byte_level;
}

int words_scratch_new(struct words_scratch **out, const struct words *w)
{
	struct words_scratch *s = mem_new(1, sizeof(*s));

	(void)w;
	*out = NULL;
	if (!s)
		return -1;
	if (pretokenizer_scratch_new(&s->pretokenizer) < 0) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void words_scratch_free(struct words_scratch *s)
{
	if (!s)
		return;
	pretokenizer_scratch_free(s->pretokenizer);
	text_free(&s->text);
	text_free(&s->other);
	free(s->pieces.items);
	free(s);
}

/* --- cutting --- */

/* What pieces are handed to. */
struct taker {
	int (*fn)(void *arg, struct bytes piece);
	void *arg;
};

static int take_scanned(enum scanner scanner, struct bytes text, struct taker to)
{
	size_t at = 0;

	while (at < text.size) {
		size_t end = scanner_next(scanner, text, at);

		if (to.fn(to.arg, (struct bytes){ text.data + at, end - at }) < 0)
			return -1;
		at = end;
	}
	return 0;
}

/* S->text is normalized. */
static int take_pieces(const struct words *w, struct words_scratch *s, bool first, struct taker to)
{
	if (pretokenizer_run(w->pretokenizer, s->pretokenizer, &s->text, first, &s->pieces) < 0)
		return -1;
	for (size_t i = 0; i < s->pieces.n; i++) {
		const struct piece *p = &s->pieces.items[i];

		if (to.fn(to.arg, (struct bytes){ s->text.data + p->from, p->to - p->from }) < 0)
			return -1;
	}
	return 0;
}

/* Whether TEXT can be cut where it stands, by a scanner or not at all. */
static bool stays(const struct words *w, struct bytes text)
{
	if (w->pretokenizer && pretokenizer_scanner(w->pretokenizer) == SCANNER_NONE)
		return false;
	return !w->normalizer ||
	       normalizer_unchanged(w->normalizer, text.data, text.size) == text.size;
}

/* Well-formed UTF-8, which is not empty, AT bytes into the document. */
static int cut_valid(const struct words *w, struct words_scratch *s, struct bytes text, size_t at,
		     struct taker to)
{
	enum scanner scanner =
		w->pretokenizer ? pretokenizer_scanner(w->pretokenizer) : SCANNER_NONE;

	if (!stays(w, text)) {
		bool first = at == 0;

		if (text_set(&s->text, text.data, text.size, at, w->needs_spans) < 0)
			return -1;
		if (w->normalizer && normalizer_run(w->normalizer, &s->text, &s->other) < 0)
			return -1;
		if (s->text.tracked && s->text.size)
			first = text_span_at(&s->text, 0).from == 0;
		if (w->pretokenizer && scanner == SCANNER_NONE)
			return take_pieces(w, s, first, to);
		text = (struct bytes){ s->text.data, s->text.size };
	}
	if (scanner != SCANNER_NONE)
		return take_scanned(scanner, text, to);
	return text.size ? to.fn(to.arg, text) : 0;
}

size_t words_invalid_end(struct bytes document, size_t at)
{
	uint32_t c;

	while (at < document.size && !utf8_decode(document.data + at, document.size - at, &c))
		at++;
	return at;
}

int words_cut(const struct words *w, struct words_scratch *s, struct bytes document,
	      int (*fn)(void *arg, struct bytes piece), void *arg)
{
	struct taker to = { fn, arg };
	size_t at = 0;

	while (at < document.size) {
		struct bytes rest = { document.data + at, document.size - at };
		size_t end;

		rest.size = utf8_valid_prefix(rest.data, rest.size);
		if (rest.size && cut_valid(w, s, rest, at, to) < 0)
			return -1;
		at += rest.size;
		if (at == document.size)
			return 0;
		if (!w->byte_level)
			return err_set(ERR_FORMAT, "byte %zu: not UTF-8, and words are no bytes",
				       at);
		end = words_invalid_end(document, at);
		if (fn(arg, (struct bytes){ document.data + at, end - at }) < 0)
			return -1;
		at = end;
	}
	return 0;
}
