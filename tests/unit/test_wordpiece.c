/*
 * tests/unit/test_wordpiece.c - the WordPiece and WordLevel models
 *
 * Small models are held against `tokenizers` 0.23.3 in fixtures/golden/unigram/words.tsv.
 */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/text/model.h"
#include "tests/model_golden.h"
#include "tests/tap.h"

static struct text_model *model;
static struct model_scratch *scratch;
static struct model_tokens tokens;

static void load(const struct model_spec *spec, bool byte_level)
{
	if (text_model_new(&model, spec, byte_level) < 0 ||
	    model_scratch_new(&scratch, model) < 0) {
		tap_note("%s", err_text());
		abort();
	}
	tokens.n = 0;
}

static void unload(void)
{
	model_scratch_free(scratch);
	text_model_free(model);
}

static void test_golden(void)
{
	const char *path = "fixtures/golden/unigram/words.tsv";

	tap_is_u64(model_golden_check(path, 0), 800, "all texts were looked at");
	tap_is_u64(model_golden_check(path, 1), 800, "and with the unknown token by its text");
}

/* unaffable is BERT's own example (google-research/bert, tokenization.py). */
static void test_bert(void)
{
	struct piece_spec pieces[] = {
		{ { "[UNK]", 5 }, 0, 0 },  { { "un", 2 }, 1, 0 },     { { "##aff", 5 }, 2, 0 },
		{ { "##able", 6 }, 3, 0 }, { { "##affa", 6 }, 4, 0 }, { { "##", 2 }, 5, 0 },
	};
	struct model_spec spec = { .kind = MODEL_WORDPIECE,
				   .pieces = pieces,
				   .n_pieces = 6,
				   .unk = 0,
				   .continuing_prefix = { "##", 2 },
				   .max_word_chars = 9 };

	load(&spec, false);
	tap_works(text_model_encode(model, scratch, bytes_of("unaffable"), &tokens), "unaffable");
	tap_is_u64(tokens.n, 1, "##affa is longer, and ##ble is not there: unknown as a whole");
	tap_is_u64(tokens.items[0].to, 9, "all of its bytes");
	tokens.n = 0;
	tap_works(text_model_encode(model, scratch, bytes_of("unaff"), &tokens), "unaff");
	tap_is_u64(tokens.n, 2, "un ##aff");
	tap_is_u64(tokens.items[1].id, 2, "##aff");
	tap_is_u64(tokens.items[1].from, 2, "where it stands in the word");
	tokens.n = 0;
	tap_works(text_model_encode(model, scratch, bytes_of("unableable"), &tokens),
		  "ten letters");
	tap_is_u64(tokens.items[0].id, 0, "are too many");
	unload();
}

/* No piece begins with the prefix: only whole words are known. */
static void test_no_continuation(void)
{
	struct piece_spec pieces[] = { { { "[UNK]", 5 }, 0, 0 },
				       { { "a", 1 }, 1, 0 },
				       { { "#a", 2 }, 2, 0 } };
	struct model_spec spec = { .kind = MODEL_WORDPIECE,
				   .pieces = pieces,
				   .n_pieces = 3,
				   .unk = 0,
				   .continuing_prefix = { "##", 2 },
				   .max_word_chars = 100 };

	load(&spec, false);
	tap_works(text_model_encode(model, scratch, bytes_of("a"), &tokens), "a");
	tap_is_u64(tokens.items[0].id, 1, "is known");
	tap_works(text_model_encode(model, scratch, bytes_of("aa"), &tokens), "aa");
	tap_is_u64(tokens.n, 2, "is one token");
	tap_is_u64(tokens.items[1].id, 0, "and unknown");
	unload();
}

/* A long word in as many pieces as letters: one walk of the trie a piece. */
static void test_long(void)
{
	struct piece_spec pieces[] = { { { "a", 1 }, 0, 0 }, { { "##a", 3 }, 1, 0 } };
	struct model_spec spec = { .kind = MODEL_WORDPIECE,
				   .pieces = pieces,
				   .n_pieces = 2,
				   .unk = TOKEN_NONE,
				   .continuing_prefix = { "##", 2 },
				   .max_word_chars = 2000000 };
	size_t size = 1000000;
	char *text = malloc(size);

	load(&spec, false);
	memset(text, 'a', size);
	tap_works(text_model_encode(model, scratch, (struct bytes){ text, size }, &tokens),
		  "a million letters");
	tap_is_u64(tokens.n, size, "a million pieces");
	text[size - 1] = 'b';
	tokens.n = 1;
	tap_fails(text_model_encode(model, scratch, (struct bytes){ text, size }, &tokens),
		  ERR_FORMAT, "no unknown token", "no piece for the last letter");
	tap_is_u64(tokens.n, 1, "and none was added");
	free(text);
	unload();
}

/* A byte is a character when the vocabulary is in ByteLevel's alphabet. */
static void test_byte_level(void)
{
	struct piece_spec pieces[] = { { { "[UNK]", 5 }, 0, 0 },
				       { { "\xc3\x83", 2 }, 1, 0 },
				       { { "##\xc2\xa9", 4 }, 2, 0 } };
	struct model_spec spec = { .kind = MODEL_WORDPIECE,
				   .pieces = pieces,
				   .n_pieces = 3,
				   .unk = 0,
				   .continuing_prefix = { "##", 2 },
				   .max_word_chars = 2 };

	load(&spec, true);
	tap_works(text_model_encode(model, scratch, bytes_of("\xc3\xa9"), &tokens), "two bytes");
	tap_is_u64(tokens.n, 2, "are two pieces");
	tap_is_u64(tokens.items[1].id, 2, "the second one");
	tokens.n = 0;
	tap_works(text_model_encode(model, scratch, bytes_of("\xc3\xa9\xa9"), &tokens), "three");
	tap_is_u64(tokens.items[0].id, 0, "are too many");
	unload();
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_bert);
	tap_run(test_no_continuation);
	tap_run(test_long);
	tap_run(test_byte_level);
	free(tokens.items);
	return tap_done();
}
