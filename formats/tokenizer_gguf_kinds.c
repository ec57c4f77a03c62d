/* formats/tokenizer_gguf_kinds.c - the kinds of vocabularies in a GGUF: gpt2, llama and t5, bert */

#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_gguf_marks.h"
#include "formats/tokenizer_gguf_parts.h"
#include "formats/tokenizer_gguf_pre.h"
#include "formats/tokenizer_wordpiece.h"
#include "lib/base/err.h"

#define KEY "tokenizer.ggml."

/* --- gpt2 --- */

/* Left and right with a space between; the left side may itself begin with one. */
static int add_merge(struct tokenizer_pieces *p, struct bytes line)
{
	const char *space = line.size > 1 ? memchr(line.data + 1, ' ', line.size - 1) : NULL;
	size_t left = space ? (size_t)(space - line.data) : 0;

	if (!space)
		return tokenizer_pieces_merge_line(p, line, 0);
	return tokenizer_pieces_merge(p, (struct bytes){ line.data, left },
				      (struct bytes){ space + 1, line.size - left - 1 }, 0);
}

static int add_merges(struct tokenizer_pieces *p, const struct gguf_vocab *v)
{
	struct gguf_value array, item;
	struct gguf_items it;
	int got = gguf_get_array(v->g, KEY "merges", GGUF_STRING, &array);

	if (got <= 0)
		return got < 0 ? -1
			       : err_set(ERR_MISSING, "%s: key " KEY "merges is missing", v->file);
	if (tokenizer_pieces_reserve(p, v->n, (size_t)array.n) < 0)
		return -1;
	gguf_items(&it, &array);
	while (gguf_items_next(&it, &item))
		if (add_merge(p, gguf_value_string(&item)) < 0)
			return -1;
	return 0;
}

/* The pieces, and the merges of what has them, as the model of OUT. */
static int vocab_model(struct tokenizer_spec *out, const struct gguf_vocab *v, bool merges)
{
	struct tokenizer_pieces p;
	int result = -1;

	if (tokenizer_pieces_new(&p, v->arena, v->file) < 0)
		return -1;
	if (tokenizer_pieces_reserve(&p, v->n, 0) < 0)
		goto out;
	for (size_t i = 0; i < v->n; i++)
		if (v->pieces[i].type != SPM_GAP &&
		    tokenizer_pieces_add(&p, v->pieces[i].text, i, 0) < 0)
			goto out;
	/* llama.cpp keeps the first of two equal merges. */
	if (!merges || add_merges(&p, v) == 0)
		result = tokenizer_pieces_finish(&p, &out->model, false);
out:
	tokenizer_pieces_free(&p);
	return result;
}

int gguf_vocab_gpt2(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles)
{
	struct decoder_spec *decoder = arena_alloc(v->arena, 1, sizeof(*decoder));
	struct gguf_pre flags;
	struct bytes pre;
	int got = gguf_get_string(v->g, KEY "pre", &pre);

	if (got < 0 || !decoder)
		return -1;
	if (!got)
		return err_set(ERR_MISSING,
			       "%s: key " KEY "pre is missing: the split pattern is not known",
			       v->file);
	if (gguf_pre_find(&out->pretokenizers, &out->n_pretokenizers, &flags, v->arena, pre,
			  v->file) < 0)
		return -1;
	out->model = (struct model_spec){ .kind = MODEL_BPE,
					  .unk = TOKEN_NONE,
					  .ignore_merges = flags.ignore_merges,
					  .max_word_chars = 100 };
	roles->add_bos = flags.add_bos;
	roles->add_sep = flags.add_sep;
	decoder->kind = DECODER_BYTE_LEVEL;
	out->decoders = decoder;
	out->n_decoders = 1;
	return vocab_model(out, v, true) < 0 ? -1 : gguf_vocab_added(out, v);
}

/* --- llama and t5 --- */

static int read_charsmap(const struct gguf_vocab *v, struct bytes *out)
{
	const char *key = KEY "precompiled_charsmap";
	const struct gguf_value *value = gguf_get(v->g, key);
	enum gguf_type type = value && value->item_type == GGUF_I8 ? GGUF_I8 : GGUF_U8;
	struct gguf_value array;
	int got = gguf_get_array(v->g, key, type, &array);

	if (got <= 0)
		return got;
	*out = tokenizer_copy(v->arena, array.raw);
	return out->data ? 0 : -1;
}

/* Every <0xNN> is there, as a piece of the type BYTE. */
static bool has_bytes(const struct gguf_vocab *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += v->pieces[i].type == SPM_BYTE;
	return n == 256;
}

/* Files without types (before 2023-10) say nothing of what is control: they are not guessed at. */
static int check_arrays(const struct gguf_vocab *v)
{
	if (!v->has_types || !v->has_scores)
		return err_set(ERR_MISSING, "%s: key " KEY "%s is missing", v->file,
			       v->has_types ? "scores" : "token_type");
	return 0;
}

/* Where no piece has the type UNKNOWN, a key may say which it is. */
static int name_unknown(struct gguf_vocab *v)
{
	uint32_t unk = TOKEN_NONE;

	for (size_t i = 0; i < v->n; i++)
		if (v->pieces[i].type == SPM_UNKNOWN)
			return 0;
	if (gguf_vocab_id(v, KEY "unknown_token_id", &unk) < 0)
		return -1;
	if (unk != TOKEN_NONE)
		v->pieces[unk].type = SPM_UNKNOWN;
	return 0;
}

int gguf_vocab_spm(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles,
		   enum model_kind_text kind)
{
	struct spm_source s = { .file = v->file,
				.pieces = v->pieces,
				.n = v->n,
				.kind = kind,
				.byte_fallback = has_bytes(v),
				.add_dummy_prefix = kind == MODEL_BPE,
				.escape_whitespaces = true };

	if (check_arrays(v) < 0 || read_charsmap(v, &s.charsmap) < 0 ||
	    gguf_get_bool(v->g, KEY "add_space_prefix", &s.add_dummy_prefix) < 0 ||
	    gguf_get_bool(v->g, KEY "remove_extra_whitespaces", &s.remove_extra_whitespaces) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (v->pieces[i].type == SPM_USER_DEFINED &&
		    gguf_escape_spaces(v->arena, &v->pieces[i].text) < 0)
			return -1;
	roles->bos = kind == MODEL_BPE ? 1 : TOKEN_NONE;
	roles->eos = kind == MODEL_BPE ? 2 : 1;
	roles->pad = kind == MODEL_BPE ? TOKEN_NONE : 0;
	roles->unk = kind == MODEL_BPE ? 0 : 2;
	roles->add_bos = kind == MODEL_BPE;
	roles->add_eos = kind == MODEL_UNIGRAM;
	if (name_unknown(v) < 0 || tokenizer_spm_build(out, v->arena, &s) < 0)
		return -1;
	if (out->model.unk != TOKEN_NONE)
		roles->unk = out->model.unk;
	return 0;
}

/* --- bert --- */

static int bert_pieces(struct tokenizer_spec *out, struct gguf_vocab *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->pieces[i].type != SPM_GAP &&
		    gguf_unmark(v->arena, v->pieces[i].type, &v->pieces[i].text) < 0)
			return -1;
	return vocab_model(out, v, false);
}

int gguf_vocab_bert(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles)
{
	struct wordpiece_options options = {
		.lowercase = true, .cls = TOKEN_NONE, .sep = TOKEN_NONE, .unk = TOKEN_NONE
	};
	bool strip = true;
	int got;

	if (gguf_get_bool(v->g, KEY "normalizer.lowercase", &options.lowercase) < 0)
		return -1;
	got = gguf_get_bool(v->g, KEY "normalizer.strip_accents", &strip);
	if (got < 0)
		return -1;
	options.strip_accents = !got ? STATE_NULL : strip ? STATE_TRUE : STATE_FALSE;
	if (gguf_vocab_id(v, KEY "bos_token_id", &options.cls) < 0 ||
	    gguf_vocab_id(v, KEY "cls_token_id", &options.cls) < 0 ||
	    gguf_vocab_id(v, KEY "seperator_token_id", &options.sep) < 0 ||
	    gguf_vocab_id(v, KEY "unknown_token_id", &options.unk) < 0)
		return -1;
	return bert_pieces(out, v) < 0 || gguf_vocab_added(out, v) < 0
		       ? -1
		       : wordpiece_assemble(out, v->arena, v->file, &options);
}
