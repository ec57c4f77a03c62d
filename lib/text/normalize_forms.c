/*
 * lib/text/normalize_forms.c - NFC, NFD, NFKC and NFKD
 *
 * Unicode Standard Annex 15. A text is cut into segments: a character that no form changes and that never acts on what
 * is before it, and those after it that may. Only segments of more than the first are worked on: decomposed,
 * marks sorted, composed again. Each character carries the `change` that the peer gives it (text_change).
 */
#include "lib/text/normalize_parts.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

enum {
	HANGUL_S = 0xAC00,
	HANGUL_L = 0x1100,
	HANGUL_V = 0x1161,
	HANGUL_T = 0x11A7, /* one before the first: no trailing consonant */
	HANGUL_LS = 19,
	HANGUL_VS = 21,
	HANGUL_TS = 28,
	HANGUL_SS = HANGUL_LS * HANGUL_VS * HANGUL_TS,
};

struct part {
	uint32_t code_point;
	uint8_t order;
	ptrdiff_t change;
};

struct segment {
	struct part *parts;
	size_t n, capacity;
	struct part *sorted; /* room for sorting long runs of marks */
	size_t sorted_capacity;
};

static int add(struct segment *g, uint32_t code_point, uint8_t order, ptrdiff_t change)
{
	if (g->n == g->capacity && mem_grow(&g->parts, &g->capacity, g->n + 1, sizeof(*g->parts)))
		return -1;
	g->parts[g->n++] = (struct part){ code_point, order, change };
	return 0;
}

static int decompose_hangul(struct segment *g, uint32_t code_point)
{
	uint32_t i = code_point - HANGUL_S, trail = i % HANGUL_TS;

	if (add(g, HANGUL_L + i / (HANGUL_VS * HANGUL_TS), 0, 0) ||
	    add(g, HANGUL_V + i / HANGUL_TS % HANGUL_VS, 0, 1))
		return -1;
	return trail ? add(g, HANGUL_T + trail, 0, 1) : 0;
}

/* The first code point stands for the character, the others are insertions. */
static int decompose(struct segment *g, uint32_t code_point, bool compatible)
{
	const struct unicode_entry *e = unicode_entry(code_point);
	size_t at = compatible ? e->compatible : e->canonical;
	const uint32_t *parts = unicode_pool + at + 1;

	if (code_point - HANGUL_S < HANGUL_SS)
		return decompose_hangul(g, code_point);
	if (!at)
		return add(g, code_point, e->order, 0);
	for (size_t i = 0; i < unicode_pool[at]; i++)
		if (add(g, parts[i], unicode_entry(parts[i])->order, i > 0))
			return -1;
	return 0;
}

/* Counting sort, stable: a run of marks may be as long as the text. */
static int sort_long(struct segment *g, struct part *run, size_t n)
{
	size_t place[257] = { 0 };

	if (n > g->sorted_capacity &&
	    mem_grow(&g->sorted, &g->sorted_capacity, n, sizeof(*g->sorted)))
		return -1;
	for (size_t i = 0; i < n; i++)
		place[run[i].order + 1]++;
	for (size_t i = 1; i < 257; i++)
		place[i] += place[i - 1];
	for (size_t i = 0; i < n; i++)
		g->sorted[place[run[i].order]++] = run[i];
	memcpy(run, g->sorted, n * sizeof(*run));
	return 0;
}

static void sort_short(struct part *run, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct part p = run[i];
		size_t j = i;

		for (; j > 0 && run[j - 1].order > p.order; j--)
			run[j] = run[j - 1];
		run[j] = p;
	}
}

/* Canonical order: each run of marks by their classes. */
static int sort_marks(struct segment *g)
{
	size_t from, to;

	for (from = 0; from < g->n; from = to + 1) {
		for (to = from; to < g->n && g->parts[to].order; to++)
			continue;
		if (to - from <= 32)
			sort_short(g->parts + from, to - from);
		else if (sort_long(g, g->parts + from, to - from))
			return -1;
	}
	return 0;
}

static uint32_t compose_hangul(uint32_t first, uint32_t second)
{
	if (first - HANGUL_L < HANGUL_LS && second - HANGUL_V < HANGUL_VS)
		return HANGUL_S + ((first - HANGUL_L) * HANGUL_VS + second - HANGUL_V) * HANGUL_TS;
	if (first - HANGUL_S < HANGUL_SS && (first - HANGUL_S) % HANGUL_TS == 0 &&
	    second - HANGUL_T - 1 < HANGUL_TS - 1)
		return first + second - HANGUL_T;
	return 0;
}

/* What the two compose to; 0 for nothing. */
static uint32_t compose(uint32_t first, uint32_t second)
{
	size_t low = 0, high = unicode_n_pairs;
	uint32_t hangul = compose_hangul(first, second);

	if (hangul)
		return hangul;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct unicode_pair *p = &unicode_pairs[middle];

		if (p->first == first && p->second == second)
			return p->result;
		if (p->first < first || (p->first == first && p->second < second))
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* In place: OUT is never ahead of what is read. A mark composes unless one of its class or above stands between. */
static void compose_segment(struct segment *g)
{
	struct part *parts = g->parts, *starter = NULL;
	size_t out = 0;
	unsigned last = 0; /* class of the mark kept last after the starter */

	for (size_t i = 0; i < g->n; i++) {
		struct part p = parts[i];
		bool blocked = last && last >= p.order;
		uint32_t whole =
			starter && !blocked ? compose(starter->code_point, p.code_point) : 0;

		if (whole) {
			starter->code_point = whole;
			starter->change += p.change - 1;
			continue;
		}
		parts[out] = p;
		if (!p.order) {
			starter = &parts[out];
			last = 0;
		} else if (starter) {
			last = p.order;
		}
		out++;
	}
	g->n = out;
}

static int read_segment(const struct step *s, const char *data, size_t n, struct segment *g)
{
	size_t length;

	g->n = 0;
	for (size_t at = 0; at < n; at += length) {
		uint32_t c = char_decode(data + at, n - at, &length);

		if (decompose(g, c, s->compatible))
			return -1;
	}
	if (sort_marks(g))
		return -1;
	if (s->composes)
		compose_segment(g);
	return 0;
}

static int rewrite_segment(const struct step *s, struct text_rewrite *w, size_t n,
			   struct segment *g)
{
	size_t end = w->at + n;
	char bytes[4];

	if (read_segment(s, w->in->data + w->at, n, g))
		return -1;
	for (size_t i = 0; i < g->n; i++)
		text_change(w, bytes, utf8_encode(g->parts[i].code_point, bytes),
			    g->parts[i].change);
	text_skip(w, end);
	return 0;
}

/* The end of the characters from AT that may change or act on what is before them. */
static size_t flagged_end(const struct step *s, const char *data, size_t size, size_t at)
{
	size_t length;

	while (at < size && (unicode_traits(char_decode(data + at, size - at, &length)) & s->mask))
		at += length;
	return at;
}

static int rewrite_form(const struct step *s, struct text_rewrite *w)
{
	struct segment g = { 0 };
	const char *data = w->in->data;
	size_t size = w->in->size, from, flagged, to = w->at;
	int result = 0;

	while (!result && (flagged = step_scan(s, data, size, to)) < size) {
		from = flagged > to ? char_before(data, flagged) : flagged;
		to = flagged_end(s, data, size, flagged);
		text_keep(w, from - w->at);
		result = rewrite_segment(s, w, to - from, &g);
	}
	free(g.parts);
	free(g.sorted);
	return result;
}

/* The character before one that may act on it is not settled, nor is the last one when more follows. */
static size_t form_settled(const struct step *s, const char *data, size_t size, bool more)
{
	size_t at = step_scan(s, data, size, 0);

	if (at == 0 || (at == size && !more))
		return at;
	return char_before(data, at);
}

const struct step_kind step_form = { form_settled, rewrite_form };
