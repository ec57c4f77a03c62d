/*
 * tests/unit/test_lm_check.c - weights that do not fit their configuration: each is refused by its name, or told as not used
 *
 * The folders are those of fixtures/good/lm with a word of config.json changed; llama's weights lie in two files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/lm.h"
#include "tests/tap.h"

#define FIXTURES "fixtures/good/lm/"

static void put_file(const char *folder, const char *name, const char *text, size_t n)
{
	char *path = mem_format("%s/%s", folder, name);
	FILE *f = fopen(path, "wb");

	tap_ok(f && fwrite(text, 1, n, f) == n && fclose(f) == 0, "%s", path);
	free(path);
}

static void copy_file(const char *folder, const char *family, const char *name)
{
	char *from = mem_format(FIXTURES "%s/%s", family, name);
	size_t n;
	char *text;

	if (access(from, R_OK) == 0) {
		text = tap_fixture(from, &n);
		put_file(folder, name, text, n);
		free(text);
	}
	free(from);
}

/* FAMILY with the first FROM of FILE, a text, become TO; they may be NULL. */
static const char *changed(const char *family, const char *file, const char *from, const char *to)
{
	static const char *const names[] = { "config.json", "model.safetensors",
					     "model.safetensors.index.json",
					     "model-00001-of-00002.safetensors",
					     "model-00002-of-00002.safetensors" };
	static int count;
	char folder[32], *text, *whole, *at, *path = mem_format(FIXTURES "%s/%s", family, file);
	const char *made;
	size_t n;

	snprintf(folder, sizeof(folder), "m%d", count++);
	made = tap_path(folder);
	mkdir(made, 0777);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		copy_file(made, family, names[i]);
	text = tap_fixture(path, &n);
	whole = mem_format("%.*s", (int)n, text);
	at = from ? strstr(whole, from) : NULL;
	tap_ok(!from || at, "%s has %s", path, from ? from : "nothing to change");
	if (at) {
		free(text);
		text = mem_format("%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
		put_file(made, file, text, strlen(text));
	}
	free(text);
	free(whole);
	free(path);
	return made;
}

static void refused(const char *folder, int code, const char *what)
{
	struct lm m;

	tap_fails(lm_open(&m, folder, NULL), code, what, "%s", what);
	tap_ok(strstr(err_text(), folder), "the folder is named");
	tap_ok(!strchr(err_text(), '\n'), "in one line");
	tap_ok(!m.model && !m.store && !m.unused, "nothing stays open");
}

static void test_shapes(void)
{
	refused(changed("llama", "config.json", "\"vocab_size\": 61", "\"vocab_size\": 60"),
		ERR_MISMATCH,
		"tensor model.embed_tokens.weight: is [61, 32], the configuration asks for [60, "
		"32]");
	refused(changed("qwen2", "config.json", "\"num_key_value_heads\": 2",
			"\"num_key_value_heads\": 1"),
		ERR_MISMATCH,
		"tensor model.layers.0.self_attn.k_proj.weight: is [16, 32], the "
		"configuration asks for [8, 32]");
	/* As it lies in the file, which has it the other way round. */
	refused(changed("gpt2", "config.json", "\"n_inner\": 44", "\"n_inner\": 48"), ERR_MISMATCH,
		"tensor transformer.h.0.mlp.c_fc.weight: is [32, 44], the configuration asks for "
		"[32, 48]");
	refused(changed("bert", "config.json", "\"type_vocab_size\": 3", "\"type_vocab_size\": 4"),
		ERR_MISMATCH,
		"tensor bert.embeddings.token_type_embeddings.weight: is [3, 32], the "
		"configuration asks for [4, 32]");
}

static void test_missing(void)
{
	refused(changed("llama", "config.json", "\"num_hidden_layers\": 2",
			"\"num_hidden_layers\": 3"),
		ERR_MISSING,
		"tensor model.layers.2.input_layernorm.weight: is missing; the configuration asks "
		"for [32]");
	refused(changed("qwen2", "config.json", "\"tie_word_embeddings\": true",
			"\"tie_word_embeddings\": false"),
		ERR_MISSING,
		"tensor lm_head.weight: is missing; the configuration asks for [61, 32]");
}

/* How many take no part, and what a person reads of it. */
static void told(const char *folder, size_t unused, size_t unknown, const char *want)
{
	struct buffer b = { 0 };
	char *line = *want ? mem_format("%s%s", folder, want) : mem_format("%s", "");
	struct lm m;

	if (!tap_works(lm_open(&m, folder, NULL), "%s opens", folder))
		return;
	tap_is_u64(m.n_unused, unused, "not used");
	tap_is_u64(m.report.n_unknown, unknown, "not known");
	tap_works(lm_put_unused(&b, &m), "told");
	tap_is_bytes(buffer_bytes(&b), bytes_of(line), "as it is");
	buffer_free(&b);
	free(line);
	lm_close(&m);
}

static void test_unused(void)
{
	told(changed("llama", "config.json", NULL, NULL), 0, 0, "");
	told(changed("llama", "config.json", "\"num_hidden_layers\": 2",
		     "\"num_hidden_layers\": 1"),
	     16, 0,
	     ": 16 tensors not used: model.layers.1.self_attn.k_proj.bias, "
	     "model.layers.1.self_attn.k_proj.weight, model.layers.1.self_attn.o_proj.bias, "
	     "model.layers.1.self_attn.o_proj.weight, model.layers.1.self_attn.q_proj.bias, "
	     "model.layers.1.self_attn.q_proj.weight, model.layers.1.self_attn.v_proj.bias, "
	     "model.layers.1.self_attn.v_proj.weight and 8 more");
	told(changed("llama", "config.json", "\"tie_word_embeddings\": false",
		     "\"tie_word_embeddings\": true"),
	     0, 1, ": 1 tensor not known: lm_head.weight");
	told("fixtures/good/lm/bert-bare", 2, 0,
	     ": 2 tensors not used: bert.pooler.dense.bias, bert.pooler.dense.weight");
}

/* Both files of a sharded folder are read; one that is not there, or an index that is wrong, is named. */
static void test_shards(void)
{
	const char *folder = changed("llama", "config.json", NULL, NULL);
	char *second = mem_format("%s/model-00002-of-00002.safetensors", folder);
	struct lm m;

	if (tap_works(lm_open(&m, folder, NULL), "both are there")) {
		tap_is_u64(model_n_files(m.model), 2, "two files");
		tap_is_u64(m.report.n_tensors, store_n(m.store), "every tensor is an entry");
		tap_is_u64(m.report.copied, 0, "no value was copied");
		lm_close(&m);
	}
	unlink(second);
	tap_fails(lm_open(&m, folder, NULL), ERR_MISSING,
		  "model-00002-of-00002.safetensors: No such", "one is gone");
	folder = changed("llama", "model.safetensors.index.json", "-00001-of", "-00002-of");
	tap_fails(lm_open(&m, folder, NULL), ERR_MISMATCH,
		  "tensor model.embed_tokens.weight: it should be in",
		  "a tensor that its file does not have");
	free(second);
}

int main(void)
{
	tap_run(test_shapes);
	tap_run(test_missing);
	tap_run(test_unused);
	tap_run(test_shards);
	return tap_done();
}
