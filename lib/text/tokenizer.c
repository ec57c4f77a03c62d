/*
 * lib/text/tokenizer.c - a tokenizer compiled from its spec
 *
 * The parts, in the order in which text meets them: added tokens that are not
 * normalized, normalizers, added tokens that are, pre-tokenizers, the model
 * (encoder.c runs them).
 */
#include "lib/text/tokenizer_parts.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

/* Each added token by its id. */
static int index_added(struct tokenizer *t)
{
	const struct tokenizer_spec *s = t->spec;

	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].id >= t->vocab_size)
			t->vocab_size = s->added[i].id + 1;
	t->added = mem_new(t->vocab_size, sizeof(*t->added));
	if (!t->added)
		return -1;
	for (size_t i = 0; i < s->n_added; i++)
		t->added[s->added[i].id] = &s->added[i];
	return 0;
}

/* A normalized token is looked for by what the normalizers make of its text;
 * the texts live in T. */
static int normalize_entry(struct tokenizer *t, const struct added_spec *token, struct bytes *out)
{
	struct text scratch = { 0 };
	struct text *text = &t->normalized[t->n_normalized];
	int result = text_set(text, token->text.data, token->text.size, 0, false);

	t->n_normalized++;
	if (result == 0)
		result = normalizer_run(t->words->normalizer, text, &scratch);
	text_free(&scratch);
	*out = (struct bytes){ text->data, text->size };
	return result;
}

static int make_set(struct tokenizer *t, bool normalized, struct added_set **out)
{
	const struct tokenizer_spec *s = t->spec;
	struct added_entry *entries = mem_new(s->n_added, sizeof(*entries));
	size_t n = 0;
	int result = entries ? 0 : -1;

	for (size_t i = 0; i < s->n_added && result == 0; i++) {
		if (s->added[i].normalized != normalized)
			continue;
		entries[n] = (struct added_entry){ s->added[i].text, &s->added[i] };
		if (normalized && t->words->normalizer)
			result = normalize_entry(t, &s->added[i], &entries[n].text);
		n++;
	}
	if (result == 0 && n > 0)
		result = added_set_new(out, entries, n);
	free(entries);
	return result;
}

static int compile(struct tokenizer *t)
{
	const struct tokenizer_spec *s = t->spec;

	if (words_new(&t->words, s) < 0 || words_inside_new(&t->inside, &t->inside_spec, s) < 0 ||
	    text_model_new(&t->model, &s->model, t->words->byte_level) < 0)
		return -1;
	t->vocab_size = text_model_size(t->model);
	t->normalized = mem_new(s->n_added, sizeof(*t->normalized));
	if (!t->normalized || index_added(t) < 0 || make_set(t, false, &t->bare) < 0)
		return -1;
	return make_set(t, true, &t->after);
}

int tokenizer_new(struct tokenizer **out, const struct tokenizer_spec *spec)
{
	struct tokenizer *t = mem_new(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return -1;
	t->spec = spec;
	if (compile(t) < 0) {
		tokenizer_free(t);
		return -1;
	}
	*out = t;
	return 0;
}

void tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	words_free(t->words);
	words_free(t->inside);
	free(t->inside_spec.normalizers);
	free(t->inside_spec.pretokenizers);
	text_model_free(t->model);
	added_set_free(t->bare);
	added_set_free(t->after);
	for (size_t i = 0; i < t->n_normalized; i++)
		text_free(&t->normalized[i]);
	free(t->normalized);
	free(t->added);
	free(t);
}

const struct tokenizer_spec *tokenizer_spec(const struct tokenizer *t)
{
	return t->spec;
}

uint32_t tokenizer_vocab_size(const struct tokenizer *t)
{
	return t->vocab_size;
}

bool tokenizer_is_byte_level(const struct tokenizer *t)
{
	return t->words->byte_level;
}

const struct added_spec *tokenizer_added(const struct tokenizer *t, uint32_t id)
{
	return id < t->vocab_size ? t->added[id] : NULL;
}

struct bytes tokenizer_piece(const struct tokenizer *t, uint32_t id)
{
	const struct added_spec *added = tokenizer_added(t, id);

	return added ? added->text : text_model_piece(t->model, id);
}
