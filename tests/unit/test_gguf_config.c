/*
 * GGUF metadata as a configuration: each architecture, and rows H03 and H09 of the cases. The files
 * are gguf-py's (scripts/gen-fixtures-gguf says what is in them); two real models are looked at
 * where they are.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf_config.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/gguf/"
#define BAD  "fixtures/bad/gguf/"

static struct gguf *g;
static struct arena *arena;
static struct hf_config c;

static int read_config(const char *path)
{
	g = NULL;
	arena = NULL;
	if (gguf_open(&g, path) || arena_new(&arena))
		return -2;
	return gguf_config(g, &c, arena);
}

static void done(void)
{
	arena_free(arena);
	gguf_close(g);
}

static void good(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), GOOD "%s.gguf", name);
	if (!tap_works(read_config(path), "%s", name))
		exit(1);
}

/* The sizes that the small models share. */
static void check_sizes(const char *name, uint32_t layers, uint32_t kv_heads, uint32_t head_dim)
{
	tap_ok(c.n_layers == layers && c.n_heads == 4 && c.n_kv_heads == kv_heads &&
		       c.head_dim == head_dim,
	       "%s: layers and heads", name);
	tap_ok(c.hidden_size == 16 && c.ffn_size == 24 && c.vocab_size == 20 && c.context == 64,
	       "%s: sizes", name);
}

static size_t count_sliding(void)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c.n_layers; i++)
		n += c.layer_attention[i] == HF_SLIDING;
	return n;
}

static void test_llama(void)
{
	good("model-llama");
	check_sizes("llama", 2, 2, 8);
	tap_ok(c.architecture == HF_LLAMA && bytes_are(c.model_type, "llama"), "architecture");
	tap_ok(c.norm_eps == 1e-5, "an f32 of 1e-5 is 1e-5");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_DEFAULT && c.rope[HF_FULL].theta == 500000 &&
		       c.rope[HF_FULL].partial == 1 && c.rope[HF_FULL].truncate,
	       "rope");
	tap_ok(!c.tie_word_embeddings && !c.qkv_bias && !c.out_bias && !c.mlp_bias && !c.qk_norm,
	       "what the tensors tell");
	tap_ok(c.activation == HF_SILU && c.dtype == DTYPE_F32, "activation and type");
	tap_ok(count_sliding() == 0 && c.window == 0 && c.layer_rope[1], "no window");
	tap_ok(c.bos.n == 1 && c.bos.ids[0] == 1, "bos");
	tap_ok(c.eos.n == 2 && c.eos.ids[0] == 2 && c.eos.ids[1] == 3, "eos and the end of a turn");
	tap_ok(c.pad.n == 0 && c.pad.presence == HF_NULL, "no pad");
	done();
}

/* Llama 3's rope is a tensor of factors alone. */
static void test_llama3(void)
{
	good("model-llama3");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_LLAMA3 && c.rope[HF_FULL].factor == 32 &&
		       c.rope[HF_FULL].low_freq_factor == 1 &&
		       c.rope[HF_FULL].high_freq_factor == 4 &&
		       c.rope[HF_FULL].original_context == 8192,
	       "the numbers of Llama 3.2");
	tap_ok(c.tie_word_embeddings && c.head_dim == 64, "tied");
	done();
}

static void test_mistral(void)
{
	good("model-mistral");
	check_sizes("mistral", 2, 2, 8);
	tap_ok(c.architecture == HF_MISTRAL && bytes_are(c.model_type, "mistral"),
	       "llama with a window is mistral");
	tap_ok(count_sliding() == 2 && c.window == 32, "all layers slide");
	tap_ok(c.norm_eps == 1e-6, "epsilon");
	done();
}

static void test_qwen(void)
{
	good("model-qwen2");
	check_sizes("qwen2", 2, 2, 8);
	tap_ok(c.architecture == HF_QWEN2 && c.qkv_bias && !c.out_bias && !c.qk_norm, "biases");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_YARN && c.rope[HF_FULL].factor == 4 &&
		       c.rope[HF_FULL].original_context == 16 && c.rope[HF_FULL].beta_fast == 24 &&
		       c.rope[HF_FULL].beta_slow == 0 && c.rope[HF_FULL].attention_factor == 0,
	       "yarn");
	tap_ok(c.rope[HF_FULL].theta == 10000, "llama.cpp's base where none is given");
	done();
	good("model-qwen3");
	check_sizes("qwen3", 2, 2, 8);
	tap_ok(c.architecture == HF_QWEN3 && !c.qkv_bias && c.qk_norm, "norms of q and k");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_LINEAR && c.rope[HF_FULL].factor == 2.5, "linear");
	tap_ok(count_sliding() == 0 && c.window == 0 && c.window_given == 0, "no window");
	done();
}

static void test_gemma3(void)
{
	good("model-gemma3");
	check_sizes("gemma3", 7, 1, 8);
	tap_ok(c.architecture == HF_GEMMA3 && bytes_are(c.model_type, "gemma3_text"),
	       "architecture");
	tap_ok(c.window == 16 && count_sliding() == 6 && c.layer_attention[5] == HF_FULL,
	       "the sixth of seven layers is full");
	tap_ok(c.rope[HF_FULL].theta == 1e6 && c.rope[HF_FULL].type == HF_ROPE_LINEAR &&
		       c.rope[HF_FULL].factor == 8,
	       "rope of full layers");
	tap_ok(c.rope[HF_SLIDING].theta == 1e4 && c.rope[HF_SLIDING].type == HF_ROPE_DEFAULT &&
		       c.rope[HF_SLIDING].factor == 0,
	       "rope of sliding layers");
	tap_ok(c.query_pre_attn_scalar == 8 && c.final_soft_cap == 30 && c.attn_soft_cap == 0,
	       "scales");
	tap_ok(c.qk_norm && c.activation == HF_GELU_TANH && c.tie_word_embeddings, "the rest");
	tap_ok(c.pad.n == 1 && c.pad.ids[0] == 0, "pad is id 0");
	done();
}

static void test_smollm3(void)
{
	good("model-smollm3");
	check_sizes("smollm3", 5, 2, 8);
	tap_ok(c.architecture == HF_SMOLLM3 && c.layer_rope[0] && c.layer_rope[2] &&
		       !c.layer_rope[3] && c.layer_rope[4],
	       "no rope in every fourth layer");
	tap_ok(c.rope[HF_FULL].theta == 5e6, "rope");
	done();
}

static void test_learned(void)
{
	good("model-gpt2");
	check_sizes("gpt2", 2, 4, 4);
	tap_ok(c.architecture == HF_GPT2 && c.position == HF_POSITION_ABSOLUTE && !c.bidirectional,
	       "learned positions");
	tap_ok(c.qkv_bias && c.out_bias && c.mlp_bias && c.norm_eps == 1e-5, "biases");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_NONE && !c.layer_rope[0], "no rope");
	done();
	good("model-bert");
	check_sizes("bert", 2, 4, 4);
	tap_ok(c.architecture == HF_BERT && c.bidirectional && c.type_vocab_size == 2, "bert");
	tap_ok(c.norm_eps == 1e-12 && c.activation == HF_GELU, "its norm");
	done();
}

static void test_not_a_model(void)
{
	tap_fails(read_config(GOOD "types.gguf"), ERR_UNSUPPORTED,
		  "key general.architecture: architecture test is not supported",
		  "H09 an unknown architecture");
	tap_is_bytes(c.model_type, bytes_of("test"), "its name is kept");
	done();
	tap_fails(read_config(GOOD "empty.gguf"), ERR_MISSING,
		  "key general.architecture: is missing", "H09 no metadata");
	done();
}

static const struct {
	const char *name;
	enum err_code code;
	const char *part;
} bad[] = {
	{ "H03-config-scores-u8", ERR_FORMAT,
	  "key tokenizer.ggml.scores: is an array of u8, not of f32" },
	{ "H03-config-token-type-i64", ERR_FORMAT,
	  "key tokenizer.ggml.token_type: is an array of i64, not of i32" },
	{ "H03-config-tokens-u32", ERR_FORMAT,
	  "key tokenizer.ggml.tokens: is an array of u32, not of string" },
	{ "H03-config-merges-u32", ERR_FORMAT,
	  "key tokenizer.ggml.merges: is an array of u32, not of string" },
	{ "H03-config-token-types-19", ERR_MISMATCH,
	  "key tokenizer.ggml.token_type: has 19 items for 20 tokens" },
	{ "H03-config-tokens-21", ERR_MISMATCH, "key tokenizer.ggml.tokens: has 21 items" },
	{ "H03-config-head-count-string", ERR_FORMAT,
	  "key llama.attention.head_count: is string, not an integer" },
	{ "H03-config-epsilon-bool", ERR_FORMAT, "rms_epsilon: is bool, not a number" },
	{ "H03-config-bos-20", ERR_FORMAT, "key tokenizer.ggml.bos_token_id: is 20, of 20 tokens" },
	{ "H09-config-block-count-1000000", ERR_MISMATCH,
	  "key llama.block_count: is 1000000, the tensors have 2 layers" },
	{ "H09-config-block-count-0", ERR_FORMAT, "key llama.block_count: is 0" },
	{ "H09-config-block-count-1", ERR_MISMATCH,
	  "key llama.block_count: is 1, the tensors have 2 layers" },
	{ "H09-config-block-count-2-64", ERR_MISMATCH,
	  "key llama.block_count: is 18446744073709551615, the tensors have 2 layers" },
	{ "H09-config-block-count-missing", ERR_MISSING, "key llama.block_count: is missing" },
	{ "H09-config-experts-used", ERR_FORMAT,
	  "key llama.expert_used_count: is 4, more than expert_count, 0" },
	{ "H09-config-experts", ERR_UNSUPPORTED, "key llama.expert_count: is 8, a mixture" },
	{ "H09-config-heads-0", ERR_FORMAT, "key llama.attention.head_count: is 0" },
	{ "H09-config-heads-3", ERR_FORMAT,
	  "key llama.attention.head_count: is 3, no multiple of attention.head_count_kv, 2" },
	{ "H09-config-heads-8", ERR_MISMATCH,
	  "key llama.attention.head_count: asks for 64 x 16 values in tensor blk.0.attn_q.weight, "
	  "which has 32 x 16" },
	{ "H09-config-kv-heads-4", ERR_MISMATCH,
	  "key llama.attention.head_count_kv: asks for 32 x 16 values in tensor "
	  "blk.0.attn_k.weight" },
	{ "H09-config-heads-per-layer", ERR_UNSUPPORTED,
	  "key llama.attention.head_count: differs from layer to layer" },
	{ "H09-config-heads-3-layers", ERR_MISMATCH,
	  "key llama.attention.head_count: has 3 items for 2 layers" },
	{ "H09-config-key-length-16", ERR_UNSUPPORTED,
	  "key llama.attention.value_length: is 8, unlike that of keys, 16" },
	{ "H09-config-value-length-16", ERR_UNSUPPORTED,
	  "key llama.attention.value_length: is 16, unlike that of keys, 8" },
	{ "H09-config-width-17", ERR_MISMATCH,
	  "key llama.embedding_length: asks for 20 x 17 values in tensor token_embd.weight" },
	{ "H09-config-ffn-25", ERR_MISMATCH,
	  "key llama.feed_forward_length: asks for 25 x 16 values in tensor blk.0.ffn_up.weight" },
	{ "H09-config-rope-16", ERR_FORMAT,
	  "key llama.rope.dimension_count: is 16, of 8 dimensions" },
	{ "H09-config-rope-base-negative", ERR_FORMAT, "key llama.rope.freq_base: is -1, must" },
	{ "H09-config-rope-base-nan", ERR_FORMAT, "key llama.rope.freq_base: is nan, must" },
	{ "H09-config-rope-type", ERR_UNSUPPORTED,
	  "key llama.rope.scaling.type: spiral is not supported" },
	{ "H09-config-rope-freqs", ERR_UNSUPPORTED, "tensor rope_freqs.weight: value 1 is 2, not" },
	{ "H09-config-not-causal", ERR_UNSUPPORTED, "key llama.attention.causal: is false" },
	{ "H09-config-epsilon-missing", ERR_MISSING,
	  "key llama.attention.layer_norm_rms_epsilon: is missing" },
	{ "H09-config-architecture", ERR_UNSUPPORTED,
	  "key general.architecture: architecture mamba is not supported" },
	{ "H09-config-architecture-missing", ERR_MISSING, "key general.architecture: is missing" },
	{ "H09-config-layer-missing", ERR_MISSING, "tensor blk.0.attn_q.weight: is missing" },
};

#define N_BAD (sizeof(bad) / sizeof(*bad))

static void test_refused(void)
{
	for (size_t i = 0; i < N_BAD; i++) {
		char path[256];

		snprintf(path, sizeof(path), BAD "%s.gguf", bad[i].name);
		tap_fails(read_config(path), bad[i].code, bad[i].part, "%s", bad[i].name);
		done();
	}
}

static void test_all_listed(void)
{
	DIR *d = opendir(BAD);
	struct dirent *e;

	if (!tap_ok(d != NULL, "the folder of bad files"))
		return;
	while ((e = readdir(d)) != NULL) {
		bool listed = !strstr(e->d_name, "-config-");

		for (size_t i = 0; i < N_BAD && !listed; i++) {
			size_t n = strlen(bad[i].name);

			listed = strncmp(e->d_name, bad[i].name, n) == 0 &&
				 strcmp(e->d_name + n, ".gguf") == 0;
		}
		if (!listed)
			tap_ok(false, "%s is tested", e->d_name);
	}
	closedir(d);
}

/* --- damage --- */

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct arena *a = NULL;
	struct gguf *damaged;
	struct hf_config got;
	int result;

	if (gguf_open_memory(&damaged, data, size, "damaged.gguf"))
		return -1;
	result = arena_new(&a);
	if (result == 0)
		result = gguf_config(damaged, &got, a);
	arena_free(a);
	gguf_close(damaged);
	return result;
}

static void test_damage(void)
{
	size_t n_llama, n_gemma;
	char *llama = tap_fixture(GOOD "model-llama3.gguf", &n_llama);
	char *gemma = tap_fixture(GOOD "model-gemma3.gguf", &n_gemma);

	corrupt_run("10,000 damaged configurations", (struct bytes){ llama, n_llama },
		    (struct bytes){ gemma, n_gemma }, read_damaged, NULL, 16 << 20);
	free(llama);
	free(gemma);
}

/* --- real models --- */

static bool find_model(const char *name, char *path, size_t size)
{
	const char *models = getenv("NNUTILS_MODELS"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (models && *models)
		snprintf(path, size, "%s/%s", models, name);
	else if (cache && *cache)
		snprintf(path, size, "%s/nnutils/models/%s", cache, name);
	else
		snprintf(path, size, "%s/.cache/nnutils/models/%s", home ? home : "", name);
	return access(path, R_OK) == 0;
}

static void test_real_smollm2(void)
{
	char path[4096];

	if (!find_model("smollm2-135m-instruct-q4_1.gguf", path, sizeof(path))) {
		tap_skip("models: scripts/peers/models has not been run", "SmolLM2 135M");
		return;
	}
	if (!tap_works(read_config(path), "SmolLM2 135M"))
		return;
	tap_ok(c.architecture == HF_LLAMA && c.n_layers == 30 && c.n_heads == 9 &&
		       c.n_kv_heads == 3 && c.head_dim == 64 && c.hidden_size == 576 &&
		       c.ffn_size == 1536 && c.vocab_size == 49152 && c.context == 8192 &&
		       c.norm_eps == 1e-5 && c.rope[HF_FULL].theta == 100000 &&
		       c.tie_word_embeddings && c.bos.ids[0] == 1 && c.eos.ids[0] == 2,
	       "its configuration");
	done();
}

static void test_real_gemma3(void)
{
	char path[4096];

	if (!find_model("gemma3-270m-q4_k_m.gguf", path, sizeof(path))) {
		tap_skip("models: scripts/peers/models has not been run", "Gemma 3 270M");
		return;
	}
	if (!tap_works(read_config(path), "Gemma 3 270M"))
		return;
	tap_ok(c.architecture == HF_GEMMA3 && c.n_layers == 18 && c.n_heads == 4 &&
		       c.n_kv_heads == 1 && c.head_dim == 256 && c.hidden_size == 640 &&
		       c.ffn_size == 2048 && c.vocab_size == 262144 && c.context == 32768 &&
		       c.norm_eps == 1e-6 && c.window == 512 && count_sliding() == 15 &&
		       c.rope[HF_FULL].theta == 1e6 && c.rope[HF_SLIDING].theta == 1e4 &&
		       c.query_pre_attn_scalar == 256 && c.bos.ids[0] == 2 && c.eos.ids[0] == 1,
	       "its configuration");
	done();
}

int main(void)
{
	tap_run(test_llama);
	tap_run(test_llama3);
	tap_run(test_mistral);
	tap_run(test_qwen);
	tap_run(test_gemma3);
	tap_run(test_smollm3);
	tap_run(test_learned);
	tap_run(test_not_a_model);
	tap_run(test_refused);
	tap_run(test_all_listed);
	tap_run(test_damage);
	tap_run(test_real_smollm2);
	tap_run(test_real_gemma3);
	return tap_done();
}
