/* lib/text/train_bpe_symbols.c - the pieces of a growing vocabulary, found by their text */
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/text/train_bpe_parts.h"

#define SYMBOLS_MAX (TRAIN_HOLE - 1)
#define FEWEST	    1024

void train_symbols_clear(struct train_symbols *s)
{
	free(s->items);
	free(s->slots);
	s->items = NULL;
	s->slots = NULL;
}

static size_t slot_of(struct bytes text, size_t mask)
{
	return (size_t)hash_short(text.data, text.size, 0) & mask;
}

uint32_t train_symbols_find(const struct train_symbols *s, struct bytes text)
{
	if (!s->slots)
		return TRAIN_NONE;
	for (size_t i = slot_of(text, s->mask); s->slots[i]; i = (i + 1) & s->mask)
		if (bytes_equal(s->items[s->slots[i] - 1].text, text))
			return s->slots[i] - 1;
	return TRAIN_NONE;
}

static void fill_slot(struct train_symbols *s, uint32_t symbol)
{
	size_t i = slot_of(s->items[symbol].text, s->mask);

	while (s->slots[i])
		i = (i + 1) & s->mask;
	s->slots[i] = symbol + 1;
}

static int grow_slots(struct train_symbols *s)
{
	size_t size = s->slots ? 2 * (s->mask + 1) : FEWEST;
	uint32_t *slots;

	if (s->slots && (size_t)s->n * 2 <= s->mask)
		return 0;
	if (train_memory_take(s->memory, size / 2 * sizeof(*slots)) < 0)
		return -1;
	slots = mem_new(size, sizeof(*slots));
	if (!slots)
		return -1;
	free(s->slots);
	s->slots = slots;
	s->mask = size - 1;
	for (uint32_t i = 0; i < s->n; i++)
		fill_slot(s, i);
	return 0;
}

/* TEXT is in the arena. */
static int add(struct train_symbols *s, struct bytes text, uint32_t *symbol)
{
	if (s->n >= SYMBOLS_MAX || s->next_id >= SYMBOLS_MAX)
		return err_set(ERR_LIMIT, "a vocabulary has at most %u pieces", SYMBOLS_MAX);
	if (grow_slots(s) < 0 || train_memory_grow(s->memory, &s->items, &s->capacity,
						   (size_t)s->n + 1, sizeof(*s->items)) < 0)
		return -1;
	s->items[s->n] = (struct train_symbol){ .text = text, .id = s->next_id++ };
	fill_slot(s, s->n);
	*symbol = s->n++;
	return 0;
}

static void append(char *out, size_t *at, struct bytes part)
{
	if (part.size)
		memcpy(out + *at, part.data, part.size);
	*at += part.size;
}

int train_symbols_put(struct train_symbols *s, struct bytes a, struct bytes b, struct bytes c,
		      uint32_t *symbol)
{
	char small[256], *joined = small;
	struct bytes text = { 0 };
	size_t size, at = 0;
	int result = 0;

	if (!size_add(a.size, b.size, &size) || !size_add(size, c.size, &size))
		return err_memory(a.size);
	/* Long texts are copied twice, so that what is there already leaves nothing in the arena. */
	if (size > sizeof(small) && !(joined = malloc(size)))
		return err_memory(size);
	append(joined, &at, a);
	append(joined, &at, b);
	append(joined, &at, c);
	*symbol = train_symbols_find(s, (struct bytes){ joined, size });
	if (*symbol == TRAIN_NONE) {
		result = train_memory_take(s->memory, size + 16);
		text.size = size;
		if (result == 0)
			text.data = arena_copy(s->arena, (struct bytes){ joined, size });
		result = result == 0 && text.data ? add(s, text, symbol) : -1;
	}
	if (joined != small)
		free(joined);
	return result;
}
