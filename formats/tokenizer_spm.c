/* formats/tokenizer_spm.c - SentencePiece's pieces, scores and types as a tokenizer */

#include "formats/tokenizer_spm.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_spm_steps.h"
#include "lib/base/err.h"

/* --- pieces --- */

static int check_piece(const struct spm_source *s, size_t i)
{
	const struct spm_piece *piece = &s->pieces[i];

	if (piece->type == SPM_GAP)
		return 0;
	if (!piece->text.size)
		return err_set(ERR_FORMAT, "%s: piece %zu is empty", s->file, i);
	if (piece->type < SPM_NORMAL || piece->type > SPM_BYTE)
		return err_set(ERR_UNSUPPORTED, "%s: piece %zu: unknown type %d", s->file, i,
			       (int)piece->type);
	if (!isfinite(piece->score))
		return err_set(ERR_FORMAT, "%s: piece %zu: its score is no number", s->file, i);
	if (s->kind == MODEL_BPE && piece->text.size > TOKENIZER_PIECE_MAX)
		return err_set(ERR_LIMIT, "%s: piece %zu has %zu bytes, limit %zu", s->file, i,
			       piece->text.size, TOKENIZER_PIECE_MAX);
	return 0;
}

static enum piece_type type_of(enum spm_type type)
{
	switch (type) {
	case SPM_UNKNOWN: return PIECE_UNKNOWN;
	case SPM_USER_DEFINED: return PIECE_USER_DEFINED;
	case SPM_UNUSED: return PIECE_UNUSED;
	case SPM_BYTE: return PIECE_BYTE;
	default: return PIECE_NORMAL;
	}
}

static int note_unknown(const struct spm_source *s, size_t i, struct model_spec *m)
{
	if (m->unk != TOKEN_NONE)
		return err_set(ERR_FORMAT, "%s: pieces %" PRIu32 " and %zu are both unknown",
			       s->file, m->unk, i);
	m->unk = (uint32_t)i;
	m->has_unk_text = true;
	m->unk_text = s->pieces[i].text;
	return 0;
}

static int add_pieces(struct tokenizer_pieces *p, const struct spm_source *s, struct model_spec *m,
		      uint8_t *types)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct spm_piece *piece = &s->pieces[i];

		if (check_piece(s, i) < 0)
			return -1;
		if (piece->type == SPM_CONTROL || piece->type == SPM_GAP)
			continue;
		if (piece->type == SPM_UNKNOWN && note_unknown(s, i, m) < 0)
			return -1;
		if (tokenizer_pieces_add(p, piece->text, i, piece->score) < 0)
			return -1;
		*types++ = (uint8_t)type_of(piece->type);
	}
	return 0;
}

static int build_model(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	uint8_t *types = arena_alloc(arena, s->n ? s->n : 1, 1);
	struct model_spec *m = &out->model;
	struct tokenizer_pieces p;
	int result = -1;

	*m = (struct model_spec){ .kind = s->kind,
				  .unk = TOKEN_NONE,
				  .byte_fallback = s->byte_fallback,
				  .sentencepiece = true,
				  .piece_types = types,
				  .max_word_chars = 100 };
	if (!types || tokenizer_pieces_new(&p, arena, s->file) < 0)
		return -1;
	if (tokenizer_pieces_reserve(&p, s->n, 0) == 0 && add_pieces(&p, s, m, types) == 0)
		result = tokenizer_pieces_finish(&p, m, false);
	tokenizer_pieces_free(&p);
	return result;
}

/* --- added tokens --- */

static bool is_special(enum spm_type type)
{
	return type == SPM_CONTROL || type == SPM_UNKNOWN;
}

static int build_added(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	struct added_spec *list;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_special(s->pieces[i].type);
	list = arena_alloc(arena, n ? n : 1, sizeof(*list));
	if (!list)
		return -1;
	out->added = list;
	out->n_added = n;
	for (size_t i = 0; i < s->n; i++)
		if (is_special(s->pieces[i].type))
			*list++ = (struct added_spec){ .id = (uint32_t)i,
						       .text = s->pieces[i].text,
						       .special = true };
	return 0;
}

/* --- what comes before the model --- */

static int build_normalizer(struct tokenizer_spec *out, struct arena *arena,
			    const struct spm_source *s)
{
	struct normalizer_spec *n = arena_alloc(arena, 1, sizeof(*n));
	struct bytes *keep;
	size_t users = 0;

	for (size_t i = 0; i < s->n; i++)
		users += s->pieces[i].type == SPM_USER_DEFINED;
	keep = arena_alloc(arena, users ? users : 1, sizeof(*keep));
	if (!n || !keep)
		return -1;
	*n = (struct normalizer_spec){
		.kind = NORMALIZER_SENTENCEPIECE,
		.sentencepiece = { .charsmap = s->charsmap,
				   .keep = keep,
				   .n_keep = users,
				   .add_dummy_prefix = s->add_dummy_prefix,
				   .whitespace_as_suffix = s->whitespace_as_suffix,
				   .remove_extra_whitespaces = s->remove_extra_whitespaces,
				   .escape_whitespaces = s->escape_whitespaces },
	};
	for (size_t i = 0; i < s->n; i++)
		if (s->pieces[i].type == SPM_USER_DEFINED)
			*keep++ = s->pieces[i].text;
	out->normalizers = n;
	out->n_normalizers = 1;
	return 0;
}

int tokenizer_spm_build(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (s->n > TOKENIZER_ID_MAX)
		return err_set(ERR_LIMIT, "%s: %zu pieces", s->file, s->n);
	if (build_model(out, arena, s) < 0 || build_added(out, arena, s) < 0 ||
	    build_normalizer(out, arena, s) < 0)
		return -1;
	return spm_decoders(out, arena, s);
}

/* --- the other way round --- */

static enum spm_type spm_type_of(enum piece_type type)
{
	static const enum spm_type types[] = { [PIECE_NORMAL] = SPM_NORMAL,
					       [PIECE_UNKNOWN] = SPM_UNKNOWN,
					       [PIECE_USER_DEFINED] = SPM_USER_DEFINED,
					       [PIECE_UNUSED] = SPM_UNUSED,
					       [PIECE_BYTE] = SPM_BYTE };

	return types[type];
}

static size_t count_ids(const struct tokenizer_spec *spec)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->model.n_pieces; i++)
		n = spec->model.pieces[i].id >= n ? (size_t)spec->model.pieces[i].id + 1 : n;
	for (size_t i = 0; i < spec->n_added; i++)
		n = spec->added[i].id >= n ? (size_t)spec->added[i].id + 1 : n;
	return n;
}

static void fill_pieces(struct spm_piece *pieces, size_t n, const struct tokenizer_spec *spec)
{
	const struct model_spec *m = &spec->model;

	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct spm_piece){ .text = { "", 0 }, .type = SPM_GAP };
	for (size_t i = 0; i < spec->n_added; i++)
		pieces[spec->added[i].id] =
			(struct spm_piece){ .text = spec->added[i].text,
					    .type = spec->added[i].special ? SPM_CONTROL
									   : SPM_USER_DEFINED };
	for (size_t i = 0; i < m->n_pieces; i++)
		pieces[m->pieces[i].id] =
			(struct spm_piece){ .text = m->pieces[i].text,
					    .score = m->pieces[i].score,
					    .type = spm_type_of(m->piece_types[i]) };
}

int tokenizer_spm_source(struct spm_source *out, struct arena *arena,
			 const struct tokenizer_spec *spec, const char *file)
{
	const struct normalizer_spec *n = spec->normalizers;
	size_t size = count_ids(spec);
	struct spm_piece *pieces;

	if (!spec->model.sentencepiece || spec->n_normalizers != 1 ||
	    n->kind != NORMALIZER_SENTENCEPIECE)
		return err_set(ERR_ARGUMENT, "%s: not all of it is by SentencePiece's rules", file);
	pieces = arena_alloc(arena, size ? size : 1, sizeof(*pieces));
	if (!pieces)
		return -1;
	fill_pieces(pieces, size, spec);
	*out = (struct spm_source){
		.file = file,
		.pieces = pieces,
		.n = size,
		.kind = spec->model.kind,
		.byte_fallback = spec->model.byte_fallback,
		.add_dummy_prefix = n->sentencepiece.add_dummy_prefix,
		.remove_extra_whitespaces = n->sentencepiece.remove_extra_whitespaces,
		.escape_whitespaces = n->sentencepiece.escape_whitespaces,
		.whitespace_as_suffix = n->sentencepiece.whitespace_as_suffix,
		.charsmap = n->sentencepiece.charsmap,
	};
	return 0;
}
