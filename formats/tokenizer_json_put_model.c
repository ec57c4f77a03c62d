/*
 * formats/tokenizer_json_put_model.c - the model into a tokenizer.json
 *
 * `tokenizers` gives an added token that is no piece the next id after the vocabulary. So one whose id lies
 * elsewhere is written as a piece as well: where a control token of SentencePiece stood, the vocabulary is
 * whole again.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/tokenizer_json_put.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

struct pieces {
	struct piece_spec *items; /* by id */
	size_t n;
};

static int compare_ids(const void *a, const void *b)
{
	const struct piece_spec *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool has_piece(const struct model_spec *m, uint32_t id)
{
	struct piece_spec key = { .id = id };

	return m->n_pieces &&
	       bsearch(&key, m->pieces, m->n_pieces, sizeof(key), compare_ids) != NULL;
}

/* Appends the added tokens that are no pieces. */
static void append(struct pieces *out, const struct tokenizer_spec *spec)
{
	for (size_t i = 0; i < spec->n_added; i++) {
		const struct added_spec *a = &spec->added[i];

		if (!has_piece(&spec->model, a->id))
			out->items[out->n++] = (struct piece_spec){ .text = a->text, .id = a->id };
	}
}

/* Whether the added tokens that are no pieces get their ids by themselves, one after the other. */
static bool count_on(const struct tokenizer_spec *spec)
{
	size_t size = spec->model.n_pieces, end = 0;

	for (size_t i = 0; i < spec->n_added; i++) {
		uint32_t id = spec->added[i].id;

		if (!has_piece(&spec->model, id) && id != (end > size ? end : size))
			return false;
		end = (size_t)id + 1;
	}
	return true;
}

static int whole_vocabulary(struct pieces *out, const struct tokenizer_spec *spec)
{
	const struct model_spec *m = &spec->model;

	out->items = mem_new(m->n_pieces + spec->n_added + 1, sizeof(*out->items));
	if (!out->items)
		return -1;
	if (m->n_pieces)
		memcpy(out->items, m->pieces, m->n_pieces * sizeof(*m->pieces));
	out->n = m->n_pieces;
	if (!count_on(spec))
		append(out, spec);
	qsort(out->items, out->n, sizeof(*out->items), compare_ids);
	return 0;
}

static void put_vocab(struct json_pretty *w, const struct pieces *p)
{
	pretty_key(w, bytes_of("vocab"));
	pretty_open(w, '{');
	for (size_t i = 0; i < p->n; i++) {
		pretty_key(w, p->items[i].text);
		json_put_u64(w->out, p->items[i].id);
	}
	pretty_close(w, '}');
}

static int put_scores(struct json_pretty *w, const struct pieces *p)
{
	pretty_key(w, bytes_of("vocab"));
	pretty_open(w, '[');
	for (size_t i = 0; i < p->n; i++) {
		if (p->items[i].id != i)
			return err_set(
				ERR_UNSUPPORTED,
				"tokenizer.json: a Unigram vocabulary has no piece of id %zu", i);
		pretty_next(w);
		pretty_open(w, '[');
		pretty_next(w);
		json_put_string(w->out, p->items[i].text);
		pretty_next(w);
		pretty_real(w, p->items[i].score);
		pretty_close(w, ']');
	}
	pretty_close(w, ']');
	return 0;
}

static const struct piece_spec *find_piece(const struct pieces *p, uint32_t id)
{
	struct piece_spec key = { .id = id };

	return bsearch(&key, p->items, p->n, sizeof(key), compare_ids);
}

static int put_merges(struct json_pretty *w, const struct model_spec *m, const struct pieces *p)
{
	pretty_key(w, bytes_of("merges"));
	pretty_open(w, '[');
	for (size_t i = 0; i < m->n_merges; i++) {
		const struct piece_spec *left = find_piece(p, m->merges[i].left);
		const struct piece_spec *right = find_piece(p, m->merges[i].right);

		if (!left || !right)
			return err_set(ERR_UNSUPPORTED,
				       "tokenizer.json: merge %zu names an id that has no piece",
				       i);
		pretty_next(w);
		pretty_open(w, '[');
		pretty_next(w);
		json_put_string(w->out, left->text);
		pretty_next(w);
		json_put_string(w->out, right->text);
		pretty_close(w, ']');
	}
	pretty_close(w, ']');
	return 0;
}

static int put_bpe(struct json_pretty *w, const struct model_spec *m, const struct pieces *p)
{
	if ((float)m->dropout > 0) {
		pretty_key(w, bytes_of("dropout"));
		pretty_real32(w, (float)m->dropout); /* an f32 there */
	} else {
		pretty_null(w, "dropout");
	}
	pretty_text(w, "unk_token", m->has_unk_text ? m->unk_text : (struct bytes){ 0 });
	pretty_text(w, "continuing_subword_prefix", m->continuing_prefix);
	pretty_text(w, "end_of_word_suffix", m->end_of_word_suffix);
	pretty_bool(w, "fuse_unk", m->fuse_unk);
	pretty_bool(w, "byte_fallback", m->byte_fallback);
	pretty_bool(w, "ignore_merges", m->ignore_merges);
	put_vocab(w, p);
	return put_merges(w, m, p);
}

static int put_unigram(struct json_pretty *w, const struct model_spec *m, const struct pieces *p)
{
	if (m->unk == TOKEN_NONE)
		pretty_null(w, "unk_id");
	else
		pretty_u32(w, "unk_id", m->unk);
	if (put_scores(w, p) < 0)
		return -1;
	pretty_bool(w, "byte_fallback", m->byte_fallback);
	return 0;
}

static int put_words(struct json_pretty *w, const struct model_spec *m, const struct pieces *p)
{
	if (m->kind == MODEL_WORDLEVEL) {
		put_vocab(w, p);
		pretty_text(w, "unk_token", m->unk_text);
		return 0;
	}
	pretty_text(w, "unk_token", m->unk_text);
	pretty_text(w, "continuing_subword_prefix", m->continuing_prefix);
	pretty_u32(w, "max_input_chars_per_word", m->max_word_chars);
	put_vocab(w, p);
	return 0;
}

int tokenizer_put_model(struct json_pretty *w, const struct tokenizer_spec *spec)
{
	static const char *const types[] = { "BPE", "Unigram", "WordPiece", "WordLevel" };
	const struct model_spec *m = &spec->model;
	struct pieces pieces = { 0 };
	int result;

	if (whole_vocabulary(&pieces, spec) < 0)
		return -1;
	pretty_key(w, bytes_of("model"));
	pretty_type(w, types[m->kind]);
	if (m->kind == MODEL_BPE)
		result = put_bpe(w, m, &pieces);
	else
		result = m->kind == MODEL_UNIGRAM ? put_unigram(w, m, &pieces)
						  : put_words(w, m, &pieces);
	pretty_close(w, '}');
	free(pieces.items);
	return result;
}
