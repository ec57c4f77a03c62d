/* lib/text/pretokenize.c - the pre-tokenizers of `tokenizers`: compiling and running the steps */
#include "lib/text/pretokenize_parts.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/unicode_class.h"

struct pretokenizer {
	struct step *steps;
	size_t n_steps;
	bool byte_level;
};

static bool rewrites(const struct step *s)
{
	return s->kind == STEP_METASPACE || s->kind == STEP_PREFIX_SPACE;
}

/* --- compiling ------------------------------------------------------------------------------------ */

static void add_step(struct pretokenizer *p, struct step step)
{
	if (step.kind == STEP_CLASS || step.kind == STEP_DELIMITER)
		step_prepare_characters(&step);
	p->steps[p->n_steps++] = step;
}

static void add_class(struct pretokenizer *p, unsigned class, enum split_behavior behavior)
{
	add_step(p, (struct step){ .kind = STEP_CLASS, .class = class, .behavior = behavior });
}

static void add_delimiter(struct pretokenizer *p, uint32_t c, enum split_behavior behavior)
{
	add_step(p, (struct step){ .kind = STEP_DELIMITER, .code_point = c, .behavior = behavior });
}

static int add_byte_level(struct pretokenizer *p, const struct pretokenizer_spec *spec, bool last)
{
	if (!last)
		return err_set(ERR_UNSUPPORTED, "ByteLevel before another pre-tokenizer");
	if (spec->byte_level.add_prefix_space)
		add_step(p, (struct step){ .kind = STEP_PREFIX_SPACE, .code_point = ' ' });
	if (spec->byte_level.use_regex)
		add_step(p, (struct step){ .kind = STEP_SCANNER, .scanner = SCANNER_GPT2 });
	p->byte_level = true;
	return 0;
}

static int add_metaspace(struct pretokenizer *p, const struct pretokenizer_spec *spec)
{
	uint32_t mark = spec->metaspace.replacement;
	char ignored[4];

	if (!utf8_encode(mark, ignored))
		return err_set(ERR_ARGUMENT, "Metaspace: U+%04X is no character", (unsigned)mark);
	add_step(p, (struct step){ .kind = STEP_METASPACE,
				   .code_point = mark,
				   .scheme = spec->metaspace.scheme });
	if (spec->metaspace.split)
		add_delimiter(p, mark, SPLIT_MERGED_WITH_NEXT);
	return 0;
}

/* Whether a scanner, which tells no matches from what is between, gives what the behaviour asks for. */
static bool scanner_serves(enum scanner scanner, const struct pretokenizer_spec *spec)
{
	if (scanner == SCANNER_NONE)
		return false;
	if (spec->split.behavior == SPLIT_ISOLATED)
		return true;
	/* DeepSeek's patterns leave something between their matches; the others match every byte. */
	return spec->split.behavior == SPLIT_REMOVED && spec->split.invert &&
	       scanner != SCANNER_DEEPSEEK;
}

static int add_split(struct pretokenizer *p, const struct pretokenizer_spec *spec)
{
	const struct pattern_spec *pattern = &spec->split.pattern;
	struct step step = { .kind = STEP_LITERAL,
			     .behavior = spec->split.behavior,
			     .invert = spec->split.invert };

	if (pattern->is_regex) {
		step.scanner = scanner_find(pattern->text, pattern->dialect);
		step.kind = scanner_serves(step.scanner, spec) ? STEP_SCANNER : STEP_REGEX;
		if (step.kind == STEP_REGEX &&
		    regex_new(&step.regex, pattern->text, pattern->dialect))
			return err_prefix("Split");
	} else if (pattern->text.size && literal_new(&step.literal, pattern->text)) {
		return -1;
	}
	add_step(p, step);
	return 0;
}

static int add_fixed_length(struct pretokenizer *p, const struct pretokenizer_spec *spec)
{
	if (spec->length == 0)
		return err_set(ERR_ARGUMENT, "FixedLength: a length of 0");
	add_step(p, (struct step){ .kind = STEP_FIXED_LENGTH, .length = spec->length });
	return 0;
}

static int add_spec(struct pretokenizer *p, const struct pretokenizer_spec *spec, bool last)
{
	switch (spec->kind) {
	case PRETOKENIZER_BYTE_LEVEL: return add_byte_level(p, spec, last);
	case PRETOKENIZER_SPLIT: return add_split(p, spec);
	case PRETOKENIZER_METASPACE: return add_metaspace(p, spec);
	case PRETOKENIZER_FIXED_LENGTH: return add_fixed_length(p, spec);
	case PRETOKENIZER_DIGITS:
		add_class(p, UNICODE_NUMERIC,
			  spec->digits.individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
		return 0;
	case PRETOKENIZER_PUNCTUATION:
		add_class(p, UNICODE_PUNCTUATION, spec->punctuation.behavior);
		return 0;
	case PRETOKENIZER_WHITESPACE: add_step(p, (struct step){ .kind = STEP_WORDS }); return 0;
	case PRETOKENIZER_WHITESPACE_SPLIT: add_class(p, UNICODE_SPACE, SPLIT_REMOVED); return 0;
	case PRETOKENIZER_BERT:
		add_class(p, UNICODE_SPACE, SPLIT_REMOVED);
		add_class(p, UNICODE_PUNCTUATION, SPLIT_ISOLATED);
		return 0;
	case PRETOKENIZER_CHAR_DELIMITER:
		add_delimiter(p, spec->delimiter, SPLIT_REMOVED);
		return 0;
	case PRETOKENIZER_UNICODE_SCRIPTS:
		add_step(p, (struct step){ .kind = STEP_SCRIPTS });
		return 0;
	}
	return err_set(ERR_UNSUPPORTED, "pre-tokenizer of kind %d", (int)spec->kind);
}

int pretokenizer_new(struct pretokenizer **out, const struct pretokenizer_spec *specs, size_t n)
{
	struct pretokenizer *p = mem_new(1, sizeof(*p));

	if (!p)
		return -1;
	/* Two steps at most for each. */
	p->steps = mem_new(n, 2 * sizeof(*p->steps));
	if (!p->steps)
		goto failed;
	for (size_t i = 0; i < n; i++) {
		if (add_spec(p, &specs[i], i + 1 == n))
			goto failed;
	}
	*out = p;
	return 0;
failed:
	pretokenizer_free(p);
	return -1;
}

void pretokenizer_free(struct pretokenizer *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_steps; i++) {
		literal_free(&p->steps[i].literal);
		regex_free(p->steps[i].regex);
	}
	free(p->steps);
	free(p);
}

bool pretokenizer_is_byte_level(const struct pretokenizer *p)
{
	return p->byte_level;
}

enum scanner pretokenizer_scanner(const struct pretokenizer *p)
{
	if (p->n_steps != 1 || p->steps[0].kind != STEP_SCANNER)
		return SCANNER_NONE;
	return p->steps[0].scanner;
}

bool pretokenizer_wants_spans(const struct pretokenizer *p)
{
	bool cut = false;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *s = &p->steps[i];

		if (cut && s->kind == STEP_METASPACE && s->scheme == PREPEND_FIRST)
			return true;
		cut |= !rewrites(s);
	}
	return false;
}

/* --- running -------------------------------------------------------------------------------------- */

int pretokenizer_scratch_new(struct pretokenizer_scratch **out)
{
	struct pretokenizer_scratch *s = mem_new(1, sizeof(*s));

	if (!s)
		return -1;
	if (regex_scratch_new(&s->regex)) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void pretokenizer_scratch_free(struct pretokenizer_scratch *s)
{
	if (!s)
		return;
	regex_scratch_free(s->regex);
	text_free(&s->text);
	free(s->pieces.items);
	free(s);
}

static int cut_piece(const struct step *step, struct pretokenizer_scratch *s,
		     const struct text *text, struct piece piece, struct pieces *out)
{
	struct bytes part = { text->data + piece.from, piece.to - piece.from };

	if (step->kind == STEP_LITERAL || step->kind == STEP_REGEX || step->kind == STEP_SCANNER)
		return step_cut_pattern(step, s, part, piece, out);
	return step_cut_characters(step, part, piece, out);
}

/* Each piece in PIECES gives way to its own pieces. */
static int run_cut(const struct step *step, struct pretokenizer_scratch *s, const struct text *text,
		   struct pieces *pieces)
{
	struct pieces before = *pieces;

	*pieces = s->pieces;
	s->pieces = before;
	pieces->n = 0;
	for (size_t i = 0; i < before.n; i++) {
		if (cut_piece(step, s, text, before.items[i], pieces))
			return -1;
	}
	return 0;
}

int pretokenizer_run(const struct pretokenizer *p, struct pretokenizer_scratch *s,
		     struct text *text, bool first, struct pieces *out)
{
	bool whole = true;

	out->n = 0;
	if (pieces_add(out, 0, text->size))
		return -1;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *step = &p->steps[i];

		if (rewrites(step) ? step_rewrite(step, s, text, first, whole, out)
				   : run_cut(step, s, text, out))
			return -1;
		whole &= rewrites(step);
	}
	return 0;
}
