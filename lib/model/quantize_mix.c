/*
 * lib/model/quantize_mix.c - which type a mix gives a tensor: llama.cpp's rules
 *
 * The rules were found by trial: attention's values and the way down of the feed-forward lose the most, the first and last
 * layers more than those between, and the output matrix more than all.
 */
#include <stdlib.h>

#include "lib/model/quantize_parts.h"

static const struct {
	const char *name;
	enum dtype type;
	uint32_t number;
} mixes[QUANTIZE_MIX_COUNT] = {
#define QUANTIZE_ROW(id, name, type, number) [QUANTIZE_MIX_##id] = { name, DTYPE_##type, number },
	QUANTIZE_MIXES(QUANTIZE_ROW)
#undef QUANTIZE_ROW
};

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if ((*a >= 'A' && *a <= 'Z' ? *a - 'A' + 'a' : *a) != *b)
			return false;
	return *a == *b;
}

enum quantize_mix quantize_mix_by_name(const char *name)
{
	static const struct {
		const char *name;
		enum quantize_mix mix;
	} others[] = { { "q3_k", QUANTIZE_MIX_Q3_K_M },
		       { "q4_k", QUANTIZE_MIX_Q4_K_M },
		       { "q5_k", QUANTIZE_MIX_Q5_K_M } };

	for (int m = 1; m < QUANTIZE_MIX_COUNT; m++)
		if (same_name(name, mixes[m].name))
			return (enum quantize_mix)m;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (same_name(name, others[i].name))
			return others[i].mix;
	return QUANTIZE_MIX_NONE;
}

const char *quantize_mix_name(enum quantize_mix m)
{
	return m ? mixes[m].name : "none";
}

enum dtype quantize_mix_type(enum quantize_mix m)
{
	return mixes[m].type;
}

uint32_t quantize_mix_number(enum quantize_mix m)
{
	return mixes[m].number;
}

/* --- which tensors --- */

static bool has(struct bytes name, const char *part)
{
	size_t n = strlen(part);

	for (size_t at = 0; at + n <= name.size; at++)
		if (memcmp(name.data + at, part, n) == 0)
			return true;
	return false;
}

/* Small ones, whose errors go everywhere: what chooses experts, positions, kernels of state-space models and the like. */
bool quantize_mix_takes(struct bytes name, uint32_t n_dims)
{
	static const char *const stay[] = {
		"_norm.weight",
		"ffn_gate_inp.weight",
		"altup",
		"laurel",
		"per_layer_model_proj",
		"ssm_conv1d",
		"shortconv.conv.weight",
		"time_mix_first.weight",
		"time_mix_w0.weight",
		"time_mix_w1.weight",
		"time_mix_w2.weight",
		"time_mix_v0.weight",
		"time_mix_v1.weight",
		"time_mix_v2.weight",
		"time_mix_a0.weight",
		"time_mix_a1.weight",
		"time_mix_a2.weight",
		"time_mix_g1.weight",
		"time_mix_g2.weight",
		"time_mix_decay_w1.weight",
		"time_mix_decay_w2.weight",
		"time_mix_lerp_fused.weight",
		"attn_rel_b.weight",
		".position_embd",
		"sam.pos_embd",
		"sam.neck.",
		"sam.net_",
		".rel_pos",
		".patch_embd",
		".patch_merger",
	};

	if (n_dims < 2 || n_dims > 3 || !bytes_end_with(name, "weight"))
		return false;
	if (bytes_are(name, "position_embd.weight") || bytes_are(name, "token_types.weight"))
		return false;
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		if (has(name, stay[i]))
			return false;
	return true;
}

bool quantize_is_output(struct bytes name, const struct mix_model *m)
{
	return bytes_are(name, "output.weight") ||
	       (!m->has_output && bytes_are(name, "token_embd.weight"));
}

/* Values of attention, alone or with what else is computed from the same. */
bool quantize_is_attention_v(struct bytes name)
{
	return has(name, "attn_v.weight") || has(name, "attn_qkv.weight") ||
	       has(name, "attn_kv_b.weight");
}

/* --- which type --- */

/* The first eighth of the layers, the last, and every third between. */
static bool more_bits(uint64_t layer, uint64_t layers)
{
	return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

static enum dtype output_type(enum dtype main, const struct mix_model *m, uint64_t row)
{
	if (bytes_are(m->architecture, "falcon") || row % dtype_info(main)->block != 0)
		return DTYPE_Q8_0;
	return main == DTYPE_Q8_0 ? main : DTYPE_Q6_K;
}

/* Eight heads share a matrix of values in the models of 70 billion parameters: it is small, and matters. */
static bool is_70b(const struct mix_model *m)
{
	if (m->layers != 80)
		return false;
	return bytes_are(m->architecture, "qwen2") ||
	       (bytes_are(m->architecture, "llama") && m->heads != m->kv_heads);
}

static enum dtype attention_v_type(enum quantize_mix mix, const struct mix_model *m,
				   const struct mix_tensor *t)
{
	enum dtype type = mixes[mix].type;
	uint64_t shared = m->kv_heads ? m->heads / m->kv_heads : 1;

	switch (mix) {
	case QUANTIZE_MIX_Q2_K: type = shared >= 4 ? DTYPE_Q4_K : DTYPE_Q3_K; break;
	case QUANTIZE_MIX_Q2_K_S: type = shared >= 4 ? DTYPE_Q4_K : type; break;
	case QUANTIZE_MIX_Q3_K_M: type = t->attention_v < 2 ? DTYPE_Q5_K : DTYPE_Q4_K; break;
	case QUANTIZE_MIX_Q3_K_L: type = DTYPE_Q5_K; break;
	case QUANTIZE_MIX_IQ4_NL: type = shared >= 4 ? DTYPE_Q5_K : type; break;
	case QUANTIZE_MIX_Q4_K_S: type = t->attention_v < 4 ? DTYPE_Q5_K : type; break;
	case QUANTIZE_MIX_Q4_K_M:
	case QUANTIZE_MIX_Q5_K_M:
		type = more_bits(t->attention_v, m->n_attention_v) ? DTYPE_Q6_K : type;
		break;
	default: break;
	}
	if (is_70b(m) && (type == DTYPE_Q3_K || type == DTYPE_Q4_K))
		type = DTYPE_Q5_K;
	return m->experts == 8 ? DTYPE_Q8_0 : type;
}

static enum dtype down_of_falcon(enum quantize_mix mix, uint64_t layer, uint64_t layers)
{
	bool more = more_bits(layer, layers);

	switch (mix) {
	case QUANTIZE_MIX_Q3_K_M:
		return layer < layers / 16 ? DTYPE_Q5_K : more ? DTYPE_Q4_K : DTYPE_Q3_K;
	case QUANTIZE_MIX_Q3_K_L: return DTYPE_Q4_K;
	case QUANTIZE_MIX_Q4_K_M:
		return layer < layers / 16 ? DTYPE_Q6_K : more ? DTYPE_Q5_K : DTYPE_Q4_K;
	default: return mixes[mix].type;
	}
}

static enum dtype ffn_down_type(enum quantize_mix mix, bool importance, const struct mix_model *m,
				uint64_t layer)
{
	enum dtype type = mixes[mix].type;
	bool falcon = bytes_are(m->architecture, "falcon"), early = layer < m->layers / 8;

	switch (mix) {
	case QUANTIZE_MIX_Q2_K: return DTYPE_Q3_K;
	case QUANTIZE_MIX_Q2_K_S: return early ? DTYPE_Q4_K : type;
	case QUANTIZE_MIX_Q3_K_M:
		if (!falcon)
			return layer < m->layers / 16 ? DTYPE_Q5_K : DTYPE_Q4_K;
		return down_of_falcon(mix, layer, m->layers);
	case QUANTIZE_MIX_Q3_K_L:
		return falcon ? down_of_falcon(mix, layer, m->layers) : DTYPE_Q5_K;
	case QUANTIZE_MIX_Q4_K_M:
		if (falcon)
			return down_of_falcon(mix, layer, m->layers);
		return more_bits(layer, m->layers) ? DTYPE_Q6_K : type;
	case QUANTIZE_MIX_Q5_K_M: return more_bits(layer, m->layers) ? DTYPE_Q6_K : type;
	case QUANTIZE_MIX_Q4_K_S: return early && !falcon ? DTYPE_Q5_K : type;
	case QUANTIZE_MIX_IQ4_NL: return early && !importance ? DTYPE_Q5_K : type;
	case QUANTIZE_MIX_Q4_0: return early && importance ? DTYPE_Q4_1 : type;
	case QUANTIZE_MIX_Q5_0: return early && importance ? DTYPE_Q5_1 : type;
	default: return type;
	}
}

static enum dtype attention_output_type(enum quantize_mix mix, const struct mix_model *m)
{
	enum dtype type = mixes[mix].type;

	if (bytes_are(m->architecture, "falcon"))
		return mix == QUANTIZE_MIX_Q3_K_L ? DTYPE_Q4_K : type;
	if (m->experts == 8) {
		switch (mix) {
		case QUANTIZE_MIX_Q2_K:
		case QUANTIZE_MIX_Q3_K_S:
		case QUANTIZE_MIX_Q3_K_M:
		case QUANTIZE_MIX_IQ4_NL:
		case QUANTIZE_MIX_Q4_K_S:
		case QUANTIZE_MIX_Q4_K_M: return DTYPE_Q5_K;
		default: return type;
		}
	}
	switch (mix) {
	case QUANTIZE_MIX_Q2_K: return DTYPE_Q3_K;
	case QUANTIZE_MIX_Q3_K_M: return DTYPE_Q4_K;
	case QUANTIZE_MIX_Q3_K_L: return DTYPE_Q5_K;
	default: return type;
	}
}

enum dtype quantize_mix_choose(enum quantize_mix mix, bool importance, const struct mix_model *m,
			       const struct mix_tensor *t)
{
	enum dtype main = mixes[mix].type;

	if (dtype_info(main)->block == 1)
		return main;
	if (quantize_is_output(t->name, m))
		return output_type(main, m, t->row);
	if (bytes_are(t->name, "token_embd.weight") ||
	    bytes_are(t->name, "per_layer_token_embd.weight"))
		return main;
	if (quantize_is_attention_v(t->name))
		return attention_v_type(mix, m, t);
	if (has(t->name, "attn_k.weight"))
		return m->experts == 8 ? DTYPE_Q8_0 : main;
	if (has(t->name, "ffn_down"))
		return ffn_down_type(mix, importance, m, t->layer);
	if (has(t->name, "attn_output.weight"))
		return attention_output_type(mix, m);
	return main;
}
