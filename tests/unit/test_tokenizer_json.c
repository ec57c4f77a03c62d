/*
 * tokenizer.json read and written: rows A17, A19 and A26 of the cases, as far as files go.
 *
 * The files NAME.json of fixtures/good/tokenizers are what tokenizers saves: read and written again they are the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_json.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokenizers/"
#define BAD  "fixtures/bad/tokenizers/"

static struct arena *arena;

static void with_arena(void)
{
	arena_free(arena);
	if (arena_new(&arena) < 0)
		exit(1);
}

static int parse(struct tokenizer_spec *spec, const char *text)
{
	with_arena();
	return tokenizer_json_parse(spec, arena, bytes_of(text), "made.json");
}

/* SOURCE read, and written as WANT has it. */
static void check_written(const char *source, const char *want)
{
	struct tokenizer_spec spec;
	struct buffer b = { 0 };
	size_t n;
	char *text = tap_fixture(want, &n);

	with_arena();
	if (tap_works(tokenizer_json_read(&spec, arena, source), "%s is read", source) &&
	    tap_works(tokenizer_json_put(&b, &spec), "%s is written", source))
		tap_is_bytes(buffer_bytes(&b), ((struct bytes){ text, n }),
			     "%s: the bytes that tokenizers saves", source);
	buffer_free(&b);
	free(text);
}

static void test_saved_files_come_back(void)
{
	static const char *const names[] = { "byte-level", "llama3", "bert",	"components",
					     "unigram",	   "words",  "prefixes" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), GOOD "%s.json", names[i]);
		check_written(path, path);
	}
}

static void test_older_files(void)
{
	check_written(GOOD "old-merges", GOOD "old-merges.want.json");
	check_written(GOOD "old-untyped", GOOD "old-untyped.want.json");
	check_written(GOOD "old-bare", GOOD "old-bare.want.json");
}

/* --- what stands in the spec --- */

#define HEAD  "{\"version\":\"1.0\",\"added_tokens\":[],"
#define WORDS "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}}"

static void test_A17_string_is_literal(void)
{
	struct tokenizer_spec spec;
	const struct pretokenizer_spec *s;

	if (!tap_works(parse(&spec,
			     HEAD "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
				  "{\"type\":\"Split\",\"pattern\":{\"String\":\"\\\\s+\"},"
				  "\"behavior\":\"Removed\",\"invert\":false},"
				  "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\s+\"},"
				  "\"behavior\":\"Isolated\",\"invert\":true}]}," WORDS),
		       "A17: the file of the case"))
		return;
	s = spec.pretokenizers;
	tap_is_u64(spec.n_pretokenizers, 2, "A17: two steps");
	tap_ok(!s[0].split.pattern.is_regex, "A17: String is a literal");
	tap_is_bytes(s[0].split.pattern.text, bytes_of("\\s+"), "A17: its text as it stands");
	tap_ok(s[1].split.pattern.is_regex, "A17: Regex is a regular expression");
	tap_is_u64(s[1].split.pattern.dialect, REGEX_ONIGURUMA, "A17: of Oniguruma");
	tap_ok(!s[0].split.invert && s[1].split.invert, "A17: invert");
	tap_is_u64(s[0].split.behavior, SPLIT_REMOVED, "A17: Removed");
	tap_is_u64(s[1].split.behavior, SPLIT_ISOLATED, "A17: Isolated");
}

static void test_A19_ignore_merges(void)
{
	static const char *const text =
		HEAD "\"model\":{\"type\":\"BPE\",%s\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"abc\":3},"
		     "\"merges\":[]}}";
	struct tokenizer_spec spec;
	char file[512];

	snprintf(file, sizeof(file), text, "\"ignore_merges\":true,");
	if (tap_works(parse(&spec, file), "A19: with the flag"))
		tap_ok(spec.model.ignore_merges && spec.model.n_merges == 0, "A19: it is on");
	snprintf(file, sizeof(file), text, "");
	if (tap_works(parse(&spec, file), "A19: without"))
		tap_ok(!spec.model.ignore_merges && spec.model.n_pieces == 4, "A19: it is off");
}

static void test_A26_text_that_is_not_utf8(void)
{
	struct tokenizer_spec spec;

	tap_fails(parse(&spec, HEAD "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\xE6\xAD\":0},"
				    "\"unk_token\":\"a\"}}"),
		  ERR_FORMAT, "made.json: byte ", "A26: half a character");
	tap_fails(parse(&spec, HEAD "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\\ud83d\":0},"
				    "\"unk_token\":\"a\"}}"),
		  ERR_FORMAT, "made.json: byte ", "A26: a lone surrogate");
}

static void test_merges(void)
{
	struct tokenizer_spec spec;

	with_arena();
	if (!tap_works(tokenizer_json_read(&spec, arena, GOOD "old-merges"), "merges as lines"))
		return;
	tap_is_u64(spec.model.n_merges, 2, "a merge that is there twice counts once");
	tap_ok(spec.model.merges[0].left == 1 && spec.model.merges[0].right == 0 &&
		       spec.model.merges[0].result == 3,
	       "and its last place counts");
	with_arena();
	if (!tap_works(tokenizer_json_read(&spec, arena, GOOD "prefixes.json"), "prefixes"))
		return;
	tap_is_u64(spec.model.merges[0].result, 2, "a and ##b make ab");
	tap_is_u64(spec.model.unk, 4, "the unknown token's id");
}

/* A NUL is a character like any other in a vocabulary. */
static void test_nul_is_kept(void)
{
	struct tokenizer_spec spec;

	if (tap_works(parse(&spec, HEAD "\"model\":{\"type\":\"WordLevel\",\"vocab\":"
					"{\"a\\u0000b\":0},\"unk_token\":\"a\"}}"),
		      "a NUL in a piece"))
		tap_is_bytes(spec.model.pieces[0].text, ((struct bytes){ "a\0b", 3 }), "is kept");
}

static void test_added_tokens(void)
{
	struct tokenizer_spec spec;

	with_arena();
	if (!tap_works(tokenizer_json_read(&spec, arena, GOOD "llama3.json"), "llama3"))
		return;
	tap_is_u64(spec.n_added, 3, "three added tokens");
	tap_ok(spec.added[0].special && !spec.added[0].lstrip, "a special one");
	tap_ok(!spec.added[2].special && spec.added[2].lstrip && spec.added[2].rstrip &&
		       spec.added[2].single_word && spec.added[2].normalized,
	       "one with every flag");
	tap_is_u64(spec.n_posts, 2, "two post-processors");
	tap_is_u64(spec.posts[1].single[0].ids[0], spec.added[0].id, "the template's first id");
	tap_ok(spec.posts[1].pair[3].is_pair && spec.posts[1].pair[3].type_id == 1,
	       "the template's second sequence");
}

/* --- what is refused --- */

static void test_refused_by_name(void)
{
	static const struct {
		const char *name;
		enum err_code code;
		const char *part;
	} cases[] = {
		{ "unknown-pretokenizer", ERR_UNSUPPORTED,
		  "pre_tokenizer.pretokenizers[1]: unknown type \"Sideways\"" },
		{ "unknown-normalizer", ERR_UNSUPPORTED, "normalizer: unknown type \"Rot13\"" },
		{ "unknown-decoder", ERR_UNSUPPORTED,
		  "decoder.decoders[0]: unknown type \"Sing\"" },
		{ "unknown-post", ERR_UNSUPPORTED, "post_processor: unknown type \"Stamp\"" },
		{ "unknown-model", ERR_UNSUPPORTED, "model: unknown type \"Bigram\"" },
		{ "unknown-field", ERR_UNSUPPORTED, "pre_tokenizer.group: unknown field" },
		{ "unknown-model-field", ERR_UNSUPPORTED, "model.beam: unknown field" },
		{ "unknown-value", ERR_UNSUPPORTED,
		  "pre_tokenizer.behavior: unknown value \"Kept\"" },
		{ "unknown-pattern", ERR_UNSUPPORTED, "pre_tokenizer.pattern: is neither" },
		{ "unknown-key", ERR_UNSUPPORTED, "unknown key \"colour\"" },
		{ "version", ERR_UNSUPPORTED, "version: \"2.0\"" },
		{ "missing-field", ERR_MISSING, "pre_tokenizer.add_prefix_space: is missing" },
		{ "missing-type", ERR_MISSING, "decoder.type: is missing" },
		{ "missing-merges", ERR_MISSING, "model.merges: is missing" },
		{ "two-characters", ERR_FORMAT, "replacement: is not one character" },
		{ "metaspace-clash", ERR_FORMAT, "add_prefix_space: false does not go with" },
		{ "added-id", ERR_MISMATCH, "added_tokens[0].id: is 7, but tokenizers gives" },
		{ "added-twice", ERR_FORMAT, "added_tokens[1].content: \"x\" is there twice" },
		{ "added-field", ERR_UNSUPPORTED, "added_tokens[0].colour: unknown field" },
		{ "added-missing", ERR_MISSING, "added_tokens[0].single_word: is missing" },
		{ "same-id", ERR_FORMAT, "two pieces have the id 0" },
		{ "merge-unknown", ERR_FORMAT, "a merge makes \"ab\", which is no piece" },
		{ "merge-three", ERR_FORMAT, "more than one space" },
		{ "template-name", ERR_MISSING, "single[0].SpecialToken: \"[X]\" is not in" },
		{ "charsmap", ERR_FORMAT, "precompiled_charsmap: is not base64" },
		{ "unk-id", ERR_FORMAT, "unk_id: 1 is past the vocabulary of 1" },
		{ "duplicate", ERR_FORMAT, "duplicate key \"a\"" },
	};
	struct tokenizer_spec spec;
	char path[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), BAD "%s.json", cases[i].name);
		with_arena();
		tap_fails(tokenizer_json_read(&spec, arena, path), cases[i].code, cases[i].part,
			  "%s", cases[i].name);
	}
}

static void test_refused_when_written(void)
{
	struct piece_spec piece = { bytes_of("a"), 3, -1 };
	struct tokenizer_spec spec = { .model = { .kind = MODEL_UNIGRAM,
						  .pieces = &piece,
						  .n_pieces = 1,
						  .unk = TOKEN_NONE } };
	struct buffer b = { 0 };

	tap_fails(tokenizer_json_put(&b, &spec), ERR_UNSUPPORTED, "no piece of id 0",
		  "a Unigram vocabulary with holes");
	buffer_free(&b);
}

/* --- damaged files --- */

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct tokenizer_spec spec;
	struct buffer b = { 0 };
	struct arena *own;
	int result;

	if (arena_new(&own) < 0)
		return -1;
	result = tokenizer_json_parse(&spec, own, (struct bytes){ data, size }, "damaged.json");
	if (result == 0)
		result = tokenizer_json_put(&b, &spec);
	buffer_free(&b);
	arena_free(own);
	return result;
}

static void test_damaged(void)
{
	static const char *const names[] = { "components.json", "old-merges", "prefixes.json" };
	size_t n, n_second;
	char *second = tap_fixture(GOOD "unigram.json", &n_second);
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *good;

		snprintf(path, sizeof(path), GOOD "%s", names[i]);
		good = tap_fixture(path, &n);
		corrupt_run(names[i], (struct bytes){ good, n }, (struct bytes){ second, n_second },
			    read_damaged, NULL, (size_t)64 << 20);
		free(good);
	}
	free(second);
}

int main(void)
{
	tap_run(test_saved_files_come_back);
	tap_run(test_older_files);
	tap_run(test_A17_string_is_literal);
	tap_run(test_A19_ignore_merges);
	tap_run(test_A26_text_that_is_not_utf8);
	tap_run(test_merges);
	tap_run(test_nul_is_kept);
	tap_run(test_added_tokens);
	tap_run(test_refused_by_name);
	tap_run(test_refused_when_written);
	tap_run(test_damaged);
	arena_free(arena);
	return tap_done();
}
