/*
 * formats/json_tree_get.c - typed values out of a tree, with errors that name the key
 *
 * cJSON's nodes do not know their parents; the path is searched for when there is something to
 * say about it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "formats/json.h"
#include "formats/json_tree.h"

/* --- where a value stands --- */

#define PATH_MAX_NODES (JSON_DEPTH_MAX + 1) /* the reader's limit, and a value in the deepest */

/* The nodes from ROOT to VALUE; their number, 0 when VALUE is not in the tree. */
static size_t locate(const cJSON *root, const cJSON *value, const cJSON *path[PATH_MAX_NODES])
{
	size_t n = 0;

	path[0] = root;
	while (path[n] != value) {
		if (path[n]->child && n + 1 < PATH_MAX_NODES) {
			path[n + 1] = path[n]->child;
			n++;
			continue;
		}
		while (!path[n]->next)
			if (n-- == 0)
				return 0;
		path[n] = path[n]->next;
	}
	return n + 1;
}

static size_t index_in(const cJSON *array, const cJSON *item)
{
	size_t i = 0;

	for (const cJSON *c = array->child; c != item; c = c->next)
		i++;
	return i;
}

/* Appends to TEXT as snprintf does; returns the length, at most SIZE - 1. */
static size_t append(char *text, size_t size, size_t at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static size_t append(char *text, size_t size, size_t at, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text + at, size - at, format, args);
	va_end(args);
	if (n < 0)
		return at;
	return (size_t)n < size - at ? at + (size_t)n : size - 1;
}

/* `a.b[3].c`; empty for the root. */
static size_t put_path(const struct json_tree *t, const cJSON *value, char *text, size_t size)
{
	const cJSON *path[PATH_MAX_NODES];
	size_t n = locate(json_tree_root(t), value, path), at = 0;

	text[0] = '\0';
	for (size_t i = 1; i < n; i++) {
		if (cJSON_IsArray(path[i - 1]))
			at = append(text, size, at, "[%zu]", index_in(path[i - 1], path[i]));
		else
			at = append(text, size, at, "%s%s", at ? "." : "", path[i]->string);
	}
	return at;
}

int json_tree_fail(const struct json_tree *t, const cJSON *value, enum err_code code,
		   const char *format, ...)
{
	char path[ERR_TEXT_MAX / 2], what[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	if (put_path(t, value, path, sizeof path))
		return err_set(code, "%s: key %s: %s", json_tree_file(t), path, what);
	return err_set(code, "%s: %s", json_tree_file(t), what);
}

int json_tree_missing(const struct json_tree *t, const cJSON *object, const char *key)
{
	char path[ERR_TEXT_MAX / 2];
	size_t n = put_path(t, object ? object : json_tree_root(t), path, sizeof path);

	return err_set(ERR_MISSING, "%s: key %s%s%s: is missing", json_tree_file(t), path,
		       n ? "." : "", key);
}

/* --- a value at hand --- */

static const char *type_name(const cJSON *v)
{
	if (cJSON_IsObject(v))
		return "object";
	if (cJSON_IsArray(v))
		return "array";
	if (cJSON_IsString(v))
		return "string";
	if (cJSON_IsNumber(v))
		return "number";
	return cJSON_IsNull(v) ? "null" : "boolean";
}

static int fail_type(const struct json_tree *t, const cJSON *v, const char *wanted)
{
	return json_tree_fail(t, v, ERR_FORMAT, "is %s, not %s", type_name(v), wanted);
}

int json_tree_as_f64(const struct json_tree *t, const cJSON *value, double *out)
{
	if (!cJSON_IsNumber(value))
		return fail_type(t, value, "number");
	*out = value->valuedouble;
	return 0;
}

int json_tree_as_i64(const struct json_tree *t, const cJSON *value, int64_t *out)
{
	double v = 0;

	if (json_tree_as_f64(t, value, &v))
		return -1;
	if (v != floor(v))
		return json_tree_fail(t, value, ERR_FORMAT, "%.17g is not a whole number", v);
	if (fabs(v) >= 0x1p53)
		return json_tree_fail(t, value, ERR_LIMIT, "%.0f is past 2^53", v);
	*out = (int64_t)v;
	return 0;
}

int json_tree_as_u64(const struct json_tree *t, const cJSON *value, uint64_t *out)
{
	int64_t v = 0;

	if (json_tree_as_i64(t, value, &v))
		return -1;
	if (v < 0)
		return json_tree_fail(t, value, ERR_FORMAT, "%" PRId64 " is negative", v);
	*out = (uint64_t)v;
	return 0;
}

int json_tree_as_bool(const struct json_tree *t, const cJSON *value, bool *out)
{
	if (!cJSON_IsBool(value))
		return fail_type(t, value, "boolean");
	*out = cJSON_IsTrue(value);
	return 0;
}

int json_tree_as_string(const struct json_tree *t, const cJSON *value, const char **out)
{
	if (!cJSON_IsString(value))
		return fail_type(t, value, "string");
	*out = value->valuestring;
	return 0;
}

int json_tree_as_object(const struct json_tree *t, const cJSON *value, const cJSON **out)
{
	if (!cJSON_IsObject(value))
		return fail_type(t, value, "object");
	*out = value;
	return 0;
}

int json_tree_as_array(const struct json_tree *t, const cJSON *value, const cJSON **out)
{
	if (!cJSON_IsArray(value))
		return fail_type(t, value, "array");
	*out = value;
	return 0;
}

/* --- a value by its key --- */

const cJSON *json_tree_find(const struct json_tree *t, const cJSON *object, const char *key)
{
	object = object ? object : json_tree_root(t);
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

/* 1 with the value, 0 when there is none or null, -1 when OBJECT is no object. */
static int member(const struct json_tree *t, const cJSON *object, const char *key,
		  const cJSON **value)
{
	object = object ? object : json_tree_root(t);
	if (!cJSON_IsObject(object))
		return fail_type(t, object, "object");
	*value = json_tree_find(t, object, key);
	return *value && !cJSON_IsNull(*value);
}

#define BY_KEY(type, c_type)                                                           \
 int json_tree_##type(const struct json_tree *t, const cJSON *object, const char *key, \
		      c_type *out)                                                     \
 {                                                                                     \
  const cJSON *value = NULL;                                                           \
  int got = member(t, object, key, &value);                                            \
                                                                                       \
  return got <= 0 ? got : json_tree_as_##type(t, value, out) ? -1 : 1;                 \
 }

BY_KEY(u64, uint64_t)
BY_KEY(i64, int64_t)
BY_KEY(f64, double)
BY_KEY(bool, bool)
BY_KEY(string, const char *)
BY_KEY(object, const cJSON *)
BY_KEY(array, const cJSON *)
