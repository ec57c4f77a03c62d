/* tests/run_model.c - a small llama to be saved by a run */

#include "tests/run_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

enum { VOCAB = 40, WIDTH = 16, FFN = 24, HEADS = 4, KV_HEADS = 2, HEAD = 4, LAYERS = 2 };

static const struct bind_rule rules[] = {
	{ .ours = "model.embed_tokens.weight", .theirs = "model.embed_tokens.weight" },
	{ .ours = "model.norm.weight", .theirs = "model.norm.weight" },
#define LAYER(name)                                                                      \
 {                                                                                       \
  .ours = "model.layers.{}." name ".weight", .theirs = "model.layers.{}." name ".weight" \
 }
	LAYER("input_layernorm"),
	LAYER("post_attention_layernorm"),
	LAYER("self_attn.q_proj"),
	LAYER("self_attn.k_proj"),
	LAYER("self_attn.v_proj"),
	LAYER("self_attn.o_proj"),
	LAYER("mlp.gate_proj"),
	LAYER("mlp.up_proj"),
	LAYER("mlp.down_proj"),
#undef LAYER
};

static void must(bool ok)
{
	if (ok)
		return;
	fprintf(stderr, "run_model: %s\n", err_text());
	exit(99);
}

static void add(struct run_model *m, const char *name, struct shape shape)
{
	struct store_entry *e = store_add(m->store, name, STORE_PARAMETER, DTYPE_F32, &shape);
	struct store_entry *beside[3];

	must(e != NULL);
	beside[0] = store_beside(m->store, e, "m", DTYPE_F32);
	beside[1] = store_beside(m->store, e, "v", DTYPE_U8);
	beside[2] = store_beside(m->store, e, "ema", DTYPE_F32);
	must(store_allocate(m->store, e) == 0);
	for (int i = 0; i < 3; i++)
		must(beside[i] && store_allocate(m->store, beside[i]) == 0);
}

static void add_layer(struct run_model *m, int layer)
{
	static const struct {
		const char *name;
		size_t rows, columns;
	} parts[] = {
		{ "input_layernorm", WIDTH, 0 },
		{ "post_attention_layernorm", WIDTH, 0 },
		{ "self_attn.q_proj", HEADS * HEAD, WIDTH },
		{ "self_attn.k_proj", KV_HEADS * HEAD, WIDTH },
		{ "self_attn.v_proj", KV_HEADS * HEAD, WIDTH },
		{ "self_attn.o_proj", WIDTH, HEADS * HEAD },
		{ "mlp.gate_proj", FFN, WIDTH },
		{ "mlp.up_proj", FFN, WIDTH },
		{ "mlp.down_proj", WIDTH, FFN },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char name[128];

		snprintf(name, sizeof(name), "model.layers.%d.%s.weight", layer, parts[i].name);
		add(m, name,
		    parts[i].columns ? SHAPE(parts[i].rows, parts[i].columns)
				     : SHAPE(parts[i].rows));
	}
}

void run_model_new(struct run_model *m)
{
	struct hf_config *c = &m->config;

	*m = (struct run_model){ .rules = { rules, sizeof(rules) / sizeof(*rules) } };
	must(arena_new(&m->arena) == 0 && store_new(&m->store) == 0);
	must(hf_config_defaults(c, HF_LLAMA, m->arena) == 0);
	c->vocab_size = VOCAB;
	c->hidden_size = WIDTH;
	c->ffn_size = FFN;
	c->n_layers = LAYERS;
	c->n_heads = HEADS;
	c->n_kv_heads = KV_HEADS;
	c->head_dim = HEAD;
	c->context = 64;
	c->tie_word_embeddings = true;
	c->class_name = bytes_of("LlamaForCausalLM");
	c->dtype = DTYPE_BF16; /* not what is trained */
	add(m, "model.embed_tokens.weight", SHAPE(VOCAB, WIDTH));
	for (int i = 0; i < LAYERS; i++)
		add_layer(m, i);
	add(m, "model.norm.weight", SHAPE(WIDTH));
}

void run_model_free(struct run_model *m)
{
	store_free(m->store);
	arena_free(m->arena);
}

/* --- values --- */

/* 16 bits of (name, step, rollbacks, place); small, so that a model of them can be run. */
static uint32_t bits_of(const char *name, uint64_t step, uint64_t rollbacks, size_t i)
{
	uint64_t key[3] = { step, rollbacks, i };

	return (uint32_t)hash_short(key, sizeof(key), hash_short(name, strlen(name), 0)) & 0xffff;
}

static void put_value(enum dtype t, void *data, size_t i, uint32_t bits)
{
	if (t == DTYPE_U8)
		((uint8_t *)data)[i] = (uint8_t)bits;
	else
		((float *)data)[i] = ((float)bits - 32768) / 65536;
}

static void fill(struct store_entry *e, void *data, uint64_t step, uint64_t rollbacks)
{
	for (size_t i = 0; i < shape_elements(&e->shape); i++)
		put_value(e->dtype, data, i, bits_of(e->name, step, rollbacks, i));
}

void run_model_fill(struct run_model *m, uint64_t step, uint64_t rollbacks)
{
	for (size_t i = 0; i < store_n(m->store); i++) {
		struct store_entry *e = store_at(m->store, i);

		fill(e, e->data, step, rollbacks);
		store_touch(e);
	}
}

static bool holds(struct store_entry *e, const void *data, uint64_t step, uint64_t rollbacks)
{
	void *want = mem_new(e->size, 1);
	bool same;

	must(want != NULL);
	fill(e, want, step, rollbacks);
	same = memcmp(want, data, e->size) == 0;
	free(want);
	if (!same)
		fprintf(stderr, "# %s: not the values of step %llu, rollbacks %llu\n", e->name,
			(unsigned long long)step, (unsigned long long)rollbacks);
	return same;
}

bool run_model_has_states(const struct run_model *m, uint64_t step, uint64_t rollbacks)
{
	for (size_t i = 0; i < store_n(m->store); i++) {
		struct store_entry *e = store_at(m->store, i);

		if (e->kind == STORE_STATE && !holds(e, e->data, step, rollbacks))
			return false;
	}
	return true;
}

bool run_model_is_saved(const struct run_model *m, const char *path, uint64_t step,
			uint64_t rollbacks)
{
	struct model *in;
	size_t n = 0;
	bool ok = true;

	if (model_open(&in, path) < 0) {
		fprintf(stderr, "# %s\n", err_text());
		return false;
	}
	for (size_t i = 0; i < store_n(m->store) && ok; i++) {
		struct store_entry *e = store_at(m->store, i);
		const struct tensor_info *t = model_find(in, bytes_of(e->name));

		if (e->kind != STORE_PARAMETER)
			continue;
		n++;
		ok = t && t->dtype == DTYPE_F32 && t->n_bytes == e->size &&
		     holds(e, t->data, step, rollbacks);
	}
	ok = ok && model_n_tensors(in) == n;
	model_close(in);
	return ok;
}

int run_model_checkpoint(struct run_model *m, struct run_folder *r, uint64_t step,
			 uint64_t rollbacks, const char *companions)
{
	static const struct run_setting settings[] = { { "lr", "3e-4" }, { "batch", "16" } };
	static const struct run_setting identities[] = { { "level", "generic" } };
	struct run_state s = { .step = step,
			       .tokens = step * 512,
			       .targets = step * 511,
			       .log_bytes = run_folder_log_bytes(r),
			       .best_loss = NAN,
			       .smoothed_loss = 2.25,
			       .rollbacks = rollbacks,
			       .settings = settings,
			       .n_settings = 2,
			       .identities = identities,
			       .n_identities = 1 };

	return run_folder_checkpoint(r, &(struct run_checkpoint){ &m->config, m->store, &m->rules,
								  companions, &s, NULL });
}
