/*
 * lib/text/added.c - added tokens, found in text before anything else looks at
 * it
 *
 * A trie of the tokens' bytes: a table from (node, byte) to node, open
 * addressing. Where no token can begin, a table of first bytes skips fast;
 * where one can, the walk is at most as long as the longest token.
 */
#include "lib/text/added.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/unicode_class.h"

#define ROOT 0u

struct edge {
	uint64_t key; /* node << 8 | byte, plus 1: 0 is a free place */
	uint32_t to;
};

struct added_set {
	struct edge *edges;
	size_t mask;			  /* number of places - 1 */
	const struct added_spec **tokens; /* of each node; NULL: no token ends there */
	uint32_t n_nodes;
	bool first[256];
};

static size_t place_of(const struct added_set *s, uint64_t key)
{
	size_t i = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & s->mask;

	while (s->edges[i].key && s->edges[i].key != key)
		i = (i + 1) & s->mask;
	return i;
}

static uint64_t key_of(uint32_t node, unsigned char byte)
{
	return ((uint64_t)node << 8 | byte) + 1;
}

/* The node below NODE, or ROOT when there is none. */
static uint32_t child(const struct added_set *s, uint32_t node, unsigned char byte)
{
	return s->edges[place_of(s, key_of(node, byte))].to;
}

static void add_entry(struct added_set *s, const struct added_entry *e)
{
	uint32_t node = ROOT;

	for (size_t i = 0; i < e->text.size; i++) {
		uint64_t key = key_of(node, (unsigned char)e->text.data[i]);
		struct edge *edge = &s->edges[place_of(s, key)];

		if (!edge->key)
			*edge = (struct edge){ key, s->n_nodes++ };
		node = edge->to;
	}
	s->tokens[node] = e->token;
	s->first[(unsigned char)e->text.data[0]] = true;
}

int added_set_new(struct added_set **out, const struct added_entry *entries, size_t n)
{
	struct added_set *s = mem_new(1, sizeof(*s));
	size_t bytes = 0, places = 16;

	*out = NULL;
	if (!s)
		return -1;
	for (size_t i = 0; i < n; i++)
		bytes += entries[i].text.size;
	while (places < 2 * bytes)
		places *= 2;
	s->mask = places - 1;
	s->n_nodes = 1;
	s->edges = mem_new(places, sizeof(*s->edges));
	s->tokens = mem_new(bytes + 1, sizeof(*s->tokens));
	if (!s->edges || !s->tokens) {
		added_set_free(s);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		if (entries[i].text.size)
			add_entry(s, &entries[i]);
	*out = s;
	return 0;
}

void added_set_free(struct added_set *s)
{
	if (!s)
		return;
	free(s->edges);
	free(s->tokens);
	free(s);
}

/* The longest token that begins at AT; its end to *TO. */
static const struct added_spec *longest(const struct added_set *s, struct bytes text, size_t at,
					size_t *to)
{
	const struct added_spec *found = NULL;
	uint32_t node = ROOT;

	for (size_t i = at; i < text.size; i++) {
		node = child(s, node, (unsigned char)text.data[i]);
		if (node == ROOT)
			break;
		if (s->tokens[node]) {
			found = s->tokens[node];
			*to = i + 1;
		}
	}
	return found;
}

/* --- white space and words beside a match --- */

/* The character that ends before AT; its length, 0 at the start. Text is
 * well-formed. */
static size_t before(struct bytes text, size_t at, uint32_t *c)
{
	size_t n = 0;

	while (n < at && n < 4 && ((unsigned char)text.data[at - n - 1] & 0xC0) == 0x80)
		n++;
	return n < at ? utf8_decode(text.data + at - n - 1, n + 1, c) : 0;
}

static bool stands_alone(struct bytes text, size_t from, size_t to)
{
	uint32_t c;

	if (before(text, from, &c) && (unicode_class(c) & UNICODE_WORD))
		return false;
	return !utf8_decode(text.data + to, text.size - to, &c) ||
	       !(unicode_class(c) & UNICODE_WORD);
}

static size_t strip_left(struct bytes text, size_t from)
{
	uint32_t c;
	size_t n;

	while ((n = before(text, from, &c)) > 0 && (unicode_class(c) & UNICODE_SPACE))
		from -= n;
	return from;
}

static size_t strip_right(struct bytes text, size_t to)
{
	uint32_t c;
	size_t n;

	while ((n = utf8_decode(text.data + to, text.size - to, &c)) > 0 &&
	       (unicode_class(c) & UNICODE_SPACE))
		to += n;
	return to;
}

/*
 * The engine of the peer goes through the matches of the bare texts, which do
 * not overlap, and leaves some out afterwards: so a token that is left out
 * hides shorter ones inside it, and so does this.
 */
int added_set_find(const struct added_set *s, struct bytes text, struct added_search *search,
		   bool no_special, struct added_match *out)
{
	for (size_t i = search->resume; i < text.size;) {
		const struct added_spec *token;
		size_t to = 0;

		if (!s->first[(unsigned char)text.data[i]] || !(token = longest(s, text, i, &to))) {
			i++;
			continue;
		}
		if ((no_special && token->special) ||
		    (token->single_word && !stands_alone(text, i, to))) {
			i = to;
			continue;
		}
		out->from = token->lstrip ? strip_left(text, i) : i;
		if (token->lstrip && out->from < search->last)
			out->from = search->last;
		out->to = token->rstrip ? strip_right(text, to) : to;
		out->token = token;
		search->resume = to;
		search->last = out->to;
		return 1;
	}
	return 0;
}
