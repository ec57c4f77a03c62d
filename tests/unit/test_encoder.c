/*
 * tests/unit/test_encoder.c - parts of a text encoded by themselves, and where a text is at fault
 *
 * What the whole text gives is held against the peer elsewhere (fixtures/golden/ids): here the parts must give the same
 * where no piece crosses their border.
 */
#include <stdio.h>
#include <string.h>

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"
#include "lib/text/tokenizer.h"
#include "tests/tap.h"

static struct arena *arena;
static struct tokenizer *tokenizer;
static struct encoder *encoder;
static struct encoding whole, first, second;

static struct tokenizer_spec loaded;

static bool load(const char *name)
{
	struct tokenizer_file_options o = { .split = SCANNER_NONE };
	char path[128];

	encoder_free(encoder);
	tokenizer_free(tokenizer);
	encoder = NULL;
	tokenizer = NULL;
	snprintf(path, sizeof(path), "fixtures/good/%s", name);
	return tap_works(tokenizer_file_read(&loaded, arena, path, &o), "%s", name) &&
	       tap_works(tokenizer_new(&tokenizer, &loaded), "%s", name) &&
	       tap_works(encoder_new(&encoder, tokenizer), "%s", name);
}

static int encode(const char *text, enum encode_start start, struct encoding *out)
{
	struct encode_options o = { .start = start };

	return encoder_run(encoder, bytes_of(text), &o, out);
}

static bool joins(void)
{
	return whole.n == first.n + second.n &&
	       (first.n == 0 || memcmp(whole.ids, first.ids, first.n * sizeof(*first.ids)) == 0) &&
	       (second.n == 0 ||
		memcmp(whole.ids + first.n, second.ids, second.n * sizeof(*second.ids)) == 0);
}

static void check_parts(const char *name, const char *a, const char *b, enum encode_start start)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s", a, b);
	if (tap_works(encode(text, START_DOCUMENT, &whole), "%s", name) &&
	    tap_works(encode(a, START_DOCUMENT, &first), "%s", name) &&
	    tap_works(encode(b, start, &second), "%s", name))
		tap_ok(joins(), "%s: \"%s\" and \"%s\" by themselves", name, a, b);
}

/* Prefix spaces always, at the first only, never, by a normalizer, of ByteLevel. */
static void test_parts(void)
{
	static const char *const names[] = { "added/always.json",
					     "added/first.json",
					     "added/first-lower.json",
					     "added/first-strip.json",
					     "added/never.json",
					     "added/prepend.json",
					     "added/bytes.json",
					     "added/bert.json",
					     "tokenizers/byte-level.json",
					     "tokenizers/spm-bpe.model",
					     "tokenizers/spm-unigram.model" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!load(names[i]))
			continue;
		if (!strstr(names[i], "strip") && !strstr(names[i], "unigram"))
			check_parts(names[i], "in the", " end", START_INSIDE);
		check_parts(names[i], "", "in the end", START_DOCUMENT);
		if (tokenizer_spec(tokenizer)->n_added == 0 || strncmp(names[i], "added/", 6) != 0)
			continue;
		check_parts(names[i], "[A]", "in the end", START_SECTION);
		check_parts(names[i], "[A]", " in the end", START_SECTION);
		check_parts(names[i], "in the", " [A]word of", START_INSIDE);
	}
}

/* Nothing is put before a text that goes on: the parts decode to the whole. */
static void test_no_prefix(void)
{
	static const char *const names[] = { "added/always.json", "added/first.json",
					     "added/prepend.json", "added/bytes.json" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!load(names[i]))
			continue;
		tap_works(encode("the", START_DOCUMENT, &first), "%s", names[i]);
		tap_works(encode("the", START_INSIDE, &second), "%s", names[i]);
		tap_ok(first.n > 0 && second.n > 0 && first.ids[0] != second.ids[0],
		       "%s: the word with and without its space", names[i]);
	}
}

static void fails_at(const char *text, enum err_code code, const char *place)
{
	struct encode_options o = { .offsets = true };

	tap_fails(encode(text, START_DOCUMENT, &whole), code, place, "%s", place);
	tap_fails(encoder_run(encoder, bytes_of(text), &o, &whole), code, place, "tracked");
}

static bool load_spec(const struct tokenizer_spec *spec)
{
	encoder_free(encoder);
	tokenizer_free(tokenizer);
	encoder = NULL;
	tokenizer = NULL;
	return tap_works(tokenizer_new(&tokenizer, spec), "made") &&
	       tap_works(encoder_new(&encoder, tokenizer), "made");
}

/* The byte of the document, though what stands before it grows by a byte when it is made lower case. */
static void test_places(void)
{
	static const struct normalizer_spec lowercase = { .kind = NORMALIZER_LOWERCASE };
	static const struct piece_spec pieces[] = { { { "a", 1 }, 0, -1 },
						    { { "\xe2\xb1\xa5", 3 }, 1, -2 } };
	struct tokenizer_spec spec = {
		.model = { .kind = MODEL_BPE, .pieces = pieces, .n_pieces = 2, .unk = TOKEN_NONE },
		.normalizers = &lowercase,
		.n_normalizers = 1
	};

	if (!load_spec(&spec))
		return;
	tap_works(encode("\xc8\xba\x41", START_DOCUMENT, &whole), "both have pieces");
	tap_is_u64(whole.n, 2, "two");
	fails_at("\xc8\xba\x41 a", ERR_UNSUPPORTED, "byte 3: U+0020 has no piece");
	fails_at("\xc8\xba\x41\xe4\xb8\xad", ERR_UNSUPPORTED, "byte 3: U+4E2D has no piece");
	fails_at("aa\xff", ERR_FORMAT, "byte 2: not UTF-8");
	spec.model.kind = MODEL_UNIGRAM;
	if (load_spec(&spec))
		fails_at("\xc8\xba\x41\xe4\xb8\xad", ERR_FORMAT, "byte 3: ");
}

/* Metaspace with `first` behind a step that cuts asks each piece whether it began the document. */
static void test_first_after_a_cut(void)
{
	static const struct pretokenizer_spec steps[] = {
		{ .kind = PRETOKENIZER_WHITESPACE_SPLIT },
		{ .kind = PRETOKENIZER_METASPACE,
		  .metaspace = { .replacement = 0x2581, .scheme = PREPEND_FIRST } }
	};
	static const struct piece_spec pieces[] = { { { "a", 1 }, 0, -1 },
						    { { "\xe2\x96\x81", 3 }, 1, -2 } };
	const struct tokenizer_spec spec = {
		.model = { .kind = MODEL_BPE, .pieces = pieces, .n_pieces = 2, .unk = TOKEN_NONE },
		.pretokenizers = steps,
		.n_pretokenizers = 2
	};

	if (!load_spec(&spec))
		return;
	tap_works(encode("a a", START_DOCUMENT, &whole), "a document");
	tap_is_u64(whole.n, 3, "the first word has the mark");
	tap_works(encode("a a", START_SECTION, &whole), "a section");
	tap_is_u64(whole.n, 2, "no word has it");
}

/* What a file says by flags is put around a document of every kind of tokenizer, where it is asked for. */
static void check_roles(const char *name)
{
	struct encode_options o = { .post_process = true, .offsets = true };

	if (!load(name) ||
	    !tap_works(encoder_run(encoder, bytes_of("hello hello"),
				   &(struct encode_options){ .offsets = true }, &first),
		       "%s", name))
		return;
	encoder_free(encoder);
	tokenizer_free(tokenizer);
	encoder = NULL;
	tokenizer = NULL;
	loaded.add_bos = loaded.add_eos = true;
	loaded.bos = 1;
	loaded.eos = 2;
	loaded.stated_plain = loaded.stated_whole = NULL;
	if (!tap_works(tokenizer_new(&tokenizer, &loaded), "with roles") ||
	    !tap_works(encoder_new(&encoder, tokenizer), "with roles") ||
	    !tap_works(encode("hello hello", START_DOCUMENT, &second), "not asked for"))
		return;
	tap_ok(second.n == first.n, "%s: nothing is put where it is not asked for", name);
	if (!tap_works(encoder_run(encoder, bytes_of("hello hello"), &o, &whole), "asked for"))
		return;
	tap_ok(whole.n == first.n + 2 && whole.ids[0] == 1 && whole.ids[whole.n - 1] == 2 &&
		       memcmp(whole.ids + 1, first.ids, first.n * sizeof(*first.ids)) == 0,
	       "%s: BOS before and EOS behind: %zu tokens, %zu without", name, whole.n, first.n);
	tap_ok(whole.n > 1 && whole.offsets[0].from == 0 && whole.offsets[0].to == 0 &&
		       whole.offsets[whole.n - 1].from == 0 && whole.offsets[whole.n - 1].to == 0 &&
		       memcmp(whole.offsets + 1, first.offsets, first.n * sizeof(*first.offsets)) ==
			       0,
	       "%s: they stand for no text, and the others for theirs", name);
	if (tap_works(encoder_run(encoder, bytes_of(""), &o, &whole), "no text"))
		tap_ok(whole.n == 2 && whole.ids[0] == 1 && whole.ids[1] == 2,
		       "%s: around no text too", name);
}

static void test_roles(void)
{
	check_roles("tokenizers/spm-bpe.model");
	check_roles("tokenizers/spm-plain.gguf");
	check_roles("tokenizers/spm-unigram.gguf");
	check_roles("tokenizers/smollm.gguf");
}

int main(void)
{
	if (arena_new(&arena) < 0)
		return 1;
	tap_run(test_parts);
	tap_run(test_no_prefix);
	tap_run(test_places);
	tap_run(test_first_after_a_cut);
	tap_run(test_roles);
	encoding_free(&whole);
	encoding_free(&first);
	encoding_free(&second);
	encoder_free(encoder);
	tokenizer_free(tokenizer);
	arena_free(arena);
	return tap_done();
}
