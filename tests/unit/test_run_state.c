/* lib/train/run_state: run.json written, read back, refused. The bytes are those of man/man5/nnutils-run.5. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/train/run_folder.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

static const struct run_setting settings[] = {
	{ "lr", "3e-4" },
	{ "data", "a \"b\"\\\n\xc3\xa9.tok" },
	{ "", "" },
};
static const struct run_setting identities[] = { { "level", "avx2" }, { "tokens", "00ff" } };

static const struct run_state full = {
	.step = 9007199254740992,
	.tokens = 2,
	.targets = 3,
	.skipped = 4,
	.skipped_in_row = 1,
	.log_bytes = 5,
	.best_loss = 1.0 / 3,
	.best_step = 6,
	.smoothed_loss = 2.5,
	.rollbacks = 7,
	.settings = settings,
	.n_settings = 3,
	.identities = identities,
	.n_identities = 2,
};

static const char full_text[] = "{\n"
				"  \"version\": 1,\n"
				"  \"step\": 9007199254740992,\n"
				"  \"tokens\": 2,\n"
				"  \"targets\": 3,\n"
				"  \"skipped\": 4,\n"
				"  \"skipped_in_row\": 1,\n"
				"  \"log_bytes\": 5,\n"
				"  \"best_loss\": 0.3333333333333333,\n"
				"  \"best_step\": 6,\n"
				"  \"smoothed_loss\": 2.5,\n"
				"  \"rollbacks\": 7,\n"
				"  \"settings\": {\n"
				"    \"lr\": \"3e-4\",\n"
				"    \"data\": \"a \\\"b\\\"\\\\\\n\xc3\xa9.tok\",\n"
				"    \"\": \"\"\n"
				"  },\n"
				"  \"identities\": {\n"
				"    \"level\": \"avx2\",\n"
				"    \"tokens\": \"00ff\"\n"
				"  }\n"
				"}\n";

static struct run_state empty_state(void)
{
	return (struct run_state){ .best_loss = NAN, .smoothed_loss = NAN };
}

static void test_written(void)
{
	struct buffer b = { 0 };

	tap_works(run_state_put(&b, &full), "written");
	tap_is_bytes(buffer_bytes(&b), bytes_of(full_text), "the bytes");
	buffer_free(&b);
}

/* What is read from S's text is written as the same text. */
static void there_and_back(const struct run_state *s, struct run_state *out, struct arena *arena)
{
	struct buffer one = { 0 }, two = { 0 };

	tap_works(run_state_put(&one, s), "written");
	tap_works(run_state_parse(out, arena, buffer_bytes(&one), "run.json"), "read");
	tap_works(run_state_put(&two, out), "written again");
	tap_is_bytes(buffer_bytes(&two), buffer_bytes(&one), "the same bytes");
	buffer_free(&one);
	buffer_free(&two);
}

static void test_read(void)
{
	struct run_state s = empty_state(), got;
	struct arena *arena;

	arena_new(&arena);
	there_and_back(&full, &got, arena);
	tap_is_u64(got.step, full.step, "step");
	tap_is_u64(got.rollbacks, 7, "rollbacks");
	tap_ok(got.best_loss == full.best_loss, "the double to the bit");
	tap_is_u64(got.n_settings, 3, "settings");
	tap_is_text(run_setting(got.settings, 3, "data"), settings[1].value, "by name");
	tap_is_text(run_setting(got.settings, 3, ""), "", "a name of no letters");
	tap_ok(!run_setting(got.settings, 3, "l") && !run_setting(got.settings, 3, "lrs"),
	       "names are whole");
	tap_ok(!run_setting(NULL, 0, "lr"), "of none");
	tap_is_text(run_setting(got.identities, 2, "level"), "avx2", "identities");
	there_and_back(&s, &got, arena);
	tap_ok(isnan(got.best_loss) && isnan(got.smoothed_loss), "NaN is null");
	s.best_loss = INFINITY;
	s.smoothed_loss = -INFINITY;
	there_and_back(&s, &got, arena);
	tap_ok(got.best_loss == INFINITY && got.smoothed_loss == -INFINITY, "infinities");
	s.best_loss = 5e-324;
	s.smoothed_loss = -1.7976931348623157e308;
	there_and_back(&s, &got, arena);
	tap_ok(got.best_loss == 5e-324 && got.smoothed_loss == -1.7976931348623157e308,
	       "the smallest and the largest");
	arena_free(arena);
}

static void refused_to_write(const struct run_setting *pairs, size_t n, int code, const char *part)
{
	struct run_state s = empty_state();
	struct buffer b = { 0 };

	s.settings = pairs;
	s.n_settings = n;
	tap_fails(run_state_put(&b, &s), code, part, "%s", part);
	buffer_free(&b);
}

static void test_not_written(void)
{
	static const struct run_setting twice[] = { { "lr", "1" }, { "lr", "1" } };
	static const struct run_setting latin[] = { { "data", "caf\xe9.tok" } };
	struct run_state s = empty_state();
	struct buffer b = { 0 };

	refused_to_write(twice, 2, ERR_ARGUMENT, "settings: lr: is there twice");
	refused_to_write(latin, 1, ERR_ARGUMENT, "settings: data: is not UTF-8");
	refused_to_write(twice, 4097, ERR_LIMIT, "settings: 4097, more than 4096");
	s.tokens = full.step + 1;
	tap_fails(run_state_put(&b, &s), ERR_LIMIT, "tokens: 9007199254740993, more than 2^53",
		  "a count");
	buffer_free(&b);
}

/* full_text with the first FROM turned into TO. */
static void refused(const char *from, const char *to, int code, const char *part)
{
	const char *at = strstr(full_text, from);
	struct run_state got;
	struct arena *arena;
	char text[2048];

	if (!tap_ok(at != NULL, "%s is in it", from))
		return;
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - full_text), full_text, to,
		 at + strlen(from));
	arena_new(&arena);
	tap_fails(run_state_parse(&got, arena, bytes_of(text), "r/run.json"), code, part, "%s", to);
	arena_free(arena);
}

static void test_refused(void)
{
	refused("\"version\": 1", "\"version\": 2", ERR_UNSUPPORTED,
		"r/run.json: version 2, not 1");
	refused("  \"version\": 1,\n", "", ERR_MISSING, "r/run.json: key version: is missing");
	refused("  \"rollbacks\": 7,\n", "", ERR_MISSING, "r/run.json: key rollbacks: is missing");
	refused("  \"step\": 9007199254740992,\n", "", ERR_MISSING, "key step: is missing");
	refused("\"tokens\": 2", "\"tokens\": 2, \"tokens\": 3", ERR_FORMAT, "r/run.json: byte");
	refused("\"tokens\"", "\"toucans\"", ERR_FORMAT, "unknown key \"toucans\"");
	refused("\"tokens\": 2", "\"tokens\": -2", ERR_FORMAT, "r/run.json: byte");
	refused("\"tokens\": 2", "\"tokens\": 2.0", ERR_FORMAT, "r/run.json: byte");
	refused("9007199254740992", "9007199254740993", ERR_FORMAT, "more than 2^53");
	refused("\"tokens\": 2", "\"tokens\": null", ERR_FORMAT, "r/run.json: byte");
	refused("2.5", "\"nan\"", ERR_FORMAT, "\"nan\" is no loss");
	refused("2.5", "1e999", ERR_FORMAT, "r/run.json: byte");
	refused("\"3e-4\"", "3e-4", ERR_FORMAT, "r/run.json: byte");
	refused("\"3e-4\"", "\"a\\u0000b\"", ERR_FORMAT, "a NUL in a setting");
	refused("\"lr\"", "\"l\\u0000r\"", ERR_FORMAT, "a NUL in a setting");
	refused("\"lr\"", "\"data\"", ERR_FORMAT, "r/run.json: byte");
	refused("}\n}\n", "}\n}\n{}", ERR_FORMAT, "r/run.json: byte");
	refused("}\n}\n", "}\n", ERR_FORMAT, "r/run.json: byte");
}

static void test_too_large(void)
{
	size_t n = ((size_t)16 << 20) + 1;
	char *text = malloc(n);
	struct run_state got;
	struct arena *arena;
	struct buffer b = { 0 };

	memset(text, ' ', n);
	arena_new(&arena);
	tap_fails(run_state_parse(&got, arena, (struct bytes){ text, n }, "run.json"), ERR_LIMIT,
		  "more than 16777216 bytes", "a long text");
	buffer_put_text(&b, "{\"settings\":{");
	for (int i = 0; i < 4097; i++)
		buffer_format(&b, "%s\"%d\":\"\"", i ? "," : "", i);
	buffer_put_text(&b, "}}");
	tap_fails(run_state_parse(&got, arena, buffer_bytes(&b), "run.json"), ERR_FORMAT,
		  "more than 4096 settings", "many settings");
	buffer_free(&b);
	arena_free(arena);
	free(text);
}

static int read_it(void *arg, const void *data, size_t size)
{
	struct run_state got;
	struct arena *arena;
	int result;

	if (arena_new(&arena) < 0)
		return -1;
	result = run_state_parse(&got, arena, (struct bytes){ data, size }, "run.json");
	arena_free(arena);
	return result;
}

static void test_corrupt(void)
{
	struct run_state s = empty_state();
	struct buffer b = { 0 };

	run_state_put(&b, &s);
	corrupt_run("damaged run.json", bytes_of(full_text), buffer_bytes(&b), read_it, NULL,
		    (size_t)64 << 20);
	buffer_free(&b);
}

int main(void)
{
	tap_run(test_written);
	tap_run(test_read);
	tap_run(test_not_written);
	tap_run(test_refused);
	tap_run(test_too_large);
	tap_run(test_corrupt);
	return tap_done();
}
