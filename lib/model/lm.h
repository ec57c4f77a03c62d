/*
 * lib/model/lm.h - language models: a configuration becomes a graph
 *
 * One function a family builds the nodes; parameters carry the names that the family has in Hugging Face folders, and what
 * a checkpoint calls them is a matter of rules (lm_rules). Tokens of several sequences lie one after another as rows; attention
 * tells them apart by document numbers. Builders check nothing: errors stay in the graph.
 *
 * llama, mistral, smollm3, qwen2, qwen3 and gemma3 (text) are one decoder (lib/model/decoder.c) whose switches stand in the
 * configuration; gpt2 and bert have files of their own.
 */
#ifndef LIB_MODEL_LM_H
#define LIB_MODEL_LM_H

#include "formats/hf_config.h"
#include "lib/base/hash.h"
#include "lib/base/team.h"
#include "lib/graph/ops.h"
#include "lib/model/bind.h"

/*
 * Where keys and values of earlier tokens lie, for decoding: two entries of the store a layer, `NAME.N.k` and `NAME.N.v`,
 * [slots, heads, dim]. Attention sees the keys of the listed pages, told apart by document and place.
 */
struct lm_cache {
	const char *name;     /* NULL: `cache` */
	size_t slots;	      /* rows of a layer's cache */
	size_t page;	      /* rows a page */
	enum dtype dtype;     /* of the cache */
	struct tensor *write; /* i32 [tokens]: the slot of each row; below 0: none */
	struct tensor *pages; /* i32 [pages]; below 0: none */
	struct tensor *documents, *positions; /* i32 [pages x page]: of the keys there */
};

struct lm_inputs {
	struct tensor *ids;	  /* i32 [tokens] */
	struct tensor *positions; /* i32 [tokens, 1] */
	struct tensor
		*documents; /* i32 [tokens]: attention stays within a number; NULL: one sequence */
	struct tensor *types;	      /* bert's segments, i32 [tokens]; NULL: all 0 */
	const struct lm_cache *cache; /* NULL: keys and values are those of these rows */
	size_t context; /* positions are below it: dynamic and long rope choose their frequencies by it; 0: the configuration's */
	double dropout; /* of embeddings, attention's result and the feed-forward's */
	bool rope_paired; /* q and k lie as GGUF has them for llama: rope turns neighbours */
};

/* [tokens, hidden_size] after the last norm. */
struct tensor *lm_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in);
/* [tokens, vocab_size], f32, soft cap applied. HIDDEN may be a part of the rows. */
struct tensor *lm_logits(struct graph *g, const struct hf_config *c, struct tensor *hidden);
/* Per row, f32 [tokens]: the head and the cross-entropy against i32 targets, without logits in memory. O's soft cap is set here. */
struct tensor *lm_loss(struct graph *g, const struct hf_config *c, struct tensor *hidden,
		       struct tensor *targets, struct cross_entropy *o);
/* For training: the sum of the rows' losses times WEIGHTS, f32 [tokens], which are known beforehand; a scalar (op_linear_ce_sum). */
struct tensor *lm_loss_sum(struct graph *g, const struct hf_config *c, struct tensor *hidden,
			   struct tensor *targets, struct tensor *weights, struct cross_entropy *o);

/* --- rope (lib/model/rope.c) --- */

#define LM_PAIRS_MAX (HF_HEAD_DIM_MAX / 2)
/*
 * Frequencies of the pairs of a head of HEAD_DIM elements under R, for positions below CONTEXT, and the factor of sine and
 * cosine; the number of pairs. As transformers' modeling_rope_utils: default, linear, dynamic (Peng et al. 2023), yarn, longrope,
 * llama3.
 */
size_t lm_rope(const struct hf_rope *r, uint32_t head_dim, uint64_t model_context, uint64_t context,
	       float frequencies[LM_PAIRS_MAX], double *scale);

/* --- checkpoints --- */

/*
 * The rules between the names of lm_hidden and a checkpoint of KIND (MODEL_FOLDER and MODEL_SAFETENSORS: Hugging Face's;
 * MODEL_GGUF: llama.cpp's). With PERMUTE llama's q and k of a GGUF are turned to the order of Hugging Face (a copy); without, they
 * are taken as they lie and rope_paired says so. Lives in ARENA. -1: a family that has none in this format.
 */
int lm_rules(struct bind_rules *out, struct arena *arena, const struct hf_config *c,
	     enum model_kind kind, bool permute);

/* A model on disk, its configuration and its values. */
struct lm {
	struct model *model;
	const struct hf_config *config; /* as long as the model is open */
	struct store *store;
	struct bind_report report;
	const char **
		unused; /* entries that the configuration does not ask for: owned, the names are the store's */
	size_t n_unused;
	bool rope_paired;
};

struct lm_open_options {
	enum dtype dtype; /* of the entries; 0: as in the file */
	bool frozen;
	bool permute; /* see lm_rules */
	bool strict; /* tensors that the family does not know are an error; else they stand in the report */
};

/*
 * PATH: a folder or a .gguf. A tensor that is missing, or of another shape than the configuration asks for, is an error that names it as the file
 * does, with both shapes.
 */
int lm_open(struct lm *out, const char *path, const struct lm_open_options *o);
void lm_close(struct lm *m);
/* Appends a line for the tensors that are not used, and one for those that are not known, without a line end; nothing where all take part. */
int lm_put_unused(struct buffer *b, const struct lm *m);
/* What tells it from any other: its configuration and the bytes of its files of weights. TEAM may be NULL. */
int lm_hash(const struct lm *m, struct team *team, struct hash128 *out);

/*
 * Whether a model continues text, with CONTEXT tokens before it: -1 with the error set where it sees both sides (bert), has no head, or has
 * fewer positions of its own (gpt2).
 */
int lm_check_continues(const struct hf_config *c, size_t context);
/* Whether the class that the configuration names has a head: LlamaModel, BertModel and their like have none. */
bool lm_has_head(const struct hf_config *c);
/* Declares every parameter in a store that is being declared: builds and drops a graph of one token. */
int lm_declare(struct store *s, const struct hf_config *c);
/* The same, with parameters of DTYPE. */
int lm_declare_as(struct store *s, const struct hf_config *c, enum dtype dtype);

enum lm_init { LM_INIT_GPT2, LM_INIT_MUP, LM_INIT_COUNT };
const char *lm_init_name(enum lm_init i);
/*
 * Values for every parameter: norms 1 (gemma3: 0), biases 0, matrices from a normal of INITIALIZER_RANGE, those that write into the
 * residual stream divided by sqrt(2 layers) (GPT-2, Radford et al. 2019). MUP: hidden matrices of sqrt(1 / fan in), a head
 * that is not tied of 1 / fan in (Yang et al. 2022, table 8). Keyed by (seed, name): the order of entries does not matter, nor
 * the number of threads of TEAM (NULL: the calling one alone). The entries are allocated.
 */
int lm_initialize(struct store *s, const struct hf_config *c, enum lm_init how, uint64_t seed,
		  struct team *team);

#endif
