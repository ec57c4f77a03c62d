/*
 * tekken.json: ids that mistral-common gives (scripts/gen-fixtures-tekken), what is refused, damaged files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_tekken.h"
#include "lib/base/err.h"
#include "lib/text/tokenizer.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tekken/"
#define BAD  "fixtures/bad/tekken/"

static struct arena *arena;
static struct tokenizer_spec spec;

static int read_file(const char *path)
{
	arena_free(arena);
	if (arena_new(&arena) < 0)
		exit(1);
	return tokenizer_file_read(&spec, arena, path, NULL);
}

/* --- ids --- */

static void put_ids(struct buffer *b, struct encoder *e, struct json *j, struct bytes line)
{
	struct encode_options options = { .special = SPECIAL_PLAIN };
	struct encoding out = { 0 };
	struct bytes key, text = { 0 };

	json_init(j, line.data, line.size, "hard.jsonl", NULL);
	json_object(j);
	while (json_key(j, &key) > 0)
		if (!bytes_are(key, "text"))
			json_skip(j, NULL);
		else if (json_string(j, &text) < 0)
			exit(1);
	if (encoder_run(e, text, &options, &out) < 0)
		buffer_put_text(b, err_text());
	for (size_t i = 0; i < out.n; i++)
		buffer_format(b, "%s%u", i ? " " : "", (unsigned)out.ids[i]);
	buffer_put_text(b, "\n");
	encoding_free(&out);
}

static void check_ids(const char *name)
{
	struct tokenizer *t = NULL;
	struct encoder *e = NULL;
	struct buffer got = { 0 };
	char path[128];
	struct json *j;
	size_t n, n_want;
	char *texts = tap_fixture("fixtures/good/text/hard.jsonl", &n), *want;

	snprintf(path, sizeof(path), "fixtures/golden/tekken/%s.txt", name);
	want = tap_fixture(path, &n_want);
	if (json_new(&j) < 0 || tokenizer_new(&t, &spec) < 0 || encoder_new(&e, t) < 0)
		exit(1);
	for (size_t at = 0; at < n;) {
		const char *end = memchr(texts + at, '\n', n - at);
		size_t length = (end ? (size_t)(end - texts) : n) - at;

		put_ids(&got, e, j, (struct bytes){ texts + at, length });
		at += length + 1;
	}
	tap_is_bytes(buffer_bytes(&got), ((struct bytes){ want, n_want }), "%s: every id", name);
	buffer_free(&got);
	encoder_free(e);
	tokenizer_free(t);
	json_free(j);
	free(texts);
	free(want);
}

static void test_ids(void)
{
	if (tap_works(read_file(GOOD "cut.json"), "a vocabulary of which not all counts")) {
		tap_is_u64(spec.model.n_pieces, 320, "pieces");
		check_ids("cut");
	}
	if (tap_works(read_file(GOOD "listed.json"), "special tokens in the file"))
		check_ids("listed");
}

static void test_special_tokens(void)
{
	if (!tap_works(read_file(GOOD "cut.json"), "no list"))
		return;
	tap_is_u64(spec.n_added, 24, "as many as the file says");
	tap_is_bytes(spec.added[9].text, bytes_of("[TOOL_CALLS]"), "the tenth of the old ones");
	tap_is_bytes(spec.added[20].text, bytes_of("<SPECIAL_20>"), "one without a name");
	tap_ok(spec.unk == 0 && spec.bos == 1 && spec.eos == 2 && spec.pad == 11, "roles");
	tap_ok(!spec.add_bos && !spec.add_eos, "nothing is added by itself");
	if (!tap_works(read_file(GOOD "listed.json"), "a list"))
		return;
	tap_is_u64(spec.n_added, 10, "as many as the file says");
	tap_ok(spec.added[6].special, "no text makes one that is no control token");
	tap_ok(spec.pad == 5, "roles by their texts");
}

/* --- refused --- */

static void test_refused(void)
{
	static const struct {
		const char *name;
		enum err_code code;
		const char *part;
	} cases[] = {
		{ "version", ERR_UNSUPPORTED, "config.version: unknown version \"v99\"" },
		{ "no-version", ERR_MISSING, "config.version is missing" },
		{ "no-pattern", ERR_MISSING, "config.pattern is missing" },
		{ "config-field", ERR_FORMAT, "unknown field \"lowercase\"" },
		{ "no-vocab", ERR_MISSING, "vocab is missing" },
		{ "no-special", ERR_MISSING, "special_tokens is missing, and version v13" },
		{ "few", ERR_FORMAT, "256 pieces of 257" },
		{ "special-limit", ERR_LIMIT, "65537 of them special tokens" },
		{ "special-more", ERR_FORMAT, "special_tokens: more than 3" },
		{ "special-all", ERR_FORMAT, "261 special tokens of 260 ids" },
		{ "special-rank", ERR_FORMAT, "special token 2: not its rank" },
		{ "special-twice", ERR_FORMAT, "\"<s>\" is there twice" },
		{ "rank", ERR_FORMAT, "piece 200: not its rank" },
		{ "base64", ERR_FORMAT, "piece 200: not base64 at its byte 1" },
		{ "twice", ERR_FORMAT, "piece 200: a piece that is there already" },
		{ "piece-field", ERR_FORMAT, "unknown field \"score\"" },
		{ "no-byte", ERR_FORMAT, "no piece is the byte 0xc8" },
	};
	char path[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), BAD "%s.json", cases[i].name);
		tap_fails(read_file(path), cases[i].code, cases[i].part, "%s", cases[i].name);
	}
}

/* The pattern is looked at by who compiles it. */
static void test_pattern(void)
{
	struct tokenizer *t;

	if (tap_works(read_file(BAD "regex.json"), "a pattern is not looked at yet"))
		tap_fails(tokenizer_new(&t, &spec), ERR_FORMAT, "( without )", "but here");
}

static void test_told_apart(void)
{
	tap_ok(tokenizer_is_tekken(bytes_of("{\"vocab\": [], \"config\": {}}")), "by its config");
	tap_ok(!tokenizer_is_tekken(bytes_of("{\"version\": \"1.0\", \"config\": 1}")),
	       "a tokenizer.json begins otherwise");
	tap_ok(!tokenizer_is_tekken(bytes_of("{\"a\": ")), "half a file");
}

/* --- damaged --- */

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct tokenizer_spec out;
	struct arena *own;
	int result;

	(void)arg;
	if (arena_new(&own) < 0)
		return -1;
	result = tokenizer_tekken_parse(&out, own, (struct bytes){ data, size }, "damaged");
	arena_free(own);
	return result;
}

static void test_damaged(void)
{
	size_t n;
	char *good = tap_fixture(GOOD "listed.json", &n);

	corrupt_run("listed.json", (struct bytes){ good, n }, (struct bytes){ NULL, 0 },
		    read_damaged, NULL, (size_t)64 << 20);
	free(good);
}

int main(void)
{
	tap_run(test_ids);
	tap_run(test_special_tokens);
	tap_run(test_refused);
	tap_run(test_pattern);
	tap_run(test_told_apart);
	tap_run(test_damaged);
	arena_free(arena);
	return tap_done();
}
