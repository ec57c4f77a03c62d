/* lib/text/inside.c - the steps before a model for a text that goes on another: those that put something before it left out */

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/text/tokenizer_parts.h"

/* What formats/tokenizer_spm_steps.c makes of SentencePiece's dummy prefix where the text begins with the mark. */
static bool doubles_mark(const struct normalizer_spec *n)
{
	return n->kind == NORMALIZER_REPLACE && n->replace.pattern.is_regex &&
	       bytes_are(n->replace.pattern.text, "\\A\xE2\x96\x81") &&
	       bytes_are(n->replace.content, "\xE2\x96\x81\xE2\x96\x81");
}

static bool puts_before(const struct normalizer_spec *n)
{
	return n->kind == NORMALIZER_PREPEND || doubles_mark(n);
}

/* Takes the prefix out of N, which stays. Returns whether it had one. */
static bool take_out_of_normalizer(struct normalizer_spec *n)
{
	bool had = n->kind == NORMALIZER_SENTENCEPIECE && n->sentencepiece.add_dummy_prefix;

	if (had)
		n->sentencepiece.add_dummy_prefix = false;
	return had;
}

/* Takes the prefix out of P. Returns whether it had one. */
static bool take_out(struct pretokenizer_spec *p)
{
	if (p->kind == PRETOKENIZER_METASPACE && p->metaspace.scheme != PREPEND_NEVER) {
		p->metaspace.scheme = PREPEND_NEVER;
		return true;
	}
	if (p->kind == PRETOKENIZER_BYTE_LEVEL && p->byte_level.add_prefix_space) {
		p->byte_level.add_prefix_space = false;
		return true;
	}
	return false;
}

int words_inside_new(struct words **out, struct inside_spec *s, const struct tokenizer_spec *spec)
{
	struct tokenizer_spec inside = *spec;
	bool differs = false;
	size_t n = 0;

	*out = NULL;
	s->normalizers = mem_new(spec->n_normalizers, sizeof(*s->normalizers));
	s->pretokenizers = mem_new(spec->n_pretokenizers, sizeof(*s->pretokenizers));
	if (!s->normalizers || !s->pretokenizers)
		return -1;
	for (size_t i = 0; i < spec->n_normalizers; i++)
		if (!puts_before(&spec->normalizers[i]))
			s->normalizers[n++] = spec->normalizers[i];
	differs = n < spec->n_normalizers;
	for (size_t i = 0; i < n; i++)
		differs |= take_out_of_normalizer(&s->normalizers[i]);
	for (size_t i = 0; i < spec->n_pretokenizers; i++) {
		s->pretokenizers[i] = spec->pretokenizers[i];
		differs |= take_out(&s->pretokenizers[i]);
	}
	inside.normalizers = s->normalizers;
	inside.n_normalizers = n;
	inside.pretokenizers = s->pretokenizers;
	return differs ? words_new(out, &inside) : 0;
}
