/* tests/unit/test_token_stats.c - counts of tokens, by hand and against the text gone through plainly */
#include "lib/data/token_stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/jsonl.h"
#include "formats/tokenizer_open.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/record_text.h"
#include "lib/data/token_report.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokenizers/"

static struct arena *arena;
static struct tokenizer *tokenizer;
static struct token_stats *stats;
static struct token_totals t;

static void use(const char *path, bool has_text)
{
	token_stats_free(stats);
	tokenizer_free(tokenizer);
	arena_free(arena);
	if (arena_new(&arena) < 0 || tokenizer_open(&tokenizer, arena, path, NULL) < 0 ||
	    token_stats_new(&stats, tokenizer, has_text) < 0) {
		tap_works(-1, "open %s", path);
		exit(1);
	}
}

static void add(const uint32_t *ids, size_t n)
{
	tap_works(token_stats_add(stats, ids, n), "%zu ids", n);
}

static void end(void)
{
	tap_works(token_stats_end_document(stats), "the end of a document");
}

static void is_text(uint64_t bytes, uint64_t characters, uint64_t words)
{
	token_stats_totals(stats, &t);
	tap_is_u64(t.bytes, bytes, "bytes");
	tap_is_u64(t.characters, characters, "characters");
	tap_is_u64(t.words, words, "words");
}

/* Of byte-level.json: 40 H, 69 e, 221 space, 0 <|endoftext|>, 128 115 the two bytes of an o with dots. */
static void test_by_hand(void)
{
	static const uint32_t one[] = { 40, 69, 221, 40, 0 }, two[] = { 69, 128, 115, 7000 };
	struct token_run run = { 1, 3, ROLE_USER };
	uint32_t top[3];

	use(GOOD "byte-level.json", false);
	add(one, 2);
	add(one + 2, 3);
	token_stats_role(stats, &run);
	end();
	add(two, 4);
	end();
	is_text(4 + 13 + 3, 4 + 13 + 2, 3);
	tap_is_u64(t.documents * 100 + t.tokens, 209, "documents and tokens");
	tap_is_u64(t.kinds[TOKEN_KIND_SPECIAL], 1, "special");
	tap_is_u64(t.kinds[TOKEN_KIND_NONE], 1, "no such id");
	tap_is_u64(t.kinds[TOKEN_KIND_NORMAL], 7, "normal");
	tap_is_u64(t.partial, 2, "parts of characters");
	tap_is_u64(t.roles[ROLE_USER] * 10 + t.roles[ROLE_TEXT], 36, "roles");
	tap_is_u64(t.used, 6, "ids that came");
	tap_is_u64(t.vocabulary, 320, "ids that there are");
	tap_is_u64(t.lengths[1] * 100 + t.lengths[13] * 10 + t.lengths[0], 711, "by their bytes");
	tap_is_u64(token_stats_count(stats, 40), 2, "how often one came");
	tap_is_i64(token_stats_top(stats, top, 3), 3, "the most used");
	tap_ok(top[0] == 40 && top[1] == 69 && top[2] == 0, "%u %u %u", (unsigned)top[0],
	       (unsigned)top[1], (unsigned)top[2]);
}

/* A word goes on over the end of a token, over an id that is nothing, but not over the end of a document. */
static void test_words(void)
{
	static const uint32_t he[] = { 40, 69 }, none = 7000, space = 221;

	use(GOOD "byte-level.json", false);
	add(he, 2);
	add(&none, 1);
	add(he, 2);
	end();
	is_text(4, 4, 1);
	add(he, 2);
	add(&space, 1);
	add(&none, 1);
	add(he, 2);
	end();
	is_text(9, 9, 3);
}

/* What follows from counts alone is what going through the text gives. */
static void check_file(const char *path, bool exact)
{
	struct encode_options o = { .special = SPECIAL_PARSE };
	struct encoding e = { 0 };
	struct token_stats *other;
	struct token_totals want;
	struct buffer decoded = { 0 };
	struct encoder *encoder;
	struct bytes record, text;
	struct jsonl *in;
	struct json *j;

	use(path, false);
	tap_works(token_stats_new(&other, tokenizer, true), "another");
	tap_works(encoder_new(&encoder, tokenizer), "encoder");
	tap_works(jsonl_open(&in, "fixtures/good/text/hard.jsonl", NULL), "texts");
	tap_works(json_new(&j), "json");
	while (jsonl_next(in, &record) > 0) {
		if (record_text(&text, j, &decoded, record, "text", "hard", 1) < 0 ||
		    encoder_run(encoder, text, &o, &e) < 0)
			continue;
		if (token_stats_add(stats, e.ids, e.n) < 0 || token_stats_end_document(stats) < 0 ||
		    token_stats_add(other, e.ids, e.n) < 0 || token_stats_text(other, text) < 0 ||
		    token_stats_end_document(other) < 0)
			tap_works(-1, "adding");
	}
	token_stats_totals(other, &want);
	tap_ok(want.tokens > 100 && want.documents > 20, "%d tokens", (int)want.tokens);
	if (exact)
		is_text(want.bytes, want.characters, want.words);
	else
		token_stats_totals(stats, &t);
	tap_ok(t.bytes > 0 && t.characters <= t.bytes && t.words <= t.characters, "%s: in order",
	       path);
	token_stats_free(other);
	encoder_free(encoder);
	encoding_free(&e);
	jsonl_close(in);
	json_free(j);
	buffer_free(&decoded);
}

static void test_against_text(void)
{
	check_file(GOOD "byte-level.json", true);
	check_file(GOOD "smollm.gguf", true);
	check_file(GOOD "spm-bpe.model", false);
}

/* The marked space at the start goes: `he wo` of six tokens. */
static void test_decoded(void)
{
	static const uint32_t ids[] = { 341, 344, 343, 276, 345 };

	use(GOOD "spm-bpe.model", false);
	add(ids, 5);
	end();
	is_text(5, 5, 2);
	add(ids, 5);
	end();
	is_text(10, 10, 4);
}

static void is_quantile(double q, uint64_t want)
{
	uint64_t got = token_stats_quantile(stats, q);

	tap_ok(got <= want && got >= want - want / 100, "%g: %u, want %u", q, (unsigned)got,
	       (unsigned)want);
}

/* Documents of 0, 1, ..., 999 tokens, the longest last. */
static void test_quantiles(void)
{
	uint32_t *ids = mem_new(1000, sizeof(*ids));

	use(GOOD "byte-level.json", false);
	tap_is_u64(token_stats_quantile(stats, 0.5), 0, "of nothing");
	for (size_t n = 0; n < 1000; n++)
		if (token_stats_add(stats, ids, n) < 0 || token_stats_end_document(stats) < 0)
			tap_works(-1, "adding");
	tap_is_u64(token_stats_quantile(stats, 0), 0, "the least");
	tap_is_u64(token_stats_quantile(stats, 0.1), 100, "exact below 256");
	tap_is_u64(token_stats_quantile(stats, 0.25), 250, "exact below 256");
	is_quantile(0.5, 500);
	is_quantile(0.9, 900);
	is_quantile(0.99, 990);
	tap_is_u64(token_stats_quantile(stats, 1), 999, "the most");
	free(ids);
}

static void test_report(void)
{
	static const uint32_t ids[] = { 40, 69, 40 };
	struct buffer b = { 0 };

	use(GOOD "byte-level.json", false);
	add(ids, 3);
	end();
	tap_works(token_report_json(&b, stats, tokenizer, 1), "as JSON");
	tap_is_bytes(
		buffer_bytes(&b),
		bytes_of("{\"documents\":1,\"tokens\":3,\"bytes\":3,\"characters\":3,\"words\":1,"
			 "\"bytes_per_token\":1,\"characters_per_token\":1,"
			 "\"words_per_token\":0.3333333333333333,"
			 "\"kinds\":{\"normal\":3,\"special\":0,\"added\":0,\"byte\":0,\"unknown\":"
			 "0,"
			 "\"none\":0},\"broken_characters\":0,\"roles\":{\"text\":3,\"prompt\":0,"
			 "\"completion\":0,\"system\":0,\"user\":0,\"assistant\":0,\"tool\":0,"
			 "\"scaffold\":0},\"vocabulary\":320,\"used\":2,\"never_used\":318,"
			 "\"tokens_per_document\":[[0,3],[0.1,3],[0.25,3],[0.5,3],[0.75,3],[0.9,3],"
			 "[0.99,3],[1,3]],\"lengths\":[0,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"
			 "\"most_used\":[{\"id\":40,\"count\":2,\"piece\":\"H\"}]}\n"),
		"the whole");
	buffer_free(&b);
}

int main(void)
{
	tap_run(test_by_hand);
	tap_run(test_words);
	tap_run(test_against_text);
	tap_run(test_decoded);
	tap_run(test_quantiles);
	tap_run(test_report);
	token_stats_free(stats);
	tokenizer_free(tokenizer);
	arena_free(arena);
	return tap_done();
}
