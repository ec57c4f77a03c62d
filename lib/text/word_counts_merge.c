/* lib/text/word_counts_merge.c - many sorted sources of words as one */
#include "lib/text/word_counts_merge.h"

#include <stdlib.h>

#include "lib/base/memory.h"

struct source {
	struct bytes word;
	uint64_t prefix; /* its first 8 bytes as a number, so that most words compare at once */
	uint64_t count;
	const struct word_slot *slot, *slots_end; /* of a table: the next slot */
	char room[WORD_SLOT_BYTES];
	struct word_reader reader; /* of a run: where slot is NULL */
};

struct word_merge {
	struct source *sources; /* owned; never moved */
	size_t n_sources;
	struct source **heap; /* the first word at the top */
	size_t n;
	struct source *held; /* its word was given out; not in the heap */
};

int word_merge_new(struct word_merge **out, size_t most)
{
	struct word_merge *m = mem_new(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return -1;
	m->sources = mem_new(most, sizeof(*m->sources));
	m->heap = mem_new(most, sizeof(*m->heap));
	if (!m->sources || !m->heap) {
		word_merge_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void word_merge_free(struct word_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_sources; i++)
		word_reader_free(&m->sources[i].reader);
	free(m->sources);
	free(m->heap);
	free(m);
}

/* --- the heap --- */

static bool before(const struct source *a, const struct source *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix;
	return bytes_compare(a->word, b->word) < 0;
}

static void sift_down(struct word_merge *m)
{
	struct source *s = m->heap[0];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < m->n; at = child) {
		if (child + 1 < m->n && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], s))
			break;
		m->heap[at] = m->heap[child];
	}
	m->heap[at] = s;
}

static void push(struct word_merge *m, struct source *s)
{
	size_t at = m->n++;

	for (; at > 0 && before(s, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
		m->heap[at] = m->heap[(at - 1) / 2];
	m->heap[at] = s;
}

static struct source *pop(struct word_merge *m)
{
	struct source *top = m->heap[0];

	m->heap[0] = m->heap[--m->n];
	if (m->n)
		sift_down(m);
	return top;
}

/* --- the sources --- */

static uint64_t prefix_of(struct bytes word)
{
	uint64_t v = 0;

	for (size_t i = 0; i < 8; i++)
		v = v << 8 | (i < word.size ? (unsigned char)word.data[i] : 0);
	return v;
}

/* The source's next word: 1, 0 or -1. */
static int advance(struct source *s)
{
	int got = 1;

	if (s->slots_end) {
		if (s->slot == s->slots_end)
			return 0;
		s->word = word_slot_text(s->slot, s->room);
		s->count = s->slot->count;
		s->slot++;
	} else {
		got = word_reader_next(&s->reader, &s->word, &s->count);
	}
	if (got == 1)
		s->prefix = prefix_of(s->word);
	return got;
}

/* The next word of S, which is not in the heap, into it. */
static int enter(struct word_merge *m, struct source *s)
{
	int got = advance(s);

	if (got == 1)
		push(m, s);
	return got < 0 ? -1 : 0;
}

int word_merge_add_table(struct word_merge *m, const struct word_hash *h)
{
	struct source *s = &m->sources[m->n_sources];

	if (h->n == 0)
		return 0;
	m->n_sources++;
	s->slot = h->slots;
	s->slots_end = h->slots + h->n;
	return enter(m, s);
}

int word_merge_add_run(struct word_merge *m, struct word_spill *spill, struct word_run run,
		       size_t buffer)
{
	struct source *s = &m->sources[m->n_sources++];

	return word_reader_new(&s->reader, spill, run, buffer) < 0 ? -1 : enter(m, s);
}

/* The top of the heap goes on to its next word. */
static int advance_top(struct word_merge *m)
{
	int got = advance(m->heap[0]);

	if (got == 1)
		sift_down(m);
	else if (got == 0)
		pop(m);
	return got;
}

int word_merge_next(struct word_merge *m, struct bytes *word, uint64_t *count)
{
	if (m->held && enter(m, m->held) < 0)
		return -1;
	m->held = NULL;
	if (m->n == 0)
		return 0;
	m->held = pop(m);
	*word = m->held->word;
	*count = m->held->count;
	while (m->n && m->heap[0]->prefix == m->held->prefix &&
	       bytes_equal(m->heap[0]->word, *word)) {
		*count += m->heap[0]->count;
		if (advance_top(m) < 0)
			return -1;
	}
	return 1;
}
