/*
 * lib/text/bpe_lost.c - where the tokens of a byte-level word lie that lost bytes
 *
 * A byte without a token is left out when the model drops what is unknown. The peer then adds up what the tokens that are there
 * take as the alphabet spells it, one place or two a byte, counts from the start of the word, and gives a token the bytes that
 * hold its first and its last place. What lies behind a lost byte so comes out too early; the ids are the same.
 */
#include "lib/text/bpe_parts.h"
#include "lib/text/bytelevel.h"

static size_t places(struct bytes word, size_t i)
{
	return bytelevel_code_point((uint8_t)word.data[i]) < 0x80 ? 1 : 2;
}

static bool is_lost(const struct bpe *b, struct bytes word, size_t i)
{
	return b->symbols[(i > 0) * 2 + (i + 1 == word.size)][(unsigned char)word.data[i]] ==
	       TOKEN_NONE;
}

/* The byte that holds a place, as places go up. */
struct place {
	size_t byte, begin;
};

static size_t byte_at(struct place *p, struct bytes word, size_t place)
{
	while (p->begin + places(word, p->byte) <= place)
		p->begin += places(word, p->byte++);
	return p->byte;
}

int bpe_put_lossy(const struct bpe *b, const struct bpe_scratch *s, struct bytes word, size_t at,
		  struct model_tokens *out)
{
	struct place p = { 0, 0 };
	size_t kept = 0, begin, end = 0;

	for (size_t i = 0; i < s->n; i++) {
		size_t from;

		begin = end;
		for (uint32_t n = s->symbols[i].size; n && kept < word.size; kept++) {
			if (is_lost(b, word, kept))
				continue;
			end += places(word, kept);
			n--;
		}
		from = byte_at(&p, word, begin);
		if (model_tokens_put(out, s->symbols[i].id, at + from,
				     at + byte_at(&p, word, end - 1) + 1) < 0)
			return -1;
	}
	return 0;
}
