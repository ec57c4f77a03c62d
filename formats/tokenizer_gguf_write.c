/*
 * formats/tokenizer_gguf_write.c - a tokenizer as the metadata of a GGUF
 *
 * The keys are those of ggml's specification (docs/gguf.md, tokenizer.ggml.*), in the order in which llama.cpp's
 * converter writes them.
 */
#include "formats/tokenizer_gguf_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_gguf_plan.h"
#include "formats/tokenizer_json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/tokenizer.h"

#define KEY "tokenizer.ggml."

/* --- tokenizer.ggml.* --- */

static int put_tokens(struct gguf_writer *w, const struct gguf_plan *p)
{
	struct bytes *texts = arena_alloc(p->arena, p->n ? p->n : 1, sizeof(*texts));
	struct buffer scores = { 0 }, types = { 0 };
	int result = -1;

	if (!texts)
		return -1;
	for (size_t i = 0; i < p->n; i++) {
		enum spm_type type = p->pieces[i].type;

		texts[i] = p->pieces[i].text;
		buffer_put_f32(&scores, (float)p->pieces[i].score);
		buffer_put_u32(&types, type == SPM_GAP ? SPM_UNUSED : type);
	}
	if (!buffer_check(&scores) && !buffer_check(&types)) {
		gguf_put_strings(w, KEY "tokens", p->n, texts);
		if (p->has_scores)
			gguf_put_array(w, KEY "scores", GGUF_F32, p->n, scores.data);
		gguf_put_array(w, KEY "token_type", GGUF_I32, p->n, types.data);
		result = 0;
	}
	buffer_free(&scores);
	buffer_free(&types);
	return result;
}

static void put_id(struct gguf_writer *w, const char *key, uint32_t id)
{
	if (id != TOKEN_NONE)
		gguf_put_u32(w, key, id);
}

/* The piece that masks, by the names that it has. */
static uint32_t mask_of(const struct tokenizer_spec *s)
{
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].special && (bytes_are(s->added[i].text, "[MASK]") ||
					    bytes_are(s->added[i].text, "<mask>")))
			return s->added[i].id;
	return TOKEN_NONE;
}

static void put_roles(struct gguf_writer *w, const struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;

	put_id(w, KEY "bos_token_id", p->bos);
	put_id(w, KEY "eos_token_id", p->eos);
	put_id(w, KEY "unknown_token_id", p->unk);
	put_id(w, KEY "seperator_token_id", p->sep); /* so spelled there */
	put_id(w, KEY "padding_token_id", s->pad);
	put_id(w, KEY "cls_token_id", p->cls);
	put_id(w, KEY "mask_token_id", mask_of(s));
	gguf_put_bool(w, KEY "add_bos_token", p->add_bos);
	gguf_put_bool(w, KEY "add_eos_token", p->add_eos);
}

static void put_spm(struct gguf_writer *w, const struct spm_source *s)
{
	gguf_put_bool(w, KEY "add_space_prefix", s->add_dummy_prefix);
	gguf_put_bool(w, KEY "remove_extra_whitespaces", s->remove_extra_whitespaces);
	if (s->charsmap.size)
		gguf_put_array(w, KEY "precompiled_charsmap", GGUF_U8, s->charsmap.size,
			       s->charsmap.data);
}

static void put_bert(struct gguf_writer *w, const struct tokenizer_spec *s)
{
	const struct normalizer_spec *n = s->normalizers;

	gguf_put_bool(w, KEY "normalizer.lowercase", n->bert.lowercase);
	if (n->bert.strip_accents != STATE_NULL)
		gguf_put_bool(w, KEY "normalizer.strip_accents",
			      n->bert.strip_accents == STATE_TRUE);
}

static int put_ggml(struct gguf_writer *w, const struct gguf_plan *p)
{
	gguf_put_string(w, KEY "model", bytes_of(p->model));
	gguf_put_string(w, KEY "pre", p->pre);
	if (put_tokens(w, p) < 0)
		return -1;
	if (p->has_merges)
		gguf_put_strings(w, KEY "merges", p->n_merges, p->merges);
	put_roles(w, p);
	if (p->has_spm)
		put_spm(w, &p->source);
	if (p->has_bert && p->spec->n_normalizers)
		put_bert(w, p->spec);
	if (p->spec->chat_template.size)
		gguf_put_string(w, "tokenizer.chat_template", p->spec->chat_template);
	return 0;
}

/* --- the whole --- */

static int fingerprints(const struct tokenizer_spec *s, struct hash128 *plain,
			struct hash128 *whole)
{
	struct tokenizer *t;
	int result;

	if (tokenizer_new(&t, s) < 0)
		return -1;
	result = tokenizer_fingerprint(t, plain, whole);
	tokenizer_free(t);
	return result;
}

/* A role that the spec leaves open has a name there. */
static bool other_roles(const struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;

	return p->bos != s->bos || p->eos != s->eos || p->unk != s->unk;
}

/* What a reader gets from TEXT, the tokenizer.json: equal ids, and an equal whole but for what other keys say. */
static int check_json(struct gguf_plan *p, struct bytes text, const struct hash128 *plain)
{
	struct tokenizer_spec again;
	struct hash128 got, whole;

	if (tokenizer_json_parse(&again, p->arena, text, "tokenizer.huggingface.json") < 0 ||
	    fingerprints(&again, &got, &whole) < 0)
		return -1;
	p->other_ids = false;
	p->other_whole = other_roles(p);
	if (memcmp(&got, plain, sizeof(got)) == 0)
		return 0;
	return gguf_plan_loss(p, LOSS_IDS,
			      "tokenizer.huggingface.json: is read as another tokenizer");
}

static int put_json(struct gguf_writer *w, struct gguf_plan *p, const struct hash128 *plain)
{
	struct bytes text = p->options->json;
	struct buffer b = { 0 };
	int result = -1;

	if (text.size || tokenizer_json_put(&b, p->spec) == 0) {
		if (!text.size)
			text = buffer_bytes(&b);
		result = check_json(p, text, plain);
		if (result == 0)
			gguf_put_string(w, "tokenizer.huggingface.json", text);
	}
	buffer_free(&b);
	return result;
}

static int put_all(struct gguf_writer *w, struct gguf_plan *p)
{
	struct hash128 plain, whole;

	if (fingerprints(p->spec, &plain, &whole) < 0 || put_ggml(w, p) < 0)
		return -1;
	if (p->options->with_json && put_json(w, p, &plain) < 0)
		return -1;
	return gguf_stamp_put(w, p->other_ids ? NULL : &plain,
			      p->other_ids || p->other_whole ? NULL : &whole);
}

static int make_plan(struct gguf_plan *p)
{
	static const char *const kinds[] = { "BPE", "Unigram", "WordPiece", "WordLevel" };
	const struct tokenizer_spec *s = p->spec;
	size_t n = s->n_pretokenizers;

	p->bos = s->bos;
	p->eos = s->eos;
	p->unk = s->unk != TOKEN_NONE ? s->unk : s->model.unk;
	p->cls = p->sep = TOKEN_NONE;
	p->add_bos = s->add_bos;
	p->add_eos = s->add_eos;
	switch (s->model.kind) {
	case MODEL_BPE:
		return n && s->pretokenizers[n - 1].kind == PRETOKENIZER_BYTE_LEVEL
			       ? gguf_plan_gpt2(p)
			       : gguf_plan_spm(p);
	case MODEL_UNIGRAM: return gguf_plan_spm(p);
	case MODEL_WORDPIECE: return gguf_plan_bert(p);
	default: break;
	}
	return err_set(ERR_UNSUPPORTED, "GGUF: no kind of vocabulary is %s", kinds[s->model.kind]);
}

int tokenizer_gguf_put(struct gguf_writer *w, const struct tokenizer_spec *spec,
		       const struct tokenizer_gguf_options *options)
{
	static const struct tokenizer_gguf_options defaults;
	struct gguf_plan p = { .spec = spec, .options = options ? options : &defaults };
	int result = -1;

	if (arena_new(&p.arena) < 0)
		return -1;
	if (gguf_plan_pieces(&p) == 0 && make_plan(&p) == 0) {
		p.other_whole |= other_roles(&p);
		result = put_all(w, &p);
	}
	arena_free(p.arena);
	return result;
}
