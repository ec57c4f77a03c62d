/* lib/train/training_tokenizer.c - the tokenizer that lies with the model, and what masking needs of it */

#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_open.h"
#include "lib/base/err.h"
#include "lib/train/training_parts.h"

int training_open_tokenizer(struct training *t)
{
	const struct token_header *h = feed_header(t->feed);

	if (tokenizer_open(&t->tokenizer, t->arena, t->model.path, NULL) < 0)
		return err_last() == ERR_MISSING ? 0 : -1;
	return token_header_known(h) ? tokenizer_match(t->tokenizer, t->model.path, h, t->o.data)
				     : 0;
}

/* --- masking --- */

static bool is_mask(const struct added_spec *a)
{
	return bytes_are(a->text, "[MASK]") || bytes_are(a->text, "<mask>");
}

static int find_mask(struct training *t)
{
	const struct tokenizer_spec *s = t->tokenizer ? tokenizer_spec(t->tokenizer) : NULL;

	for (size_t i = 0; s && i < s->n_added && t->o.mask_id == TRAINING_UNSET; i++)
		if (is_mask(&s->added[i]))
			t->o.mask_id = s->added[i].id;
	if (t->o.mask_id == TRAINING_UNSET)
		return err_set(ERR_ARGUMENT,
			       "--objective mlm: the tokenizer has neither [MASK] nor <mask>; "
			       "--mask-id tells the token");
	if (t->o.mask_id >= t->model.config->vocab_size)
		return err_set(ERR_ARGUMENT, "--mask-id: the vocabulary does not have it");
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * What is never masked: the mask, padding (0 where the tokens name none, as windows are filled up with), special tokens. Sorted, each once.
 */
static int find_special(struct training *t)
{
	const struct tokenizer_spec *s = t->tokenizer ? tokenizer_spec(t->tokenizer) : NULL;
	uint32_t pad = feed_header(t->feed)->pad;
	size_t n = 0, n_added = s ? s->n_added : 0;
	uint32_t *all = arena_alloc(t->arena, n_added + 2, sizeof(*all));

	if (!all)
		return -1;
	all[n++] = (uint32_t)t->o.mask_id;
	all[n++] = pad == TOKEN_NONE ? 0 : pad;
	for (size_t i = 0; i < n_added; i++)
		if (s->added[i].special)
			all[n++] = s->added[i].id;
	qsort(all, n, sizeof(*all), by_id);
	t->masking.special = all;
	t->masking.n_special = 1;
	for (size_t i = 1; i < n; i++)
		if (all[i] != all[i - 1])
			all[t->masking.n_special++] = all[i];
	return 0;
}

int training_open_masking(struct training *t)
{
	if (t->o.objective != TRAINING_MASKED)
		return 0;
	if (find_mask(t) < 0 || find_special(t) < 0)
		return -1;
	t->masking.share = t->o.mask;
	t->masking.mask = (int32_t)t->o.mask_id;
	t->masking.vocabulary = (uint32_t)t->model.config->vocab_size;
	t->masking.seed = t->o.seed;
	if (t->masking.n_special >= t->masking.vocabulary)
		return err_set(ERR_ARGUMENT, "--objective mlm: every token is special");
	return 0;
}
