/*
 * lib/infer/stop_text.c - strings that end a text, found wherever pieces of it begin and end
 *
 * What is held back is the longest end of the text that begins a stop, so a byte that comes is compared with the ends of what is held.
 */

#include "lib/infer/stop_text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

struct stop_text {
	const struct bytes *strings;
	size_t n;
	struct buffer held;
	int found;
};

int stop_text_new(struct stop_text **out, const struct bytes *strings, size_t n)
{
	struct stop_text *s;

	*out = NULL;
	if (n > INT_MAX)
		return err_set(ERR_LIMIT, "%zu stop strings", n);
	for (size_t i = 0; i < n; i++)
		if (strings[i].size == 0)
			return err_set(ERR_ARGUMENT, "a stop string that is empty");
	s = mem_new(1, sizeof(*s));
	if (!s)
		return -1;
	*s = (struct stop_text){ .strings = strings, .n = n, .found = -1 };
	*out = s;
	return 0;
}

void stop_text_free(struct stop_text *s)
{
	if (!s)
		return;
	buffer_free(&s->held);
	free(s);
}

int stop_text_found(const struct stop_text *s)
{
	return s->found;
}

/* The longest stop that the held text ends with, or -1. */
static int whole_stop(const struct stop_text *s)
{
	const struct buffer *h = &s->held;
	int best = -1;

	for (size_t i = 0; i < s->n; i++) {
		struct bytes stop = s->strings[i];

		if (stop.size <= h->size &&
		    memcmp(h->data + h->size - stop.size, stop.data, stop.size) == 0 &&
		    (best < 0 || stop.size > s->strings[best].size))
			best = (int)i;
	}
	return best;
}

/* Whether a stop begins with the held text from AT on. */
static bool begins_stop(const struct stop_text *s, size_t at)
{
	size_t n = s->held.size - at;

	for (size_t i = 0; i < s->n; i++)
		if (s->strings[i].size > n && memcmp(s->strings[i].data, s->held.data + at, n) == 0)
			return true;
	return false;
}

static void let_go(struct stop_text *s, size_t n, struct buffer *out)
{
	buffer_put(out, s->held.data, n);
	memmove(s->held.data, s->held.data + n, s->held.size - n);
	s->held.size -= n;
}

int stop_text_add(struct stop_text *s, struct bytes text, struct buffer *out)
{
	for (size_t i = 0; i < text.size && s->found < 0; i++) {
		size_t certain = 0;

		buffer_put(&s->held, text.data + i, 1);
		if (buffer_check(&s->held) < 0)
			return -1;
		s->found = whole_stop(s);
		if (s->found >= 0) {
			buffer_put(out, s->held.data, s->held.size - s->strings[s->found].size);
			buffer_clear(&s->held);
			break;
		}
		while (certain < s->held.size && !begins_stop(s, certain))
			certain++;
		if (certain)
			let_go(s, certain, out);
	}
	return buffer_check(out) < 0 ? -1 : s->found >= 0;
}

void stop_text_end(struct stop_text *s, struct buffer *out)
{
	buffer_put(out, s->held.data, s->held.size);
	buffer_clear(&s->held);
}
