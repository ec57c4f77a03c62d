/*
 * formats/json_tree.h - a whole JSON file as a tree, for configuration
 *
 * The tree is cJSON's. cJSON alone would cut strings at NUL, change integers that a double
 * cannot hold, and let trailing bytes, control characters and duplicate keys pass; so the text is
 * first checked in full by the pull reader (json.h), and what cJSON would not keep is refused
 * with its place: a NUL in a string or key, a number that is no exact double though it is written
 * as an integer, one past the range of a double, one of more than 63 characters.
 *
 * Getters give typed values and name the key: `config.json: key rope.theta: is string, not number`.
 * A key that is absent, or null, is no error: they return 0 and leave *OUT as it was, so that a
 * default may stand there. Keys are found by walking the object: this is for configuration, not
 * for vocabularies.
 */
#ifndef FORMATS_JSON_TREE_H
#define FORMATS_JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

#define JSON_TREE_SIZE_MAX   ((size_t)64 << 20)
#define JSON_TREE_VALUES_MAX ((size_t)1 << 20) /* of all kinds; bounds the tree's memory */

struct json_tree;

/* DATA may go after the call; FILE, for messages, is copied. */
int json_tree_parse(struct json_tree **out, const void *data, size_t size, const char *file);
int json_tree_open(struct json_tree **out, const char *path); /* pipes are allowed */
void json_tree_free(struct json_tree *t);		      /* NULL is allowed */

/* Everything below lives until json_tree_free. */
const char *json_tree_file(const struct json_tree *t);
const cJSON *json_tree_root(const struct json_tree *t);

/* KEY of OBJECT (NULL: of the root), whatever its type; NULL when it is absent. Case counts. */
const cJSON *json_tree_find(const struct json_tree *t, const cJSON *object, const char *key);

/*
 * KEY of OBJECT (NULL: of the root) to *OUT: 1, or 0 when it is absent or null, or -1 with the
 * error set when it is of another type. Integers are whole and less than 2^53 from zero; 4096.0 is
 * one, since a tree does not tell it from 4096.
 */
int json_tree_u64(const struct json_tree *t, const cJSON *object, const char *key, uint64_t *out);
int json_tree_i64(const struct json_tree *t, const cJSON *object, const char *key, int64_t *out);
int json_tree_f64(const struct json_tree *t, const cJSON *object, const char *key, double *out);
int json_tree_bool(const struct json_tree *t, const cJSON *object, const char *key, bool *out);
int json_tree_string(const struct json_tree *t, const cJSON *object, const char *key,
		     const char **out);
int json_tree_object(const struct json_tree *t, const cJSON *object, const char *key,
		     const cJSON **out);
/* Items are OUT->child, then ->next of each. */
int json_tree_array(const struct json_tree *t, const cJSON *object, const char *key,
		    const cJSON **out);

/* The same for a value at hand, an array's item: 0 or -1; null is another type. */
int json_tree_as_u64(const struct json_tree *t, const cJSON *value, uint64_t *out);
int json_tree_as_i64(const struct json_tree *t, const cJSON *value, int64_t *out);
int json_tree_as_f64(const struct json_tree *t, const cJSON *value, double *out);
int json_tree_as_bool(const struct json_tree *t, const cJSON *value, bool *out);
int json_tree_as_string(const struct json_tree *t, const cJSON *value, const char **out);
int json_tree_as_object(const struct json_tree *t, const cJSON *value, const cJSON **out);
int json_tree_as_array(const struct json_tree *t, const cJSON *value, const cJSON **out);

/* ERR_MISSING `FILE: key a.b: is missing`; returns -1. */
int json_tree_missing(const struct json_tree *t, const cJSON *object, const char *key);
/* An error of the caller's own, `FILE: key a.b[2]: what`, at a value of the tree; returns -1. */
int json_tree_fail(const struct json_tree *t, const cJSON *value, enum err_code code,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
