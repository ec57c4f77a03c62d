/*
 * tests/unit/test_json_tree.c - cJSON made safe, and the typed getters
 *
 * The losses of cJSON 1.7 that are refused here were seen with it: "ab\u0000cd" becomes ab,
 * 9007199254740993 becomes 9007199254740992, trailing junk and raw control bytes pass.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/json_tree.h"
#include "lib/base/buffer.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

static int parse(struct json_tree **t, const char *text)
{
	return json_tree_parse(t, text, strlen(text), "c.json");
}

static void refuses(const char *text, int code, const char *part)
{
	struct json_tree *t;

	tap_fails(parse(&t, text), code, part, "refused: %.60s", text);
}

static void test_refused(void)
{
	refuses("{\"a\":\"ab\\u0000cd\"}", ERR_UNSUPPORTED,
		"c.json: byte 17: the string that ends here");
	refuses("{\"a\\u0000b\":1}", ERR_UNSUPPORTED, "holds a NUL");
	refuses("{\"a\":9007199254740993}", ERR_UNSUPPORTED,
		"c.json: byte 5: the integer 9007199254740993 is past 2^53 and no exact double");
	refuses("[-9007199254740993]", ERR_UNSUPPORTED, "byte 1: the integer -9007199254740993");
	refuses("18446744073709551615", ERR_UNSUPPORTED, "the integer 18446744073709551615");
	refuses("[1e400]", ERR_FORMAT, "1e400 is past the range of a double");
	/* 64 characters: cJSON would stop at the 63rd. */
	refuses("0.12345678901234567890123456789012345678901234567890123456789012", ERR_LIMIT,
		"a number of 64 characters; at most 63");
	refuses("{\"a\":1} x", ERR_FORMAT, "byte 8: 1 bytes after the value");
	refuses("{\"a\":\"x\ny\"}", ERR_FORMAT, "raw control character");
	refuses("{\"a\":\"\\ud800\"}", ERR_FORMAT, "lone surrogate");
	refuses("{\"a\":1,\"a\":1}", ERR_FORMAT, "duplicate key \"a\"");
	refuses("{\"a\":[{\"b\":1,\"b\":1}]}", ERR_FORMAT, "duplicate key \"b\"");
	refuses("{\"a\":01}", ERR_FORMAT, "01 is not a JSON number");
	refuses("", ERR_FORMAT, "expected a value, found the end");
	refuses("\xEF\xBB\xBF{}", ERR_FORMAT, "byte order mark");
}

static void test_depth(void)
{
	struct json_tree *t;
	char text[260];

	memset(text, '[', 130);
	memset(text + 130, ']', 130);
	tap_works(json_tree_parse(&t, text + 2, 256, "c.json"), "128 deep");
	json_tree_free(t);
	tap_fails(json_tree_parse(&t, text + 1, 258, "c.json"), ERR_LIMIT, "nested deeper than 128",
		  "129 deep");
}

static void test_many_values(void)
{
	struct buffer b = { 0 };
	struct json_tree *t;

	buffer_put_text(&b, "[0");
	for (size_t i = 2; i < JSON_TREE_VALUES_MAX; i++)
		buffer_put(&b, ",0", 2);
	buffer_put_text(&b, "]");
	tap_works(json_tree_parse(&t, b.data, b.size, "c.json"), "as many values as may be");
	json_tree_free(t);
	b.size--;
	buffer_put_text(&b, ",0]");
	tap_fails(json_tree_parse(&t, b.data, b.size, "c.json"), ERR_LIMIT,
		  "more than 1048576 values", "one more");
	buffer_free(&b);
	tap_fails(json_tree_parse(&t, "1", JSON_TREE_SIZE_MAX + 1, "c.json"), ERR_LIMIT,
		  "at most 67108864 are read as a tree", "a size past the limit is not looked at");
}

static const char config[] =
	"{\"width\":4096,\"whole\":32.0,\"eps\":1e-05,\"tied\":true,\"name\":\"llama \\u00e9\","
	"\"none\":null,\"negative\":-3,\"half\":0.5,\"longest\":1000000000000000019884624838656,"
	"\"edge\":9007199254740991,\"past\":9007199254740992,"
	"\"rope\":{\"theta\":\"1e4\",\"type\":\"yarn\",\"inner\":{\"deep\":[1,[\"x\",2]]}},"
	"\"layers\":[\"full\",\"sliding\",7]}";

static struct json_tree *open_config(void)
{
	struct json_tree *t = NULL;

	tap_works(json_tree_parse(&t, config, sizeof config - 1, "c.json"), "a configuration");
	return t;
}

static void test_values(void)
{
	struct json_tree *t = open_config();
	const char *text = NULL;
	uint64_t n = 0;
	int64_t i = 0;
	double v = 0;
	bool yes = false;

	tap_is_i64(json_tree_u64(t, NULL, "width", &n), 1, "there");
	tap_is_u64(n, 4096, "width");
	tap_is_i64(json_tree_u64(t, NULL, "whole", &n), 1, "32.0 is whole");
	tap_is_u64(n, 32, "whole");
	tap_is_i64(json_tree_u64(t, NULL, "edge", &n), 1, "2^53 - 1");
	tap_is_u64(n, UINT64_C(9007199254740991), "edge");
	tap_is_i64(json_tree_i64(t, NULL, "negative", &i), 1, "negative");
	tap_is_i64(i, -3, "negative");
	tap_is_i64(json_tree_f64(t, NULL, "eps", &v), 1, "eps");
	tap_ok(v == 1e-05, "eps is %g", v);
	tap_is_i64(json_tree_f64(t, NULL, "longest", &v), 1, "a long integer that is a double");
	tap_ok(v == 1e30, "longest is %g", v);
	tap_is_i64(json_tree_bool(t, NULL, "tied", &yes), 1, "tied");
	tap_ok(yes, "tied");
	tap_is_i64(json_tree_string(t, NULL, "name", &text), 1, "name");
	tap_is_text(text, "llama \xC3\xA9", "name");
	json_tree_free(t);
}

static void test_absent(void)
{
	struct json_tree *t = open_config();
	const cJSON *o = (const cJSON *)1;
	const char *text = "default";
	uint64_t n = 7;

	tap_is_i64(json_tree_u64(t, NULL, "nowhere", &n), 0, "absent");
	tap_is_i64(json_tree_u64(t, NULL, "none", &n), 0, "null");
	tap_is_i64(json_tree_u64(t, NULL, "WIDTH", &n), 0, "case counts");
	tap_is_u64(n, 7, "the default stands");
	tap_is_i64(json_tree_string(t, NULL, "none", &text), 0, "null");
	tap_is_text(text, "default", "the default stands");
	tap_is_i64(json_tree_object(t, NULL, "nowhere", &o), 0, "absent");
	tap_ok(o == (const cJSON *)1, "the default stands");
	tap_ok(!json_tree_find(t, NULL, "nowhere"), "find: absent");
	tap_ok(cJSON_IsNull(json_tree_find(t, NULL, "none")), "find: null is there");
	tap_fails(json_tree_missing(t, NULL, "vocab"), ERR_MISSING, "c.json: key vocab: is missing",
		  "missing at the root");
	json_tree_object(t, NULL, "rope", &o);
	tap_fails(json_tree_missing(t, o, "factor"), ERR_MISSING,
		  "c.json: key rope.factor: is missing", "missing deeper");
	json_tree_free(t);
}

static void test_wrong_types(void)
{
	struct json_tree *t = open_config();
	const cJSON *rope, *inner, *a;
	const char *text;
	uint64_t n;
	int64_t i;
	double v;
	bool yes;

	tap_fails(json_tree_u64(t, NULL, "name", &n), ERR_FORMAT,
		  "c.json: key name: is string, not number", "a number");
	tap_fails(json_tree_bool(t, NULL, "width", &yes), ERR_FORMAT,
		  "c.json: key width: is number, not boolean", "a boolean");
	tap_fails(json_tree_string(t, NULL, "tied", &text), ERR_FORMAT,
		  "c.json: key tied: is boolean, not string", "a string");
	tap_fails(json_tree_object(t, NULL, "layers", &a), ERR_FORMAT,
		  "c.json: key layers: is array, not object", "an object");
	tap_fails(json_tree_array(t, NULL, "rope", &a), ERR_FORMAT,
		  "c.json: key rope: is object, not array", "an array");
	tap_fails(json_tree_u64(t, NULL, "negative", &n), ERR_FORMAT,
		  "c.json: key negative: -3 is negative", "sign");
	tap_fails(json_tree_i64(t, NULL, "half", &i), ERR_FORMAT,
		  "c.json: key half: 0.5 is not a whole number", "a fraction");
	tap_fails(json_tree_u64(t, NULL, "past", &n), ERR_LIMIT,
		  "c.json: key past: 9007199254740992 is past 2^53", "2^53");
	tap_fails(json_tree_u64(t, NULL, "longest", &n), ERR_LIMIT, "is past 2^53", "1e30");
	tap_works(json_tree_object(t, NULL, "rope", &rope), "an object");
	tap_fails(json_tree_f64(t, rope, "theta", &v), ERR_FORMAT,
		  "c.json: key rope.theta: is string, not number", "one deeper");
	tap_works(json_tree_object(t, rope, "inner", &inner), "two deeper");
	tap_fails(json_tree_u64(t, inner, "deep", &n), ERR_FORMAT,
		  "c.json: key rope.inner.deep: is array, not number", "its path");
	tap_fails(json_tree_u64(t, json_tree_find(t, NULL, "name"), "x", &n), ERR_FORMAT,
		  "c.json: key name: is string, not object", "a key of a string");
	json_tree_free(t);
}

static void test_items(void)
{
	struct json_tree *t = open_config();
	const cJSON *layers, *deep, *item;
	const char *text;
	uint64_t n = 0;

	tap_works(json_tree_array(t, NULL, "layers", &layers), "an array");
	item = layers->child;
	tap_works(json_tree_as_string(t, item, &text), "its first item");
	tap_is_text(text, "full", "its first item");
	item = item->next->next;
	tap_fails(json_tree_as_string(t, item, &text), ERR_FORMAT,
		  "c.json: key layers[2]: is number, not string", "its third");
	deep = json_tree_find(t, json_tree_find(t, json_tree_find(t, NULL, "rope"), "inner"),
			      "deep");
	item = deep->child->next->child;
	tap_fails(json_tree_as_u64(t, item, &n), ERR_FORMAT,
		  "c.json: key rope.inner.deep[1][0]: is string, not number",
		  "in an array in an array");
	tap_works(json_tree_as_u64(t, item->next, &n), "the one beside it");
	tap_is_u64(n, 2, "its value");
	tap_fails(json_tree_fail(t, item, ERR_UNSUPPORTED, "no %s", "x"), ERR_UNSUPPORTED,
		  "c.json: key rope.inner.deep[1][0]: no x", "the caller's own error");
	json_tree_free(t);
}

static void test_root(void)
{
	struct json_tree *t;
	uint64_t n;

	tap_works(parse(&t, "[1]"), "an array as the whole");
	tap_fails(json_tree_u64(t, NULL, "a", &n), ERR_FORMAT, "c.json: is array, not object",
		  "has no keys");
	tap_ok(!json_tree_find(t, NULL, "a"), "finds nothing");
	json_tree_free(t);
}

static void test_file(void)
{
	struct json_tree *t;
	const char *path = tap_file("config.json", config, sizeof config - 1);

	tap_works(json_tree_open(&t, path), "a file");
	tap_is_text(json_tree_file(t), path, "its name");
	tap_ok(cJSON_IsObject(json_tree_root(t)), "its root");
	json_tree_free(t);
	tap_fails(json_tree_open(&t, tap_path("nowhere.json")), ERR_MISSING,
		  "nowhere.json: No such file", "a file that is not there");
	tap_fails(json_tree_open(&t, "fixtures/bad/json/duplicate.json"), ERR_FORMAT,
		  "fixtures/bad/json/duplicate.json: byte 54: duplicate key \"t\"", "a bad file");
}

/* What the check takes, cJSON takes, with the same number of values. */
static int read_tree(void *arg, const void *data, size_t size)
{
	struct json_tree *t;

	if (json_tree_parse(&t, data, size, "damaged"))
		return err_last() == ERR_MEMORY ? 1 : -1;
	json_tree_free(t);
	return 0;
}

static void test_damage(void)
{
	static const char second[] = "[\"a\\tb\",[1e5,2],{\"x\":{\"y\":[]}},false,\"\\\\\"]";

	corrupt_run("trees of damaged text", (struct bytes){ config, sizeof config - 1 },
		    (struct bytes){ second, sizeof second - 1 }, read_tree, NULL, 64 << 20);
}

int main(void)
{
	tap_run(test_refused);
	tap_run(test_depth);
	tap_run(test_many_values);
	tap_run(test_values);
	tap_run(test_absent);
	tap_run(test_wrong_types);
	tap_run(test_items);
	tap_run(test_root);
	tap_run(test_file);
	tap_run(test_damage);
	return tap_done();
}
