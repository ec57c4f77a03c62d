/* lib/text/pretokenize_pattern.c - pre-tokenizers that cut by a pattern */
#include "lib/text/pretokenize_parts.h"

/* The scanners cover every byte, so that there is nothing between matches. */
static int cut_scanned(const struct step *step, struct bytes text, size_t base, struct pieces *out)
{
	size_t at = 0;

	while (at < text.size) {
		size_t end = scanner_next(step->scanner, text, at);

		if (pieces_add(out, base + at, base + end))
			return -1;
		at = end;
	}
	return 0;
}

/* The first match at or after FROM: 1, 0 or -1 with the error set. */
static int find(const struct step *step, struct regex_scratch *s, struct bytes text, size_t from,
		struct piece *match)
{
	if (step->kind == STEP_REGEX)
		return regex_find(step->regex, s, text, from, &match->from, &match->to);
	if (!step->literal.text.size) {
		*match = (struct piece){ from, from };
		return 1;
	}
	match->from = literal_find(&step->literal, text, from);
	match->to = match->from + step->literal.text.size;
	return match->from < text.size;
}

/* An empty match where the last one ended does not count: the search goes on behind the next character. */
int step_cut_pattern(const struct step *step, struct pretokenizer_scratch *s, struct bytes text,
		     struct piece piece, struct pieces *out)
{
	size_t from = 0, done = 0;
	bool any = false;
	uint32_t ignored;
	struct cutter c;

	if (step->kind == STEP_SCANNER)
		return cut_scanned(step, text, piece.from, out);
	cutter_begin(&c, step, out);
	while (from <= text.size) {
		struct piece match;
		int got = find(step, s->regex, text, from, &match);

		if (got < 0)
			return -1;
		if (!got)
			break;
		if (any && match.from == match.to && match.to == done) {
			from += from < text.size ? text_character(text, from, &ignored) : 1;
			continue;
		}
		if (done != match.from)
			cutter_add(&c, piece.from + done, piece.from + match.from, false);
		cutter_add(&c, piece.from + match.from, piece.from + match.to, true);
		from = done = match.to;
		any = true;
	}
	if (done != text.size)
		cutter_add(&c, piece.from + done, piece.from + text.size, false);
	return cutter_end(&c);
}
