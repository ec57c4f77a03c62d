/*
 * test_quantize_types.c - which type each tensor gets: llama.cpp's rules by layer and architecture, and what rows and axes allow
 *
 * The types are those of llama-quantize; scripts/peers/quantize compares whole models with it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/quantize.h"
#include "lib/model/quantize_parts.h"
#include "tests/tap.h"

static enum dtype type_in(enum quantize_mix mix, const struct mix_model *m, const char *name,
			  uint64_t layer)
{
	struct mix_tensor t = {
		.name = bytes_of(name), .row = 256, .layer = layer, .attention_v = (size_t)layer
	};

	return quantize_mix_choose(mix, false, m, &t);
}

/* The types of a tensor in all layers, as letters: the number of bits. */
static const char *letters(enum quantize_mix mix, const struct mix_model *m, const char *name)
{
	static char text[128];

	for (uint64_t i = 0; i < m->layers; i++)
		text[i] = dtype_name(type_in(mix, m, name, i))[1];
	text[m->layers] = '\0';
	return text;
}

static const struct mix_model llama = { .architecture = { "llama", 5 },
					.layers = 32,
					.heads = 32,
					.kv_heads = 32,
					.has_output = true,
					.n_attention_v = 32 };

static void test_layers(void)
{
	struct mix_model shared = llama;
	const char *v = "blk.0.attn_v.weight", *down = "blk.0.ffn_down.weight";

	shared.kv_heads = 8;
	tap_is_text(letters(QUANTIZE_MIX_Q4_K_M, &llama, v), "66664464464464464464464464466666",
		    "q4_k_m, attn_v");
	tap_is_text(letters(QUANTIZE_MIX_Q4_K_M, &llama, down),
		    letters(QUANTIZE_MIX_Q4_K_M, &llama, v), "q4_k_m, ffn_down alike");
	tap_is_text(letters(QUANTIZE_MIX_Q4_K_S, &llama, v), "55554444444444444444444444444444",
		    "q4_k_s, attn_v");
	tap_is_text(letters(QUANTIZE_MIX_Q4_K_S, &llama, down), "55554444444444444444444444444444",
		    "q4_k_s, ffn_down");
	tap_is_text(letters(QUANTIZE_MIX_Q3_K_M, &llama, v), "55444444444444444444444444444444",
		    "q3_k_m, attn_v");
	tap_is_text(letters(QUANTIZE_MIX_Q3_K_M, &llama, down), "55444444444444444444444444444444",
		    "q3_k_m, ffn_down");
	tap_ok(type_in(QUANTIZE_MIX_Q2_K, &llama, v, 9) == DTYPE_Q3_K, "q2_k, heads of their own");
	tap_ok(type_in(QUANTIZE_MIX_Q2_K, &shared, v, 9) == DTYPE_Q4_K, "q2_k, four heads share");
	tap_ok(type_in(QUANTIZE_MIX_Q2_K, &llama, down, 9) == DTYPE_Q3_K, "q2_k, ffn_down");
	tap_is_text(letters(QUANTIZE_MIX_Q2_K_S, &llama, down), "44442222222222222222222222222222",
		    "q2_k_s, ffn_down");
}

static void test_models(void)
{
	struct mix_model m = llama;
	const char *v = "blk.9.attn_v.weight", *down = "blk.9.ffn_down.weight";

	m.experts = 8;
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &m, v, 9) == DTYPE_Q8_0, "eight experts: attn_v");
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &m, "blk.9.attn_k.weight", 9) == DTYPE_Q8_0, "attn_k");
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_S, &m, "blk.9.attn_output.weight", 9) == DTYPE_Q5_K,
	       "attn_output");
	tap_ok(type_in(QUANTIZE_MIX_Q5_K_S, &m, "blk.9.attn_output.weight", 9) == DTYPE_Q5_K,
	       "of q5_k_s");
	m = llama;
	m.layers = m.n_attention_v = 80;
	m.kv_heads = 8;
	m.heads = 64;
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &m, v, 20) == DTYPE_Q5_K, "70B: attn_v");
	m.kv_heads = 64;
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &m, v, 20) == DTYPE_Q4_K, "65B: not");
	m = llama;
	m.architecture = bytes_of("falcon");
	tap_is_text(letters(QUANTIZE_MIX_Q4_K_M, &m, down), "66554454454454454454454454455555",
		    "falcon: ffn_down");
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &m, "output.weight", 0) == DTYPE_Q8_0,
	       "falcon: output");
	tap_ok(type_in(QUANTIZE_MIX_Q3_K_L, &m, "blk.9.attn_output.weight", 9) == DTYPE_Q4_K,
	       "falcon: attn_output");
}

static void test_names(void)
{
	struct mix_model tied = llama;

	tied.has_output = false;
	tap_ok(type_in(QUANTIZE_MIX_Q4_0, &llama, "output.weight", 0) == DTYPE_Q6_K, "output");
	tap_ok(type_in(QUANTIZE_MIX_Q8_0, &llama, "output.weight", 0) == DTYPE_Q8_0, "of q8_0");
	tap_ok(type_in(QUANTIZE_MIX_F16, &llama, "output.weight", 0) == DTYPE_F16, "of f16");
	tap_ok(type_in(QUANTIZE_MIX_Q4_0, &llama, "token_embd.weight", 0) == DTYPE_Q4_0,
	       "embedding");
	tap_ok(type_in(QUANTIZE_MIX_Q4_0, &tied, "token_embd.weight", 0) == DTYPE_Q6_K, "tied");
	tap_ok(type_in(QUANTIZE_MIX_Q4_K_M, &llama, "blk.9.attn_qkv.weight", 9) == DTYPE_Q6_K &&
		       type_in(QUANTIZE_MIX_Q4_K_M, &llama, "blk.4.attn_qkv.weight", 4) ==
			       DTYPE_Q4_K,
	       "attn_qkv is as attn_v");
	tap_ok(!quantize_mix_takes(bytes_of("blk.0.attn_norm.weight"), 1), "a norm");
	tap_ok(!quantize_mix_takes(bytes_of("blk.0.attn_q_norm.weight"), 2), "a norm of heads");
	tap_ok(!quantize_mix_takes(bytes_of("blk.0.ffn_gate_inp.weight"), 2),
	       "what chooses experts");
	tap_ok(!quantize_mix_takes(bytes_of("position_embd.weight"), 2), "positions");
	tap_ok(!quantize_mix_takes(bytes_of("v.patch_embd.weight"), 4), "four axes");
	tap_ok(!quantize_mix_takes(bytes_of("blk.0.attn_q.bias"), 2), "a bias");
	tap_ok(quantize_mix_takes(bytes_of("blk.0.ffn_up_exps.weight"), 3), "experts");
	tap_ok(quantize_mix_by_name("Q4_K") == QUANTIZE_MIX_Q4_K_M, "Q4_K");
	tap_ok(quantize_mix_by_name("q4_k_x") == QUANTIZE_MIX_NONE, "q4_k_x");
	tap_is_u64(quantize_mix_number(QUANTIZE_MIX_Q4_K_M), 15, "llama.cpp's number");
}

/* --- files --- */

struct shape {
	const char *name;
	enum dtype dtype;
	uint32_t n_dims;
	uint64_t shape[4];
};

static const struct shape shapes[] = {
	{ "v.patch_embd.weight", DTYPE_F32, 4, { 1152, 3, 14, 14 } },
	{ "four.weight", DTYPE_F32, 4, { 2, 3, 2, 256 } },
	{ "vector.weight", DTYPE_F32, 1, { 256 } },
	{ "flat.weight", DTYPE_F32, 2, { 1, 256 } },
	{ "rows.weight", DTYPE_F32, 2, { 8, 96 } },
	{ "odd.weight", DTYPE_F32, 2, { 32, 44 } },
	{ "experts.weight", DTYPE_F32, 3, { 3, 5, 256 } },
	{ "empty.weight", DTYPE_F32, 2, { 0, 256 } },
	{ "iq.weight", DTYPE_IQ2_XXS, 2, { 2, 256 } },
};
#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))

static struct tensor_info info_of(const struct shape *s)
{
	struct tensor_info t = {
		.name = bytes_of(s->name), .dtype = s->dtype, .n_dims = s->n_dims, .n_elements = 1
	};
	size_t size = 0;

	for (uint32_t i = 0; i < s->n_dims; i++) {
		t.shape[i] = s->shape[i];
		t.n_elements *= s->shape[i];
	}
	dtype_size(s->dtype, t.n_elements, &size);
	t.n_bytes = size;
	return t;
}

/* Value i of a tensor is (i % 61 - 30) / 8, exact in any float type. */
static void put_values(struct gguf_writer *w, const struct tensor_info *t)
{
	float *x = mem_new(t->n_elements + 1, sizeof(*x));

	for (uint64_t i = 0; i < t->n_elements; i++)
		x[i] = (float)((int)(i % 61) - 30) / 8;
	tap_works(gguf_writer_data(w, x, t->n_bytes), "gguf_writer_data");
	free(x);
}

static const char *make_file(void)
{
	const char *path = tap_path("in.gguf");
	struct gguf_writer *w;
	struct tensor_info t;
	struct outfile *f;

	tap_works(gguf_writer_new(&w, 32), "gguf_writer_new");
	gguf_put_string(w, "general.architecture", bytes_of("unheard-of"));
	gguf_put_u32(w, "unheard-of.block_count", 1);
	for (size_t i = 0; i < N_SHAPES; i++) {
		t = info_of(&shapes[i]);
		gguf_put_tensor(w, &t);
	}
	tap_works(outfile_new(&f, path), "outfile_new");
	tap_works(gguf_writer_begin(w, f), "gguf_writer_begin");
	for (size_t i = 0; i < N_SHAPES; i++) {
		t = info_of(&shapes[i]);
		put_values(w, &t);
	}
	tap_works(gguf_writer_end(w), "gguf_writer_end");
	gguf_writer_free(w);
	tap_works(outfile_commit(f), "outfile_commit");
	return path;
}

static enum dtype to(const struct quantize *q, const char *name)
{
	for (size_t i = 0; i < quantize_n(q); i++)
		if (bytes_are(quantize_tensor(q, i)->from->name, name))
			return quantize_tensor(q, i)->to;
	return DTYPE_UNKNOWN;
}

static void check_types(const struct quantize *q)
{
	tap_ok(to(q, "v.patch_embd.weight") == DTYPE_F32, "a convolution stays");
	tap_ok(to(q, "four.weight") == DTYPE_F32, "four axes stay, whatever their rows");
	tap_ok(to(q, "vector.weight") == DTYPE_F32, "a vector stays");
	tap_ok(to(q, "flat.weight") == DTYPE_F32, "a matrix of one row is a vector");
	tap_ok(to(q, "rows.weight") == DTYPE_Q5_0, "rows of 96: q5_0 for q4_k");
	tap_ok(to(q, "odd.weight") == DTYPE_F16,
	       "rows of 44: f16, though 32 x 44 is a multiple of 256");
	tap_ok(to(q, "experts.weight") == DTYPE_Q4_K, "three axes");
}

/* What TARGET holds of NAME, to OUT. */
static void read_back(const char *target, const char *name, float *out)
{
	const struct tensor_info *t;
	struct gguf *g;

	tap_works(gguf_open(&g, target), "gguf_open");
	t = gguf_find(g, bytes_of(name));
	tap_ok(t != NULL, "%s is there", name);
	if (t)
		dtype_to_f32(t->dtype, t->data, out, t->n_elements);
	gguf_close(g);
}

static void check_file(const char *target)
{
	static float x[14 * 14 * 3 * 1152], want;
	double worst = 0;

	read_back(target, "v.patch_embd.weight", x);
	tap_ok(x[14 * 14 * 3 * 1152 - 1] == (float)((14 * 14 * 3 * 1152 - 1) % 61 - 30) / 8,
	       "the last value of the convolution");
	read_back(target, "odd.weight", x);
	for (int i = 0; i < 32 * 44; i++)
		worst = x[i] != (float)(i % 61 - 30) / 8 ? 1 : worst;
	tap_ok(worst == 0, "f16 is exact here");
	read_back(target, "experts.weight", x);
	for (int i = 0; i < 3 * 5 * 256; i++) {
		want = (float)(i % 61 - 30) / 8;
		worst = worst > (double)(x[i] - want) ? worst : (double)(x[i] - want);
	}
	tap_ok(worst > 0 && worst < 0.6, "blocks are near: %g", worst);
}

static void test_shapes(void)
{
	static const char *const leave[] = { "iq" };
	struct quantize_options o = { .mix = QUANTIZE_MIX_Q4_K_M };
	const char *path = make_file(), *target = tap_path("out.gguf");
	struct gguf_source *s;
	struct quantize *q;
	struct team *team;

	tap_works(gguf_source_open(&s, path, NULL), "gguf_source_open");
	tap_fails(quantize_new(&q, s, &o), ERR_UNSUPPORTED, "iq.weight: values of iq2_xxs",
		  "values that are not decoded");
	o.leave = leave;
	o.n_leave = 1;
	tap_works(quantize_new(&q, s, &o), "quantize_new");
	check_types(q);
	tap_works(team_new(&team, 3), "team_new");
	tap_works(quantize_write(q, target, team, level_best(), NULL), "quantize_write");
	check_file(target);
	tap_is_u64(quantize_totals(q).fallbacks, 2, "two fell back");
	tap_fails(quantize_write(q, path, team, level_best(), NULL), ERR_ARGUMENT, "source too",
		  "onto itself");
	quantize_free(q);
	o.no_fallback = true;
	tap_fails(quantize_new(&q, s, &o), ERR_ARGUMENT, "rows of 96", "no other type is allowed");
	team_free(team);
	gguf_source_close(s);
}

int main(void)
{
	tap_run(test_layers);
	tap_run(test_models);
	tap_run(test_names);
	tap_run(test_shapes);
	return tap_done();
}
