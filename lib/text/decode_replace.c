/* lib/text/decode_replace.c - decoders that replace strings, in whole tokens and in one that comes in parts */
#include "lib/text/decode_parts.h"

#include "lib/base/memory.h"
#include "lib/base/utf8.h"

int stage_add_replacer(struct stage *s, struct bytes pattern, struct bytes content)
{
	struct replacer *r = &s->replacers[s->n_replacers];

	*r = (struct replacer){ .content = content };
	if (pattern.size && literal_new(&r->literal, pattern))
		return -1;
	s->n_replacers++;
	return 0;
}

int stage_add_cleanup(struct stage *s)
{
	static const char *const pairs[][2] = {
		{ " .", "." },	 { " ?", "?" },	    { " !", "!" },     { " ,", "," },
		{ " ' ", "'" },	 { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
		{ " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (stage_add_replacer(s, bytes_of(pairs[i][0]), bytes_of(pairs[i][1])))
			return -1;
	}
	return 0;
}

/* --- strings -------------------------------------------------------------------------------------- */

static void put_bytes(struct buffer *out, struct bytes b)
{
	buffer_put(out, b.data, b.size);
}

static void replace_nothing(struct replacer *r, struct bytes text, bool ends, struct buffer *out)
{
	r->seen |= text.size > 0;
	for (size_t at = 0, n; at < text.size; at += n) {
		uint32_t ignored;

		n = utf8_decode(text.data + at, text.size - at, &ignored);
		n = n ? n : 1;
		put_bytes(out, r->content);
		buffer_put(out, text.data + at, n);
	}
	if (ends && (r->seen || !r->spares_none))
		put_bytes(out, r->content);
	r->seen &= !ends;
}

/* What BYTE, after what was matched, shows to be no match goes out. */
static void replace_byte(struct replacer *r, char byte, struct buffer *out)
{
	size_t before = r->matched, now = literal_step(&r->literal, before, byte);
	size_t gone = before + 1 - now;

	if (now == r->literal.text.size) {
		put_bytes(out, r->content);
		r->matched = 0;
		return;
	}
	buffer_put(out, r->literal.text.data, gone < before ? gone : before);
	if (now == 0)
		buffer_put(out, &byte, 1);
	r->matched = now;
}

static void replace_text(struct replacer *r, struct bytes text, bool ends, struct buffer *out)
{
	for (size_t at = 0; at < text.size; at++) {
		if (!r->matched) {
			const char *from = text.data + at;
			const char *start = memchr(from, r->literal.text.data[0], text.size - at);
			size_t n = start ? (size_t)(start - from) : text.size - at;

			buffer_put(out, from, n);
			at += n;
			if (!start)
				break;
		}
		replace_byte(r, text.data[at], out);
	}
	if (ends) {
		buffer_put(out, r->literal.text.data, r->matched);
		r->matched = 0;
	}
}

struct bytes stage_replace(struct stage *s, struct bytes text, bool ends)
{
	for (size_t i = 0; i < s->n_replacers; i++) {
		struct replacer *r = &s->replacers[i];
		struct buffer *out = &s->work[i % 2];

		/* Most tokens hold nothing to replace, and are not copied. */
		if (r->literal.text.size && !r->matched && ends &&
		    literal_find(&r->literal, text, 0) == text.size)
			continue;
		/* TEXT may lie in the other buffer, never in this one, unless a stage was skipped. */
		if (out->data && text.data == out->data)
			out = &s->work[(i + 1) % 2];
		buffer_clear(out);
		if (r->literal.text.size)
			replace_text(r, text, ends, out);
		else
			replace_nothing(r, text, ends, out);
		stage_check(s, out);
		text = buffer_bytes(out);
	}
	return text;
}

void stage_part_replace(struct stage *s, struct bytes text)
{
	struct bytes out = stage_replace(s, text, false);

	if (out.size)
		stage_give(s, out);
}

void stage_end_replace(struct stage *s)
{
	struct bytes out;

	/* Whole tokens left nothing behind. */
	if (!s->fused)
		return;
	out = stage_replace(s, (struct bytes){ "", 0 }, true);
	if (out.size)
		stage_give(s, out);
}

/* --- regular expressions ---------------------------------------------------------------------------- */

/* TEXT is well-formed. An empty match where the last one ended does not count. */
static void replace_matches(struct stage *s, struct bytes text, struct buffer *out)
{
	size_t from = 0, done = 0;
	bool any = false;

	while (text.size && from <= text.size) {
		size_t begin, end;
		uint32_t ignored;
		int got = regex_find(s->regex, s->decoder->regex_scratch, text, from, &begin, &end);

		s->decoder->failed |= got < 0;
		if (got <= 0)
			break;
		if (any && begin == end && end == done) {
			size_t n = utf8_decode(text.data + from, text.size - from, &ignored);

			from += n ? n : 1;
			continue;
		}
		buffer_put(out, text.data + done, begin - done);
		put_bytes(out, s->spec->replace.content);
		from = done = end;
		any = true;
	}
	buffer_put(out, text.data + done, text.size - done);
}

/* Raw bytes that are not UTF-8 are passed over. */
static struct bytes replace_by_regex(struct stage *s, struct bytes text)
{
	struct buffer *out = &s->work[0];
	size_t at = 0;

	buffer_clear(out);
	while (at < text.size) {
		size_t n = utf8_valid_prefix(text.data + at, text.size - at);

		replace_matches(s, (struct bytes){ text.data + at, n }, out);
		at += n;
		if (at < text.size)
			buffer_put(out, text.data + at++, 1);
	}
	stage_check(s, out);
	return buffer_bytes(out);
}

void stage_take_replace(struct stage *s, struct bytes token)
{
	stage_give(s, s->regex ? replace_by_regex(s, token) : stage_replace(s, token, true));
}
