/*
 * lib/model/lm_rules.c - what the parameters of each family are called in Hugging Face's files and in llama.cpp's
 *
 * One table a family. Names here are those that transformers saves for the model with its head; other spellings of the same
 * (a bare model without the prefix, norms that are called gamma and beta) are made of them. The names of GGUF and
 * what its converter does to values are llama.cpp's: rows of q and k of the llama family as pairs of neighbours, gemma's norms
 * as what is multiplied by, gpt2's matrices the usual way round.
 */
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/model/bind_parts.h"
#include "lib/model/lm_rules.h"

enum row_flags {
	/* Only where the configuration has it. */
	QKV_BIAS = 1,
	OUT_BIAS = 2,
	MLP_BIAS = 4,
	QK_NORM = 8,
	FREE_HEAD = 16,
	NOT_GEMMA = 32,
	GEMMA = 64,
	CONDITIONS = 127,
	/* How values lie. */
	CONV1D = 128,	  /* gpt2's matrices in Hugging Face's files: [in, out] */
	PAIRED = 256,	  /* q and k */
	GEMMA_NORM = 512, /* 1 is added in a GGUF of gemma */
};

struct row {
	const char *ours;
	const char *gguf; /* NULL: not there */
	unsigned flags;
};

/* --- llama, mistral, smollm3, qwen2, qwen3, gemma3 --- */

#define LAYER "model.layers.{}."
#define ATTN  LAYER "self_attn."
#define MLP   LAYER "mlp."
#define BLOCK "blk.{}."

static const struct row decoder_rows[] = {
	{ "model.embed_tokens.weight", "token_embd.weight", 0 },
	{ LAYER "input_layernorm.weight", BLOCK "attn_norm.weight", GEMMA_NORM },
	{ ATTN "q_proj.weight", BLOCK "attn_q.weight", PAIRED },
	{ ATTN "q_proj.bias", BLOCK "attn_q.bias", PAIRED | QKV_BIAS },
	{ ATTN "k_proj.weight", BLOCK "attn_k.weight", PAIRED },
	{ ATTN "k_proj.bias", BLOCK "attn_k.bias", PAIRED | QKV_BIAS },
	{ ATTN "v_proj.weight", BLOCK "attn_v.weight", 0 },
	{ ATTN "v_proj.bias", BLOCK "attn_v.bias", QKV_BIAS },
	{ ATTN "q_norm.weight", BLOCK "attn_q_norm.weight", QK_NORM | GEMMA_NORM },
	{ ATTN "k_norm.weight", BLOCK "attn_k_norm.weight", QK_NORM | GEMMA_NORM },
	{ ATTN "o_proj.weight", BLOCK "attn_output.weight", 0 },
	{ ATTN "o_proj.bias", BLOCK "attn_output.bias", OUT_BIAS },
	{ LAYER "post_attention_layernorm.weight", BLOCK "ffn_norm.weight", NOT_GEMMA },
	{ LAYER "post_attention_layernorm.weight", BLOCK "post_attention_norm.weight",
	  GEMMA | GEMMA_NORM },
	{ LAYER "pre_feedforward_layernorm.weight", BLOCK "ffn_norm.weight", GEMMA | GEMMA_NORM },
	{ LAYER "post_feedforward_layernorm.weight", BLOCK "post_ffw_norm.weight",
	  GEMMA | GEMMA_NORM },
	{ MLP "gate_proj.weight", BLOCK "ffn_gate.weight", 0 },
	{ MLP "gate_proj.bias", BLOCK "ffn_gate.bias", MLP_BIAS },
	{ MLP "up_proj.weight", BLOCK "ffn_up.weight", 0 },
	{ MLP "up_proj.bias", BLOCK "ffn_up.bias", MLP_BIAS },
	{ MLP "down_proj.weight", BLOCK "ffn_down.weight", 0 },
	{ MLP "down_proj.bias", BLOCK "ffn_down.bias", MLP_BIAS },
	{ "model.norm.weight", "output_norm.weight", GEMMA_NORM },
	{ "lm_head.weight", "output.weight", FREE_HEAD },
};

/* --- gpt2 --- */

#define H "transformer.h.{}."

static const struct row gpt2_rows[] = {
	{ "transformer.wte.weight", "token_embd.weight", 0 },
	{ "transformer.wpe.weight", "position_embd.weight", 0 },
	{ H "ln_1.weight", BLOCK "attn_norm.weight", 0 },
	{ H "ln_1.bias", BLOCK "attn_norm.bias", 0 },
	{ H "attn.c_attn.weight", BLOCK "attn_qkv.weight", CONV1D },
	{ H "attn.c_attn.bias", BLOCK "attn_qkv.bias", 0 },
	{ H "attn.c_proj.weight", BLOCK "attn_output.weight", CONV1D },
	{ H "attn.c_proj.bias", BLOCK "attn_output.bias", 0 },
	{ H "ln_2.weight", BLOCK "ffn_norm.weight", 0 },
	{ H "ln_2.bias", BLOCK "ffn_norm.bias", 0 },
	{ H "mlp.c_fc.weight", BLOCK "ffn_up.weight", CONV1D },
	{ H "mlp.c_fc.bias", BLOCK "ffn_up.bias", 0 },
	{ H "mlp.c_proj.weight", BLOCK "ffn_down.weight", CONV1D },
	{ H "mlp.c_proj.bias", BLOCK "ffn_down.bias", 0 },
	{ "transformer.ln_f.weight", "output_norm.weight", 0 },
	{ "transformer.ln_f.bias", "output_norm.bias", 0 },
	{ "lm_head.weight", "output.weight", FREE_HEAD },
};

/* --- bert; llama.cpp keeps neither pooler nor head --- */

#define EMBED	  "bert.embeddings."
#define ENCODER	  "bert.encoder.layer.{}."
#define SELF	  ENCODER "attention.self."
#define TRANSFORM "cls.predictions.transform."

static const struct row bert_rows[] = {
	{ EMBED "word_embeddings.weight", "token_embd.weight", 0 },
	{ EMBED "position_embeddings.weight", "position_embd.weight", 0 },
	{ EMBED "token_type_embeddings.weight", "token_types.weight", 0 },
	{ EMBED "LayerNorm.weight", "token_embd_norm.weight", 0 },
	{ EMBED "LayerNorm.bias", "token_embd_norm.bias", 0 },
	{ SELF "query.weight", BLOCK "attn_q.weight", 0 },
	{ SELF "query.bias", BLOCK "attn_q.bias", 0 },
	{ SELF "key.weight", BLOCK "attn_k.weight", 0 },
	{ SELF "key.bias", BLOCK "attn_k.bias", 0 },
	{ SELF "value.weight", BLOCK "attn_v.weight", 0 },
	{ SELF "value.bias", BLOCK "attn_v.bias", 0 },
	{ ENCODER "attention.output.dense.weight", BLOCK "attn_output.weight", 0 },
	{ ENCODER "attention.output.dense.bias", BLOCK "attn_output.bias", 0 },
	{ ENCODER "attention.output.LayerNorm.weight", BLOCK "attn_output_norm.weight", 0 },
	{ ENCODER "attention.output.LayerNorm.bias", BLOCK "attn_output_norm.bias", 0 },
	{ ENCODER "intermediate.dense.weight", BLOCK "ffn_up.weight", 0 },
	{ ENCODER "intermediate.dense.bias", BLOCK "ffn_up.bias", 0 },
	{ ENCODER "output.dense.weight", BLOCK "ffn_down.weight", 0 },
	{ ENCODER "output.dense.bias", BLOCK "ffn_down.bias", 0 },
	{ ENCODER "output.LayerNorm.weight", BLOCK "layer_output_norm.weight", 0 },
	{ ENCODER "output.LayerNorm.bias", BLOCK "layer_output_norm.bias", 0 },
	{ "bert.pooler.dense.weight", NULL, 0 },
	{ "bert.pooler.dense.bias", NULL, 0 },
	{ TRANSFORM "dense.weight", NULL, 0 },
	{ TRANSFORM "dense.bias", NULL, 0 },
	{ TRANSFORM "LayerNorm.weight", NULL, 0 },
	{ TRANSFORM "LayerNorm.bias", NULL, 0 },
	{ "cls.predictions.bias", NULL, 0 },
	{ "cls.predictions.decoder.weight", NULL, FREE_HEAD },
	{ "cls.predictions.decoder.bias", NULL, FREE_HEAD },
	{ "cls.seq_relationship.weight", NULL, 0 },
	{ "cls.seq_relationship.bias", NULL, 0 },
};

struct family {
	const struct row *rows;
	size_t n;
	const char *body, *embedding; /* the embedding's name without BODY */
};

#define ROWS(table) table, sizeof(table) / sizeof(*(table))

static struct family family_of(const struct hf_config *c)
{
	switch (c->architecture) {
	case HF_GPT2: return (struct family){ ROWS(gpt2_rows), "transformer.", "wte.weight" };
	case HF_BERT:
		return (struct family){ ROWS(bert_rows), "bert.",
					"embeddings.word_embeddings.weight" };
	case HF_UNKNOWN:
	case HF_ARCHITECTURE_COUNT: return (struct family){ 0 };
	default: return (struct family){ ROWS(decoder_rows), "model.", "embed_tokens.weight" };
	}
}

/* --- spellings --- */

struct lm_spelling lm_spelling_of_class(const struct hf_config *c)
{
	return (struct lm_spelling){ .body = lm_has_head(c) ? family_of(c).body : "" };
}

static bool has(const struct model *m, const char *body, const char *rest)
{
	char name[BIND_NAME];
	int n = snprintf(name, sizeof(name), "%s%s", body, rest);

	return n > 0 && model_find(m, (struct bytes){ name, (size_t)n });
}

struct lm_spelling lm_spelling_of_model(const struct hf_config *c, const struct model *m)
{
	/* The last two: the text model within one that sees. */
	const struct family f = family_of(c);
	const char *const bodies[] = { f.body, "", "language_model.model.",
				       "model.language_model." };
	struct lm_spelling s = lm_spelling_of_class(c);

	for (size_t i = 0; f.n && i < sizeof(bodies) / sizeof(*bodies); i++)
		if (has(m, bodies[i], f.embedding)) {
			s.body = bodies[i];
			break;
		}
	s.gamma = c->architecture == HF_BERT && has(m, s.body, "embeddings.LayerNorm.gamma");
	return s;
}

/* --- rules --- */

bool lm_pairs_in_gguf(const struct hf_config *c)
{
	return c->architecture == HF_LLAMA || c->architecture == HF_MISTRAL ||
	       c->architecture == HF_SMOLLM3;
}

/* What holds of the configuration, of CONDITIONS. */
static unsigned conditions_of(const struct hf_config *c)
{
	bool gemma = c->architecture == HF_GEMMA3;

	return (c->qkv_bias ? QKV_BIAS : 0u) | (c->out_bias ? OUT_BIAS : 0u) |
	       (c->mlp_bias ? MLP_BIAS : 0u) | (c->qk_norm ? QK_NORM : 0u) |
	       (c->tie_word_embeddings ? 0u : FREE_HEAD) | (gemma ? GEMMA : NOT_GEMMA);
}

/* OURS as a Hugging Face file has it. */
static const char *spell(struct arena *arena, const struct family *f, const char *ours,
			 const struct lm_spelling *s)
{
	size_t body = strlen(f->body), at;
	bool in_body = strncmp(ours, f->body, body) == 0;
	static const char *const old[][2] = { { "LayerNorm.weight", "LayerNorm.gamma" },
					      { "LayerNorm.bias", "LayerNorm.beta" } };
	char name[BIND_NAME];

	snprintf(name, sizeof(name), "%s%s", in_body ? s->body : "", ours + (in_body ? body : 0));
	for (int i = 0; s->gamma && i < 2; i++)
		if (bytes_end_with(bytes_of(name), old[i][0])) {
			at = strlen(name) - strlen(old[i][0]);
			snprintf(name + at, sizeof(name) - at, "%s", old[i][1]);
		}
	return arena_copy(arena, bytes_of(name));
}

static int make_rule(struct bind_rule *rule, struct arena *arena, const struct hf_config *c,
		     const struct row *row, bool gguf, bool permute, const struct lm_spelling *s)
{
	const struct family f = family_of(c);

	*rule = (struct bind_rule){ .ours = row->ours };
	if (gguf) {
		rule->theirs = row->gguf;
		rule->added = row->flags & GEMMA_NORM && c->architecture == HF_GEMMA3 ? 1 : 0;
		if (row->flags & PAIRED && permute && lm_pairs_in_gguf(c))
			rule->paired = c->head_dim;
		return 0;
	}
	rule->theirs = spell(arena, &f, row->ours, s);
	rule->transposed = row->flags & CONV1D;
	return rule->theirs ? 0 : -1;
}

int lm_rules_spelled(struct bind_rules *out, struct arena *arena, const struct hf_config *c,
		     enum model_kind kind, bool permute, const struct lm_spelling *spelling)
{
	const struct family f = family_of(c);
	unsigned holds = conditions_of(c);
	bool gguf = kind == MODEL_GGUF;
	struct bind_rule *items;

	if (!f.n)
		return err_set(ERR_UNSUPPORTED,
			       "no names are known for the architecture " BYTES_FMT,
			       BYTES_ARG(c->model_type));
	items = arena_alloc(arena, f.n, sizeof(*items));
	if (!items)
		return -1;
	*out = (struct bind_rules){ .items = items };
	for (size_t i = 0; i < f.n; i++) {
		const struct row *row = &f.rows[i];

		if (row->flags & CONDITIONS & ~holds || (gguf && !row->gguf))
			continue;
		if (make_rule(&items[out->n++], arena, c, row, gguf, permute, spelling) < 0)
			return -1;
	}
	return 0;
}

int lm_rules(struct bind_rules *out, struct arena *arena, const struct hf_config *c,
	     enum model_kind kind, bool permute)
{
	const struct lm_spelling s = lm_spelling_of_class(c);

	return lm_rules_spelled(out, arena, c, kind, permute, &s);
}
