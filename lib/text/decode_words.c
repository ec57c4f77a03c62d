/* lib/text/decode_words.c - the decoders that put words together: Metaspace, WordPiece, BPEDecoder, CTC, Strip */
#include "lib/text/decode_parts.h"

/* --- Metaspace: in the first token every mark goes, not only the first one ---------------------------- */

void stage_take_metaspace(struct stage *s, struct bytes token)
{
	bool drops = s->tokens == 0 && s->spec->metaspace.scheme != PREPEND_NEVER;

	s->replacers[0].content = bytes_of(drops ? "" : " ");
	stage_give(s, stage_replace(s, token, true));
}

/* --- WordPiece ------------------------------------------------------------------------------------ */

static bool starts_with(struct bytes text, struct bytes prefix)
{
	return text.size >= prefix.size &&
	       (!prefix.size || !memcmp(text.data, prefix.data, prefix.size));
}

/* All that the clean-up looks for is a space and one of a few characters: most tokens have no such pair. */
static bool may_be_cleaned(struct bytes token)
{
	for (size_t i = 0; i + 1 < token.size; i++) {
		if (token.data[i] == ' ' && token.data[i + 1] &&
		    strchr(".?!,'nd", token.data[i + 1]))
			return true;
	}
	return false;
}

void stage_take_wordpiece(struct stage *s, struct bytes token)
{
	struct bytes prefix = s->spec->wordpiece.prefix;

	if (s->tokens && starts_with(token, prefix)) {
		token.data += prefix.size;
		token.size -= prefix.size;
	} else if (s->tokens) {
		buffer_clear(&s->held);
		buffer_put(&s->held, " ", 1);
		buffer_put(&s->held, token.data, token.size);
		stage_check(s, &s->held);
		token = buffer_bytes(&s->held);
	}
	stage_give(s, may_be_cleaned(token) ? stage_replace(s, token, true) : token);
}

/* --- BPEDecoder: a token is held until it is known whether it is the last ----------------------------- */

static void give_held(struct stage *s, const char *content)
{
	s->replacers[0].content = bytes_of(content);
	stage_give(s, stage_replace(s, buffer_bytes(&s->held), true));
}

static void hold(struct stage *s, struct bytes token)
{
	buffer_clear(&s->held);
	buffer_put(&s->held, token.data, token.size);
	stage_check(s, &s->held);
}

void stage_take_bpe(struct stage *s, struct bytes token)
{
	if (s->tokens)
		give_held(s, " ");
	hold(s, token);
}

void stage_end_bpe(struct stage *s)
{
	if (s->tokens)
		give_held(s, "");
}

/* --- CTC: of equal neighbours one stays, and empty ones go -------------------------------------------- */

void stage_take_ctc(struct stage *s, struct bytes token)
{
	struct bytes text;

	if (s->tokens && bytes_equal(token, buffer_bytes(&s->held)))
		return;
	hold(s, token);
	text = stage_replace(s, token, true);
	if (text.size)
		stage_give(s, text);
	else if (s->fused && s->next)
		s->next->absent = true;
}

/* --- Strip ---------------------------------------------------------------------------------------- */

/*
 * Drops marks at the start as long as to_strip lasts, and keeps marks at the end back, as a number: at most
 * strip.stop, since no more can be dropped. Where both ends meet, the start goes first (the peer panics).
 */
static struct bytes strip(struct stage *s, struct bytes text)
{
	struct buffer *out = &s->work[0];
	const char *mark = s->mark;
	size_t n = s->mark_size, end;
	uint32_t stop = s->spec->strip.stop;
	size_t run = 0;

	while (s->to_strip && starts_with(text, (struct bytes){ mark, n })) {
		text = (struct bytes){ text.data + n, text.size - n };
		s->to_strip--;
	}
	if (text.size)
		s->to_strip = 0;
	if (!stop)
		return text;
	for (end = text.size; end >= n && !memcmp(text.data + end - n, mark, n); end -= n)
		run++;
	buffer_clear(out);
	for (; end && s->trailing; s->trailing--)
		buffer_put(out, mark, n);
	buffer_put(out, text.data, end);
	for (run += s->trailing; run > stop; run--)
		buffer_put(out, mark, n);
	s->trailing = (uint32_t)run;
	stage_check(s, out);
	return buffer_bytes(out);
}

void stage_take_strip(struct stage *s, struct bytes token)
{
	s->to_strip = s->spec->strip.start;
	s->trailing = 0;
	stage_give(s, strip(s, token));
}

void stage_part_strip(struct stage *s, struct bytes text)
{
	struct bytes out = strip(s, text);

	if (out.size)
		stage_give(s, out);
}
