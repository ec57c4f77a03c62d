/* tests/unit/test_prompt.c - the tokens of a prompt: what begins a text is put before it, what ends one is not put behind it */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"
#include "lib/infer/prompt.h"
#include "tests/tap.h"

static struct arena *arena;
static struct tokenizer_spec spec;
static struct tokenizer *tokenizer;
static struct hf_config config;
static int32_t *ids;
static size_t n;

/* A tokenizer whose file puts BOS before a text and EOS behind it. */
static bool begin(void)
{
	return tap_works(tokenizer_file_read(&spec, arena, "fixtures/good/tokenizers/spm-bpe.model",
					     NULL),
			 "the file") &&
	       (spec.add_bos = spec.add_eos = true) &&
	       tap_ok(spec.bos != TOKEN_NONE && spec.eos != TOKEN_NONE, "it has both roles") &&
	       tap_works(tokenizer_new(&tokenizer, &spec), "the tokenizer");
}

static int encode(const char *text, enum special_mode special)
{
	free(ids);
	return prompt_encode(&ids, &n, tokenizer, &config, bytes_of(text), special);
}

static void give_roles(uint32_t n_bos, uint32_t n_eos)
{
	config.bos = (struct hf_ids){ HF_GIVEN, n_bos, &spec.bos };
	config.eos = (struct hf_ids){ HF_GIVEN, n_eos, &spec.eos };
}

static void test_text(void)
{
	give_roles(1, 1);
	tap_works(encode("hello", SPECIAL_PLAIN), "a text");
	tap_ok(n > 1 && ids[0] == (int32_t)spec.bos, "begins with BOS");
	tap_ok(n > 1 && ids[n - 1] != (int32_t)spec.eos, "and does not end with EOS");
	for (size_t i = 1; i < n; i++)
		if (ids[i] == (int32_t)spec.bos || ids[i] == (int32_t)spec.eos)
			tap_ok(false, "token %zu is a role", i);
}

static void test_empty(void)
{
	give_roles(1, 1);
	tap_works(encode("", SPECIAL_PLAIN), "no text");
	tap_ok(n == 1 && ids[0] == (int32_t)spec.bos, "is BOS alone");
}

static const char *text_of(uint32_t id)
{
	static char text[64];
	struct bytes piece = tokenizer_piece(tokenizer, id);

	snprintf(text, sizeof(text), BYTES_FMT, BYTES_ARG(piece));
	return text;
}

/* An end of text that the prompt spells is the user's, and stays where special tokens are parsed. */
static void test_spelled(void)
{
	char text[80];
	size_t plain;

	give_roles(1, 1);
	snprintf(text, sizeof(text), "hello%s", text_of(spec.eos));
	tap_works(encode("hello", SPECIAL_PARSE), "without");
	plain = n;
	tap_works(encode(text, SPECIAL_PARSE), "an end that is spelled");
	tap_ok(n == plain + 1 && ids[n - 1] == (int32_t)spec.eos, "stays: %zu tokens, %zu without",
	       n, plain);
	tap_works(encode(text, SPECIAL_PLAIN), "as plain text");
	tap_ok(n > plain + 1 && ids[n - 1] != (int32_t)spec.eos, "it is letters");
}

/* A tokenizer that puts nothing before a text: the configuration's roles, BOS first. */
static void test_roles(void)
{
	struct tokenizer *with = tokenizer;

	spec.add_bos = spec.add_eos = false;
	spec.stated_plain = spec.stated_whole = NULL;
	if (tap_works(tokenizer_new(&tokenizer, &spec), "without roles")) {
		give_roles(1, 1);
		tap_works(encode("", SPECIAL_PLAIN), "no text");
		tap_ok(n == 1 && ids[0] == (int32_t)spec.bos, "is the configuration's BOS");
		give_roles(0, 1);
		tap_works(encode("", SPECIAL_PLAIN), "no text, no BOS");
		tap_ok(n == 1 && ids[0] == (int32_t)spec.eos, "is its EOS");
		give_roles(0, 0);
		tap_fails(encode("", SPECIAL_PLAIN), ERR_ARGUMENT, "an empty text has no token",
			  "no role at all");
		tokenizer_free(tokenizer);
	}
	tokenizer = with;
}

int main(void)
{
	if (arena_new(&arena) < 0)
		return 1;
	if (begin()) {
		tap_run(test_text);
		tap_run(test_empty);
		tap_run(test_spelled);
		tap_run(test_roles);
	}
	free(ids);
	tokenizer_free(tokenizer);
	arena_free(arena);
	return tap_done();
}
