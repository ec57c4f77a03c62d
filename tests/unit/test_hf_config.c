/*
 * config.json: both spellings of the same model give the same, which is what transformers says of
 * it; what is wrong is refused by name. The good fixtures were saved by transformers 5.24.0 (config.json)
 * and 4.51.3 (config-4.json) from the options in scripts/gen-fixtures-hf. Row J06 of the cases.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hf_config.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/hf/"
#define BAD  "fixtures/bad/hf/"

static struct arena *arena; /* of the test at hand; see begin */

static const char *const models[] = { "llama",	"llama-untied", "mistral", "qwen2", "qwen3",
				      "gemma3", "smollm3",	"gpt2",	   "bert" };

#define N_MODELS (sizeof models / sizeof *models)

static void begin(void)
{
	arena_free(arena);
	if (!tap_works(arena_new(&arena), "an arena"))
		exit(1);
}

static int parse(struct hf_config *c, const char *text)
{
	return hf_config_parse(c, arena, bytes_of(text), "made.json");
}

static struct hf_config good(const char *model, const char *file)
{
	struct hf_config c;
	char path[256];

	snprintf(path, sizeof path, GOOD "%s/%s", model, file);
	if (!tap_works(hf_config_read(&c, arena, path), "%s %s", model, file))
		exit(1);
	return c;
}

/* The text that is written for C. */
static char *written(const struct hf_config *c)
{
	struct buffer b = { 0 };

	if (!tap_works(hf_config_put(&b, c), "it is written"))
		exit(1);
	buffer_put_u8(&b, 0);
	return b.data;
}

/* --- what the fixtures say --- */

static void test_llama(void)
{
	struct hf_config c = good("llama", "config.json");
	const struct hf_rope *r = &c.rope[HF_FULL];

	tap_ok(c.architecture == HF_LLAMA && bytes_are(c.class_name, "LlamaForCausalLM"), "llama");
	tap_ok(c.hidden_size == 16 && c.ffn_size == 24 && c.vocab_size == 48 && c.context == 128,
	       "sizes");
	tap_ok(c.n_layers == 2 && c.n_heads == 4 && c.n_kv_heads == 2 && c.head_dim == 4, "heads");
	tap_ok(c.activation == HF_SILU && c.norm_eps == 1e-6 && c.tie_word_embeddings, "the rest");
	tap_ok(!c.qkv_bias && !c.out_bias && !c.mlp_bias && !c.qk_norm, "no bias, no norm of q");
	tap_ok(r->type == HF_ROPE_LLAMA3 && r->theta == 5e5 && r->factor == 8, "rope");
	tap_ok(r->low_freq_factor == 1 && r->high_freq_factor == 4 && r->original_context == 32,
	       "llama3's numbers");
	tap_ok(c.dtype == DTYPE_BF16, "bfloat16");
	tap_ok(c.eos.n == 2 && c.eos.ids[0] == 2 && c.eos.ids[1] == 3, "a list of ends");
	c = good("llama-untied", "config-4.json");
	tap_ok(c.qkv_bias && c.out_bias && c.mlp_bias && !c.tie_word_embeddings, "biases, untied");
	tap_ok(c.n_kv_heads == 2 && c.rope[HF_FULL].type == HF_ROPE_DEFAULT &&
		       c.rope[HF_FULL].theta == 1e4,
	       "as many heads of k and v, plain rope");
}

static void test_windows(void)
{
	struct hf_config c = good("mistral", "config-4.json");

	tap_ok(c.window == 8 && c.layer_attention[0] == HF_SLIDING &&
		       c.layer_attention[1] == HF_SLIDING,
	       "mistral slides everywhere");
	tap_ok(c.head_dim == 12 && c.dtype == DTYPE_F16, "with heads of their own width");
	c = good("qwen2", "config-4.json");
	tap_ok(c.window == 16 && c.layer_attention[0] == HF_FULL &&
		       c.layer_attention[1] == HF_SLIDING && c.layer_attention[2] == HF_SLIDING,
	       "qwen2 from max_window_layers on");
	tap_ok(c.qkv_bias && !c.out_bias, "and has a bias of q, k and v alone");
	c = good("qwen3", "config.json");
	tap_ok(c.window == 0 && c.layer_attention[1] == HF_FULL && c.qk_norm, "qwen3 has none");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_YARN && c.rope[HF_FULL].attention_factor == 1 &&
		       c.rope[HF_FULL].truncate && c.rope[HF_FULL].original_context == 32,
	       "but yarn");
	c = good("gemma3", "config-4.json");
	tap_ok(c.window == 16 && c.layer_attention[0] == HF_SLIDING &&
		       c.layer_attention[1] == HF_FULL && c.layer_attention[2] == HF_SLIDING,
	       "gemma3 by its pattern");
	tap_ok(c.rope[HF_FULL].type == HF_ROPE_LINEAR && c.rope[HF_FULL].factor == 8 &&
		       c.rope[HF_FULL].theta == 1e6,
	       "the full layers' rope");
	tap_ok(c.rope[HF_SLIDING].type == HF_ROPE_DEFAULT && c.rope[HF_SLIDING].theta == 1e4,
	       "and that of the others");
	tap_ok(c.query_pre_attn_scalar == 8 && c.final_soft_cap == 30 && c.attn_soft_cap == 0 &&
		       c.activation == HF_GELU_TANH && c.qk_norm,
	       "and what else it has");
}

static void test_others_of_the_eight(void)
{
	struct hf_config c = good("smollm3", "config.json");

	tap_ok(c.layer_rope[0] && c.layer_rope[2] && !c.layer_rope[3], "smollm3: no rope in one");
	tap_ok(c.bos.presence == HF_NULL && c.bos.n == 0 && c.pad.ids[0] == 3, "null is none");
	tap_ok(c.rope[HF_FULL].theta == 2e6, "its own theta");
	c = good("gpt2", "config.json");
	tap_ok(c.ffn_size == 64 && c.hidden_size == 16 && c.context == 32, "gpt2: n_inner is null");
	tap_ok(c.position == HF_POSITION_ABSOLUTE && !c.layer_rope[0] && c.qkv_bias && c.mlp_bias,
	       "positions are learned");
	tap_ok(c.activation == HF_GELU_NEW && c.norm_eps == 1e-5 && c.scale_attention, "the rest");
	c = good("bert", "config.json");
	tap_ok(c.type_vocab_size == 2 && c.bidirectional && c.norm_eps == 1e-12 &&
		       c.activation == HF_GELU,
	       "bert");
}

/* Both spellings, and what we write, are one configuration; the other keys aside. */
static void test_one_configuration(void)
{
	for (size_t i = 0; i < N_MODELS; i++) {
		struct hf_config five = good(models[i], "config.json"), again;
		struct hf_config four = good(models[i], "config-4.json");
		char *a, *b, *c;

		five.n_others = four.n_others = 0;
		a = written(&five);
		b = written(&four);
		tap_is_text(b, a, "%s: transformers 4 and 5", models[i]);
		tap_works(parse(&again, a), "%s: what is written is read", models[i]);
		tap_is_u64(again.n_others, 0, "%s: nothing unknown in it", models[i]);
		c = written(&again);
		tap_is_text(c, a, "%s: and written again", models[i]);
		free(a);
		free(b);
		free(c);
	}
}

/* The reference's own count: the elements of the tensors that transformers saved. */
static void test_parameters(void)
{
	for (size_t i = 0; i < N_MODELS; i++) {
		struct hf_config c = good(models[i], "config.json");
		struct safetensors *s = NULL;
		uint64_t sum = 0, n = 0;
		char path[256];

		snprintf(path, sizeof path, GOOD "%s/model.safetensors", models[i]);
		if (!tap_works(safetensors_open(&s, path), "%s", path))
			exit(1);
		for (size_t t = 0; t < safetensors_n_tensors(s); t++)
			sum += safetensors_tensor(s, t)->n_elements;
		safetensors_close(s);
		tap_ok(hf_config_n_parameters(&c, &n), "%s: counted", models[i]);
		tap_is_u64(n, sum, "%s: weights", models[i]);
	}
}

/* Published sizes: LLaMA 7B, GPT-2 small, BERT base with its pooler. */
static void test_defaults(void)
{
	static const struct {
		enum hf_architecture a;
		uint64_t n;
	} known[] = {
		{ HF_LLAMA, 6738415616 },
		{ HF_GPT2, 124439808 },
		{ HF_BERT, 109482240 },
	};

	for (size_t i = 0; i < 3; i++) {
		struct hf_config c;
		uint64_t n = 0;

		tap_works(hf_config_defaults(&c, known[i].a, arena), "defaults");
		tap_ok(hf_config_n_parameters(&c, &n), "counted");
		tap_is_u64(n, known[i].n, "%s", hf_architecture_name(known[i].a));
	}
	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++) {
		struct hf_config c, d;
		char text[64], *x, *y;

		tap_works(hf_config_defaults(&c, (enum hf_architecture)a, arena), "defaults");
		snprintf(text, sizeof text, "{\"model_type\":\"%.*s\"}", (int)c.model_type.size,
			 c.model_type.data);
		tap_works(parse(&d, text), "%s", text);
		x = written(&c);
		y = written(&d);
		tap_is_text(y, x, "%s alone is the defaults", text);
		free(x);
		free(y);
	}
}

/* --- presence --- */

static void test_ids(void)
{
	struct hf_config c;

	tap_works(parse(&c, "{\"model_type\":\"llama\"}"), "absent");
	tap_ok(c.bos.presence == HF_ABSENT && c.bos.n == 1 && c.bos.ids[0] == 1, "llama's bos");
	tap_ok(c.eos.n == 1 && c.eos.ids[0] == 2 && c.pad.n == 0, "its eos, no pad");
	tap_works(parse(&c, "{\"model_type\":\"gpt2\"}"), "absent");
	tap_ok(c.bos.ids[0] == 50256 && c.eos.ids[0] == 50256, "gpt2's");
	tap_works(parse(&c, "{\"model_type\":\"llama\",\"bos_token_id\":null,"
			    "\"eos_token_id\":[],\"pad_token_id\":-1}"),
		  "null");
	tap_ok(c.bos.presence == HF_NULL && c.bos.n == 0, "null is none");
	tap_ok(c.eos.presence == HF_GIVEN && c.eos.n == 0, "an empty list too");
	tap_ok(c.pad.presence == HF_NULL && c.pad.n == 0, "-1 too");
	tap_works(parse(&c, "{\"model_type\":\"llama\",\"eos_token_id\":[7,5]}"), "given");
	tap_ok(c.eos.presence == HF_GIVEN && c.eos.n == 2 && c.eos.ids[1] == 5, "a list");
	tap_fails(parse(&c, "{\"model_type\":\"llama\",\"bos_token_id\":[1]}"), ERR_FORMAT,
		  "bos_token_id", "a list where one is wanted");
	tap_fails(parse(&c, "{\"model_type\":\"llama\",\"eos_token_id\":[1,-2]}"), ERR_FORMAT,
		  "eos_token_id", "a negative one in a list");
	tap_fails(parse(&c, "{\"model_type\":\"llama\",\"eos_token_id\":2147483648}"), ERR_FORMAT,
		  "eos_token_id", "past the limit");
}

static void test_null_and_absent_sizes(void)
{
	struct hf_config c;

	tap_works(parse(&c, "{\"model_type\":\"mistral\"}"), "mistral");
	tap_ok(c.n_kv_heads == 8 && c.window == 4096, "absent: 8 heads of k and v, a window");
	tap_works(parse(&c, "{\"model_type\":\"mistral\",\"num_key_value_heads\":null,"
			    "\"sliding_window\":null}"),
		  "null");
	tap_ok(c.n_kv_heads == 32 && c.window == 0 && c.layer_attention[0] == HF_FULL,
	       "null: as many as of q, no window");
	tap_works(parse(&c, "{\"model_type\":\"qwen3\",\"hidden_size\":100}"), "qwen3");
	tap_is_u64(c.head_dim, 128, "its heads do not follow from the width");
	tap_works(parse(&c, "{\"model_type\":\"qwen2\",\"sliding_window\":4096,"
			    "\"use_sliding_window\":false,\"max_window_layers\":0}"),
		  "a window that is not used");
	tap_ok(c.window == 0 && c.window_given == 4096, "is kept, and not in force");
}

/* Without a model_type the class says it, to its end: a mixture of experts is another model. */
static void test_class_alone(void)
{
	struct hf_config c;

	tap_works(parse(&c, "{\"architectures\":[\"GPT2Model\"]}"), "a class alone");
	tap_ok(c.architecture == HF_GPT2, "gpt2");
	tap_works(parse(&c, "{\"architectures\":[\"Qwen2ForCausalLM\"]}"), "another");
	tap_ok(c.architecture == HF_QWEN2, "qwen2");
	tap_fails(parse(&c, "{\"architectures\":[\"Qwen2MoeForCausalLM\"]}"), ERR_UNSUPPORTED,
		  "Qwen2MoeForCausalLM", "not every name that starts so");
	tap_fails(parse(&c, "{\"architectures\":[]}"), ERR_MISSING, "model_type", "none");
}

/* Source: Gemma3TextConfig of transformers 5, which halves the window and adds one. */
static void test_both_ways(void)
{
	struct hf_config c;

	tap_works(parse(&c, "{\"model_type\":\"gemma3_text\",\"sliding_window\":512,"
			    "\"use_bidirectional_attention\":true}"),
		  "gemma3 that looks both ways");
	tap_ok(c.bidirectional && c.window == 257 && c.window_given == 512,
	       "half a window, and one");
}

/* The text part of a vision model; what it does not have, the whole may. */
static void test_nested(void)
{
	struct hf_config c;
	struct buffer b = { 0 };

	tap_works(
		parse(&c,
		      "{\"model_type\":\"gemma3\",\"dtype\":\"bfloat16\",\"eos_token_id\":[1,106],"
		      "\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
		      "\"num_hidden_layers\":34,\"sliding_window\":1024,\"mine\":{\"a\":[1 ]},"
		      "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}},"
		      "\"vision_config\":{\"hidden_size\":1152}}"),
		"gemma3 with vision");
	tap_ok(c.nested && c.architecture == HF_GEMMA3 && c.hidden_size == 2560 && c.window == 1024,
	       "its text part");
	tap_ok(c.n_heads == 8 && c.n_kv_heads == 4 && c.head_dim == 256, "with the class's heads");
	tap_ok(c.dtype == DTYPE_BF16 && c.eos.n == 2 && c.eos.ids[1] == 106, "type and ends");
	tap_ok(c.layer_attention[5] == HF_FULL && c.layer_attention[6] == HF_SLIDING, "each sixth");
	tap_is_u64(c.n_others, 1, "one other key, of the text part");
	tap_is_bytes(c.others[0].value, bytes_of("{\"a\":[1 ]}"), "as it stood there");
	tap_fails(hf_config_put(&b, &c), ERR_UNSUPPORTED, "vision", "it is not written alone");
	buffer_free(&b);
}

static void test_others_kept(void)
{
	static const char text[] =
		"{\"model_type\": \"llama\", \"attention_dropout\": 0.10, \"use_cache\": true,\n"
		"\"quantization_config\": {\"bits\": 4, \"note\": \"\\u00e9\"}}";
	struct hf_config c;
	char *out;

	tap_works(parse(&c, text), "other keys");
	tap_is_u64(c.n_others, 3, "three");
	tap_is_bytes(c.others[0].key, bytes_of("attention_dropout"), "in their order");
	tap_is_bytes(c.others[0].value, bytes_of("0.10"), "as they were written");
	out = written(&c);
	tap_ok(strstr(out, "\"attention_dropout\": 0.10,\n  \"use_cache\": true,\n"
			   "  \"quantization_config\": {\"bits\": 4, \"note\": \"\\u00e9\"}\n}\n"),
	       "and are written again");
	free(out);
}

/* No key of what transformers wrote is lost, be it read or not. */
static void test_keys_kept(void)
{
	for (size_t i = 0; i < N_MODELS; i++) {
		struct hf_config c = good(models[i], "config.json");
		char *out = written(&c), *text, path[256], quoted[128];
		struct bytes key;
		struct json *j;
		size_t size, lost = 0, n = 0;

		snprintf(path, sizeof(path), GOOD "%s/config.json", models[i]);
		text = tap_fixture(path, &size);
		json_new(&j);
		json_init(j, text, size, path, NULL);
		json_object(j);
		for (; json_key(j, &key) > 0; n++) {
			snprintf(quoted, sizeof(quoted), "\"" BYTES_FMT "\": ", BYTES_ARG(key));
			lost += !strstr(out, quoted);
			if (!strstr(out, quoted))
				tap_note("lost: %s", quoted);
			json_skip(j, NULL);
		}
		tap_ok(n > 10 && lost == 0, "%s: all %zu keys come back", models[i], n);
		json_free(j);
		free(text);
		free(out);
	}
}

/* --- rope --- */

#define ROPE(text) \
 "{\"model_type\":\"llama\",\"hidden_size\":16,\"num_attention_heads\":2," text "}"

/* J06: a float is taken; what is missing is not made up. */
static void test_J06_rope(void)
{
	struct hf_config c;
	const struct hf_rope *r = &c.rope[HF_FULL];

	tap_works(parse(&c, ROPE("\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,"
				 "\"original_max_position_embeddings\":4096.0,\"mscale\":1.0,"
				 "\"mscale_all_dim\":0.707,\"beta_fast\":16,\"truncate\":false}")),
		  "J06 yarn by its older name");
	tap_ok(r->type == HF_ROPE_YARN && r->factor == 40 && r->original_context == 4096,
	       "J06 the original length as a float");
	tap_ok(r->mscale == 1 && r->mscale_all_dim == 0.707 && r->beta_fast == 16 &&
		       r->beta_slow == 0 && r->attention_factor == 0 && !r->truncate,
	       "its numbers, and 0 for what is not given");
	tap_works(parse(&c, ROPE("\"max_position_embeddings\":163840,\"rope_scaling\":{\"type\":"
				 "\"yarn\",\"original_max_position_embeddings\":4096}")),
		  "J06 the factor follows from the lengths");
	tap_fails(parse(&c, ROPE("\"rope_scaling\":{\"type\":\"yarn\"}")), ERR_MISSING, "factor",
		  "J06 neither");
	tap_works(parse(&c, ROPE("\"rope_parameters\":{\"rope_type\":\"longrope\",\"short_factor\":"
				 "[1,1,1,1],\"long_factor\":[1,2.5,3,4]},"
				 "\"original_max_position_embeddings\":64")),
		  "longrope, its length beside it");
	tap_ok(r->n_long_factors == 4 && r->long_factor[1] == 2.5 && r->original_context == 64,
	       "its lists");
	tap_fails(parse(&c, ROPE("\"rope_parameters\":{\"rope_type\":\"longrope\",\"short_factor\":"
				 "[1,1,1],\"long_factor\":[1,2,3],"
				 "\"original_max_position_embeddings\":64}")),
		  ERR_MISMATCH, "short_factor", "a factor too few");
	tap_fails(parse(&c, ROPE("\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"yarn\","
				 "\"factor\":2}")),
		  ERR_MISMATCH, "rope_scaling.type: is unlike rope_type", "two names, unlike");
	tap_fails(parse(&c, ROPE("\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},"
				 "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4}")),
		  ERR_MISMATCH, "rope_parameters.factor: is unlike rope_scaling.factor",
		  "two factors, unlike");
	tap_works(parse(&c, ROPE("\"rope_theta\":5000,\"partial_rotary_factor\":0.5,"
				 "\"rope_parameters\":{\"rope_theta\":5e3}")),
		  "the same in other words");
	tap_ok(r->theta == 5000 && r->partial == 0.5, "half of the dimensions");
	tap_fails(parse(&c, ROPE("\"head_dim\":7")), ERR_FORMAT, "head_dim", "an odd width");
	tap_fails(parse(&c, ROPE("\"rope_theta\":0")), ERR_FORMAT, "rope_theta", "theta 0");
}

static void test_nested_rope(void)
{
	struct hf_config c;
	struct buffer b = { 0 };
	char *text;

	tap_works(parse(&c, "{\"model_type\":\"qwen3\",\"rope_parameters\":{\"full_attention\":"
			    "{\"rope_type\":\"default\",\"rope_theta\":7}}}"),
		  "an object for each kind");
	tap_ok(c.rope[HF_FULL].theta == 7, "its theta");
	tap_fails(hf_config_put(&b, &c), ERR_UNSUPPORTED, "rope_parameters",
		  "unlike ropes have no older words");
	buffer_free(&b);
	tap_fails(parse(&c, "{\"model_type\":\"qwen3\",\"use_sliding_window\":true,"
			    "\"max_window_layers\":1,\"rope_parameters\":{\"full_attention\":"
			    "{\"rope_type\":\"default\"}}}"),
		  ERR_MISSING, "sliding_attention", "a kind that layers use is missing");
	tap_fails(parse(&c, "{\"model_type\":\"gemma3_text\",\"rope_parameters\":"
			    "{\"rope_type\":\"default\"}}"),
		  ERR_FORMAT, "rope_parameters", "gemma3 needs one for each");
	tap_works(parse(&c, "{\"model_type\":\"llama\",\"rope_theta\":1e6,\"rms_norm_eps\":1e-05}"),
		  "numbers");
	text = written(&c);
	tap_ok(strstr(text, "\"rope_theta\": 1000000.0,\n") &&
		       strstr(text, "\"rms_norm_eps\": 1e-5,\n"),
	       "a float has a point or an exponent");
	free(text);
}

/* --- refusals --- */

static void test_broken(void)
{
	static const struct {
		const char *file;
		enum err_code code;
		const char *part;
	} files[] = {
		{ "unlike-rope-theta", ERR_MISMATCH,
		  "rope_parameters.rope_theta: is unlike rope_theta" },
		{ "unlike-rope-type", ERR_MISMATCH, "rope_type: is unlike rope_scaling.rope_type" },
		{ "unlike-dtype", ERR_MISMATCH, "dtype: is unlike torch_dtype" },
		{ "unlike-layer-types", ERR_MISMATCH,
		  "layer_types[1]: is unlike what sliding_window_pattern says" },
		{ "unlike-width", ERR_MISMATCH, "hidden_size: is unlike n_embd" },
		{ "unknown-architecture", ERR_UNSUPPORTED, "hyena (HyenaForCausalLM)" },
		{ "moe-is-not-qwen2", ERR_UNSUPPORTED, "qwen2_moe (Qwen2MoeForCausalLM)" },
		{ "gemma3-without-text", ERR_UNSUPPORTED, "text_config" },
		{ "unknown-activation", ERR_UNSUPPORTED, "hidden_act: the activation snake" },
		{ "unknown-rope", ERR_UNSUPPORTED, "rope_type: rope of type spiral" },
		{ "zero-heads", ERR_FORMAT, "num_attention_heads: is 0" },
		{ "heads-no-multiple", ERR_FORMAT, "num_attention_heads: is 6" },
		{ "head-dim-zero", ERR_FORMAT, "head_dim: is 0" },
		{ "head-dim-large", ERR_LIMIT, "head_dim: is 4098, the limit is 4096" },
		{ "many-layers", ERR_LIMIT,
		  "num_hidden_layers: 100001 layers, the limit is 100000" },
		{ "negative-width", ERR_FORMAT, "hidden_size" },
		{ "half-a-layer", ERR_FORMAT, "num_hidden_layers" },
		{ "vocab-is-text", ERR_FORMAT, "vocab_size" },
		{ "vocab-is-null", ERR_FORMAT, "vocab_size: is null" },
		{ "vocab-past-2-63", ERR_LIMIT, "vocab_size" },
		{ "short-layer-types", ERR_MISMATCH, "layer_types: has 1 items for 3 layers" },
		{ "slides-without-window", ERR_FORMAT, "sliding_window" },
		{ "llama3-without-factor", ERR_MISSING, "factor" },
		{ "cross-attention", ERR_UNSUPPORTED, "add_cross_attention" },
		{ "eos-is-text", ERR_FORMAT, "eos_token_id" },
		{ "no-architecture", ERR_MISSING, "model_type" },
		{ "not-an-object", ERR_FORMAT, "is no JSON object" },
		{ "cut", ERR_FORMAT, "byte" },
		{ "duplicate-key", ERR_FORMAT, "duplicate key \"hidden_size\"" },
	};
	struct hf_config c;
	char path[256];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, BAD "%s.json", files[i].file);
		tap_fails(hf_config_read(&c, arena, path), files[i].code, files[i].part, "%s",
			  files[i].file);
		tap_ok(strstr(err_text(), path) != NULL, "it names the file");
	}
}

static void test_every_bad_file(void)
{
	DIR *d = opendir(BAD);
	struct hf_config c;
	struct dirent *e;
	char path[512];
	size_t n = 0;

	while (d && (e = readdir(d))) {
		if (!bytes_end_with(bytes_of(e->d_name), ".json"))
			continue;
		snprintf(path, sizeof path, BAD "%s", e->d_name);
		tap_ok(hf_config_read(&c, arena, path) < 0, "%s is refused", e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	tap_is_u64(n, 29, "all of them");
}

static void test_check(void)
{
	struct hf_config c = good("llama", "config.json");
	struct buffer b = { 0 };
	uint64_t n;

	tap_works(hf_config_check(&c, "x"), "whole");
	c.n_kv_heads = 3;
	tap_fails(hf_config_check(&c, "x"), ERR_FORMAT, "x: key num_attention_heads: is 4",
		  "made, not read");
	tap_fails(hf_config_put(&b, &c), ERR_FORMAT, "num_attention_heads", "nor written");
	tap_is_u64(b.size, 0, "nothing is written");
	buffer_free(&b);
	c = (struct hf_config){ .model_type = bytes_of("hyena") };
	tap_fails(hf_config_check(&c, "x"), ERR_UNSUPPORTED, "hyena", "no architecture");
	c = good("llama", "config.json");
	c.vocab_size = c.hidden_size = (uint64_t)1 << 33;
	tap_ok(!hf_config_n_parameters(&c, &n), "a count past 64 bits");
	c = good("llama", "config.json");
	c.class_name = bytes_of("LlamaForSequenceClassification");
	tap_ok(!hf_config_n_parameters(&c, &n), "a head that is not known");
}

/* --- damage --- */

static int parse_damaged(void *arg, const void *data, size_t size)
{
	struct arena *a = NULL;
	struct hf_config c;
	struct buffer b = { 0 };
	int rc;

	if (arena_new(&a) < 0)
		return -1;
	rc = hf_config_parse(&c, a, (struct bytes){ data, size }, "damaged");
	if (rc == 0)
		*(int *)arg += hf_config_put(&b, &c) == 0;
	buffer_free(&b);
	arena_free(a);
	return rc;
}

static void test_damaged(void)
{
	struct bytes one, two;
	int written_again = 0;
	char *a = tap_fixture(GOOD "gemma3/config.json", &one.size);
	char *b = tap_fixture(GOOD "smollm3/config-4.json", &two.size);

	one.data = a;
	two.data = b;
	corrupt_run("damaged config.json", one, two, parse_damaged, &written_again,
		    (size_t)64 << 20);
	free(a);
	free(b);
}

static void run(void (*fn)(void), const char *name)
{
	begin();
	tap_run_(fn, name);
}

#define RUN(fn) run(fn, #fn)

int main(void)
{
	RUN(test_llama);
	RUN(test_windows);
	RUN(test_others_of_the_eight);
	RUN(test_one_configuration);
	RUN(test_parameters);
	RUN(test_defaults);
	RUN(test_ids);
	RUN(test_null_and_absent_sizes);
	RUN(test_class_alone);
	RUN(test_both_ways);
	RUN(test_nested);
	RUN(test_others_kept);
	RUN(test_keys_kept);
	RUN(test_J06_rope);
	RUN(test_nested_rope);
	RUN(test_broken);
	RUN(test_every_bad_file);
	RUN(test_check);
	RUN(test_damaged);
	arena_free(arena);
	return tap_done();
}
