/*
 * lib/text/encoder.c - runs a document through the parts of a tokenizer
 */
#include "lib/text/tokenizer_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

struct encoder {
	const struct tokenizer *tokenizer;
	struct model_scratch *model;
	struct pretokenizer_scratch *pretokenizer;
	struct text text, part, scratch;
	struct pieces pieces;
	struct model_tokens tokens;
	/* Of the present document: */
	const struct words *words;
	const struct encode_options *options;
	struct encoding *out;
	struct model_sampling sampling; /* the position goes on from piece to piece */
	bool lost_place; /* a piece failed, and where it stands in the document was not tracked */
};

int encoder_new(struct encoder **out, const struct tokenizer *t)
{
	struct encoder *e = mem_new(1, sizeof(*e));

	*out = NULL;
	if (!e)
		return -1;
	e->tokenizer = t;
	if (model_scratch_new(&e->model, t->model) < 0 ||
	    pretokenizer_scratch_new(&e->pretokenizer) < 0) {
		encoder_free(e);
		return -1;
	}
	*out = e;
	return 0;
}

void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	model_scratch_free(e->model);
	pretokenizer_scratch_free(e->pretokenizer);
	text_free(&e->text);
	text_free(&e->part);
	text_free(&e->scratch);
	free(e->pieces.items);
	free(e->tokens.items);
	free(e);
}

uint64_t encoder_dropped(const struct encoder *e)
{
	return model_scratch_dropped(e->model);
}

void encoding_free(struct encoding *e)
{
	free(e->ids);
	free(e->offsets);
	*e = (struct encoding){ 0 };
}

int encoding_add(struct encoding *e, uint32_t id, const struct text_span *offsets)
{
	if (mem_grow(&e->ids, &e->capacity, e->n + 1, sizeof(*e->ids)) < 0)
		return -1;
	if (offsets) {
		if (mem_grow(&e->offsets, &e->offsets_capacity, e->n + 1, sizeof(*e->offsets)) < 0)
			return -1;
		e->offsets[e->n] = *offsets;
	}
	e->ids[e->n++] = id;
	return 0;
}

/* --- pieces --- */

/* PIECE, or of a long one some tokens from *AT on, which is moved (text_model_encode_from). */
static int model_run_from(struct encoder *e, struct bytes piece, size_t *at)
{
	e->tokens.n = 0;
	if (!e->options->sampling)
		return text_model_encode_from(e->tokenizer->model, e->model, piece, at, &e->tokens);
	*at = piece.size;
	e->sampling.position++;
	return text_model_sample(e->tokenizer->model, e->model, piece, &e->sampling, &e->tokens);
}

/* All of PIECE; what comes of its last tokens is no matter. */
static int model_run(struct encoder *e, struct bytes piece)
{
	size_t at = 0;

	while (at < piece.size)
		if (model_run_from(e, piece, &at) < 0)
			return -1;
	return 0;
}

/*
 * The model cannot stand for the piece at FROM to TO of TEXT: puts before the error where it stands in the document, to the
 * character where one fails by itself.
 */
static int tell_place(struct encoder *e, const struct text *text, size_t from, size_t to)
{
	struct bytes piece = { text->data + from, to - from };
	size_t at = 0, n;
	uint32_t c;

	if (!text->tracked) {
		e->lost_place = true;
		return -1;
	}
	for (; at < piece.size; at += n) {
		n = utf8_decode(piece.data + at, piece.size - at, &c);
		n = n && !e->words->byte_level ? n : 1;
		if (model_run(e, (struct bytes){ piece.data + at, n }) < 0)
			break;
	}
	if (at == piece.size) {
		at = 0;
		n = piece.size;
		if (model_run(e, piece) == 0)
			return err_set(ERR_FORMAT, "a piece fails once and not again");
	}
	return err_prefix("byte %" PRIu32, text_original(text, from + at, from + at + n).from);
}

/* The tokens of the piece that begins at FROM, to the document's. */
static int add_tokens(struct encoder *e, const struct text *text, size_t from)
{
	for (size_t i = 0; i < e->tokens.n; i++) {
		const struct model_token *token = &e->tokens.items[i];
		struct text_span span = { 0, 0 };

		if (e->options->offsets)
			span = text_original(text, from + token->from, from + token->to);
		if (encoding_add(e->out, token->id, e->options->offsets ? &span : NULL) < 0)
			return -1;
	}
	return 0;
}

/* Bytes FROM to TO of TEXT are one piece. Tokens of a long one are not held twice. */
static int encode_piece(struct encoder *e, const struct text *text, size_t from, size_t to)
{
	struct bytes piece = { text->data + from, to - from };
	size_t at = 0;

	while (at < piece.size) {
		if (model_run_from(e, piece, &at) < 0)
			return tell_place(e, text, from, to);
		if (add_tokens(e, text, from) < 0)
			return -1;
	}
	return 0;
}

/* N pieces of TEXT, where nothing but their ids is wanted. */
static int encode_ids(struct encoder *e, const struct text *text, const struct piece *pieces,
		      size_t n)
{
	struct encoding *out = e->out;
	struct model_ids ids = { out->ids, out->n, out->capacity };
	size_t done;
	int got = text_model_encode_ids(e->tokenizer->model, e->model,
					(struct bytes){ text->data, text->size }, pieces, n, &ids,
					&done);

	out->ids = ids.items;
	out->n = ids.n;
	out->capacity = ids.capacity;
	return got < 0 ? tell_place(e, text, pieces[done].from, pieces[done].to) : 0;
}

static int encode_each(struct encoder *e, const struct text *text, const struct piece *pieces,
		       size_t n)
{
	if (!e->options->offsets && !e->options->sampling)
		return encode_ids(e, text, pieces, n);
	for (size_t i = 0; i < n; i++)
		if (encode_piece(e, text, pieces[i].from, pieces[i].to) < 0)
			return -1;
	return 0;
}

/* Text without added tokens, normalized. FIRST: it begins the document. */
static int encode_pieces(struct encoder *e, struct text *text, bool first)
{
	const struct pretokenizer *p = e->words->pretokenizer;

	if (!p)
		return text->size ? encode_each(e, text, &(struct piece){ 0, text->size }, 1) : 0;
	if (pretokenizer_run(p, e->pretokenizer, text, first, &e->pieces) < 0)
		return -1;
	return encode_each(e, text, e->pieces.items, e->pieces.n);
}

/* --- added tokens --- */

static int refuse_special(const struct added_spec *token, size_t at)
{
	return err_set(ERR_FORMAT, "byte %zu: the special token " BYTES_FMT " in text", at,
		       BYTES_ARG(token->text));
}

static int add_token(struct encoder *e, const struct added_spec *token, struct text_span span)
{
	if (token->special && e->options->special == SPECIAL_REFUSE)
		return refuse_special(token, span.from);
	e->words = e->tokenizer->words; /* what follows begins a section, wherever the text stood */
	return encoding_add(e->out, token->id, e->options->offsets ? &span : NULL);
}

/* Whether byte FROM of the normalized text is the document's first; AT is where the text began there. */
static bool starts_document(const struct encoder *e, size_t at, size_t from)
{
	const struct text *text = &e->text;

	if (e->options->start != START_DOCUMENT)
		return false;
	return text->tracked && from < text->size ? text_span_at(text, from).from == 0
						  : at + from == 0;
}

/* e->text is normalized; AT is where it began in the document. */
static int encode_normalized(struct encoder *e, size_t at)
{
	const struct added_set *set = e->tokenizer->after;
	bool no_special = e->options->special == SPECIAL_PLAIN;
	struct bytes text = { e->text.data, e->text.size };
	struct added_search search = { 0 };
	struct added_match match;
	size_t done = 0;

	while (set && added_set_find(set, text, &search, no_special, &match)) {
		struct text_span span = { 0, 0 };

		if (done < match.from &&
		    (text_cut(&e->part, &e->text, done, match.from) < 0 ||
		     encode_pieces(e, &e->part, starts_document(e, at, done)) < 0))
			return -1;
		if (e->text.tracked)
			span = text_original(&e->text, match.from, match.to);
		if (add_token(e, match.token, span) < 0)
			return -1;
		done = match.to;
	}
	if (done == 0)
		return encode_pieces(e, &e->text, starts_document(e, at, 0));
	if (done == e->text.size)
		return 0;
	if (text_cut(&e->part, &e->text, done, e->text.size) < 0)
		return -1;
	return encode_pieces(e, &e->part, false);
}

/* Text of the document without bare added tokens. */
static int encode_text(struct encoder *e, struct bytes document, size_t from, size_t to)
{
	const struct words *w = e->words;

	if (text_set(&e->text, document.data + from, to - from, from,
		     e->options->offsets || w->needs_spans) < 0)
		return -1;
	if (w->normalizer && normalizer_run(w->normalizer, &e->text, &e->scratch) < 0)
		return -1;
	return encode_normalized(e, from);
}

/* Well-formed UTF-8 from FROM to TO of the document. */
static int encode_valid(struct encoder *e, struct bytes document, size_t from, size_t to)
{
	const struct added_set *set = e->tokenizer->bare;
	bool no_special = e->options->special == SPECIAL_PLAIN;
	struct bytes text = { document.data + from, to - from };
	struct added_search search = { 0 };
	struct added_match match;
	size_t done = 0;

	while (set && added_set_find(set, text, &search, no_special, &match)) {
		struct text_span span = { (uint32_t)(from + match.from),
					  (uint32_t)(from + match.to) };

		if (done < match.from &&
		    encode_text(e, document, from + done, from + match.from) < 0)
			return -1;
		if (add_token(e, match.token, span) < 0)
			return -1;
		done = match.to;
	}
	return done < text.size ? encode_text(e, document, from + done, to) : 0;
}

/* Bytes that are not UTF-8: the model has them byte by byte, or they are
 * refused. */
static int encode_invalid(struct encoder *e, struct bytes document, size_t from, size_t to)
{
	const struct tokenizer *t = e->tokenizer;

	if (!t->words->byte_level && !t->spec->model.byte_fallback)
		return err_set(ERR_FORMAT, "byte %zu: not UTF-8, and the tokenizer has no bytes",
			       from);
	if (text_set(&e->text, document.data + from, to - from, from, e->options->offsets) < 0)
		return -1;
	return encode_piece(e, &e->text, 0, e->text.size);
}

/* By SentencePiece's rules a document is one text, whatever its bytes are. */
static int encode_sentencepiece(struct encoder *e, struct bytes document)
{
	const struct tokenizer_spec *spec = e->tokenizer->spec;
	size_t valid = utf8_valid_prefix(document.data, document.size);

	if (valid < document.size && !spec->model.byte_fallback &&
	    !(spec->n_normalizers && spec->normalizers->kind == NORMALIZER_SENTENCEPIECE &&
	      spec->normalizers->sentencepiece.replace_invalid))
		return err_set(ERR_FORMAT, "byte %zu: not UTF-8, and the tokenizer has no bytes",
			       valid);
	return document.size && encode_valid(e, document, 0, document.size) < 0 ? -1 : 0;
}

static int encode_document(struct encoder *e, struct bytes document)
{
	size_t at = 0;

	if (e->tokenizer->spec->model.sentencepiece) {
		if (encode_sentencepiece(e, document) < 0)
			return -1;
		at = document.size;
	}
	while (at < document.size) {
		size_t valid = utf8_valid_prefix(document.data + at, document.size - at);
		size_t to;

		if (valid && encode_valid(e, document, at, at + valid) < 0)
			return -1;
		at += valid;
		to = words_invalid_end(document, at);
		if (to > at && encode_invalid(e, document, at, to) < 0)
			return -1;
		at = to;
	}
	return post_process(e->tokenizer, e->options, document, e->out);
}

static void begin(struct encoder *e, const struct encode_options *options, struct encoding *out)
{
	const struct tokenizer *t = e->tokenizer;

	out->n = 0;
	text_shrink(&e->text); /* a large one's spans, while the next one is rewritten */
	e->options = options;
	e->out = out;
	e->words = options->start == START_INSIDE && t->inside ? t->inside : t->words;
	e->lost_place = false;
	if (options->sampling)
		e->sampling = *options->sampling;
}

/* Once more, with every byte tracked, to find where it fails. */
static int fail_with_place(struct encoder *e, struct bytes document,
			   const struct encode_options *options, struct encoding *out)
{
	struct encode_options tracked = *options;

	tracked.offsets = true;
	begin(e, &tracked, out);
	if (encode_document(e, document) < 0)
		return -1;
	return err_set(ERR_FORMAT, "a document fails once and not again");
}

int encoder_run(struct encoder *e, struct bytes document, const struct encode_options *options,
		struct encoding *out)
{
	begin(e, options, out);
	if (options->offsets && document.size > UINT32_MAX)
		return err_set(ERR_LIMIT, "a document of %zu bytes is too long for offsets",
			       document.size);
	if (encode_document(e, document) == 0)
		return 0;
	if (!e->lost_place || document.size > UINT32_MAX)
		return -1;
	return fail_with_place(e, document, options, out);
}
