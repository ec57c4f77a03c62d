/* lib/text/normalize.c - the normalizers of `tokenizers`: compiling and running */
#include "lib/text/normalize.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/normalize_parts.h"

#define STEPS_MAX 5 /* of one component: BertNormalizer's */

struct normalizer {
	struct step *steps;
	size_t n;
};

static struct step *add(struct normalizer *n, const struct step_kind *kind, unsigned mask)
{
	const uint16_t *ascii = unicode_traits_value[unicode_traits_block[0]];
	struct step *s = &n->steps[n->n++];

	*s = (struct step){ .kind = kind, .mask = mask, .ascii_inert = true };
	for (unsigned c = 0; c < 128; c++)
		if (ascii[c] & mask)
			s->ascii_inert = false;
	return s;
}

static void add_form(struct normalizer *n, unsigned trait)
{
	struct step *s = add(n, &step_form, trait);

	s->composes = trait == TRAIT_NFC || trait == TRAIT_NFKC;
	s->compatible = trait == TRAIT_NFKC || trait == TRAIT_NFKD;
}

static void add_bert(struct normalizer *n, const struct normalizer_spec *spec)
{
	bool strip = spec->bert.strip_accents == STATE_TRUE ||
		     (spec->bert.strip_accents == STATE_NULL && spec->bert.lowercase);

	if (spec->bert.clean_text)
		add(n, &step_bert_clean, TRAIT_BERT_REMOVED | TRAIT_BERT_SPACE);
	if (spec->bert.handle_chinese_chars)
		add(n, &step_ideographs, TRAIT_BERT_IDEOGRAPH);
	if (strip) {
		add_form(n, TRAIT_NFD);
		add(n, &step_filter, TRAIT_BERT_ACCENT);
	}
	if (spec->bert.lowercase)
		add(n, &step_lowercase, TRAIT_LOWERCASE);
}

static int add_charsmap(struct normalizer *n, struct bytes data)
{
	struct step *s = add(n, &step_charsmap, 0);

	if (charsmap_new(&s->charsmap, data))
		return -1;
	step_find_plain(s);
	return 0;
}

static int add_replace(struct normalizer *n, const struct normalizer_spec *spec)
{
	const struct pattern_spec *pattern = &spec->replace.pattern;
	struct step *s = add(n, &step_replace, 0);

	s->put = spec->replace.content;
	if (pattern->is_regex)
		return regex_new(&s->regex, pattern->text, pattern->dialect);
	return pattern->text.size ? literal_new(&s->find, pattern->text) : 0;
}

static int add_component(struct normalizer *n, const struct normalizer_spec *spec)
{
	struct step *s;

	switch (spec->kind) {
	case NORMALIZER_NFC: add_form(n, TRAIT_NFC); return 0;
	case NORMALIZER_NFD: add_form(n, TRAIT_NFD); return 0;
	case NORMALIZER_NFKC: add_form(n, TRAIT_NFKC); return 0;
	case NORMALIZER_NFKD: add_form(n, TRAIT_NFKD); return 0;
	case NORMALIZER_LOWERCASE: add(n, &step_lowercase, TRAIT_LOWERCASE); return 0;
	case NORMALIZER_STRIP_ACCENTS: add(n, &step_filter, TRAIT_ACCENT); return 0;
	case NORMALIZER_BERT: add_bert(n, spec); return 0;
	case NORMALIZER_NMT: add(n, &step_nmt, TRAIT_NMT_REMOVED | TRAIT_NMT_SPACE); return 0;
	case NORMALIZER_PRECOMPILED: return add_charsmap(n, spec->charsmap);
	case NORMALIZER_REPLACE: return add_replace(n, spec);
	case NORMALIZER_BYTE_LEVEL: add(n, &step_byte_level, 0); return 0;
	case NORMALIZER_PREPEND:
		s = add(n, &step_prepend, 0);
		s->put = spec->prepend;
		return 0;
	case NORMALIZER_STRIP:
		s = add(n, &step_strip, 0);
		s->left = spec->strip.left;
		s->right = spec->strip.right;
		return 0;
	case NORMALIZER_SENTENCEPIECE:
		return step_prepare_sentencepiece(add(n, &step_sentencepiece, 0), spec);
	}
	return err_set(ERR_ARGUMENT, "normalizer %d is not known", (int)spec->kind);
}

int normalizer_new(struct normalizer **out, const struct normalizer_spec *specs, size_t n)
{
	struct normalizer *made = mem_new(1, sizeof(*made));

	*out = NULL;
	if (!made)
		return -1;
	made->steps = mem_new(n, STEPS_MAX * sizeof(*made->steps));
	if (!made->steps)
		goto fail;
	for (size_t i = 0; i < n; i++)
		if (add_component(made, &specs[i])) {
			err_prefix("normalizer %zu", i);
			goto fail;
		}
	*out = made;
	return 0;
fail:
	normalizer_free(made);
	return -1;
}

void normalizer_free(struct normalizer *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n; i++) {
		regex_free(n->steps[i].regex);
		literal_free(&n->steps[i].find);
		charsmap_free(n->steps[i].charsmap);
		trie_clear(&n->steps[i].keep);
	}
	free(n->steps);
	free(n);
}

/* The start that the step settles is copied in one go; a text that it settles whole is left where it is. */
static int run_step(const struct step *s, struct text *text, struct text *scratch)
{
	size_t settled = s->kind->settled(s, text->data, text->size, false);
	struct text_rewrite w;
	struct text changed;

	if (settled == text->size)
		return 0;
	text_rewrite_begin(&w, text, scratch);
	text_keep(&w, settled);
	if ((!w.failed && s->kind->rewrite(s, &w)) || text_rewrite_end(&w))
		return -1;
	changed = *scratch;
	*scratch = *text;
	*text = changed;
	return 0;
}

int normalizer_run(const struct normalizer *n, struct text *text, struct text *scratch)
{
	for (size_t i = 0; i < n->n; i++)
		if (run_step(&n->steps[i], text, scratch))
			return -1;
	text_shrink(scratch); /* before the model needs memory */
	return 0;
}

size_t normalizer_unchanged(const struct normalizer *n, const char *data, size_t size)
{
	size_t settled = size;

	for (size_t i = 0; i < n->n && settled; i++)
		settled = n->steps[i].kind->settled(&n->steps[i], data, settled, settled < size);
	return settled;
}
