/* formats/tokenizer_gguf_spm.c - SentencePiece's flags from the steps of a spec */

#include "formats/tokenizer_gguf_spm.h"

#include "formats/tokenizer_pieces.h"

#define MARK	   "\xE2\x96\x81" /* U+2581, the escaped space */
#define MARK_POINT 0x2581

/* --- normalizers --- */

static bool is_replace(const struct normalizer_spec *n, bool is_regex, const char *pattern,
		       const char *content)
{
	return n->kind == NORMALIZER_REPLACE && n->replace.pattern.is_regex == is_regex &&
	       bytes_are(n->replace.pattern.text, pattern) &&
	       bytes_are(n->replace.content, content);
}

static void read_normalizer(struct spm_source *s, const struct normalizer_spec *n)
{
	if (n->kind == NORMALIZER_PRECOMPILED)
		s->charsmap = n->charsmap;
	else if (n->kind == NORMALIZER_PREPEND && bytes_are(n->prepend, MARK))
		s->add_dummy_prefix = true;
	else if (is_replace(n, true, " {2,}", " "))
		s->remove_extra_whitespaces = true;
	else if (is_replace(n, false, " ", MARK))
		s->escape_whitespaces = true;
}

/* --- pre-tokenizers --- */

/* The texts of an alternation, as tokenizer_spm_steps.c escapes them. */
static int read_alternatives(struct arena *arena, struct bytes pattern, struct names *user)
{
	struct buffer b = { 0 };
	int got = 0;

	for (size_t i = 0; i <= pattern.size && got >= 0; i++) {
		char c = i < pattern.size ? pattern.data[i] : '|';

		if (c == '|') {
			struct bytes text = tokenizer_copy(arena, buffer_bytes(&b));

			got = text.data && !buffer_check(&b) ? names_add(user, text, 0, NULL) : -1;
			buffer_clear(&b);
			continue;
		}
		if (c == '\\' && i + 1 < pattern.size) {
			c = pattern.data[++i];
			c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
		}
		buffer_put(&b, &c, 1);
	}
	buffer_free(&b);
	return got < 0 ? -1 : 0;
}

static int read_pretokenizer(struct gguf_plan *p, const struct pretokenizer_spec *s,
			     struct names *user)
{
	switch (s->kind) {
	case PRETOKENIZER_METASPACE:
		p->source.add_dummy_prefix |= s->metaspace.scheme != PREPEND_NEVER;
		p->source.escape_whitespaces |= s->metaspace.replacement == MARK_POINT;
		return 0;
	case PRETOKENIZER_WHITESPACE_SPLIT: p->source.remove_extra_whitespaces = true; return 0;
	case PRETOKENIZER_SPLIT:
		if (s->split.pattern.is_regex && s->split.behavior == SPLIT_ISOLATED)
			return read_alternatives(p->arena, s->split.pattern.text, user);
		return 0;
	default: return 0;
	}
}

int gguf_spm_steps(struct gguf_plan *p, struct names *user)
{
	const struct tokenizer_spec *s = p->spec;

	for (size_t i = 0; i < s->n_normalizers; i++)
		read_normalizer(&p->source, &s->normalizers[i]);
	for (size_t i = 0; i < s->n_pretokenizers; i++)
		if (read_pretokenizer(p, &s->pretokenizers[i], user) < 0)
			return -1;
	/* A reader escapes always. */
	p->source.escape_whitespaces = true;
	return 0;
}

/* --- held against what a reader makes --- */

static bool same_text(struct bytes a, struct bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool same_pattern(const struct pattern_spec *a, const struct pattern_spec *b)
{
	return a->is_regex == b->is_regex && (!a->is_regex || a->dialect == b->dialect) &&
	       same_text(a->text, b->text);
}

static bool same_normalizer(const struct normalizer_spec *a, const struct normalizer_spec *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == NORMALIZER_PRECOMPILED)
		return same_text(a->charsmap, b->charsmap);
	return a->kind == NORMALIZER_REPLACE &&
	       same_pattern(&a->replace.pattern, &b->replace.pattern) &&
	       same_text(a->replace.content, b->replace.content);
}

static bool same_normalizers(const struct tokenizer_spec *a, const struct tokenizer_spec *b)
{
	bool same = a->n_normalizers == b->n_normalizers;

	for (size_t i = 0; same && i < a->n_normalizers; i++)
		same = same_normalizer(&a->normalizers[i], &b->normalizers[i]);
	return same;
}

static bool same_pretokenizer(const struct pretokenizer_spec *a, const struct pretokenizer_spec *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == PRETOKENIZER_METASPACE)
		return a->metaspace.replacement == b->metaspace.replacement &&
		       a->metaspace.scheme == b->metaspace.scheme &&
		       a->metaspace.split == b->metaspace.split;
	return a->kind == PRETOKENIZER_SPLIT &&
	       same_pattern(&a->split.pattern, &b->split.pattern) &&
	       a->split.behavior == b->split.behavior && a->split.invert == b->split.invert;
}

/* A split at spaces, of which the normalizers have left none: Gemma's files have it. */
static bool is_idle(const struct tokenizer_spec *s, const struct pretokenizer_spec *p)
{
	return p->kind == PRETOKENIZER_SPLIT && !p->split.pattern.is_regex &&
	       bytes_are(p->split.pattern.text, " ") && s->n_normalizers &&
	       is_replace(&s->normalizers[s->n_normalizers - 1], false, " ", MARK);
}

static bool same_pretokenizers(const struct tokenizer_spec *a, const struct tokenizer_spec *b)
{
	size_t n = a->n_pretokenizers;

	if (n == 1 && is_idle(a, &a->pretokenizers[0]))
		n = 0;
	if (n != b->n_pretokenizers)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!same_pretokenizer(&a->pretokenizers[i], &b->pretokenizers[i]))
			return false;
	return true;
}

/* The older way to say add_dummy_prefix: Llama 2's files have it. */
static bool is_prepend(const struct tokenizer_spec *s)
{
	return s->n_normalizers == 2 && s->n_pretokenizers == 0 &&
	       s->normalizers[0].kind == NORMALIZER_PREPEND &&
	       bytes_are(s->normalizers[0].prepend, MARK) &&
	       is_replace(&s->normalizers[1], false, " ", MARK);
}

static bool same_decoders(const struct tokenizer_spec *a, const struct tokenizer_spec *b)
{
	bool same = a->n_decoders == b->n_decoders;

	for (size_t i = 0; same && i < a->n_decoders; i++) {
		const struct decoder_spec *x = &a->decoders[i], *y = &b->decoders[i];

		same = x->kind == y->kind;
		if (same && x->kind == DECODER_REPLACE)
			same = same_pattern(&x->replace.pattern, &y->replace.pattern) &&
			       same_text(x->replace.content, y->replace.content);
		if (same && x->kind == DECODER_STRIP)
			same = x->strip.content == y->strip.content &&
			       x->strip.start == y->strip.start && x->strip.stop == y->strip.stop;
	}
	return same;
}

int gguf_spm_compare_steps(struct gguf_plan *p, const struct tokenizer_spec *again)
{
	const struct tokenizer_spec *s = p->spec;

	if (!is_prepend(s)) {
		if (!same_normalizers(s, again) &&
		    gguf_plan_loss(p, LOSS_IDS, "normalizer: is none of SentencePiece's") < 0)
			return -1;
		if (!same_pretokenizers(s, again) &&
		    gguf_plan_loss(p, LOSS_IDS, "pre_tokenizer: is none of SentencePiece's") < 0)
			return -1;
	}
	if (!same_decoders(s, again))
		return gguf_plan_loss(p, LOSS_WHOLE, "decoder: is not SentencePiece's");
	return 0;
}
