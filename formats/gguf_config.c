/*
 * formats/gguf_config.c - a GGUF's metadata as struct hf_config
 *
 * Names of keys and tensors: gguf-py's constants.py; what is optional, and its default: llama.cpp's
 * loader. Nothing here is believed that the tensors do not bear out, since memory is asked for and
 * loops are run by these numbers.
 */
#include "formats/gguf_config_parts.h"
#include "formats/gguf_config_write.h"

#include <inttypes.h>

#define HEADS_MAX 65536

static const struct {
	const char *name;
	enum hf_architecture architecture;
} architectures[] = {
	{ "llama", HF_LLAMA },	 { "qwen2", HF_QWEN2 },	    { "qwen3", HF_QWEN3 },
	{ "gemma3", HF_GEMMA3 }, { "smollm3", HF_SMOLLM3 }, { "gpt2", HF_GPT2 },
	{ "bert", HF_BERT },
};

/* --- tensors against sizes --- */

/* The number N of `blk.N.…`; false for other names. */
static bool layer_of(struct bytes name, uint64_t *out)
{
	uint64_t n = 0;
	size_t i = 4;

	if (!bytes_start_with(name, "blk."))
		return false;
	for (; i < name.size && name.data[i] >= '0' && name.data[i] <= '9'; i++) {
		if (n > HF_SIZE_MAX)
			return false;
		n = n * 10 + (uint64_t)(name.data[i] - '0');
	}
	*out = n;
	return i > 4 && i < name.size && name.data[i] == '.';
}

static uint64_t count_layers(const struct config_reader *r)
{
	uint64_t count = 0, n;

	for (size_t i = 0; i < config_n_tensors(r); i++) {
		if (layer_of(config_tensor_at(r, i)->name, &n) && n >= count)
			count = n + 1;
	}
	return count;
}

static int read_layers(const struct config_reader *r)
{
	uint64_t said = 0, there = count_layers(r);

	if (config_need_u64(r, "block_count", UINT64_MAX, &said))
		return -1;
	if (said != there)
		return config_fail(r, ERR_MISMATCH, "block_count",
				   "is %" PRIu64 ", the tensors have %" PRIu64 " layers", said,
				   there);
	if (said > HF_LAYERS_MAX)
		return config_fail(r, ERR_LIMIT, "block_count", "is %" PRIu64 ", the limit is %d",
				   said, HF_LAYERS_MAX);
	r->c->n_layers = (uint32_t)said;
	return 0;
}

/* SUFFIX says that tensor T has SAID rows. */
static int check_rows(const struct config_reader *r, const struct tensor_info *t,
		      const char *suffix, uint64_t said)
{
	if (t->n_dims == 2 && t->shape[0] == said && t->shape[1] == r->c->hidden_size)
		return 0;
	return config_fail(r, ERR_MISMATCH, suffix,
			   "asks for %" PRIu64 " x %" PRIu64 " values in tensor " BYTES_FMT
			   ", which has %" PRIu64 " x %" PRIu64,
			   said, r->c->hidden_size, BYTES_ARG(t->name),
			   t->n_dims > 0 ? t->shape[0] : 1, t->n_dims > 1 ? t->shape[1] : 1);
}

/* A weight that every architecture has in every layer, under one of two names. */
static const struct tensor_info *need_tensor(const struct config_reader *r, uint32_t layer,
					     const char *name, const char *other)
{
	const struct tensor_info *t = config_tensor(r, layer, name);

	if (!t && other)
		t = config_tensor(r, layer, other);
	if (!t)
		err_set(ERR_MISSING, "%s: tensor blk.%" PRIu32 ".%s: is missing", r->file, layer,
			name);
	return t;
}

static int check_attention(const struct config_reader *r, uint32_t layer)
{
	const struct hf_config *c = r->c;
	const struct tensor_info *q = need_tensor(r, layer, "attn_q.weight", "attn_qkv.weight"), *k;
	uint64_t width = (uint64_t)c->n_heads * c->head_dim;
	uint64_t kv_width = (uint64_t)c->n_kv_heads * c->head_dim;

	if (!q)
		return -1;
	if (bytes_end_with(q->name, "attn_qkv.weight"))
		return check_rows(r, q, "attention.head_count", width + 2 * kv_width);
	if (check_rows(r, q, "attention.head_count", width))
		return -1;
	k = need_tensor(r, layer, "attn_k.weight", NULL);
	return k ? check_rows(r, k, "attention.head_count_kv", kv_width) : -1;
}

static int check_layer(const struct config_reader *r, uint32_t layer)
{
	const struct tensor_info *up;

	if (check_attention(r, layer))
		return -1;
	up = need_tensor(r, layer, "ffn_up.weight", NULL);
	return up ? check_rows(r, up, "feed_forward_length", r->c->ffn_size) : -1;
}

/* --- sizes --- */

static int read_vocabulary(const struct config_reader *r)
{
	const struct tensor_info *t = config_tensor(r, -1, "token_embd.weight");
	struct gguf_value tokens;
	uint64_t said = 0;
	int got;

	if (!t)
		return err_set(ERR_MISSING, "%s: tensor token_embd.weight: is missing", r->file);
	r->c->vocab_size = t->n_dims == 2 ? t->shape[0] : 0;
	if (check_rows(r, t, "embedding_length", r->c->vocab_size))
		return -1;
	got = gguf_get_array(r->gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens);
	if (got < 0)
		return -1;
	if (got && tokens.n != r->c->vocab_size)
		return err_set(ERR_MISMATCH,
			       "%s: key tokenizer.ggml.tokens: has %" PRIu64
			       " items, tensor token_embd.weight %" PRIu64 " rows",
			       r->file, tokens.n, r->c->vocab_size);
	/* The key may be off where there are tokens: llama.cpp does not look at it then. */
	if (got)
		return 0;
	got = config_u64(r, "vocab_size", HF_SIZE_MAX - 1, &said);
	if (got < 0)
		return -1;
	return got ? check_rows(r, t, "vocab_size", said) : 0;
}

/* Arrays that go with the tokens: their types, and one item each. */
static int check_tokens(const struct config_reader *r)
{
	static const struct {
		const char *key;
		enum gguf_type type;
		bool each;
	} arrays[] = {
		{ "tokenizer.ggml.scores", GGUF_F32, true },
		{ "tokenizer.ggml.token_type", GGUF_I32, true },
		{ "tokenizer.ggml.merges", GGUF_STRING, false },
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		struct gguf_value v;
		int got = gguf_get_array(r->gguf, arrays[i].key, arrays[i].type, &v);

		if (got < 0)
			return -1;
		if (got && arrays[i].each && v.n != r->c->vocab_size)
			return err_set(ERR_MISMATCH,
				       "%s: key %s: has %" PRIu64 " items for %" PRIu64 " tokens",
				       r->file, arrays[i].key, v.n, r->c->vocab_size);
	}
	return 0;
}

static int read_head_dim(const struct config_reader *r)
{
	struct hf_config *c = r->c;
	uint64_t key = c->hidden_size / c->n_heads, value;
	int got = config_u64(r, "attention.key_length", HF_HEAD_DIM_MAX, &key);

	if (got < 0)
		return -1;
	if (got == 0 && (c->hidden_size % c->n_heads != 0 || key > HF_HEAD_DIM_MAX))
		return config_fail(r, ERR_FORMAT, "attention.head_count",
				   "is %" PRIu32 ", for a width of %" PRIu64
				   " and no attention.key_length",
				   c->n_heads, c->hidden_size);
	value = key;
	if (config_u64(r, "attention.value_length", HF_HEAD_DIM_MAX, &value) < 0)
		return -1;
	if (value != key)
		return config_fail(r, ERR_UNSUPPORTED, "attention.value_length",
				   "is %" PRIu64 ", unlike that of keys, %" PRIu64, value, key);
	c->head_dim = (uint32_t)key;
	return 0;
}

static int read_heads(const struct config_reader *r)
{
	uint64_t heads = 0, kv_heads;

	if (config_need_u64(r, "attention.head_count", HEADS_MAX, &heads))
		return -1;
	kv_heads = heads;
	if (config_u64(r, "attention.head_count_kv", HEADS_MAX, &kv_heads) < 0)
		return -1;
	if (heads % kv_heads != 0)
		return config_fail(r, ERR_FORMAT, "attention.head_count",
				   "is %" PRIu64
				   ", no multiple of attention.head_count_kv, %" PRIu64,
				   heads, kv_heads);
	r->c->n_heads = (uint32_t)heads;
	r->c->n_kv_heads = (uint32_t)kv_heads;
	return read_head_dim(r);
}

/* Experts are not built yet; but a count that cannot be is the file's fault, and said first. */
static int check_experts(const struct config_reader *r)
{
	uint64_t count = 0, used = 0;
	char key[CONFIG_KEY_SIZE];

	if (gguf_get_u64(r->gguf, config_key(r, "expert_count", key), &count) < 0 ||
	    gguf_get_u64(r->gguf, config_key(r, "expert_used_count", key), &used) < 0)
		return -1;
	if (used > count)
		return config_fail(r, ERR_FORMAT, "expert_used_count",
				   "is %" PRIu64 ", more than expert_count, %" PRIu64, used, count);
	if (count > 0)
		return config_fail(r, ERR_UNSUPPORTED, "expert_count",
				   "is %" PRIu64 ", a mixture of experts is not supported", count);
	return 0;
}

static int read_sizes(const struct config_reader *r)
{
	struct hf_config *c = r->c;

	if (read_layers(r) || check_experts(r) ||
	    config_need_u64(r, "embedding_length", HF_SIZE_MAX - 1, &c->hidden_size) ||
	    config_need_u64(r, "context_length", HF_SIZE_MAX - 1, &c->context) ||
	    config_need_u64(r, "feed_forward_length", HF_SIZE_MAX - 1, &c->ffn_size))
		return -1;
	if (read_heads(r) || read_vocabulary(r) || check_tokens(r))
		return -1;
	for (uint32_t i = 0; i < c->n_layers; i++) {
		if (check_layer(r, i))
			return -1;
	}
	return 0;
}

/* --- what the tensors tell --- */

static void read_biases(const struct config_reader *r)
{
	struct hf_config *c = r->c;
	const struct tensor_info *embedding = config_tensor(r, -1, "token_embd.weight");

	c->qkv_bias = config_tensor(r, 0, "attn_q.bias") || config_tensor(r, 0, "attn_qkv.bias");
	c->out_bias = config_tensor(r, 0, "attn_output.bias") != NULL;
	c->mlp_bias = config_tensor(r, 0, "ffn_up.bias") != NULL;
	c->qk_norm = config_tensor(r, 0, "attn_q_norm.weight") != NULL;
	if (c->architecture != HF_BERT)
		c->tie_word_embeddings = !config_tensor(r, -1, "output.weight");
	switch (embedding->dtype) {
	case DTYPE_F32:
	case DTYPE_F16:
	case DTYPE_BF16: c->dtype = embedding->dtype; break;
	default: c->dtype = DTYPE_UNKNOWN; break;
	}
}

/* Learned positions and token types: as many as their tables have rows. */
static int read_tables(const struct config_reader *r)
{
	const struct tensor_info *positions = config_tensor(r, -1, "position_embd.weight");
	const struct tensor_info *types = config_tensor(r, -1, "token_types.weight");

	if (r->c->position == HF_POSITION_ROPE)
		return 0;
	if (!positions)
		return err_set(ERR_MISSING, "%s: tensor position_embd.weight: is missing", r->file);
	if (check_rows(r, positions, "context_length", r->c->context))
		return -1;
	if (r->c->architecture != HF_BERT)
		return 0;
	if (!types)
		return err_set(ERR_MISSING, "%s: tensor token_types.weight: is missing", r->file);
	r->c->type_vocab_size = types->shape[0];
	return check_rows(r, types, "embedding_length", r->c->type_vocab_size);
}

static int read_norm(const struct config_reader *r)
{
	bool rms = r->c->position == HF_POSITION_ROPE;

	return config_need_real(
		r, rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
		&r->c->norm_eps);
}

/* --- token ids --- */

/* Adds the id at KEY to *IDS, unless it is there. Each is below the vocabulary's size. */
static int add_id(const struct config_reader *r, const char *key, struct hf_ids *ids,
		  uint32_t *list)
{
	uint64_t id = 0;
	int got = gguf_get_u64(r->gguf, key, &id);

	if (got <= 0)
		return got;
	if (id >= r->c->vocab_size)
		return err_set(ERR_FORMAT, "%s: key %s: is %" PRIu64 ", of %" PRIu64 " tokens",
			       r->file, key, id, r->c->vocab_size);
	for (uint32_t i = 0; i < ids->n; i++) {
		if (list[i] == id)
			return 0;
	}
	list[ids->n++] = (uint32_t)id;
	ids->presence = HF_GIVEN;
	return 0;
}

/* KEYS ends with NULL. No key at all: there is no such token. */
static int read_ids(const struct config_reader *r, const char *const *keys, struct hf_ids *ids)
{
	uint32_t *list;
	size_t n = 0;

	while (keys[n])
		n++;
	list = arena_alloc(r->arena, n, sizeof(*list));
	if (!list)
		return -1;
	*ids = (struct hf_ids){ .presence = HF_NULL, .ids = list };
	for (size_t i = 0; i < n; i++) {
		if (add_id(r, keys[i], ids, list))
			return -1;
	}
	return 0;
}

static int read_all_ids(const struct config_reader *r)
{
	static const char *const bos[] = { "tokenizer.ggml.bos_token_id", NULL };
	/* The end of a turn ends as well. */
	static const char *const eos[] = { "tokenizer.ggml.eos_token_id",
					   "tokenizer.ggml.eot_token_id",
					   "tokenizer.ggml.eom_token_id", NULL };
	static const char *const pad[] = { "tokenizer.ggml.padding_token_id", NULL };

	if (read_ids(r, bos, &r->c->bos) || read_ids(r, eos, &r->c->eos))
		return -1;
	return read_ids(r, pad, &r->c->pad);
}

/* --- the whole --- */

/* Sets R->arch and the defaults. */
static int read_architecture(struct config_reader *r)
{
	struct bytes name;
	int got = gguf_get_string(r->gguf, "general.architecture", &name);

	*r->c = (struct hf_config){ .architecture = HF_UNKNOWN };
	if (got < 0)
		return -1;
	if (got == 0)
		return err_set(ERR_MISSING, "%s: key general.architecture: is missing", r->file);
	for (size_t i = 0; i < sizeof(architectures) / sizeof(*architectures); i++) {
		if (!bytes_are(name, architectures[i].name))
			continue;
		r->arch = architectures[i].name;
		return hf_config_defaults(r->c, architectures[i].architecture, r->arena);
	}
	r->c->model_type = name;
	return err_set(ERR_UNSUPPORTED,
		       "%s: key general.architecture: architecture " BYTES_FMT " is not supported",
		       r->file, BYTES_ARG(name));
}

static int read_keys(struct config_reader *r)
{
	if (read_architecture(r) || read_sizes(r) || read_norm(r) || read_tables(r))
		return -1;
	read_biases(r);
	if (config_read_attention(r) || config_read_rope(r) || read_all_ids(r))
		return -1;
	return hf_config_check(r->c, r->file);
}

int gguf_config(struct gguf *g, struct hf_config *out, struct arena *a)
{
	struct config_reader r = { .gguf = g, .file = gguf_file_path(g, 0), .c = out, .arena = a };

	r.rest_follows = gguf_get(g, GGUF_CONFIG_REST) != NULL;
	if (read_keys(&r) < 0)
		return -1;
	if (!r.rest_follows)
		return 0;
	return config_read_rest(&r) < 0 ? -1 : config_check_llama3(&r);
}

int gguf_config_said(struct gguf *g, const struct tensor_info *const *tensors, size_t n,
		     struct hf_config *out, struct arena *arena)
{
	struct config_reader r = {
		.gguf = g,
		.file = gguf_file_path(g, 0),
		.c = out,
		.arena = arena,
		.tensors = tensors,
		.n_tensors = n,
		.rest_follows = true,
	};
	int result = names_new(&r.names);

	for (size_t i = 0; i < n && result >= 0; i++)
		result = names_add(r.names, tensors[i]->name, (uint32_t)i, NULL);
	if (result >= 0)
		result = read_keys(&r);
	names_free(r.names);
	return result < 0 ? -1 : 0;
}
