/* lib/text/train_spec_steps.c - normalizers, pre-tokenizers and decoders by what the user asked for */

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/text/scanner.h"
#include "lib/text/train_spec_parts.h"

#define STEPS_MAX 8

/* --- normalizers --- */

static const struct {
	const char *name;
	enum normalizer_kind kind;
} normalizer_names[] = {
	{ "nfc", NORMALIZER_NFC },
	{ "nfd", NORMALIZER_NFD },
	{ "nfkc", NORMALIZER_NFKC },
	{ "nfkd", NORMALIZER_NFKD },
	{ "lowercase", NORMALIZER_LOWERCASE },
	{ "strip-accents", NORMALIZER_STRIP_ACCENTS },
	{ "nmt", NORMALIZER_NMT },
	{ "bert", NORMALIZER_BERT },
	{ "strip", NORMALIZER_STRIP },
};
#define N_NORMALIZERS (sizeof(normalizer_names) / sizeof(*normalizer_names))

static struct normalizer_spec normalizer(enum normalizer_kind kind)
{
	struct normalizer_spec n = { .kind = kind };

	if (kind == NORMALIZER_BERT) {
		n.bert.clean_text = true;
		n.bert.handle_chinese_chars = true;
		n.bert.lowercase = true;
	} else if (kind == NORMALIZER_STRIP) {
		n.strip.left = n.strip.right = true;
	}
	return n;
}

static struct normalizer_spec replace(const char *pattern, bool is_regex, const char *content)
{
	struct normalizer_spec n = { .kind = NORMALIZER_REPLACE };

	n.replace.pattern = (struct pattern_spec){ .is_regex = is_regex,
						   .dialect = REGEX_ONIGURUMA,
						   .text = bytes_of(pattern) };
	n.replace.content = bytes_of(content);
	return n;
}

/* What comes nearest to SentencePiece's nmt_nfkc without its table: as `tokenizers` trains its own. */
static size_t put_nmt_nfkc(struct normalizer_spec *list)
{
	list[0] = normalizer(NORMALIZER_NMT);
	list[1] = normalizer(NORMALIZER_NFKC);
	list[2] = replace(" {2,}", true, " ");
	return 3;
}

/*
 * Spaces to marks; a text that begins with one gets the prefix all the same, which Metaspace would not give it, so that the
 * way back is exact (and as SentencePiece does).
 */
static size_t put_marks(struct normalizer_spec *list, bool prefix_space)
{
	list[0] = replace(" ", false, TRAIN_MARK);
	list[1] = replace("\\A" TRAIN_MARK, true, TRAIN_MARK TRAIN_MARK);
	return prefix_space ? 2 : 1;
}

/* Appends the normalizers called NAME; how many, or -1. */
static int put_normalizer(struct normalizer_spec *list, const char *name)
{
	if (strcmp(name, "nmt-nfkc") == 0)
		return (int)put_nmt_nfkc(list);
	for (size_t i = 0; i < N_NORMALIZERS; i++) {
		if (strcmp(name, normalizer_names[i].name) == 0) {
			list[0] = normalizer(normalizer_names[i].kind);
			return 1;
		}
	}
	return err_set(ERR_ARGUMENT,
		       "normalizer '%s' is not one of nfc, nfd, nfkc, nfkd, lowercase, "
		       "strip-accents, nmt, nmt-nfkc, bert, strip, none",
		       name);
}

static int add_normalizers(struct tokenizer_spec *out, struct arena *arena,
			   const struct train_spec_options *o)
{
	struct normalizer_spec *list =
		arena_alloc(arena, 3 * (o->n_normalizers + 1), sizeof(*list));
	bool none = o->n_normalizers == 1 && strcmp(o->normalizers[0], "none") == 0;

	if (!list)
		return -1;
	out->normalizers = list;
	if (!o->n_normalizers && o->kind == TRAIN_WORDPIECE)
		list[out->n_normalizers++] = normalizer(NORMALIZER_BERT);
	for (size_t i = 0; i < o->n_normalizers && !none; i++) {
		int n = put_normalizer(list + out->n_normalizers, o->normalizers[i]);

		if (n < 0)
			return -1;
		out->n_normalizers += (size_t)n;
	}
	if (train_marks_spaces(o->kind))
		out->n_normalizers += put_marks(list + out->n_normalizers, train_prefix_space(o));
	return 0;
}

/* --- pre-tokenizers --- */

/* A split as the user wrote it. */
struct split {
	enum scanner scanner; /* or SCANNER_NONE: */
	struct bytes regex;   /* empty: no split */
};

static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n && !s[n];
}

/* What looks like a name is one: a typing error must not become a pattern of letters. */
static int parse_split(struct split *out, const struct train_spec_options *o)
{
	const char *text = o->split ? o->split : o->kind == TRAIN_BPE ? "gpt2" : "none";

	*out = (struct split){ .scanner = SCANNER_NONE };
	if (strcmp(text, "none") == 0)
		return 0;
	if (o->kind == TRAIN_WORDPIECE)
		return err_set(ERR_ARGUMENT, "wordpiece splits as BERT does, and takes no other");
	out->scanner = scanner_by_name(text);
	if (out->scanner != SCANNER_NONE)
		out->regex = scanner_pattern(out->scanner, REGEX_ONIGURUMA);
	else if (!*text || is_name(text))
		return err_set(ERR_ARGUMENT,
			       "split '%s' is not one of gpt2, cl100k, o200k, llama3, qwen2, "
			       "tekken, deepseek, none, nor a regular expression (write a word "
			       "as one in brackets)",
			       text);
	else
		out->regex = bytes_of(text);
	if (utf8_valid_prefix(out->regex.data, out->regex.size) < out->regex.size)
		return err_set(ERR_ARGUMENT, "the split pattern is not UTF-8");
	return 0;
}

static struct pretokenizer_spec split_at(struct bytes pattern, bool is_regex,
					 enum split_behavior behavior)
{
	struct pretokenizer_spec p = { .kind = PRETOKENIZER_SPLIT };

	p.split.pattern = (struct pattern_spec){ .is_regex = is_regex,
						 .dialect = REGEX_ONIGURUMA,
						 .text = pattern };
	p.split.behavior = behavior;
	return p;
}

static struct pretokenizer_spec split_digits(enum train_digits digits)
{
	struct pretokenizer_spec p = { .kind = PRETOKENIZER_DIGITS };

	if (digits == TRAIN_DIGITS_THREE)
		return split_at(bytes_of("\\p{N}{1,3}"), true, SPLIT_ISOLATED);
	p.digits.individual = true;
	return p;
}

static struct pretokenizer_spec byte_level(bool prefix_space, bool use_regex)
{
	struct pretokenizer_spec p = { .kind = PRETOKENIZER_BYTE_LEVEL };

	p.byte_level.add_prefix_space = prefix_space;
	p.byte_level.trim_offsets = true;
	p.byte_level.use_regex = use_regex;
	return p;
}

static struct pretokenizer_spec metaspace(bool prefix_space, bool cut)
{
	struct pretokenizer_spec p = { .kind = PRETOKENIZER_METASPACE };

	p.metaspace.replacement = TRAIN_MARK_POINT;
	p.metaspace.scheme = prefix_space ? PREPEND_ALWAYS : PREPEND_NEVER;
	p.metaspace.split = cut;
	return p;
}

bool train_prefix_space(const struct train_spec_options *o)
{
	return o->prefix_space == STATE_TRUE ||
	       (o->prefix_space == STATE_NULL && train_marks_spaces(o->kind));
}

/* ByteLevel puts a space before each piece that comes to it, so nothing may cut before it. */
static int check_prefix_space(const struct train_spec_options *o, const struct split *s)
{
	if (!train_prefix_space(o) || train_marks_spaces(o->kind))
		return 0;
	if (o->kind == TRAIN_WORDPIECE)
		return err_set(ERR_ARGUMENT, "wordpiece knows no space before the text");
	if (o->digits != TRAIN_DIGITS_ANY || (s->regex.size && s->scanner != SCANNER_GPT2))
		return err_set(ERR_ARGUMENT, "a space before the text goes with no other split "
					     "than gpt2 and none, and not with split digits");
	return 0;
}

/* What words are cut by. */
static size_t put_cuts(struct pretokenizer_spec *list, const struct train_spec_options *o,
		       const struct split *split)
{
	bool is_gpt2 = split->scanner == SCANNER_GPT2;
	size_t n = 0;

	if (train_marks_spaces(o->kind))
		list[n++] = metaspace(train_prefix_space(o), true);
	else if (o->kind == TRAIN_WORDPIECE)
		list[n++].kind = PRETOKENIZER_BERT;
	if (o->digits != TRAIN_DIGITS_ANY)
		list[n++] = split_digits(o->digits);
	if (split->regex.size && !(o->kind == TRAIN_BPE && is_gpt2))
		list[n++] = split_at(split->regex, true, SPLIT_ISOLATED);
	if (o->kind == TRAIN_BPE)
		list[n++] = byte_level(train_prefix_space(o), is_gpt2);
	return n;
}

int train_spec_cut_lines(struct train_spec *out, struct arena *arena, bool marks)
{
	struct tokenizer_spec *cut = &out->cut;
	size_t n = cut->n_pretokenizers;
	struct pretokenizer_spec *list = arena_alloc(arena, n + 2, sizeof(*list));

	if (!list)
		return -1;
	if (n)
		memcpy(list, cut->pretokenizers, n * sizeof(*list));
	if (marks)
		list[n++] = metaspace(false, true);
	list[n++] = split_at(bytes_of("\n"), false, SPLIT_CONTIGUOUS);
	cut->pretokenizers = list;
	cut->n_pretokenizers = n;
	return 0;
}

/*
 * Where spaces are marked, as in SentencePiece, cutting is of training alone: no piece goes over a cut, so that a text
 * becomes the same without it.
 */
static int add_pretokenizers(struct train_spec *out, struct arena *arena,
			     const struct train_spec_options *o)
{
	struct pretokenizer_spec *list = arena_alloc(arena, STEPS_MAX, sizeof(*list));
	struct split split;

	if (!list || parse_split(&split, o) < 0 || check_prefix_space(o, &split) < 0)
		return -1;
	out->cut = out->spec;
	out->cut.pretokenizers = list;
	out->cut.n_pretokenizers = put_cuts(list, o, &split);
	if (!train_marks_spaces(o->kind)) {
		out->spec = out->cut;
		return 0;
	}
	list += out->cut.n_pretokenizers;
	list[0] = metaspace(true, false);
	out->spec.pretokenizers = list;
	out->spec.n_pretokenizers = train_prefix_space(o);
	return train_spec_cut_lines(out, arena, false);
}

/* --- decoders --- */

/* Marks to spaces, bytes to text, and away with the space that was put before it. */
static size_t put_sentencepiece(struct decoder_spec *list, bool bytes, bool prefix_space)
{
	size_t n = 0;

	list[n].kind = DECODER_REPLACE;
	list[n].replace.pattern = (struct pattern_spec){ .text = bytes_of(TRAIN_MARK) };
	list[n++].replace.content = bytes_of(" ");
	if (bytes)
		list[n++].kind = DECODER_BYTE_FALLBACK;
	if (bytes || prefix_space)
		list[n++].kind = DECODER_FUSE;
	if (prefix_space) {
		list[n].kind = DECODER_STRIP;
		list[n].strip.content = ' ';
		list[n++].strip.start = 1;
	}
	return n;
}

static int add_decoders(struct tokenizer_spec *out, struct arena *arena,
			const struct train_spec_options *o)
{
	struct decoder_spec *list = arena_alloc(arena, STEPS_MAX, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -1;
	if (o->kind == TRAIN_BPE) {
		list[n++].kind = DECODER_BYTE_LEVEL;
	} else if (o->kind == TRAIN_WORDPIECE) {
		list[n].kind = DECODER_WORDPIECE;
		list[n].wordpiece.prefix = bytes_of("##");
		list[n++].wordpiece.cleanup = true;
	} else {
		n = put_sentencepiece(list, out->model.byte_fallback, train_prefix_space(o));
	}
	out->decoders = list;
	out->n_decoders = n;
	return 0;
}

int train_spec_steps(struct train_spec *out, struct arena *arena,
		     const struct train_spec_options *o)
{
	return add_normalizers(&out->spec, arena, o) < 0 ||
			       add_decoders(&out->spec, arena, o) < 0 ||
			       add_pretokenizers(out, arena, o) < 0
		       ? -1
		       : 0;
}
