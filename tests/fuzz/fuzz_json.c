/*
 * Any text through the JSON reader, the writer and the tree.
 *
 * What json_skip takes, a walk of single calls takes too, and the other way; a text that is written
 * from what was read is read as the same; the tree takes nothing that the reader refuses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/json_tree.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int copy_string(struct json *j, struct buffer *b)
{
	struct bytes text;

	if (json_string(j, &text))
		return -1;
	json_put_string(b, text);
	return 0;
}

/* Numbers are copied as they stand. */
static int copy_number(struct json *j, struct buffer *b)
{
	struct bytes text;

	if (json_number(j, &text))
		return -1;
	buffer_put(b, text.data, text.size);
	return 0;
}

static int copy_bool(struct json *j, struct buffer *b)
{
	bool yes;

	if (json_bool(j, &yes))
		return -1;
	buffer_put_text(b, yes ? "true" : "false");
	return 0;
}

/* Copies a value, or enters it: 1 for an object, 2 for an array. */
static int copy_value(struct json *j, struct buffer *b)
{
	switch (json_peek(j)) {
	case JSON_OBJECT: buffer_put_text(b, "{"); return json_object(j) ? -1 : 1;
	case JSON_ARRAY: buffer_put_text(b, "["); return json_array(j) ? -1 : 2;
	case JSON_STRING: return copy_string(j, b);
	case JSON_NUMBER: return copy_number(j, b);
	case JSON_NULL: buffer_put_text(b, "null"); return json_skip(j, NULL);
	case -1: return -1;
	default: return copy_bool(j, b);
	}
}

/* The next key or item of the innermost container; 0 when it ends. */
static int next(struct json *j, struct buffer *b, int kind)
{
	struct bytes key;
	int got = kind == 1 ? json_key(j, &key) : json_item(j);

	if (got == 0)
		buffer_put_text(b, kind == 1 ? "}" : "]");
	if (got <= 0)
		return got;
	json_put_comma(b);
	if (kind == 1) {
		json_put_string(b, key);
		buffer_put_text(b, ":");
	}
	return 1;
}

static int copy_text(struct json *j, struct buffer *b, const void *data, size_t size)
{
	int kinds[JSON_DEPTH_MAX], depth = 0, got;

	json_init(j, data, size, "fuzz", NULL);
	do {
		got = copy_value(j, b);
		if (got < 0)
			return -1;
		if (got > 0)
			kinds[depth++] = got;
		while (depth && (got = next(j, b, kinds[depth - 1])) == 0)
			depth--;
		if (got < 0)
			return -1;
	} while (depth);
	return json_end(j);
}

static int skip_text(struct json *j, const void *data, size_t size)
{
	json_init(j, data, size, "fuzz", NULL);
	return json_skip(j, NULL) || json_end(j) ? -1 : 0;
}

static void try_numbers(struct json *j, const void *data, size_t size)
{
	uint64_t u;
	int64_t i;
	double v;

	json_init(j, data, size, "fuzz", NULL);
	(void)json_u64(j, &u);
	json_init(j, data, size, "fuzz", NULL);
	(void)json_i64(j, &i);
	json_init(j, data, size, "fuzz", NULL);
	(void)json_f64(j, &v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer once = { 0 }, twice = { 0 };
	struct json_tree *tree = NULL;
	struct json *j;
	int skipped;

	if (json_new(&j))
		return 0;
	skipped = skip_text(j, data, size);
	if (skipped != copy_text(j, &once, data, size))
		abort();
	if (!skipped) {
		if (copy_text(j, &twice, once.data, once.size))
			abort();
		if (!bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)))
			abort();
	}
	try_numbers(j, data, size);
	if (json_tree_parse(&tree, data, size, "fuzz") == 0 && skipped)
		abort();
	if (!tree && !skipped && err_last() == ERR_MEMORY)
		abort(); /* cJSON refused what the check let pass */
	json_tree_free(tree);
	json_free(j);
	buffer_free(&once);
	buffer_free(&twice);
	return 0;
}
