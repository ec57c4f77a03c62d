/* lib/text/text.c - a text on its way through a tokenizer, and where each byte came from */
#include "lib/text/text.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* Room for N more bytes in T, spans too where it has them. */
static int reserve(struct text *t, size_t n)
{
	size_t need;

	if (!size_add(t->size, n, &need))
		return err_memory(SIZE_MAX);
	if (need > t->capacity && mem_grow(&t->data, &t->capacity, need, 1))
		return -1;
	if (!t->tracked || t->plain)
		return 0;
	if (t->wide)
		return need > t->spans_capacity
			       ? mem_grow(&t->spans, &t->spans_capacity, need, sizeof(*t->spans))
			       : 0;
	return need > t->narrow_capacity
		       ? mem_grow(&t->narrow, &t->narrow_capacity, need, sizeof(*t->narrow))
		       : 0;
}

/* Whether spans that end at most at END of the original need to be wide. Each is a character, or empty. */
static bool needs_wide(size_t end)
{
	return end > UINT32_MAX >> TEXT_SPAN_BITS;
}

static uint32_t narrow(struct text_span s)
{
	return s.from << TEXT_SPAN_BITS | (s.to - s.from);
}

/* N bytes from AT on have the span S. There is room. */
static void fill_spans(struct text *t, size_t at, size_t n, struct text_span s)
{
	uint32_t value = t->chained ? s.from : narrow(s);

	for (size_t i = at; t->wide && i < at + n; i++)
		t->spans[i] = s;
	for (size_t i = at; !t->wide && i < at + n; i++)
		t->narrow[i] = value;
}

/* N bytes of T from AT on have the spans of those of IN from FROM on. There is room. */
static void copy_spans(struct text *t, size_t at, const struct text *in, size_t from, size_t n)
{
	if (!in->plain && t->wide && in->wide)
		memcpy(t->spans + at, in->spans + from, n * sizeof(*t->spans));
	else if (!in->plain && !t->wide && !in->wide && t->chained == in->chained)
		memcpy(t->narrow + at, in->narrow + from, n * sizeof(*t->narrow));
	else
		for (size_t i = 0; i < n; i++)
			fill_spans(t, at + i, 1, text_span_at(in, from + i));
}

/* Each byte's span is that of its character; a malformed byte is a character of its own. */
static void set_spans(struct text *t, uint32_t at)
{
	size_t from = 0, to;

	while (from < t->size) {
		to = from + 1;
		while (to < t->size && to - from < 4 && (t->data[to] & 0xC0) == 0x80)
			to++;
		fill_spans(t, from, to - from,
			   (struct text_span){ at + (uint32_t)from, at + (uint32_t)to });
		from = to;
	}
}

int text_set(struct text *t, const char *data, size_t n, size_t at, bool tracked)
{
	if (tracked && (at > UINT32_MAX || n > UINT32_MAX - at))
		return err_set(ERR_LIMIT, "a document with offsets must be below 4 GiB");
	t->size = 0;
	t->tracked = tracked;
	t->plain = tracked && utf8_valid_prefix(data, n) == n;
	t->wide = tracked && needs_wide(at + n);
	t->chained = false;
	t->lead = 0;
	t->at = tracked ? (uint32_t)at : 0;
	if (reserve(t, n))
		return -1;
	if (n)
		memcpy(t->data, data, n);
	t->size = n;
	if (tracked && !t->plain)
		set_spans(t, t->at);
	return 0;
}

int text_cut(struct text *out, const struct text *in, size_t from, size_t to)
{
	if (in->plain && from >= in->lead)
		return text_set(out, in->data + from, to - from, in->at + (from - in->lead), true);
	out->size = 0;
	out->tracked = in->tracked;
	out->plain = false;
	out->wide = in->wide;
	out->chained = in->chained;
	if (in->chained)
		out->end = to < in->size ? in->narrow[to] : in->end;
	out->at = 0;
	if (reserve(out, to - from))
		return -1;
	if (to > from)
		memcpy(out->data, in->data + from, to - from);
	if (to > from && in->tracked)
		copy_spans(out, 0, in, from, to - from);
	out->size = to - from;
	return 0;
}

void text_free(struct text *t)
{
	free(t->data);
	free(t->spans);
	free(t->narrow);
	*t = (struct text){ 0 };
}

void text_shrink(struct text *t)
{
	const size_t much = (size_t)1 << 22;

	if (t->capacity > much || t->spans_capacity > much || t->narrow_capacity > much)
		text_free(t);
}

static bool is_inside(const struct text *t, size_t i)
{
	return (t->data[i] & 0xC0) == 0x80;
}

/* Of byte I of a text that is plain: its character's. */
static struct text_span plain_span(const struct text *t, size_t i)
{
	size_t from = i < t->lead ? t->lead : i, to = from + 1;

	while (from > t->lead && is_inside(t, from))
		from--;
	while (to < t->size && is_inside(t, to))
		to++;
	return (struct text_span){ t->at + (uint32_t)(from - t->lead),
				   t->at + (uint32_t)(to - t->lead) };
}

struct text_span text_span_at(const struct text *t, size_t i)
{
	const uint32_t lengths = (1u << TEXT_SPAN_BITS) - 1;

	if (t->plain)
		return plain_span(t, i);
	if (t->wide)
		return t->spans[i];
	if (t->chained)
		return (struct text_span){ t->narrow[i],
					   i + 1 < t->size ? t->narrow[i + 1] : t->end };
	return (struct text_span){ t->narrow[i] >> TEXT_SPAN_BITS,
				   (t->narrow[i] >> TEXT_SPAN_BITS) + (t->narrow[i] & lengths) };
}

struct text_span text_original(const struct text *t, size_t from, size_t to)
{
	return (struct text_span){ text_span_at(t, from).from, text_span_at(t, to - 1).to };
}

/* --- rewriting --- */

void text_rewrite_begin(struct text_rewrite *w, const struct text *in, struct text *out)
{
	*w = (struct text_rewrite){ .in = in, .out = out };
	out->size = 0;
	out->tracked = in->tracked;
	out->plain = false;
	out->lead = 0;
	out->wide = in->wide || in->chained; /* whose spans may be long */
	out->chained = false;
	out->at = in->at;
	w->failed = reserve(out, in->size) != 0;
}

void text_rewrite_chained(struct text_rewrite *w)
{
	w->out->wide = false;
	w->out->chained = w->out->tracked;
	w->failed = w->failed || reserve(w->out, w->in->size) != 0;
}

bool text_rewrite_lead(struct text_rewrite *w, const char *data, size_t n)
{
	const struct text *in = w->in;
	struct text *out = w->out;

	if (!in->plain || in->lead || !in->size)
		return false;
	out->plain = true;
	w->failed = w->failed || reserve(out, n + in->size) != 0;
	if (w->failed)
		return true;
	memcpy(out->data, data, n);
	memcpy(out->data + n, in->data, in->size);
	out->size = n + in->size;
	out->lead = n;
	w->at = in->size;
	return true;
}

/* Room for N more bytes in OUT; false, with the failure noted, when there is none. */
static inline bool make_room(struct text_rewrite *w, size_t n)
{
	const struct text *out = w->out;

	if (w->failed)
		return false;
	if (n <= out->capacity - out->size &&
	    (!out->tracked ||
	     n <= (out->wide ? out->spans_capacity : out->narrow_capacity) - out->size))
		return true;
	w->failed = reserve(w->out, n) != 0;
	return !w->failed;
}

/* N bytes, few as a rule, that all come from SPAN. */
static void append(struct text_rewrite *w, const char *data, size_t n, struct text_span span)
{
	struct text *out = w->out;
	char *to;

	if (!make_room(w, n))
		return;
	to = out->data + out->size;
	if (n > 8)
		memcpy(to, data, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] = data[i];
	if (out->tracked)
		fill_spans(out, out->size, n, span);
	out->size += n;
}

void text_keep(struct text_rewrite *w, size_t n)
{
	const struct text *in = w->in;
	struct text *out = w->out;

	if (!n || !make_room(w, n))
		return;
	/* Most runs are words: 16 bytes at once where both sides have them. */
	if (n <= 16 && in->size - w->at >= 16 && out->capacity - out->size >= 16)
		memcpy(out->data + out->size, in->data + w->at, 16);
	else
		memcpy(out->data + out->size, in->data + w->at, n);
	if (out->tracked)
		copy_spans(out, out->size, in, w->at, n);
	out->size += n;
	w->at += n;
}

/* The span of the character before the present place; at the start of the one after it when NEXT. */
static struct text_span span_before(const struct text_rewrite *w, bool next)
{
	const struct text *in = w->in;

	if (!in->tracked)
		return (struct text_span){ 0 };
	if (w->at)
		return text_span_at(in, w->at - 1);
	if (next && in->size)
		return text_span_at(in, 0);
	return (struct text_span){ in->at, in->at };
}

void text_put(struct text_rewrite *w, const char *data, size_t n, size_t taken)
{
	w->at += taken;
	append(w, data, n, span_before(w, true));
}

void text_drop(struct text_rewrite *w, size_t n)
{
	w->at += n;
}

void text_skip(struct text_rewrite *w, size_t to)
{
	w->at = to;
}

/* Moves over COUNT characters of the text before. */
static void pass(struct text_rewrite *w, size_t count)
{
	const struct text *in = w->in;

	while (count-- && w->at < in->size) {
		w->at++;
		while (w->at < in->size && (in->data[w->at] & 0xC0) == 0x80)
			w->at++;
	}
}

void text_change(struct text_rewrite *w, const char *data, size_t n, ptrdiff_t change)
{
	struct text_span span = { 0 };

	if (!w->in->tracked) {
		append(w, data, n, span);
		return;
	}
	if (change > 0 || w->at >= w->in->size) {
		append(w, data, n, span_before(w, false));
		return;
	}
	append(w, data, n, text_span_at(w->in, w->at));
	pass(w, 1 + (size_t)-change);
}

int text_rewrite_end(struct text_rewrite *w)
{
	if (w->at < w->in->size)
		text_keep(w, w->in->size - w->at);
	return w->failed ? -1 : 0;
}
