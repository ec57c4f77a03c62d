/*
 * formats/hf_words.c - the words of config.json
 *
 * Source: transformers' model types, class names, ACT2FN and torch's names of types.
 */
#include "formats/hf_parts.h"

static const struct {
	const char *name, *model_type, *prefix, *class_name;
} architectures[HF_ARCHITECTURE_COUNT] = {
	[HF_LLAMA] = { "llama", "llama", "Llama", "LlamaForCausalLM" },
	[HF_MISTRAL] = { "mistral", "mistral", "Mistral", "MistralForCausalLM" },
	[HF_QWEN2] = { "qwen2", "qwen2", "Qwen2", "Qwen2ForCausalLM" },
	[HF_QWEN3] = { "qwen3", "qwen3", "Qwen3", "Qwen3ForCausalLM" },
	[HF_GEMMA3] = { "gemma3", "gemma3_text", "Gemma3", "Gemma3ForCausalLM" },
	[HF_SMOLLM3] = { "smollm3", "smollm3", "SmolLM3", "SmolLM3ForCausalLM" },
	[HF_GPT2] = { "gpt2", "gpt2", "GPT2", "GPT2LMHeadModel" },
	[HF_BERT] = { "bert", "bert", "Bert", "BertModel" },
};

const char *hf_architecture_name(enum hf_architecture a)
{
	return a > HF_UNKNOWN && a < HF_ARCHITECTURE_COUNT ? architectures[a].name : NULL;
}

const char *hf_class_name(enum hf_architecture a)
{
	return architectures[a].class_name;
}

const char *hf_language_class(enum hf_architecture a)
{
	if (!hf_architecture_name(a))
		return NULL;
	return a == HF_BERT ? "BertForMaskedLM" : architectures[a].class_name;
}

const char *hf_model_type(enum hf_architecture a)
{
	return architectures[a].model_type;
}

enum hf_architecture hf_architecture_of_type(const char *model_type)
{
	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++)
		if (strcmp(model_type, architectures[a].model_type) == 0)
			return (enum hf_architecture)a;
	/* With a text_config in it; the reader looks. */
	return strcmp(model_type, "gemma3") == 0 ? HF_GEMMA3 : HF_UNKNOWN;
}

/* What may follow the prefix: Qwen2MoeForCausalLM is no Qwen2. */
static bool class_ending(const char *rest)
{
	static const char *const endings[] = { "For", "Model", "LMHead", "TextModel" };

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (strncmp(rest, endings[i], strlen(endings[i])) == 0)
			return true;
	return false;
}

enum hf_architecture hf_architecture_of_class(const char *class_name)
{
	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++) {
		size_t n = strlen(architectures[a].prefix);

		if (strncmp(class_name, architectures[a].prefix, n) == 0 &&
		    class_ending(class_name + n))
			return (enum hf_architecture)a;
	}
	return HF_UNKNOWN;
}

static const char *const activations[HF_ACTIVATION_COUNT] = {
	[HF_SILU] = "silu",	      [HF_GELU] = "gelu",
	[HF_GELU_NEW] = "gelu_new",   [HF_GELU_TANH] = "gelu_pytorch_tanh",
	[HF_GELU_FAST] = "gelu_fast", [HF_QUICK_GELU] = "quick_gelu",
	[HF_RELU] = "relu",	      [HF_RELU2] = "relu2",
};

static const char *const rope_types[HF_ROPE_TYPE_COUNT] = {
	[HF_ROPE_DEFAULT] = "default",	 [HF_ROPE_LINEAR] = "linear",
	[HF_ROPE_DYNAMIC] = "dynamic",	 [HF_ROPE_YARN] = "yarn",
	[HF_ROPE_LONGROPE] = "longrope", [HF_ROPE_LLAMA3] = "llama3",
};

static int find_word(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (words[i] && strcmp(words[i], word) == 0)
			return i;
	return -1;
}

const char *hf_activation_name(enum hf_activation a)
{
	return (unsigned)a < HF_ACTIVATION_COUNT ? activations[a] : NULL;
}

int hf_activation_of(const char *word)
{
	if (strcmp(word, "swish") == 0)
		return HF_SILU;
	return find_word(activations, HF_ACTIVATION_COUNT, word);
}

const char *hf_rope_type_name(enum hf_rope_type t)
{
	return (unsigned)t < HF_ROPE_TYPE_COUNT ? rope_types[t] : NULL;
}

int hf_rope_type_of(const char *word)
{
	return find_word(rope_types, HF_ROPE_TYPE_COUNT, word);
}

const char *hf_attention_name(enum hf_attention k)
{
	switch (k) {
	case HF_FULL: return "full_attention";
	case HF_SLIDING: return "sliding_attention";
	default: return NULL;
	}
}

static const struct {
	enum dtype dtype;
	const char *word;
} dtypes[] = {
	{ DTYPE_F32, "float32" },	    { DTYPE_F16, "float16" },
	{ DTYPE_BF16, "bfloat16" },	    { DTYPE_F64, "float64" },
	{ DTYPE_F8_E4M3, "float8_e4m3fn" }, { DTYPE_F8_E5M2, "float8_e5m2" },
};

const char *hf_dtype_word(enum dtype t)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].dtype == t)
			return dtypes[i].word;
	return NULL;
}

enum dtype hf_dtype_of(const char *word)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (strcmp(dtypes[i].word, word) == 0)
			return dtypes[i].dtype;
	return DTYPE_UNKNOWN;
}
