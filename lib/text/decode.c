/* lib/text/decode.c - the decoders of `tokenizers`: the chain of stages, and how tokens go down it */
#include "lib/text/decode_parts.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"

/* Without any decoder tokens are joined by spaces. */
#define JOIN_WITH_SPACES (DECODER_CTC + 1)

/* --- the stages ------------------------------------------------------------------------------------- */

static void take_fuse(struct stage *s, struct bytes token)
{
	stage_give(s, token);
}

static void take_join(struct stage *s, struct bytes token)
{
	if (s->tokens)
		stage_give(s, bytes_of(" "));
	stage_give(s, token);
}

const struct stage_kind stage_kinds[] = {
	[DECODER_BYTE_LEVEL] = { stage_take_byte_level, NULL, stage_end_byte_level, true },
	[DECODER_METASPACE] = { stage_take_metaspace, stage_part_replace, stage_end_replace,
				false },
	[DECODER_WORDPIECE] = { stage_take_wordpiece, stage_part_replace, stage_end_replace,
				false },
	[DECODER_BPE] = { stage_take_bpe, NULL, stage_end_bpe, false },
	[DECODER_BYTE_FALLBACK] = { stage_take_byte_fallback, NULL, stage_end_byte_fallback,
				    false },
	[DECODER_FUSE] = { take_fuse, take_fuse, NULL, true },
	[DECODER_REPLACE] = { stage_take_replace, stage_part_replace, stage_end_replace, false },
	[DECODER_STRIP] = { stage_take_strip, stage_part_strip, NULL, false },
	[DECODER_CTC] = { stage_take_ctc, NULL, NULL, false },
	[JOIN_WITH_SPACES] = { take_join, NULL, NULL, true },
};

/* --- making ----------------------------------------------------------------------------------------- */

static int refuse_character(const char *what, uint32_t code_point)
{
	return err_set(ERR_ARGUMENT, "decoder %s: U+%04X is no character", what,
		       (unsigned)code_point);
}

static int prepare_metaspace(struct stage *s)
{
	size_t n = utf8_encode(s->spec->metaspace.replacement, s->mark);
	struct bytes mark = { s->mark, n };

	if (!n)
		return refuse_character("Metaspace", s->spec->metaspace.replacement);
	return stage_add_replacer(s, mark,
				  bytes_of(s->spec->metaspace.scheme == PREPEND_NEVER ? " " : ""));
}

static int prepare_ctc(struct stage *s)
{
	if (stage_add_replacer(s, s->spec->ctc.pad, bytes_of("")))
		return -1;
	if (!s->spec->ctc.cleanup)
		return 0;
	if (stage_add_cleanup(s))
		return -1;
	return stage_add_replacer(s, s->spec->ctc.word_delimiter, bytes_of(" "));
}

static int prepare_replace(struct stage *s)
{
	const struct pattern_spec *pattern = &s->spec->replace.pattern;

	if (pattern->is_regex) {
		if (regex_new(&s->regex, pattern->text, pattern->dialect))
			return err_prefix("decoder Replace");
		return 0;
	}
	if (stage_add_replacer(s, pattern->text, s->spec->replace.content))
		return -1;
	s->replacers[0].spares_none = true;
	return 0;
}

static int prepare_strip(struct stage *s)
{
	s->mark_size = utf8_encode(s->spec->strip.content, s->mark);
	return s->mark_size ? 0 : refuse_character("Strip", s->spec->strip.content);
}

static int prepare(struct stage *s)
{
	switch (s->spec->kind) {
	case DECODER_METASPACE: return prepare_metaspace(s);
	case DECODER_WORDPIECE: return s->spec->wordpiece.cleanup ? stage_add_cleanup(s) : 0;
	case DECODER_BPE: return stage_add_replacer(s, s->spec->suffix, bytes_of(""));
	case DECODER_CTC: return prepare_ctc(s);
	case DECODER_REPLACE: return prepare_replace(s);
	case DECODER_STRIP: return prepare_strip(s);
	case DECODER_BYTE_LEVEL:
	case DECODER_BYTE_FALLBACK:
	case DECODER_FUSE: return 0;
	}
	return err_set(ERR_UNSUPPORTED, "decoder of kind %d", (int)s->spec->kind);
}

/* Parts can be worked on where a stage knows how, and where it sees whole characters. */
static bool streams(const struct stage *s)
{
	if (!s->kind->part || s->regex)
		return false;
	return s->kind->part != stage_part_strip || !s->decoder->raw || s->mark_size == 1;
}

static void begin(struct stage *s)
{
	buffer_clear(&s->held);
	buffer_clear(&s->collected);
	s->tokens = s->checked = 0;
	s->broken = s->absent = false;
	s->trailing = 0;
	s->to_strip = s->kind->part == stage_part_strip ? s->spec->strip.start : 0;
	for (size_t i = 0; i < s->n_replacers; i++) {
		s->replacers[i].matched = 0;
		s->replacers[i].seen = false;
	}
}

static int add_stages(struct text_decoder *d, const struct decoder_spec *specs, size_t n)
{
	bool fused = false;

	for (size_t i = 0; i < d->n_stages; i++) {
		struct stage *s = &d->stages[i];

		s->decoder = d;
		s->fused = fused;
		s->next = i + 1 < d->n_stages ? s + 1 : NULL;
		s->spec = n ? &specs[i] : NULL;
		if (s->spec && prepare(s))
			return -1;
		s->kind = &stage_kinds[n ? specs[i].kind : JOIN_WITH_SPACES];
		s->streams = fused && streams(s);
		fused |= s->kind->joins;
		begin(s);
	}
	return 0;
}

int text_decoder_new(struct text_decoder **out, const struct decoder_spec *specs, size_t n,
		     bool byte_level, bool raw)
{
	struct text_decoder *d = mem_new(1, sizeof(*d));

	if (!d)
		return -1;
	d->byte_level = byte_level;
	d->raw = raw;
	d->stages = mem_new(n ? n : 1, sizeof(*d->stages));
	if (!d->stages || regex_scratch_new(&d->regex_scratch))
		goto failed;
	d->n_stages = n ? n : 1;
	if (add_stages(d, specs, n))
		goto failed;
	*out = d;
	return 0;
failed:
	text_decoder_free(d);
	return -1;
}

static void free_stage(struct stage *s)
{
	for (size_t i = 0; i < s->n_replacers; i++)
		literal_free(&s->replacers[i].literal);
	regex_free(s->regex);
	buffer_free(&s->held);
	buffer_free(&s->collected);
	buffer_free(&s->work[0]);
	buffer_free(&s->work[1]);
}

void text_decoder_free(struct text_decoder *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_stages; i++)
		free_stage(&d->stages[i]);
	free(d->stages);
	regex_scratch_free(d->regex_scratch);
	buffer_free(&d->spelled);
	free(d);
}

/* --- running ---------------------------------------------------------------------------------------- */

void stage_check(struct stage *s, const struct buffer *b)
{
	if (b->failed && !s->decoder->failed) {
		buffer_check(b);
		s->decoder->failed = true;
	}
}

static void take(struct stage *s, struct bytes text)
{
	if (!s->fused) {
		s->kind->token(s, text);
		s->tokens++;
	} else if (s->streams) {
		s->kind->part(s, text);
	} else {
		buffer_put(&s->collected, text.data, text.size);
		stage_check(s, &s->collected);
	}
}

void stage_give(struct stage *s, struct bytes text)
{
	if (s->next)
		take(s->next, text);
	else
		buffer_put(s->decoder->out, text.data, text.size);
}

static void end(struct stage *s)
{
	if (s->absent) {
		if (s->next && !s->kind->joins)
			s->next->absent = true;
		return;
	}
	if (s->fused && !s->streams) {
		s->kind->token(s, buffer_bytes(&s->collected));
		s->tokens++;
		buffer_clear(&s->collected);
	}
	if (s->kind->end)
		s->kind->end(s);
}

static int result(struct text_decoder *d)
{
	if (d->failed)
		return -1;
	return buffer_check(d->out);
}

/* Most pieces of a byte-level vocabulary are whole characters, and ByteLevel is mostly all there is. */
static bool goes_straight(const struct text_decoder *d, struct bytes piece)
{
	const struct stage *s = &d->stages[0];

	if (s->next || s->kind != &stage_kinds[DECODER_BYTE_LEVEL])
		return false;
	return d->raw || (!s->held.size && utf8_valid_prefix(piece.data, piece.size) == piece.size);
}

int text_decoder_add(struct text_decoder *d, struct bytes piece, bool added, struct buffer *out)
{
	struct stage *first = &d->stages[0];
	bool bytes = d->byte_level && !added;

	if (bytes && goes_straight(d, piece)) {
		buffer_put(out, piece.data, piece.size);
		return out->failed ? buffer_check(out) : 0;
	}
	d->out = out;
	/* Added tokens are text; whoever wants bytes wants them as they are. */
	d->as_bytes = bytes || (added && d->raw);
	if (bytes && first->kind != &stage_kinds[DECODER_BYTE_LEVEL]) {
		buffer_clear(&d->spelled);
		bytelevel_encode(&d->spelled, piece);
		stage_check(first, &d->spelled);
		piece = buffer_bytes(&d->spelled);
		d->as_bytes = false;
	}
	take(first, piece);
	return result(d);
}

int text_decoder_end(struct text_decoder *d, struct buffer *out)
{
	int got;

	d->out = out;
	d->as_bytes = false;
	for (size_t i = 0; i < d->n_stages; i++)
		end(&d->stages[i]);
	got = result(d);
	for (size_t i = 0; i < d->n_stages; i++)
		begin(&d->stages[i]);
	d->failed = false;
	return got;
}

bool text_decoder_is_exact(const struct text_decoder *d)
{
	if (d->stages[0].kind != &stage_kinds[DECODER_BYTE_LEVEL])
		return false;
	for (size_t i = 1; i < d->n_stages; i++) {
		if (d->stages[i].kind != &stage_kinds[DECODER_FUSE])
			return false;
	}
	return true;
}
