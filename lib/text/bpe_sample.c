/*
 * lib/text/bpe_sample.c - BPE-dropout (Provilkov, Emelianenko, Voita 2020, "BPE-Dropout: Simple and Effective
 * Subword Regularization") as the peer does it
 *
 * Each merge that is taken from the queue is skipped with the given chance; those skipped come back once one has been taken.
 * The peer draws from the system; here draw k of a piece is a function of (seed, document, position, k), so that
 * the same command gives the same tokens. ignore_merges does not apply, as there.
 */
#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/text/bpe_heap.h"

static int merge(const struct bpe_merges *t, struct bpe_scratch *s, double dropout,
		 const struct random_stream *draws, uint64_t position)
{
	size_t n, skipped = 0;
	uint64_t draw = 0;

	if (bpe_heap_begin(t, s, &n) < 0 ||
	    mem_grow(&s->skipped, &s->skipped_capacity, 2 * s->n, sizeof(*s->skipped)) < 0)
		return -1;
	while (n > 0) {
		uint64_t entry = heap_pop(s->heap, &n);

		if (random_uniform53(draws, position, draw++) < dropout) {
			s->skipped[skipped++] = entry;
			continue;
		}
		while (skipped > 0)
			heap_push(s->heap, &n, s->skipped[--skipped]);
		bpe_heap_join(t, s, entry, &n);
	}
	bpe_heap_end(s);
	return 0;
}

int bpe_merge_dropout(const struct bpe_merges *t, struct bpe_scratch *s,
		      const struct model_sampling *how)
{
	struct random_stream draws =
		random_at(how->seed, how->document, hash_short("bpe.dropout", 11, 0));

	return merge(t, s, how->dropout, &draws, how->position);
}

int bpe_sample(const struct text_model *m, void *own, struct bytes piece,
	       const struct model_sampling *how, struct model_tokens *out)
{
	const struct bpe *b = m->own;
	struct bpe_scratch *s = own;

	if (!(how->dropout >= 0 && how->dropout <= 1))
		return err_set(ERR_ARGUMENT, "dropout %g: it is from 0 to 1", how->dropout);
	if (how->dropout == 0)
		return model_bpe.encode(m, own, piece, out);
	if (bpe_symbols(m, s, piece) < 0 || bpe_merge_dropout(&b->merges, s, how) < 0)
		return -1;
	return bpe_put_symbols(s, piece, 0, out);
}
