/* lib/text/pretokenize_characters.c - pre-tokenizers that look at one character at a time */
#include "lib/text/pretokenize_parts.h"

#include "lib/base/utf8.h"
#include "lib/text/unicode_class.h"

size_t text_character(struct bytes text, size_t at, uint32_t *code_point)
{
	unsigned char c = (unsigned char)text.data[at];
	size_t n;

	if (c < 0x80) {
		*code_point = c;
		return 1;
	}
	n = utf8_decode(text.data + at, text.size - at, code_point);
	if (n)
		return n;
	*code_point = 0xFFFD;
	return 1;
}

static bool matches(const struct step *step, uint32_t code_point)
{
	if (step->kind == STEP_DELIMITER)
		return code_point == step->code_point;
	return unicode_class(code_point) & step->class;
}

void step_prepare_characters(struct step *step)
{
	for (uint32_t c = 0; c < 128; c++)
		step->ascii[c] = matches(step, c);
}

/* The first match at or after AT, and its length to *N; text.size when there is none. */
static size_t next_match(const struct step *step, struct bytes text, size_t at, size_t *n)
{
	while (at < text.size) {
		unsigned char c = (unsigned char)text.data[at];
		uint32_t code_point;

		*n = 1;
		if (c < 0x80) {
			if (step->ascii[c])
				break;
		} else {
			*n = text_character(text, at, &code_point);
			if (matches(step, code_point))
				break;
		}
		at += *n;
	}
	return at;
}

static int cut_matches(const struct step *step, struct bytes text, size_t base, struct pieces *out)
{
	struct cutter c;
	size_t done = 0, n;

	cutter_begin(&c, step, out);
	for (size_t at; (at = next_match(step, text, done, &n)) < text.size; done = at + n) {
		if (done < at)
			cutter_add(&c, base + done, base + at, false);
		cutter_add(&c, base + at, base + at + n, true);
	}
	if (done < text.size)
		cutter_add(&c, base + done, base + text.size, false);
	return cutter_end(&c);
}

/* As cut_matches, where matches are left out: white space, mostly. */
static int cut_between(const struct step *step, struct bytes text, size_t base, struct pieces *out)
{
	size_t done = 0, n;

	for (size_t at; (at = next_match(step, text, done, &n)) < text.size; done = at + n) {
		if (done < at && pieces_add(out, base + done, base + at))
			return -1;
	}
	return pieces_add(out, base + done, base + text.size);
}

/* Whitespace: runs of word characters, and runs of what is neither that nor white space. */
static int cut_words(struct bytes text, size_t base, struct pieces *out)
{
	unsigned before = UNICODE_SPACE;
	size_t start = 0, n;

	for (size_t at = 0; at < text.size; at += n) {
		uint32_t code_point;
		unsigned now;

		n = text_character(text, at, &code_point);
		now = unicode_class(code_point) & (UNICODE_WORD | UNICODE_SPACE);
		if (now == before)
			continue;
		if (before != UNICODE_SPACE && pieces_add(out, base + start, base + at))
			return -1;
		start = at;
		before = now;
	}
	return before == UNICODE_SPACE ? 0 : pieces_add(out, base + start, base + text.size);
}

static int cut_lengths(struct bytes text, size_t base, uint32_t length, struct pieces *out)
{
	size_t start = 0, n;
	uint32_t count = 0;

	for (size_t at = 0; at < text.size; at += n) {
		uint32_t code_point;

		n = text_character(text, at, &code_point);
		if (++count < length)
			continue;
		if (pieces_add(out, base + start, base + at + n))
			return -1;
		start = at + n;
		count = 0;
	}
	return pieces_add(out, base + start, base + text.size);
}

/* What comes before the first character that has a script is in no piece: so it is in the peer. */
static int cut_scripts(struct bytes text, size_t base, struct pieces *out)
{
	size_t start = text.size, n;
	unsigned before = 0;

	for (size_t at = 0; at < text.size; at += n) {
		uint32_t code_point;
		unsigned now;

		n = text_character(text, at, &code_point);
		now = unicode_script(code_point);
		if (!now || now == before)
			continue;
		if (before && pieces_add(out, base + start, base + at))
			return -1;
		start = at;
		before = now;
	}
	return pieces_add(out, base + start, base + text.size);
}

int step_cut_characters(const struct step *step, struct bytes text, struct piece piece,
			struct pieces *out)
{
	switch (step->kind) {
	case STEP_WORDS: return cut_words(text, piece.from, out);
	case STEP_FIXED_LENGTH: return cut_lengths(text, piece.from, step->length, out);
	case STEP_SCRIPTS: return cut_scripts(text, piece.from, out);
	default: break;
	}
	if (step->behavior == SPLIT_REMOVED && !step->invert)
		return cut_between(step, text, piece.from, out);
	return cut_matches(step, text, piece.from, out);
}
