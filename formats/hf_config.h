/*
 * formats/hf_config.h - config.json of a Hugging Face model folder
 *
 * man/man5/hf-model.5 lists the keys that are read, in which spelling, and their defaults. The
 * source of names and defaults is the configuration classes of transformers, 4 and 5. Both
 * spellings are read; a key that stands there in both with unlike values is an error that
 * names both. What is absent has the default of the architecture's class, as in transformers.
 */
#ifndef FORMATS_HF_CONFIG_H
#define FORMATS_HF_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/base/bytes.h"

#define HF_CONFIG_BYTES_MAX ((size_t)16 << 20) /* a longer config.json is refused */
#define HF_LAYERS_MAX	    100000
#define HF_HEAD_DIM_MAX	    4096
#define HF_SIZE_MAX	    ((uint64_t)1 << 31) /* any other size or id is below this */

enum hf_architecture {
	HF_UNKNOWN, /* hf_config_parse never gives it; others may, with MODEL_TYPE set */
	HF_LLAMA,
	HF_MISTRAL,
	HF_QWEN2,
	HF_QWEN3,
	HF_GEMMA3, /* the text model */
	HF_SMOLLM3,
	HF_GPT2,
	HF_BERT,
	HF_ARCHITECTURE_COUNT
};

/* The words of transformers. The three gelu_* are one function, the tanh approximation. */
enum hf_activation {
	HF_SILU, /* silu, swish */
	HF_GELU, /* with erf */
	HF_GELU_NEW,
	HF_GELU_TANH, /* gelu_pytorch_tanh */
	HF_GELU_FAST,
	HF_QUICK_GELU, /* x sigmoid(1.702 x) */
	HF_RELU,
	HF_RELU2, /* relu squared */
	HF_ACTIVATION_COUNT
};

enum hf_attention {
	HF_FULL,
	HF_SLIDING, /* a token sees the last `window` tokens, itself among them */
	HF_ATTENTION_COUNT
};

enum hf_rope_type {
	HF_ROPE_NONE, /* learned positions: gpt2, bert */
	HF_ROPE_DEFAULT,
	HF_ROPE_LINEAR,
	HF_ROPE_DYNAMIC,
	HF_ROPE_YARN,
	HF_ROPE_LONGROPE,
	HF_ROPE_LLAMA3,
	HF_ROPE_TYPE_COUNT
};

enum hf_position {
	HF_POSITION_ROPE,
	HF_POSITION_ABSOLUTE, /* gpt2, bert */
	HF_POSITION_RELATIVE_KEY,
	HF_POSITION_RELATIVE_KEY_QUERY,
};

/* Numbers that are not given are 0, but theta, partial and truncate, which have their defaults. */
struct hf_rope {
	enum hf_rope_type type;
	double theta;
	double partial; /* share of head_dim that is rotated, in (0, 1] */
	double factor;
	double original_context; /* original_max_position_embeddings; may be written as a float */
	double attention_factor;
	double beta_fast, beta_slow; /* yarn; transformers takes 32 and 1 */
	double mscale, mscale_all_dim;
	double low_freq_factor, high_freq_factor; /* llama3 */
	const double *short_factor, *long_factor; /* longrope */
	uint32_t n_short_factors, n_long_factors;
	bool truncate; /* yarn: whole numbers as bounds of the ramp; true unless given */
};

/*
 * Token ids of one role. Absent, null and given are three things: an absent key has the class's default
 * (llama: bos 1, eos 2; gpt2: both 50256), null has none. IDS is what holds in the end.
 */
enum hf_presence {
	HF_ABSENT,
	HF_NULL,
	HF_GIVEN,
};

struct hf_ids {
	enum hf_presence presence; /* in the file */
	uint32_t n;		   /* 0: there is none; more than 1: a list (eos) */
	const uint32_t *ids;
};

/* A key that is not read here, with its value as it stood there; kept and written again. */
struct hf_other {
	struct bytes key, value;
};

struct hf_config {
	enum hf_architecture architecture;
	struct bytes model_type; /* `llama`; for gemma3 `gemma3_text` */
	struct bytes class_name; /* the first of `architectures`; empty when absent */
	bool nested;		 /* read from text_config of a vision model */

	uint64_t hidden_size;
	uint64_t ffn_size;
	uint64_t vocab_size;
	uint64_t context; /* max_position_embeddings */
	uint32_t n_layers;
	uint32_t n_heads;
	uint32_t n_kv_heads; /* divides n_heads */
	uint32_t head_dim;   /* n_heads x head_dim need not be hidden_size */

	enum hf_activation activation;
	double norm_eps;	  /* of rms or layer norm */
	double initializer_range; /* of the normal that weights are drawn from */
	bool tie_word_embeddings;
	bool qkv_bias, out_bias, mlp_bias;
	bool qk_norm; /* q and k are normalised per head: qwen3, gemma3 */

	enum hf_position position;
	uint64_t type_vocab_size; /* bert; else 0 */

	/* Per layer, N_LAYERS items each. */
	const uint8_t *layer_attention; /* enum hf_attention */
	const bool *layer_rope;		/* false: no rope in this layer (smollm3) */
	uint64_t window;		/* of sliding layers; 0 when no layer slides */
	uint64_t window_given;		/* `sliding_window` as it stood there; 0: null or absent */
	bool bidirectional;		/* bert; gemma3 with use_bidirectional_attention */

	/* By kind of attention; both alike except for gemma3. */
	struct hf_rope rope[HF_ATTENTION_COUNT];

	double query_pre_attn_scalar; /* gemma3: scores are divided by its root; 0: by head_dim's */
	double attn_soft_cap;	      /* 0: none */
	double final_soft_cap;	      /* 0: none */
	bool scale_attention;	      /* gpt2's scale_attn_weights; true elsewhere */
	bool scale_by_layer;	      /* gpt2's scale_attn_by_inverse_layer_idx */

	struct hf_ids bos, eos, pad;
	enum dtype dtype; /* DTYPE_UNKNOWN when absent */

	const struct hf_other *others; /* in the file's order */
	uint32_t n_others;
};

/* Words of the table; NULL for none. `gemma3` is HF_GEMMA3's name. */
const char *hf_architecture_name(enum hf_architecture a);
const char *hf_activation_name(enum hf_activation a);
const char *hf_rope_type_name(enum hf_rope_type t);
const char *hf_attention_name(enum hf_attention k); /* `full_attention`, `sliding_attention` */

/* The class that predicts tokens: `LlamaForCausalLM`, `BertForMaskedLM`; NULL for none. */
const char *hf_language_class(enum hf_architecture a);

/* What transformers takes for a model of which nothing is given. */
int hf_config_defaults(struct hf_config *c, enum hf_architecture a, struct arena *arena);

/*
 * Fills *OUT from a text. What it points to lives in ARENA, apart from TEXT. NAME is for messages:
 * `NAME: key KEY: what`. An architecture that is not in the list is ERR_UNSUPPORTED and named.
 */
int hf_config_parse(struct hf_config *out, struct arena *arena, struct bytes text,
		    const char *name);
/* The same from a file, of at most HF_CONFIG_BYTES_MAX. */
int hf_config_read(struct hf_config *out, struct arena *arena, const char *path);

/* The checks of hf_config_parse alone: sizes in range and fitting each other. NAME for messages. */
int hf_config_check(const struct hf_config *c, const char *name);

/*
 * Appends config.json: both spellings, with equal values, so that transformers 4 and 5 open it
 * alike; indented by two, keys in a fixed order, the others after them. -1 for HF_UNKNOWN.
 */
int hf_config_put(struct buffer *b, const struct hf_config *c);
/* Appends generation_config.json: the ids of the roles, null where there is none. */
int hf_generation_put(struct buffer *b, const struct hf_config *c);

/*
 * Weights of the model as it is saved (a tied head is not counted twice). False where they do not
 * fit in 64 bits, or the class in CLASS_NAME has a head that is not known here (a classifier's, a
 * vision model's).
 */
bool hf_config_n_parameters(const struct hf_config *c, uint64_t *out);

#endif
