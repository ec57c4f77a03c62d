/* The joiner gives the bytes that the decoders give, token by token. */
#include <stdio.h>
#include <stdlib.h>

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/text/decode.h"
#include "lib/text/joiner.h"
#include "tests/tap.h"

#define TEXTS 400
#define LONG  40

static struct arena *arena;
static struct tokenizer_spec spec;
static struct tokenizer *tokenizer;

static bool open_tokenizer(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "fixtures/good/%s", name);
	return tap_works(arena_new(&arena), "memory") &&
	       tap_works(tokenizer_file_read(&spec, arena, path, NULL), "%s", name) &&
	       tap_works(tokenizer_new(&tokenizer, &spec), "%s", name);
}

static void close_tokenizer(void)
{
	tokenizer_free(tokenizer);
	arena_free(arena);
}

static void decode(struct text_decoder *d, const uint32_t *ids, size_t n, struct buffer *out)
{
	buffer_clear(out);
	for (size_t i = 0; i < n; i++)
		text_decoder_add(d, tokenizer_piece(tokenizer, ids[i]),
				 tokenizer_added(tokenizer, ids[i]) != NULL, out);
	text_decoder_end(d, out);
}

/* In two parts, so that what is stripped may lie in either. */
static int join(const struct joiner *j, const uint32_t *ids, size_t n, size_t cut,
		struct buffer *out)
{
	uint32_t to_strip = joiner_strips(j);

	buffer_clear(out);
	return joiner_put(j, &to_strip, ids, cut, out) < 0
		       ? -1
		       : joiner_put(j, &to_strip, ids + cut, n - cut, out);
}

static size_t compare(const struct joiner *j, struct text_decoder *d)
{
	struct random_stream draws = random_at(1, 2, 3);
	uint32_t ids[LONG], vocab = tokenizer_vocab_size(tokenizer);
	struct buffer want = { 0 }, got = { 0 };
	size_t wrong = 0, drawn = 0;

	for (size_t k = 0; k < TEXTS; k++) {
		size_t n = k % LONG;

		for (size_t i = 0; i < n; i++) {
			ids[i] = (uint32_t)(random_uniform53(&draws, 0, drawn++) * (vocab + 1));
			/* Texts begin with the same few pieces often. */
			if (i < 3 && k % 3 == 0)
				ids[i] = (uint32_t)(k % 7 + i);
		}
		decode(d, ids, n, &want);
		wrong += join(j, ids, n, n / 3, &got) < 0 ||
			 !bytes_equal(buffer_bytes(&want), buffer_bytes(&got));
	}
	buffer_free(&want);
	buffer_free(&got);
	return wrong;
}

static void check(const char *name, uint32_t strips)
{
	struct text_decoder *d;
	struct joiner *j;

	if (!open_tokenizer(name))
		return;
	if (tap_works(joiner_new(&j, tokenizer), "%s: joiner", name) &&
	    tap_ok(j != NULL, "%s: is joined", name) &&
	    tap_works(text_decoder_new(&d, spec.decoders, spec.n_decoders,
				       tokenizer_is_byte_level(tokenizer), true),
		      "%s: decoders", name)) {
		tap_is_u64(joiner_strips(j), strips, "%s: stripped at the start", name);
		tap_is_u64(compare(j, d), 0, "%s: %d texts as the decoders give them", name, TEXTS);
		text_decoder_free(d);
	}
	joiner_free(j);
	close_tokenizer();
}

static void test_joined(void)
{
	check("tokenizers/byte-level.json", 0);
	check("tokenizers/llama3.json", 0);
	check("tokenizers/spm-bpe.model", 1);
	check("tokenizers/spm-plain.model", 0);
	check("tokenizers/spm-unigram.model", 1);
	check("tokenizers/spm-user.model", 1);
	check("spm/user-spaces.model", 1);
}

static void test_not_joined(void)
{
	static const char *const names[] = { "tokenizers/bert.json", "spm/suffix.model",
					     "tokenizers/words.json" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct joiner *j;

		if (!open_tokenizer(names[i]))
			continue;
		tap_ok(joiner_new(&j, tokenizer) == 0 && !j, "%s: is not", names[i]);
		joiner_free(j);
		close_tokenizer();
	}
}

int main(void)
{
	tap_run(test_joined);
	tap_run(test_not_joined);
	return tap_done();
}
