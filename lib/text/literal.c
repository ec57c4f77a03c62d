/* lib/text/literal.c - looks for one string, in time linear in the text whatever the string */
#include "lib/text/literal.h"

#include "lib/base/memory.h"

int literal_new(struct literal *l, struct bytes text)
{
	*l = (struct literal){ .text = text };
	l->border = mem_new(text.size, sizeof(*l->border));
	if (!l->border)
		return -1;
	for (size_t i = 1; i < text.size; i++)
		l->border[i] = literal_step(l, l->border[i - 1], text.data[i]);
	return 0;
}

void literal_free(struct literal *l)
{
	free(l->border);
	*l = (struct literal){ 0 };
}

size_t literal_step(const struct literal *l, size_t matched, char byte)
{
	while (matched && l->text.data[matched] != byte)
		matched = l->border[matched - 1];
	return matched + (l->text.data[matched] == byte);
}

size_t literal_find(const struct literal *l, struct bytes text, size_t from)
{
	size_t matched = 0;

	for (size_t at = from; at < text.size; at++) {
		if (!matched) {
			const char *start = memchr(text.data + at, l->text.data[0], text.size - at);

			if (!start)
				break;
			at = (size_t)(start - text.data);
		}
		matched = literal_step(l, matched, text.data[at]);
		if (matched == l->text.size)
			return at + 1 - matched;
	}
	return text.size;
}
