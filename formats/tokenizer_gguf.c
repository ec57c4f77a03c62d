/*
 * formats/tokenizer_gguf.c - the tokenizer in a GGUF's metadata
 *
 * The keys of ggml's specification (docs/gguf.md, tokenizer.ggml.*); what a kind implies is llama.cpp's
 * (src/llama-vocab.cpp).
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/tokenizer_file.h"
#include "formats/tokenizer_gguf_parts.h"
#include "formats/tokenizer_gguf_plan.h"
#include "formats/tokenizer_json.h"
#include "lib/base/err.h"

#define KEY "tokenizer.ggml."

/* --- pieces --- */

/* An empty piece is given the name that llama.cpp gives it, since texts are unique. */
static int read_text(struct gguf_vocab *v, size_t i, struct bytes raw)
{
	char name[40];

	if (!raw.size)
		raw = (struct bytes){ name,
				      (size_t)snprintf(name, sizeof(name), "[EMPTY_%zu]", i) };
	v->pieces[i].text = tokenizer_copy(v->arena, raw);
	v->pieces[i].type = SPM_NORMAL;
	return v->pieces[i].text.data ? 0 : -1;
}

static int read_texts(struct gguf_vocab *v)
{
	struct gguf_value array, item;
	struct gguf_items it;
	int got = gguf_get_array(v->g, KEY "tokens", GGUF_STRING, &array);

	if (got <= 0)
		return got < 0 ? -1
			       : err_set(ERR_MISSING, "%s: key " KEY "tokens is missing", v->file);
	if (array.n > TOKENIZER_ID_MAX)
		return err_set(ERR_LIMIT, "%s: key " KEY "tokens: %" PRIu64 " pieces", v->file,
			       array.n);
	v->n = (size_t)array.n;
	v->pieces = arena_alloc(v->arena, v->n ? v->n : 1, sizeof(*v->pieces));
	if (!v->pieces)
		return -1;
	gguf_items(&it, &array);
	for (size_t i = 0; gguf_items_next(&it, &item); i++)
		if (read_text(v, i, gguf_value_string(&item)) < 0)
			return -1;
	return 0;
}

/* An array of V->n items under KEY: 1, 0 when it is not there. */
static int beside(const struct gguf_vocab *v, const char *key, enum gguf_type type,
		  struct gguf_value *array)
{
	int got = gguf_get_array(v->g, key, type, array);

	if (got > 0 && array->n != v->n)
		return err_set(ERR_FORMAT, "%s: key %s: %" PRIu64 " items for %zu pieces", v->file,
			       key, array->n, v->n);
	return got;
}

static int read_scores(struct gguf_vocab *v)
{
	struct gguf_value array, item;
	struct gguf_items it;
	int got = beside(v, KEY "scores", GGUF_F32, &array);

	if (got <= 0)
		return got;
	gguf_items(&it, &array);
	for (size_t i = 0; gguf_items_next(&it, &item); i++)
		v->pieces[i].score = gguf_value_f64(&item);
	v->has_scores = true;
	return 0;
}

static int read_types(struct gguf_vocab *v)
{
	struct gguf_value array, item;
	struct gguf_items it;
	int got = beside(v, KEY "token_type", GGUF_I32, &array);

	if (got <= 0)
		return got;
	gguf_items(&it, &array);
	for (size_t i = 0; gguf_items_next(&it, &item); i++) {
		int64_t type = gguf_value_i64(&item);

		if (type < SPM_NORMAL || type > SPM_BYTE)
			return err_set(ERR_UNSUPPORTED,
				       "%s: key " KEY "token_type: item %zu: unknown type %" PRId64,
				       v->file, i, type);
		v->pieces[i].type = (enum spm_type)type;
		if (type == SPM_UNUSED && gguf_is_gap(v->pieces[i].text, i))
			v->pieces[i].type = SPM_GAP;
	}
	v->has_types = true;
	return 0;
}

/* --- roles --- */

int gguf_vocab_id(const struct gguf_vocab *v, const char *key, uint32_t *out)
{
	uint64_t id;
	int got = gguf_get_u64(v->g, key, &id);

	if (got <= 0)
		return got;
	if (id >= v->n)
		return err_set(ERR_FORMAT, "%s: key %s: %" PRIu64 " is past the %zu pieces",
			       v->file, key, id, v->n);
	*out = (uint32_t)id;
	return 1;
}

/* A default counts when such a piece is there. */
static uint32_t usable(const struct gguf_vocab *v, uint32_t id, enum spm_type type)
{
	return id < v->n && (!v->has_types || v->pieces[id].type == type) ? id : TOKEN_NONE;
}

/* roberta and its kin: a separator at the end, which is their end of text. */
static int read_separator(struct tokenizer_spec *out, const struct gguf_vocab *v,
			  const struct gguf_roles *roles)
{
	bool add = roles->add_sep;
	uint32_t sep = TOKEN_NONE;

	if (gguf_get_bool(v->g, KEY "add_sep_token", &add) < 0 ||
	    gguf_vocab_id(v, KEY "seperator_token_id", &sep) < 0)
		return -1;
	if (!add || out->n_posts)
		return 0;
	if (sep == TOKEN_NONE || (out->eos != TOKEN_NONE && out->eos != sep))
		return err_set(ERR_UNSUPPORTED,
			       "%s: key " KEY
			       "add_sep_token: a separator that is not the end of text",
			       v->file);
	out->eos = sep;
	out->add_eos = true;
	return 0;
}

static int read_roles(struct tokenizer_spec *out, const struct gguf_vocab *v,
		      const struct gguf_roles *roles)
{
	out->bos = usable(v, roles->bos, SPM_CONTROL);
	out->eos = usable(v, roles->eos, SPM_CONTROL);
	out->pad = usable(v, roles->pad, SPM_CONTROL);
	out->unk = usable(v, roles->unk, SPM_UNKNOWN);
	if (gguf_vocab_id(v, KEY "bos_token_id", &out->bos) < 0 ||
	    gguf_vocab_id(v, KEY "eos_token_id", &out->eos) < 0 ||
	    gguf_vocab_id(v, KEY "padding_token_id", &out->pad) < 0 ||
	    gguf_vocab_id(v, KEY "unknown_token_id", &out->unk) < 0)
		return -1;
	out->add_bos = roles->add_bos;
	out->add_eos = roles->add_eos;
	if (gguf_get_bool(v->g, KEY "add_bos_token", &out->add_bos) < 0 ||
	    gguf_get_bool(v->g, KEY "add_eos_token", &out->add_eos) < 0 ||
	    read_separator(out, v, roles) < 0)
		return -1;
	/* No such token: none is added. A post-processor adds its own. */
	out->add_bos &= out->bos != TOKEN_NONE && !out->n_posts;
	out->add_eos &= out->eos != TOKEN_NONE && !out->n_posts;
	return 0;
}

static int read_template(struct tokenizer_spec *out, const struct gguf_vocab *v)
{
	struct bytes text;
	int got = gguf_get_string(v->g, "tokenizer.chat_template", &text);

	if (got <= 0)
		return got;
	out->chat_template = tokenizer_copy(v->arena, text);
	return out->chat_template.data ? 0 : -1;
}

/* --- added tokens --- */

static bool is_added(enum spm_type type)
{
	return type == SPM_CONTROL || type == SPM_UNKNOWN || type == SPM_USER_DEFINED;
}

int gguf_vocab_added(struct tokenizer_spec *out, const struct gguf_vocab *v)
{
	struct added_spec *list;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += is_added(v->pieces[i].type);
	list = arena_alloc(v->arena, n ? n : 1, sizeof(*list));
	if (!list)
		return -1;
	out->added = list;
	out->n_added = n;
	for (size_t i = 0; i < v->n; i++)
		if (is_added(v->pieces[i].type))
			*list++ = (struct added_spec){
				.id = (uint32_t)i,
				.text = v->pieces[i].text,
				.special = v->pieces[i].type != SPM_USER_DEFINED,
			};
	return 0;
}

/* --- the whole --- */

static int read_kind(struct tokenizer_spec *out, struct gguf_vocab *v, struct bytes model,
		     struct gguf_roles *roles)
{
	if (bytes_are(model, "gpt2"))
		return gguf_vocab_gpt2(out, v, roles);
	if (bytes_are(model, "llama"))
		return gguf_vocab_spm(out, v, roles, MODEL_BPE);
	if (bytes_are(model, "t5"))
		return gguf_vocab_spm(out, v, roles, MODEL_UNIGRAM);
	if (bytes_are(model, "bert"))
		return gguf_vocab_bert(out, v, roles);
	return err_set(ERR_UNSUPPORTED, "%s: key " KEY "model: unknown kind \"" BYTES_FMT "\"",
		       v->file, BYTES_ARG(model));
}

static int read_ggml(struct tokenizer_spec *out, struct gguf_vocab *v, struct gguf_roles *roles)
{
	struct bytes model;
	int got = gguf_get_string(v->g, KEY "model", &model);

	if (got <= 0)
		return got < 0 ? -1
			       : err_set(ERR_MISSING, "%s: key " KEY "model is missing", v->file);
	return read_kind(out, v, model, roles);
}

int tokenizer_gguf_read(struct tokenizer_spec *out, struct arena *arena, const struct gguf *g)
{
	struct gguf_vocab v = { .g = g, .file = gguf_file_path(g, 0), .arena = arena };
	struct gguf_roles roles = { TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE,
				    false,	false,	    false };
	struct bytes json;
	int got = gguf_get_string(g, "tokenizer.huggingface.json", &json);

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (got < 0 || read_texts(&v) < 0 || read_scores(&v) < 0 || read_types(&v) < 0)
		return -1;
	if ((got > 0 ? tokenizer_json_parse(out, arena, json, v.file)
		     : read_ggml(out, &v, &roles)) < 0)
		return -1;
	return read_roles(out, &v, &roles) < 0 || read_template(out, &v) < 0
		       ? -1
		       : gguf_stamp_read(out, arena, g);
}
