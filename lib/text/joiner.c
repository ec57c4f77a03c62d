/* lib/text/joiner.c - tokens back into bytes, for tokenizers whose decoder only joins what each token stands for */

#include "lib/text/joiner.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/decode.h"

/* Most pieces are shorter: copied as one block, of which what is not theirs is written over. */
#define BLOCK 16

struct joiner {
	uint32_t *starts; /* of each id, and past the last */
	uint32_t vocab;
	struct buffer bytes; /* with BLOCK bytes after the last piece */
	uint32_t strips;
	char mark; /* what is stripped */
};

/* --- which decoders --- */

/* How the decoders of a spec are cut: those that see one token at a time, and what follows. */
struct chain {
	size_t n_single;
	uint32_t strips;
	char mark;
};

static bool is_single(const struct decoder_spec *d)
{
	return d->kind == DECODER_BYTE_LEVEL || d->kind == DECODER_BYTE_FALLBACK ||
	       (d->kind == DECODER_REPLACE && !d->replace.pattern.is_regex);
}

/* A Strip that looks at the start of the whole text. */
static bool is_strip(const struct decoder_spec *d)
{
	return d->kind == DECODER_STRIP && d->strip.stop == 0 && d->strip.content < 0x80;
}

/* False when the decoders do more than join. */
static bool read_chain(struct chain *c, const struct decoder_spec *specs, size_t n)
{
	size_t i = 0;

	*c = (struct chain){ 0 };
	if (n == 0)
		return false;
	while (i < n && is_single(&specs[i]))
		i++;
	c->n_single = i;
	/* ByteLevel gives one token, so that what follows it sees the whole. */
	for (size_t k = 0; k + 1 < i; k++)
		if (specs[k].kind == DECODER_BYTE_LEVEL)
			return false;
	while (i < n && specs[i].kind == DECODER_FUSE)
		i++;
	if (i == n)
		return true;
	if (i == c->n_single || i + 1 < n || !is_strip(&specs[i]))
		return false;
	c->strips = specs[i].strip.start;
	c->mark = (char)specs[i].strip.content;
	return true;
}

/* --- making --- */

static int fill(struct joiner *j, const struct tokenizer *t, struct text_decoder *d)
{
	for (uint32_t id = 0; id < j->vocab; id++) {
		j->starts[id] = (uint32_t)j->bytes.size;
		if (text_decoder_add(d, tokenizer_piece(t, id), tokenizer_added(t, id) != NULL,
				     &j->bytes) < 0 ||
		    text_decoder_end(d, &j->bytes) < 0)
			return -1;
		if (j->bytes.size > UINT32_MAX - BLOCK)
			return err_set(ERR_LIMIT, "the vocabulary has more than 4 GiB of text");
	}
	j->starts[j->vocab] = (uint32_t)j->bytes.size;
	buffer_put_zeros(&j->bytes, BLOCK);
	return buffer_check(&j->bytes);
}

/* Each piece as the decoders before the join give it. */
static int decode_pieces(struct joiner *j, const struct tokenizer *t, size_t n_single)
{
	static const struct decoder_spec fuse = { .kind = DECODER_FUSE };
	const struct decoder_spec *specs = n_single ? tokenizer_spec(t)->decoders : &fuse;
	struct text_decoder *d;
	int result;

	if (text_decoder_new(&d, specs, n_single ? n_single : 1, tokenizer_is_byte_level(t), true) <
	    0)
		return -1;
	result = fill(j, t, d);
	text_decoder_free(d);
	return result;
}

int joiner_new(struct joiner **out, const struct tokenizer *t)
{
	const struct tokenizer_spec *spec = tokenizer_spec(t);
	struct chain chain;
	struct joiner *j;

	*out = NULL;
	if (!read_chain(&chain, spec->decoders, spec->n_decoders))
		return 0;
	j = mem_new(1, sizeof(*j));
	if (!j)
		return -1;
	j->strips = chain.strips;
	j->mark = chain.mark;
	j->vocab = tokenizer_vocab_size(t);
	j->starts = mem_new((size_t)j->vocab + 1, sizeof(*j->starts));
	if (!j->starts || decode_pieces(j, t, chain.n_single) < 0) {
		joiner_free(j);
		return -1;
	}
	*out = j;
	return 0;
}

uint32_t joiner_strips(const struct joiner *j)
{
	return j->strips;
}

void joiner_free(struct joiner *j)
{
	if (!j)
		return;
	free(j->starts);
	buffer_free(&j->bytes);
	free(j);
}

/* --- joining --- */

/* The pieces at the start of a text, until one has more than what is stripped. Returns how many. */
static size_t put_first(const struct joiner *j, uint32_t *to_strip, const uint32_t *ids, size_t n,
			struct buffer *out)
{
	size_t i = 0;

	for (; i < n && *to_strip; i++) {
		size_t from, to;

		if (ids[i] >= j->vocab)
			continue;
		from = j->starts[ids[i]];
		to = j->starts[ids[i] + 1];
		for (; from < to && *to_strip && j->bytes.data[from] == j->mark; from++)
			--*to_strip;
		if (from == to)
			continue;
		buffer_put(out, j->bytes.data + from, to - from);
		*to_strip = 0;
	}
	return i;
}

int joiner_put(const struct joiner *j, uint32_t *to_strip, const uint32_t *ids, size_t n,
	       struct buffer *out)
{
	for (size_t i = put_first(j, to_strip, ids, n, out); i < n; i++) {
		uint32_t id = ids[i] < j->vocab ? ids[i] : j->vocab;
		uint32_t start = j->starts[id];
		size_t size = id < j->vocab ? j->starts[id + 1] - start : 0;

		if (out->capacity - out->size < size + BLOCK &&
		    buffer_reserve(out, size + BLOCK) < 0)
			return -1;
		if (size <= BLOCK)
			memcpy(out->data + out->size, j->bytes.data + start, BLOCK);
		else
			memcpy(out->data + out->size, j->bytes.data + start, size);
		out->size += size;
	}
	return out->failed ? buffer_check(out) : 0;
}
