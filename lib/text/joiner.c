/* lib/text/joiner.c - tokens back into bytes, for tokenizers whose decoder only joins them */

#include "lib/text/joiner.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

/* Most pieces are shorter: copied as one block, of which what is not theirs is written over. */
#define BLOCK 16

struct joiner {
	uint32_t *starts; /* of each id, and past the last */
	uint32_t vocab;
	struct buffer bytes; /* with BLOCK bytes after the last piece */
};

static int fill(struct joiner *j, const struct tokenizer *t)
{
	for (uint32_t id = 0; id < j->vocab; id++) {
		struct bytes piece = tokenizer_piece(t, id);

		j->starts[id] = (uint32_t)j->bytes.size;
		buffer_put(&j->bytes, piece.data, piece.size);
		if (j->bytes.size > UINT32_MAX - BLOCK)
			return err_set(ERR_LIMIT, "the vocabulary has more than 4 GiB of text");
	}
	j->starts[j->vocab] = (uint32_t)j->bytes.size;
	buffer_put_zeros(&j->bytes, BLOCK);
	return buffer_check(&j->bytes);
}

int joiner_new(struct joiner **out, const struct tokenizer *t)
{
	struct joiner *j = mem_new(1, sizeof(*j));

	*out = NULL;
	if (!j)
		return -1;
	j->vocab = tokenizer_vocab_size(t);
	j->starts = mem_new((size_t)j->vocab + 1, sizeof(*j->starts));
	if (!j->starts || fill(j, t) < 0) {
		joiner_free(j);
		return -1;
	}
	*out = j;
	return 0;
}

void joiner_free(struct joiner *j)
{
	if (!j)
		return;
	free(j->starts);
	buffer_free(&j->bytes);
	free(j);
}

int joiner_put(const struct joiner *j, const uint32_t *ids, size_t n, struct buffer *out)
{
	for (size_t i = 0; i < n; i++) {
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
	return 0;
}
