/*
 * lib/text/word_counts_sort.c - a table of words in the order of their bytes
 *
 * In place, since the table may fill its share of the memory: quicksort about the median of three, with heapsort
 * where it goes too deep (Musser 1997, "Introspective sorting and selection algorithms") and insertion at the end.
 */
#include "lib/text/word_counts_hash.h"

#define FEW 16 /* so many are sorted by insertion */

static inline uint32_t first_four(const struct word_slot *s)
{
	return word_slot_size(s) > WORD_SLOT_BYTES ? (uint32_t)s->tag : (uint32_t)(s->low >> 32);
}

static bool long_before(const struct word_slot *a, const struct word_slot *b)
{
	char room_a[WORD_SLOT_BYTES], room_b[WORD_SLOT_BYTES];

	if (first_four(a) != first_four(b))
		return first_four(a) < first_four(b);
	return bytes_compare(word_slot_text(a, room_a), word_slot_text(b, room_b)) < 0;
}

/* Of short words with the same bytes and zeros the shorter one is the prefix. */
static inline bool before(const struct word_slot *a, const struct word_slot *b)
{
	if (word_slot_size(a) > WORD_SLOT_BYTES || word_slot_size(b) > WORD_SLOT_BYTES)
		return long_before(a, b);
	if (a->low != b->low)
		return a->low < b->low;
	if ((uint32_t)a->tag != (uint32_t)b->tag)
		return (uint32_t)a->tag < (uint32_t)b->tag;
	return a->tag < b->tag;
}

static void swap(struct word_slot *a, struct word_slot *b)
{
	struct word_slot t = *a;

	*a = *b;
	*b = t;
}

static void sort_few(struct word_slot *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct word_slot t = s[i];
		size_t at = i;

		for (; at > 0 && before(&t, &s[at - 1]); at--)
			s[at] = s[at - 1];
		s[at] = t;
	}
}

static void sift(struct word_slot *s, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && before(&s[child], &s[child + 1]))
			child++;
		if (!before(&s[at], &s[child]))
			return;
		swap(&s[at], &s[child]);
	}
}

static void sort_heap(struct word_slot *s, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(s, i, n);
	for (size_t i = n; i-- > 1;) {
		swap(&s[0], &s[i]);
		sift(s, 0, i);
	}
}

/* The median of three into the first place, what is before it to the left. Its place then. */
static size_t split(struct word_slot *s, size_t n)
{
	struct word_slot *a = &s[1], *b = &s[n / 2], *c = &s[n - 1], *middle;
	size_t left = 0, right = n;

	if (before(a, b))
		middle = before(b, c) ? b : before(a, c) ? c : a;
	else
		middle = before(a, c) ? a : before(b, c) ? c : b;
	swap(s, middle);
	for (;;) {
		while (++left < n && before(&s[left], s))
			;
		while (before(s, &s[--right]))
			;
		if (left >= right)
			break;
		swap(&s[left], &s[right]);
	}
	swap(s, &s[right]);
	return right;
}

/* The smaller half by a call, so that calls are never deep. */
static void sort(struct word_slot *s, size_t n, int depth)
{
	while (n > FEW) {
		size_t at;

		if (depth-- == 0) {
			sort_heap(s, n);
			return;
		}
		at = split(s, n);
		if (at < n - at - 1) {
			sort(s, at, depth);
			s += at + 1;
			n -= at + 1;
		} else {
			sort(s + at + 1, n - at - 1, depth);
			n = at;
		}
	}
	sort_few(s, n);
}

void word_hash_sort(struct word_hash *h)
{
	size_t n = 0;
	int depth = 2;

	for (size_t i = 0; i < h->capacity; i++)
		if (h->slots[i].tag)
			h->slots[n++] = h->slots[i];
	/* What was moved away must not be found again in its old place. */
	if (h->capacity > n)
		memset(h->slots + n, 0, (h->capacity - n) * sizeof(*h->slots));
	for (size_t i = n; i > 1; i /= 2)
		depth += 2;
	sort(h->slots, n, depth);
}
