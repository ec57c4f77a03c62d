/*
 * formats/json_tree.c - cJSON, made safe by checking first
 *
 * What cJSON 1.7 does with a text is in its own source (parse_number, parse_string); each of
 * its losses is refused in check_value before it sees the text.
 */
#include "formats/json_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json_internal.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

/* cJSON copies a number into 64 bytes and stops there. */
#define CJSON_NUMBER_MAX 63

struct json_tree {
	char *file;
	cJSON *root;
};

/* --- the check --- */

static bool is_integer(struct bytes number)
{
	return !memchr(number.data, '.', number.size) && !memchr(number.data, 'e', number.size) &&
	       !memchr(number.data, 'E', number.size);
}

/* Whether an integer, as JSON writes it, is V to the last digit. */
static bool is_exact(struct bytes integer, double v)
{
	char digits[CJSON_NUMBER_MAX + 2];
	int n = snprintf(digits, sizeof digits, "%.0f", v);

	return n > 0 && bytes_equal(integer, (struct bytes){ digits, (size_t)n });
}

static int check_number(struct json *j)
{
	const unsigned char *at;
	struct bytes text;
	double v;

	if (json_number(j, &text))
		return -1;
	at = (const unsigned char *)text.data;
	if (text.size > CJSON_NUMBER_MAX)
		return json_fail_at(j, at, ERR_LIMIT, "a number of %zu characters; at most %d",
				    text.size, CJSON_NUMBER_MAX);
	if (json_to_double(j, text, &v))
		return -1;
	if (isinf(v))
		return json_fail_at(j, at, ERR_FORMAT, BYTES_FMT " is past the range of a double",
				    BYTES_ARG(text));
	if (is_integer(text) && !is_exact(text, v))
		return json_fail_at(j, at, ERR_UNSUPPORTED,
				    "the integer " BYTES_FMT " is past 2^53 and no exact double",
				    BYTES_ARG(text));
	return 0;
}

/* The string or key TEXT that ends where the reader stands. */
static int check_text(struct json *j, struct bytes text)
{
	if (text.size && memchr(text.data, '\0', text.size))
		return json_fail_at(j, j->at, ERR_UNSUPPORTED,
				    "the string that ends here holds a NUL");
	return 0;
}

/* Passes a value that is no container; enters one that is. */
static int check_value(struct json *j)
{
	struct bytes text;

	switch (json_peek(j)) {
	case -1: return -1;
	case JSON_OBJECT: return json_object(j);
	case JSON_ARRAY: return json_array(j);
	case JSON_NUMBER: return check_number(j);
	case JSON_STRING: return json_string(j, &text) || check_text(j, text) ? -1 : 0;
	default: return json_skip(j, NULL);
	}
}

/* Moves to the next value, out of containers that end: 1, or 0 at the end of all, or -1. */
static int next_value(struct json *j)
{
	struct bytes key;
	int got = 0;

	while (!got && j->depth) {
		bool object = j->frames[j->depth - 1].object;

		got = object ? json_key(j, &key) : json_item(j);
		if (got > 0 && object && check_text(j, key))
			return -1;
	}
	return got;
}

static int check_all(struct json *j)
{
	size_t values = 0;
	int got;

	do {
		if (++values > JSON_TREE_VALUES_MAX)
			return json_fail_at(j, j->at, ERR_LIMIT, "more than %zu values",
					    JSON_TREE_VALUES_MAX);
		if (check_value(j))
			return -1;
		got = next_value(j);
	} while (got > 0);
	return got < 0 ? -1 : json_end(j);
}

/* --- making --- */

static int check(const void *data, size_t size, const char *file)
{
	struct json *j;
	int result;

	if (size > JSON_TREE_SIZE_MAX)
		return err_set(ERR_LIMIT, "%s: %zu bytes; at most %zu are read as a tree", file,
			       size, JSON_TREE_SIZE_MAX);
	if (json_new(&j))
		return -1;
	json_init(j, data, size, file, NULL);
	result = check_all(j);
	json_free(j);
	return result;
}

int json_tree_parse(struct json_tree **out, const void *data, size_t size, const char *file)
{
	struct json_tree *t;

	if (check(data, size, file))
		return -1;
	t = mem_new(1, sizeof *t);
	if (!t)
		return -1;
	t->file = mem_copy(file, strlen(file));
	if (!t->file)
		goto fail;
	/* The text is known to be good: only memory can be missing now. */
	t->root = cJSON_ParseWithLengthOpts(data, size, NULL, false);
	if (!t->root) {
		err_set(ERR_MEMORY, "%s: out of memory for its tree", file);
		goto fail;
	}
	*out = t;
	return 0;
fail:
	json_tree_free(t);
	return -1;
}

int json_tree_open(struct json_tree **out, const char *path)
{
	char *text;
	size_t size;
	int result;

	if (file_read(path, JSON_TREE_SIZE_MAX, &text, &size))
		return -1;
	result = json_tree_parse(out, text, size, path);
	free(text);
	return result;
}

void json_tree_free(struct json_tree *t)
{
	if (!t)
		return;
	cJSON_Delete(t->root);
	free(t->file);
	free(t);
}

const char *json_tree_file(const struct json_tree *t)
{
	return t->file;
}

const cJSON *json_tree_root(const struct json_tree *t)
{
	return t->root;
}
