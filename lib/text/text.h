/*
 * lib/text/text.h - a text on its way through a tokenizer, and where each byte came from
 *
 * The normalised text with, when offsets are asked for, a span of the original for each of its
 * bytes: what `tokenizers` calls a NormalizedString. Every step of lib/text that changes text goes
 * through text_rewrite, so that spans come out as there: a character that replaces one takes its span,
 * an inserted one the span of the character before it (at the start: of the character after it; in
 * an empty text the empty span at its place), and a removed one vanishes.
 */
#ifndef LIB_TEXT_TEXT_H
#define LIB_TEXT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* Bytes FROM to TO of the original document. Documents with offsets are below 4 GiB. */
struct text_span {
	uint32_t from, to;
};

struct text {
	char *data; /* owned; well-formed UTF-8 unless the tokenizer is byte-level and keeps all bytes */
	size_t size, capacity;
	/*
	 * One span a byte, of a text that is tracked and not plain; owned, and of large texts most of the memory. SPANS of a wide
	 * one; else NARROW: its start, of a text that is chained, where it ends at the next byte's start; or the start above
	 * TEXT_SPAN_BITS bits of the length.
	 */
	struct text_span *spans;
	uint32_t *narrow;
	size_t spans_capacity, narrow_capacity;
	uint32_t at;  /* where in the original the text began */
	uint32_t end; /* of the last span, of a chained text */
	bool tracked;
	/*
	 * Tracked, well-formed and as it stood there: the spans are its characters. But the first LEAD bytes were put before
	 * it, and have the span of the first character behind them.
	 */
	bool plain;
	size_t lead;
	bool wide, chained;
};

#define TEXT_SPAN_BITS 3

/* Makes TEXT the N bytes at DATA, which begin at byte AT of the original. 0, or -1 with the error set. */
int text_set(struct text *t, const char *data, size_t n, size_t at, bool tracked);
/* Makes OUT bytes FROM to TO of IN, where characters begin, with their spans. 0, or -1 with the error set. */
int text_cut(struct text *out, const struct text *in, size_t from, size_t to);
void text_free(struct text *t);	  /* what it holds; a zeroed struct is empty */
void text_shrink(struct text *t); /* frees what it holds, where that is much */

/*
 * Builds a changed text in OUT (emptied first) from IN, piece by piece:
 *	text_rewrite_begin(&w, &in, &out);
 *	text_keep(&w, n)	     the next N bytes of IN, as they are
 *	text_put(&w, data, n, taken) N new bytes in place of the next TAKEN bytes of IN (0: an insertion)
 *	text_drop(&w, n)	     nothing in place of the next N bytes
 *	text_rewrite_end(&w)	     keeps the rest; 0, or -1 with the error set (memory)
 * New bytes in place of several characters take the span of the last of them (as Replace does there).
 */
struct text_rewrite {
	const struct text *in;
	struct text *out;
	size_t at;
	bool failed;
};
void text_rewrite_begin(struct text_rewrite *w, const struct text *in, struct text *out);
/* OUT, still empty, is chained: a byte's span ends where the next begins, the last one at OUT->end, which the caller sets. */
void text_rewrite_chained(struct text_rewrite *w);
/* All there is to do, instead of the rest: N bytes before IN. False: do it as usual. */
bool text_rewrite_lead(struct text_rewrite *w, const char *data, size_t n);
void text_keep(struct text_rewrite *w, size_t n);
void text_put(struct text_rewrite *w, const char *data, size_t n, size_t taken);
void text_drop(struct text_rewrite *w, size_t n);
/*
 * One new character of N bytes with the `change` that tokenizers gives it: 0 stands in place of the next
 * character of IN, -K of the next and removes K more, positive is an insertion. It takes the span of the character
 * that it stands for; an insertion that of the character before, at the very start the empty span.
 * Spans off: only the new bytes are written, and text_skip says how far IN was used up.
 */
void text_change(struct text_rewrite *w, const char *data, size_t n, ptrdiff_t change);
void text_skip(struct text_rewrite *w, size_t to);
int text_rewrite_end(struct text_rewrite *w);

/* The span of byte I of T, which is tracked. */
struct text_span text_span_at(const struct text *t, size_t i);

/* The original's bytes that bytes FROM to TO of T came from. TO > FROM, and spans are tracked. */
struct text_span text_original(const struct text *t, size_t from, size_t to);

#endif
