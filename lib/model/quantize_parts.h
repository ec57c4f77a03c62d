/* lib/model/quantize_parts.h - what the files of lib/model/quantize.h share */
#ifndef LIB_MODEL_QUANTIZE_PARTS_H
#define LIB_MODEL_QUANTIZE_PARTS_H

#include "lib/model/quantize.h"

struct quantize {
	const struct gguf_source *source;
	struct quantize_options options;
	struct quantize_tensor *tensors;
	size_t n;
	uint64_t clamped;
};

/* What llama.cpp's rules look at. */
struct mix_model {
	struct bytes architecture;
	uint64_t layers, heads, kv_heads, experts;
	bool has_output;      /* a matrix of its own, not the embedding */
	size_t n_attention_v; /* tensors attn_v, attn_qkv and attn_kv_b */
};

struct mix_tensor {
	struct bytes name;
	uint64_t row;	    /* values of a row */
	uint64_t layer;	    /* 0 where the name has none */
	size_t attention_v; /* how many such tensors come before it, by layer */
};

/* Whether a mix quantizes a tensor of N_DIMS axes, those of length 1 at the slow end not counted, at all. */
bool quantize_mix_takes(struct bytes name, uint32_t n_dims);
bool quantize_is_attention_v(struct bytes name);
bool quantize_is_output(struct bytes name, const struct mix_model *m);
/* The type that mix MIX gives a tensor that it takes. */
enum dtype quantize_mix_choose(enum quantize_mix mix, bool importance, const struct mix_model *m,
			       const struct mix_tensor *t);

#endif
