/* lib/text/normalize_replace.c - Replace, Prepend and Strip */
#include "lib/text/normalize_parts.h"

/* Where the text looked for (not empty) stands first at or after AT; SIZE when nowhere. */
static size_t find_text(const struct step *s, const char *data, size_t size, size_t at)
{
	return literal_find(&s->find, (struct bytes){ data, size }, at);
}

/* Bytes up to AT without the part of a character. */
static size_t whole_chars(const char *data, size_t size, size_t at)
{
	while (at > 0 && at < size && (data[at] & 0xC0) == 0x80)
		at--;
	return at;
}

/* A regular expression may look ahead and behind, so that nothing is settled before it has run. */
static size_t replace_settled(const struct step *s, const char *data, size_t size, bool more)
{
	size_t at;

	if (s->regex || !s->find.text.size)
		return 0;
	at = find_text(s, data, size, 0);
	if (at < size || !more)
		return at;
	return size < s->find.text.size ? 0
					: whole_chars(data, size, size - (s->find.text.size - 1));
}

/* The peer gives what is put in place of nothing at the very start the empty span. */
static void put(const struct step *s, struct text_rewrite *w, size_t taken)
{
	if (taken)
		text_put(w, s->put.data, s->put.size, taken);
	else
		text_change(w, s->put.data, s->put.size, 1);
}

static int rewrite_text(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;

	while (!w->failed) {
		size_t at = find_text(s, in->data, in->size, w->at);

		text_keep(w, at - w->at);
		if (at == in->size)
			break;
		put(s, w, s->find.text.size);
	}
	return 0;
}

/* An empty text to look for is found before every character and at the end. */
static int rewrite_everywhere(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;

	put(s, w, 0);
	while (w->at < in->size && !w->failed) {
		text_keep(w, char_length(in->data + w->at, in->size - w->at));
		put(s, w, 0);
	}
	return 0;
}

/* Matches in order; an empty one right after the last match does not count, and the search moves on by a character. */
static int rewrite_matches(const struct step *s, struct regex_scratch *scratch,
			   struct text_rewrite *w)
{
	struct bytes text = { w->in->data, w->in->size };
	size_t from = 0, last = SIZE_MAX, begin, end;
	int found;

	while (from <= text.size && !w->failed) {
		found = regex_find(s->regex, scratch, text, from, &begin, &end);
		if (found <= 0)
			return found;
		from = end;
		if (begin == end && end == last) {
			from += from < text.size ? char_length(text.data + from, text.size - from)
						 : 1;
			continue;
		}
		last = end;
		text_keep(w, begin - w->at);
		put(s, w, end - begin);
	}
	return 0;
}

static int rewrite_replace(const struct step *s, struct text_rewrite *w)
{
	struct regex_scratch *scratch = NULL;
	int result;

	if (!w->in->size)
		return 0;
	if (!s->regex)
		return s->find.text.size ? rewrite_text(s, w) : rewrite_everywhere(s, w);
	if (regex_scratch_new(&scratch))
		return -1;
	result = rewrite_matches(s, scratch, w);
	regex_scratch_free(scratch);
	return result;
}

const struct step_kind step_replace = { replace_settled, rewrite_replace };

/* --- prepend --- */

static size_t prepend_settled(const struct step *s, const char *data, size_t size, bool more)
{
	return 0;
}

/* Nothing to an empty text. With nothing to prepend the peer makes the first character an insertion. */
static int rewrite_prepend(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;
	size_t length;

	if (!in->size || (s->put.size && text_rewrite_lead(w, s->put.data, s->put.size)))
		return 0;
	text_put(w, s->put.data, s->put.size, 0);
	if (s->put.size)
		return 0;
	length = char_length(in->data, in->size);
	text_change(w, in->data, length, 1);
	text_skip(w, length);
	return 0;
}

const struct step_kind step_prepend = { prepend_settled, rewrite_prepend };

/* --- strip --- */

/* The end of the white space at the start. */
static size_t leading(const char *data, size_t size)
{
	size_t at = 0, length;

	while (at < size &&
	       (unicode_traits(char_decode(data + at, size - at, &length)) & TRAIT_WHITE_SPACE))
		at += length;
	return at;
}

/* The start of the white space at the end; never before FROM. */
static size_t trailing(const char *data, size_t size, size_t from)
{
	size_t at, length;

	while (size > from) {
		at = char_before(data, size);
		if (!(unicode_traits(char_decode(data + at, size - at, &length)) &
		      TRAIT_WHITE_SPACE))
			break;
		size = at;
	}
	return size;
}

static size_t strip_settled(const struct step *s, const char *data, size_t size, bool more)
{
	if (s->left && leading(data, size))
		return 0;
	return s->right ? trailing(data, size, 0) : size;
}

static int rewrite_strip(const struct step *s, struct text_rewrite *w)
{
	const struct text *in = w->in;
	size_t from = s->left && w->at == 0 ? leading(in->data, in->size) : w->at;
	size_t to = s->right ? trailing(in->data, in->size, from) : in->size;

	text_drop(w, from - w->at);
	text_keep(w, to - from);
	text_drop(w, in->size - to);
	return 0;
}

const struct step_kind step_strip = { strip_settled, rewrite_strip };
