/* tests/unit/test_prompt_cache.c - what a prompt left, in a file: the same bits after it, and what it does not belong to */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/infer/prompt_cache.h"
#include "tests/tap.h"

enum { CONTEXT = 400, VOCABULARY = 96 };

static const char config_text[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"96, "
	"\"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 2, "
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 32, "
	"\"max_position_embeddings\": "
	"1024}";

struct fixture {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
	struct prompt_cache_of of;
	int32_t ids[CONTEXT];
};

static bool begin(struct fixture *f, enum dtype cache)
{
	*f = (struct fixture){ 0 };
	if (arena_new(&f->arena) < 0 || store_new(&f->store) < 0 ||
	    hf_config_parse(&f->config, f->arena, bytes_of(config_text), "config") < 0)
		return tap_works(-1, "a model");
	store_declaring(f->store, true);
	if (!tap_works(lm_declare(f->store, &f->config), "parameters"))
		return false;
	store_declaring(f->store, false);
	f->config.initializer_range = 0.3;
	f->of = (struct prompt_cache_of){ .config = &f->config,
					  .model = { { 1, 2, 3 } },
					  .level = prompt_cache_level(NULL),
					  .compute = "f32",
					  .cache = cache,
					  .context = CONTEXT };
	for (int i = 0; i < CONTEXT; i++)
		f->ids[i] = (i * 7 + i * i % 13) % VOCABULARY;
	return tap_works(lm_initialize(f->store, &f->config, LM_INIT_GPT2, 5, NULL), "values");
}

static void end(struct fixture *f)
{
	store_free(f->store);
	arena_free(f->arena);
}

static struct session *session(struct fixture *f)
{
	struct session *s = NULL;

	tap_works(
		session_new(&s, &f->config, f->store,
			    &(struct session_options){ .cache = f->of.cache, .context = CONTEXT }),
		"a session");
	return s;
}

/* The logits after N tokens, fresh. */
static void read_fresh(struct fixture *f, size_t n, float *logits)
{
	struct session *s = session(f);

	tap_works(session_read(s, f->ids, n), "%zu tokens, fresh", n);
	memcpy(logits, session_logits(s), VOCABULARY * sizeof(*logits));
	session_free(s);
}

static void save(struct fixture *f, const char *path, size_t n)
{
	struct session *s = session(f);

	tap_works(session_read(s, f->ids, n), "%zu tokens", n);
	tap_works(prompt_cache_save(path, s, &f->of, n), "are saved");
	session_free(s);
}

/* N tokens, KEPT of which come from the file. */
static void check_read(struct fixture *f, const char *path, size_t n, size_t kept, bool whole)
{
	struct session *s = session(f);
	float want[VOCABULARY];
	size_t got;
	bool enough;

	read_fresh(f, n, want);
	if (tap_works(prompt_cache_load(path, s, &f->of, f->ids, n, &got, &enough), "loaded")) {
		tap_is_u64(got, kept, "of %zu tokens", n);
		tap_ok(enough == whole, "the file %s", whole ? "stays" : "may grow");
		tap_works(session_read(s, f->ids, n), "the rest");
		tap_ok(memcmp(session_logits(s), want, sizeof(want)) == 0,
		       "%zu tokens: as a fresh one", n);
	}
	session_free(s);
}

static void check_dtype(enum dtype cache)
{
	const char *path = tap_path("cache.safetensors");
	struct fixture f;

	if (!begin(&f, cache))
		return;
	unlink(path);
	check_read(&f, path, 50, 0, true);
	check_read(&f, path, 200, 0, false);
	save(&f, path, 200);
	check_read(&f, path, 200, 192, true);
	check_read(&f, path, 197, 192, true);
	check_read(&f, path, 192, 192, true);
	check_read(&f, path, 150, 96, true);
	check_read(&f, path, 50, 0, true);
	check_read(&f, path, 300, 192, false);
	f.ids[120]++;
	check_read(&f, path, 300, 96, true);
	end(&f);
}

static void test_bits(void)
{
	check_dtype(DTYPE_F32);
	check_dtype(DTYPE_F16);
	check_dtype(DTYPE_BF16);
	check_dtype(DTYPE_Q8_0);
}

/* --- what is refused --- */

static void refuses(struct fixture *f, const char *path, const struct prompt_cache_of *of, int code,
		    const char *part)
{
	struct session *s = session(f);
	size_t kept;
	bool whole;

	tap_fails(prompt_cache_load(path, s, of, f->ids, 250, &kept, &whole), code, part, "%s",
		  part);
	tap_is_u64(session_length(s), 0, "nothing was taken");
	session_free(s);
}

static void test_belongs(void)
{
	const char *path = tap_path("cache.safetensors");
	struct prompt_cache_of other;
	struct fixture f;

	if (!begin(&f, DTYPE_F16))
		return;
	save(&f, path, 200);
	other = f.of;
	other.model.digest[0] = 9;
	refuses(&f, path, &other, ERR_MISMATCH,
		"a prompt cache of the model 01020300000000000000000000000000, not "
		"09020300000000000000000000000000");
	other = f.of;
	other.level = "abacus";
	refuses(&f, path, &other, ERR_MISMATCH, ", not abacus");
	other = f.of;
	other.compute = "bf16";
	refuses(&f, path, &other, ERR_MISMATCH, "computed in f32, not bf16");
	other = f.of;
	other.cache = DTYPE_BF16;
	refuses(&f, path, &other, ERR_MISMATCH, "of the type f16, not bf16");
	f.config.rope[HF_FULL].theta = 5e5;
	refuses(&f, path, &f.of, ERR_MISMATCH, "of a rope");
	f.config.rope[HF_FULL].theta = 1e4;
	f.ids[4]++;
	refuses(&f, path, &f.of, ERR_MISMATCH, "of another prompt, which differs at token 4");
	end(&f);
}

/* Any byte that is another one, and any length that is shorter. */
static void test_damaged(void)
{
	const char *path = tap_path("cache.safetensors");
	struct fixture f;
	size_t size, refused = 0, tried = 0;
	char *bytes;

	if (!begin(&f, DTYPE_F16))
		return;
	save(&f, path, 200);
	bytes = tap_fixture(path, &size);
	for (size_t at = 3; at < size; at += size / 150, tried++) {
		struct session *s = session(&f);
		size_t kept;
		bool whole;

		bytes[at] ^= 0x40;
		tap_file("damaged", bytes, size);
		bytes[at] ^= 0x40;
		refused += prompt_cache_load(tap_path("damaged"), s, &f.of, f.ids, 250, &kept,
					     &whole) < 0 &&
			   session_length(s) == 0;
		session_free(s);
	}
	tap_is_u64(refused, tried, "every change is seen");
	tap_file("cut", bytes, size - 1);
	refuses(&f, tap_path("cut"), &f.of, ERR_FORMAT, "cut");
	tap_file("other", "{}", 2);
	refuses(&f, tap_path("other"), &f.of, ERR_FORMAT, "other");
	refuses(&f, "fixtures/golden/lm/llama.safetensors", &f.of, ERR_FORMAT,
		"is no prompt cache");
	free(bytes);
	end(&f);
}

int main(void)
{
	tap_run(test_bits);
	tap_run(test_belongs);
	tap_run(test_damaged);
	return tap_done();
}
