/*
 * formats/tokenizer_sentencepiece.c - SentencePiece .model files
 *
 * A ModelProto of sentencepiece_model.proto: pieces (1), trainer_spec (2), normalizer_spec (3),
 * denormalizer_spec (5). Fields that do not change ids are passed over.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/protobuf.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_spm.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

struct model {
	struct spm_source source;
	struct arena *arena;
	struct spm_piece *pieces;
	size_t capacity;
	uint64_t type; /* 1 unigram, 2 BPE, 3 word, 4 character */
	int32_t bos, eos, pad;
	bool denormalizes;
};

/* Walks the message MESSAGE, WHAT by name, and gives each field to TAKE. */
static int each_field(struct model *m, struct bytes message, const char *what,
		      int (*take)(struct model *m, struct cursor *c,
				  const struct protobuf_field *f))
{
	char *name = mem_format("%s: %s", m->source.file, what);
	struct protobuf_field f;
	struct cursor c;
	int got = -1;

	if (!name)
		return -1;
	cursor_init(&c, message.data, message.size, name);
	while ((got = protobuf_next(&c, &f)) > 0)
		if (take(m, &c, &f) < 0) {
			got = -1;
			break;
		}
	free(name);
	return got;
}

static int want_bool(struct cursor *c, const struct protobuf_field *f, bool *out)
{
	if (protobuf_want(c, f, PROTOBUF_VARINT) < 0)
		return -1;
	*out = f->value != 0;
	return 0;
}

/* An int32: negative ones are 64 bits of two's complement. */
static int want_id(struct cursor *c, const struct protobuf_field *f, int32_t *out)
{
	if (protobuf_want(c, f, PROTOBUF_VARINT) < 0)
		return -1;
	*out = f->value > INT32_MAX ? -1 : (int32_t)f->value;
	return 0;
}

static int take_piece(struct model *m, struct cursor *c, const struct protobuf_field *f)
{
	struct spm_piece *piece = &m->pieces[m->source.n];

	switch (f->number) {
	case 1:
		if (protobuf_want(c, f, PROTOBUF_BYTES) < 0)
			return -1;
		piece->text = tokenizer_copy(m->arena, f->bytes);
		return piece->text.data ? 0 : -1;
	case 2:
		if (protobuf_want(c, f, PROTOBUF_FIXED32) < 0)
			return -1;
		piece->score = (double)protobuf_float(f);
		return 0;
	case 3:
		if (protobuf_want(c, f, PROTOBUF_VARINT) < 0)
			return -1;
		piece->type = f->value > SPM_BYTE ? 0 : (enum spm_type)f->value;
		return 0;
	default: return 0;
	}
}

static int take_trainer(struct model *m, struct cursor *c, const struct protobuf_field *f)
{
	switch (f->number) {
	case 3: m->type = f->value; return protobuf_want(c, f, PROTOBUF_VARINT);
	case 24: return want_bool(c, f, &m->source.whitespace_as_suffix);
	case 35: return want_bool(c, f, &m->source.byte_fallback);
	case 41: return want_id(c, f, &m->bos);
	case 42: return want_id(c, f, &m->eos);
	case 43: return want_id(c, f, &m->pad);
	default: return 0;
	}
}

static int take_normalizer(struct model *m, struct cursor *c, const struct protobuf_field *f)
{
	switch (f->number) {
	case 2:
		if (protobuf_want(c, f, PROTOBUF_BYTES) < 0)
			return -1;
		m->source.charsmap = tokenizer_copy(m->arena, f->bytes);
		return m->source.charsmap.data ? 0 : -1;
	case 3: return want_bool(c, f, &m->source.add_dummy_prefix);
	case 4: return want_bool(c, f, &m->source.remove_extra_whitespaces);
	case 5: return want_bool(c, f, &m->source.escape_whitespaces);
	default: return 0;
	}
}

static int take_denormalizer(struct model *m, struct cursor *c, const struct protobuf_field *f)
{
	m->denormalizes |= f->number == 2 && f->bytes.size > 0;
	return 0;
}

static int add_piece(struct model *m, struct bytes message)
{
	if (mem_grow(&m->pieces, &m->capacity, m->source.n + 1, sizeof(*m->pieces)) < 0)
		return -1;
	m->pieces[m->source.n] = (struct spm_piece){ .text = { "", 0 }, .type = SPM_NORMAL };
	if (each_field(m, message, "piece", take_piece) < 0)
		return -1;
	m->source.n++;
	return 0;
}

static int take_part(struct model *m, struct cursor *c, const struct protobuf_field *f)
{
	if (f->number < 1 || f->number > 5)
		return 0;
	if (protobuf_want(c, f, PROTOBUF_BYTES) < 0)
		return -1;
	switch (f->number) {
	case 1: return add_piece(m, f->bytes);
	case 2: return each_field(m, f->bytes, "trainer_spec", take_trainer);
	case 3: return each_field(m, f->bytes, "normalizer_spec", take_normalizer);
	case 5: return each_field(m, f->bytes, "denormalizer_spec", take_denormalizer);
	default: return 0;
	}
}

static int check(struct model *m)
{
	static const char *const types[] = { "0", "UNIGRAM", "BPE", "WORD", "CHAR" };

	if (!m->source.n)
		return err_set(ERR_FORMAT, "%s: a SentencePiece model without pieces",
			       m->source.file);
	if (m->type != 1 && m->type != 2)
		return err_set(ERR_UNSUPPORTED, "%s: trainer_spec.model_type: %s is not handled",
			       m->source.file, m->type < 5 ? types[m->type] : "unknown");
	if (m->denormalizes)
		return err_set(ERR_UNSUPPORTED,
			       "%s: denormalizer_spec.precompiled_charsmap is not handled",
			       m->source.file);
	return 0;
}

/* A role that the file names counts when such a control piece is there. */
static uint32_t role(const struct model *m, int32_t id)
{
	return id >= 0 && (size_t)id < m->source.n && m->pieces[id].type == SPM_CONTROL
		       ? (uint32_t)id
		       : TOKEN_NONE;
}

static int build(struct tokenizer_spec *out, struct model *m)
{
	if (check(m) < 0)
		return -1;
	m->source.kind = m->type == 1 ? MODEL_UNIGRAM : MODEL_BPE;
	m->source.pieces = m->pieces;
	if (tokenizer_spm_build(out, m->arena, &m->source) < 0)
		return -1;
	if (out->model.unk == TOKEN_NONE)
		return err_set(ERR_FORMAT, "%s: no piece is of the type UNKNOWN", m->source.file);
	out->unk = out->model.unk;
	out->bos = role(m, m->bos);
	out->eos = role(m, m->eos);
	out->pad = role(m, m->pad);
	return 0;
}

int tokenizer_sentencepiece_parse(struct tokenizer_spec *out, struct arena *arena,
				  struct bytes data, const char *name)
{
	/* The defaults of sentencepiece_model.proto. */
	struct model m = { .source = { .file = name,
				       .add_dummy_prefix = true,
				       .remove_extra_whitespaces = true,
				       .escape_whitespaces = true },
			   .arena = arena,
			   .type = 1,
			   .bos = 1,
			   .eos = 2,
			   .pad = -1 };
	int result;

	result = each_field(&m, data, "model", take_part) < 0 ? -1 : build(out, &m);
	free(m.pieces);
	return result;
}
