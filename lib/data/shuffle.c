/* lib/data/shuffle.c - documents in another order, with a bounded number of them held */
#include "lib/data/shuffle.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/base/size.h"

/* A document's three parts in one piece of memory. */
struct held {
	char *data;
	size_t text, source, fields; /* bytes of each */
	size_t source_name;
	bool utf8;
};

struct shuffle {
	struct random_stream random;
	struct held *items;
	size_t n_max, n, capacity;
	uint64_t drawn;
	struct held out; /* given out last */
};

int shuffle_new(struct shuffle **out, size_t n, uint64_t seed)
{
	struct shuffle *s = mem_new(1, sizeof *s);

	if (!s)
		return -1;
	s->random = random_at(seed, 0, hash_short("shuffle", 7, 0));
	s->n_max = n;
	*out = s;
	return 0;
}

void shuffle_free(struct shuffle *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].data);
	free(s->items);
	free(s->out.data);
	free(s);
}

static int hold(struct held *h, const struct document *d)
{
	size_t total;

	if (!size_add(d->text.size, d->source.size, &total) ||
	    !size_add(total, d->fields.size, &total))
		return err_memory(SIZE_MAX);
	h->data = mem_new(total, 1);
	if (!h->data)
		return -1;
	h->text = d->text.size;
	h->source = d->source.size;
	h->fields = d->fields.size;
	h->source_name = d->source_name;
	h->utf8 = d->utf8;
	if (h->text)
		memcpy(h->data, d->text.data, h->text);
	if (h->source)
		memcpy(h->data + h->text, d->source.data, h->source);
	if (h->fields)
		memcpy(h->data + h->text + h->source, d->fields.data, h->fields);
	return 0;
}

static void give(struct shuffle *s, struct held h, struct document *out)
{
	free(s->out.data);
	s->out = h;
	out->text = (struct bytes){ h.data, h.text };
	out->source = (struct bytes){ h.data + h.text, h.source };
	out->source_name = h.source_name;
	out->fields = (struct bytes){ h.data + h.text + h.source, h.fields };
	out->utf8 = h.utf8;
}

static size_t draw(struct shuffle *s)
{
	return (size_t)random_below(&s->random, 0, s->drawn++, s->n);
}

int shuffle_put(struct shuffle *s, const struct document *in, struct document *out)
{
	struct held held;
	size_t at;

	if (s->n < s->n_max) {
		if (mem_grow(&s->items, &s->capacity, s->n + 1, sizeof *s->items) ||
		    hold(&s->items[s->n], in))
			return -1;
		s->n++;
		return 0;
	}
	if (hold(&held, in))
		return -1;
	at = draw(s);
	give(s, s->items[at], out);
	s->items[at] = held;
	return 1;
}

int shuffle_drain(struct shuffle *s, struct document *out)
{
	size_t at;

	if (s->n == 0)
		return 0;
	at = draw(s);
	give(s, s->items[at], out);
	s->items[at] = s->items[--s->n];
	return 1;
}
