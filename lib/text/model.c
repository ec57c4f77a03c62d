/* lib/text/model.c - the models: a piece of text into tokens */
#include "lib/text/model.h"

#include "lib/text/model_parts.h"

static const struct model_parts *find_parts(const struct model_spec *spec)
{
	switch (spec->kind) {
	case MODEL_BPE: return spec->sentencepiece ? &model_bpe_spm : &model_bpe;
	case MODEL_UNIGRAM: return spec->sentencepiece ? &model_unigram_spm : &model_unigram;
	case MODEL_WORDPIECE: return &model_wordpiece;
	case MODEL_WORDLEVEL: return &model_wordlevel;
	}
	return NULL;
}

int text_model_new(struct text_model **out, const struct model_spec *spec, bool byte_level)
{
	struct text_model *m = mem_new(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return -1;
	m->parts = find_parts(spec);
	m->spec = *spec;
	m->byte_level = byte_level;
	if (!m->parts) {
		err_set(ERR_UNSUPPORTED, "model kind %d", (int)spec->kind);
		goto fail;
	}
	if (vocabulary_init(&m->vocabulary, spec, byte_level) < 0 || m->parts->load(m) < 0)
		goto fail;
	*out = m;
	return 0;
fail:
	text_model_free(m);
	return -1;
}

void text_model_free(struct text_model *m)
{
	if (!m)
		return;
	if (m->parts)
		m->parts->unload(m->own);
	vocabulary_clear(&m->vocabulary);
	free(m);
}

int model_scratch_new(struct model_scratch **out, const struct text_model *m)
{
	struct model_scratch *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->model = m;
	if (m->parts->scratch_new && m->parts->scratch_new(&s->own, m) < 0) {
		model_scratch_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void model_scratch_free(struct model_scratch *s)
{
	if (!s)
		return;
	if (s->model->parts->scratch_free)
		s->model->parts->scratch_free(s->own);
	free(s->tokens.items);
	free(s);
}

/* Tokens say where they are in 32 bits. */
static int too_long(struct bytes piece)
{
	return err_set(ERR_LIMIT, "a piece of %zu bytes: at most %u are read as one", piece.size,
		       UINT32_MAX);
}

int text_model_encode(const struct text_model *m, struct model_scratch *s, struct bytes piece,
		      struct model_tokens *out)
{
	if (piece.size >= UINT32_MAX)
		return too_long(piece);
	return m->parts->encode(m, s->own, piece, out);
}

int text_model_encode_from(const struct text_model *m, struct model_scratch *s, struct bytes piece,
			   size_t *at, struct model_tokens *out)
{
	if (piece.size >= UINT32_MAX)
		return too_long(piece);
	if (m->parts->encode_from)
		return m->parts->encode_from(m, s->own, piece, at, out);
	*at = piece.size;
	return m->parts->encode(m, s->own, piece, out);
}

static int encode_ids(const struct text_model *m, struct model_scratch *s, struct bytes text,
		      const struct piece *pieces, size_t n, struct model_ids *out, size_t *done)
{
	for (*done = 0; *done < n; ++*done) {
		struct piece p = pieces[*done];

		s->tokens.n = 0;
		if (text_model_encode(m, s, (struct bytes){ text.data + p.from, p.to - p.from },
				      &s->tokens) < 0 ||
		    model_ids_put(out, &s->tokens) < 0)
			return -1;
	}
	return 0;
}

int text_model_encode_ids(const struct text_model *m, struct model_scratch *s, struct bytes text,
			  const struct piece *pieces, size_t n, struct model_ids *out, size_t *done)
{
	if (m->parts->encode_ids && text.size < UINT32_MAX)
		return m->parts->encode_ids(m, s->own, text, pieces, n, out, done);
	return encode_ids(m, s, text, pieces, n, out, done);
}

int text_model_sample(const struct text_model *m, struct model_scratch *s, struct bytes piece,
		      const struct model_sampling *how, struct model_tokens *out)
{
	if (piece.size >= UINT32_MAX)
		return too_long(piece);
	if (!m->parts->sample)
		return m->parts->encode(m, s->own, piece, out);
	return m->parts->sample(m, s->own, piece, how, out);
}

struct bytes text_model_piece(const struct text_model *m, uint32_t id)
{
	const struct vocabulary_piece *p = vocabulary_at(&m->vocabulary, id);

	return p ? (struct bytes){ p->data, p->size } : (struct bytes){ "", 0 };
}

uint32_t text_model_id(const struct text_model *m, struct bytes piece)
{
	return vocabulary_find(&m->vocabulary, piece.data, piece.size);
}

const struct merge_spec *text_model_merges(const struct text_model *m, size_t *n)
{
	*n = m->spec.kind == MODEL_BPE ? m->spec.n_merges : 0;
	return m->spec.merges;
}

uint32_t text_model_size(const struct text_model *m)
{
	return m->vocabulary.size;
}

uint64_t model_scratch_dropped(const struct model_scratch *s)
{
	return s->model->parts->dropped ? s->model->parts->dropped(s->own) : 0;
}
