/*
 * lib/text/post.c - post-processors: what the file adds around a document, and
 * offsets without their spaces
 *
 * `tokenizers`: ByteLevel and RobertaProcessing trim offsets whether or not
 * special tokens are asked for; TemplateProcessing, BertProcessing and
 * RobertaProcessing add tokens, whose offsets are 0..0.
 */
#include "lib/text/tokenizer_parts.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/unicode_class.h"

#define BYTE_LEVEL_SPACE 0x120 /* the character that stands for a space in ByteLevel's alphabet */

static bool is_blank(uint32_t c)
{
	return c == BYTE_LEVEL_SPACE || (unicode_class(c) & UNICODE_SPACE);
}

/* White space at the start of a piece, in characters. Byte-level pieces are
 * raw: only the space counts. */
static uint32_t leading(const struct tokenizer *t, uint32_t id, struct bytes piece)
{
	bool raw = t->words->byte_level && !tokenizer_added(t, id);
	uint32_t n = 0, c;
	size_t at = 0, length;

	while (at < piece.size) {
		if (raw) {
			if (piece.data[at] != ' ')
				break;
			length = 1;
		} else {
			length = utf8_decode(piece.data + at, piece.size - at, &c);
			if (!length || !is_blank(c))
				break;
		}
		at += length;
		n++;
	}
	return n;
}

static uint32_t trailing(const struct tokenizer *t, uint32_t id, struct bytes piece)
{
	bool raw = t->words->byte_level && !tokenizer_added(t, id);
	uint32_t n = 0, c;

	while (piece.size) {
		size_t length = 1;

		if (raw) {
			if (piece.data[piece.size - 1] != ' ')
				break;
		} else {
			while (length < piece.size && length < 4 &&
			       ((unsigned char)piece.data[piece.size - length] & 0xC0) == 0x80)
				length++;
			if (!utf8_decode(piece.data + piece.size - length, length, &c) ||
			    !is_blank(c))
				break;
		}
		piece.size -= length;
		n++;
	}
	return n;
}

/* COUNT characters on from AT, but not past END. */
static uint32_t step_on(struct bytes document, uint32_t at, uint32_t end, uint32_t count)
{
	while (count-- > 0 && at < end)
		do
			at++;
		while (at < end && ((unsigned char)document.data[at] & 0xC0) == 0x80);
	return at;
}

/* COUNT characters back from AT, but not past FROM; AT when the document has fewer before it. */
static uint32_t step_back(struct bytes document, uint32_t from, uint32_t at, uint32_t count)
{
	uint32_t to = at;

	for (; count > 0; count--) {
		if (to == 0)
			return at;
		do
			to--;
		while (to > 0 && ((unsigned char)document.data[to] & 0xC0) == 0x80);
	}
	return to < from ? from : to;
}

/*
 * The peer counts characters, of the token's own text, and takes as many from the offsets. A space that the pre-tokenizer
 * itself put before the first word is not in the document.
 */
static void trim(const struct tokenizer *t, struct bytes document, struct encoding *e,
		 bool add_prefix_space)
{
	for (size_t i = 0; i < e->n; i++) {
		struct text_span *span = &e->offsets[i];
		struct bytes piece = tokenizer_piece(t, e->ids[i]);
		uint32_t before, after;

		/* An added token's text is what it matched, with the white space that it stripped. */
		if (tokenizer_added(t, e->ids[i]))
			piece = (struct bytes){ document.data + span->from, span->to - span->from };
		before = leading(t, e->ids[i], piece);
		after = trailing(t, e->ids[i], piece);
		if (before == 1 && add_prefix_space && (i == 0 || span->from == 0))
			before = 0;
		span->from = step_on(document, span->from, span->to, before);
		span->to = step_back(document, span->from, span->to, after);
	}
}

/* --- tokens around the document --- */

struct around {
	struct encoding out;
	bool offsets;
};

static int put(struct around *a, uint32_t id)
{
	struct text_span none = { 0, 0 };

	return encoding_add(&a->out, id, a->offsets ? &none : NULL);
}

static int put_document(struct around *a, const struct encoding *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (encoding_add(&a->out, e->ids[i], a->offsets ? &e->offsets[i] : NULL) < 0)
			return -1;
	return 0;
}

static int put_template(struct around *a, const struct post_spec *p, const struct encoding *e)
{
	for (size_t i = 0; i < p->n_single; i++) {
		const struct template_item *item = &p->single[i];

		if (item->is_sequence) {
			if (!item->is_pair && put_document(a, e) < 0)
				return -1;
			continue;
		}
		for (size_t k = 0; k < item->n_ids; k++)
			if (put(a, item->ids[k]) < 0)
				return -1;
	}
	return 0;
}

static int wrap(struct around *a, const struct post_spec *p, const struct encoding *e)
{
	if (p->kind == POST_TEMPLATE)
		return put_template(a, p, e);
	if (put(a, p->cls.id) < 0 || put_document(a, e) < 0)
		return -1;
	return put(a, p->sep.id);
}

static int replace(struct encoding *e, struct around *a, int result)
{
	if (result < 0) {
		encoding_free(&a->out);
		return -1;
	}
	encoding_free(e);
	*e = a->out;
	return 0;
}

/* What files without a post-processor say by two flags. */
static int add_roles(const struct tokenizer *t, struct encoding *e, bool offsets)
{
	const struct tokenizer_spec *s = t->spec;
	bool bos = s->add_bos && s->bos != TOKEN_NONE;
	bool eos = s->add_eos && s->eos != TOKEN_NONE;
	struct around a = { .offsets = offsets };
	int result = 0;

	if (!bos && !eos)
		return 0;
	if (bos)
		result = put(&a, s->bos);
	if (result == 0)
		result = put_document(&a, e);
	if (result == 0 && eos)
		result = put(&a, s->eos);
	return replace(e, &a, result);
}

int post_process(const struct tokenizer *t, const struct encode_options *o, struct bytes document,
		 struct encoding *e)
{
	const struct tokenizer_spec *s = t->spec;

	for (size_t i = 0; i < s->n_posts; i++) {
		const struct post_spec *p = &s->posts[i];
		struct around a = { .offsets = o->offsets };

		if (o->offsets && p->trim_offsets &&
		    (p->kind == POST_BYTE_LEVEL || p->kind == POST_ROBERTA))
			trim(t, document, e, p->add_prefix_space);
		if (o->post_process && p->kind != POST_BYTE_LEVEL &&
		    replace(e, &a, wrap(&a, p, e)) < 0)
			return -1;
	}
	return o->post_process && s->n_posts == 0 ? add_roles(t, e, o->offsets) : 0;
}
