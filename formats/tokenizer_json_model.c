/* formats/tokenizer_json_model.c - the model of a tokenizer.json */

#include <stdlib.h>

#include "formats/tokenizer_json_parts.h"
#include "formats/tokenizer_json_vocab.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

/* A text that may be absent or null: then *OUT has no data. */
static int optional_text(struct tokenizer_json *p, const cJSON *at, const char *key,
			 struct bytes *out)
{
	const char *text;
	int got = json_tree_string(p->tree, at, key, &text);

	if (got <= 0)
		return got;
	*out = tokenizer_copy(p->arena, bytes_of(text));
	return out->data ? 0 : -1;
}

static int read_bpe(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct model_spec *m = spec;

	if (optional_text(p, at, "unk_token", &m->unk_text) < 0 ||
	    optional_text(p, at, "continuing_subword_prefix", &m->continuing_prefix) < 0 ||
	    optional_text(p, at, "end_of_word_suffix", &m->end_of_word_suffix) < 0 ||
	    json_tree_f64(p->tree, at, "dropout", &m->dropout) < 0 ||
	    json_tree_bool(p->tree, at, "fuse_unk", &m->fuse_unk) < 0 ||
	    json_tree_bool(p->tree, at, "byte_fallback", &m->byte_fallback) < 0 ||
	    json_tree_bool(p->tree, at, "ignore_merges", &m->ignore_merges) < 0)
		return -1;
	if (!(m->dropout >= 0 && m->dropout <= 1))
		return json_tree_fail(p->tree, json_tree_find(p->tree, at, "dropout"), ERR_FORMAT,
				      "is not between 0 and 1");
	m->has_unk_text = m->unk_text.data != NULL;
	return 0;
}

static int read_unigram(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct model_spec *m = spec;
	const cJSON *unk = json_tree_find(p->tree, at, "unk_id");

	if (unk && !cJSON_IsNull(unk) && tokenizer_json_u32(p, at, "unk_id", &m->unk) < 0)
		return -1;
	return json_tree_bool(p->tree, at, "byte_fallback", &m->byte_fallback) < 0 ? -1 : 0;
}

static int read_wordlevel(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct model_spec *m = spec;

	m->has_unk_text = true;
	return tokenizer_json_text(p, at, "unk_token", &m->unk_text);
}

static int read_wordpiece(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct model_spec *m = spec;

	return read_wordlevel(p, at, spec) < 0 ||
			       tokenizer_json_text(p, at, "continuing_subword_prefix",
						   &m->continuing_prefix) < 0
		       ? -1
		       : tokenizer_json_u32(p, at, "max_input_chars_per_word", &m->max_word_chars);
}

static const char *const bpe_fields[] = { "dropout",	   "unk_token",
					  "fuse_unk",	   "continuing_subword_prefix",
					  "byte_fallback", "end_of_word_suffix",
					  "ignore_merges", NULL };
static const char *const unigram_fields[] = { "unk_id", "byte_fallback", NULL };
static const char *const wordpiece_fields[] = { "unk_token", "continuing_subword_prefix",
						"max_input_chars_per_word", NULL };
static const char *const wordlevel_fields[] = { "unk_token", NULL };

static const struct json_part table[] = {
	{ "BPE", MODEL_BPE, bpe_fields, read_bpe },
	{ "Unigram", MODEL_UNIGRAM, unigram_fields, read_unigram },
	{ "WordPiece", MODEL_WORDPIECE, wordpiece_fields, read_wordpiece },
	{ "WordLevel", MODEL_WORDLEVEL, wordlevel_fields, read_wordlevel },
};

/* Files of tokenizers before 0.9 give no type: the fields that they have tell it. */
static const struct json_part *untyped(struct tokenizer_json *p, const cJSON *at)
{
	size_t which = MODEL_WORDLEVEL;

	if (p->merges.size)
		which = MODEL_BPE;
	else if (p->vocab.size && *p->vocab.data == '[')
		which = MODEL_UNIGRAM;
	else if (json_tree_find(p->tree, at, "max_input_chars_per_word"))
		which = MODEL_WORDPIECE;
	return tokenizer_json_fields(p, at, table[which].fields) < 0 ? NULL : &table[which];
}

static size_t characters(struct bytes text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.size; i++)
		n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
	return n;
}

static int read_vocab(struct tokenizer_json *p, struct tokenizer_pieces *pieces,
		      const struct model_spec *m)
{
	char *vocab = mem_format("%s: model.vocab", p->file);
	char *merges = mem_format("%s: model.merges", p->file);
	int result = -1;

	if (!vocab || !merges)
		goto out;
	if (m->kind == MODEL_UNIGRAM)
		result = tokenizer_vocab_scores(pieces, p->vocab, vocab);
	else
		result = tokenizer_vocab_object(pieces, p->vocab, vocab);
	/* tokenizers counts the prefix in characters and cuts bytes. */
	if (result == 0 && m->kind == MODEL_BPE)
		result = tokenizer_vocab_merges(pieces, p->merges, merges,
						characters(m->continuing_prefix));
out:
	free(vocab);
	free(merges);
	return result;
}

static int find_unk(struct tokenizer_json *p, const struct tokenizer_pieces *pieces,
		    struct model_spec *m)
{
	if (m->kind != MODEL_UNIGRAM)
		m->unk = m->has_unk_text ? tokenizer_pieces_find(pieces, m->unk_text) : TOKEN_NONE;
	else if (m->unk != TOKEN_NONE && m->unk >= pieces->n)
		return err_set(ERR_FORMAT, "%s: model.unk_id: %u is past the vocabulary of %zu",
			       p->file, m->unk, pieces->n);
	return 0;
}

static int read_pieces(struct tokenizer_json *p, struct model_spec *m)
{
	struct tokenizer_pieces pieces;
	int result = -1;

	if (!p->vocab.size || (m->kind == MODEL_BPE && !p->merges.size))
		return err_set(ERR_MISSING, "%s: key model.%s: is missing", p->file,
			       p->vocab.size ? "merges" : "vocab");
	if (m->kind != MODEL_BPE && p->merges.size)
		return err_set(ERR_UNSUPPORTED, "%s: key model.merges: unknown field", p->file);
	if (tokenizer_pieces_new(&pieces, p->arena, p->file) < 0)
		return -1;
	if (read_vocab(p, &pieces, m) == 0 && find_unk(p, &pieces, m) == 0)
		result = tokenizer_pieces_finish(&pieces, m, true);
	tokenizer_pieces_free(&pieces);
	return result;
}

int tokenizer_json_model(struct tokenizer_json *p)
{
	struct model_spec *m = &p->out->model;
	const struct json_part *part;
	const cJSON *at;
	int got = json_tree_object(p->tree, NULL, "model", &at);

	if (got <= 0)
		return got < 0 ? -1 : json_tree_missing(p->tree, NULL, "model");
	part = json_tree_find(p->tree, at, "type")
		       ? tokenizer_json_part(p, at, table, sizeof(table) / sizeof(table[0]))
		       : untyped(p, at);
	if (!part)
		return -1;
	*m = (struct model_spec){ .kind = (enum model_kind_text)part->kind,
				  .unk = TOKEN_NONE,
				  .max_word_chars = 100 };
	return part->read(p, at, m) < 0 ? -1 : read_pieces(p, m);
}
