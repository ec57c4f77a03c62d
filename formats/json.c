/*
 * formats/json.c - the pull reader: structure, literals, errors
 *
 * The source is RFC 8259. The reader is a machine with an explicit stack of frames: nothing here calls
 * itself, so depth costs a frame and no more. Each public function first asks whether an
 * earlier call failed, then whether the call fits the reader's state.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_internal.h"
#include "lib/base/memory.h"

static const char *const type_names[] = {
	[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
	[JSON_NUMBER] = "a number",  [JSON_TRUE] = "true",	[JSON_FALSE] = "false",
	[JSON_NULL] = "null",
};

int json_new(struct json **out)
{
	struct json *j = mem_new(1, sizeof *j);

	if (!j)
		return -1;
	j->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!j->c_locale) {
		free(j);
		return err_system("cannot make the C locale");
	}
	json_init(j, NULL, 0, "", NULL);
	*out = j;
	return 0;
}

void json_free(struct json *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < JSON_DEPTH_MAX; i++)
		names_free(j->tables[i]);
	json_memory_free(j);
	free(j->digits);
	freelocale(j->c_locale);
	free(j);
}

void json_init(struct json *j, const void *data, size_t size, const char *file,
	       const struct json_limits *limits)
{
	uint32_t depth = limits ? limits->depth : 0;

	while (j->depth)
		json_forget_keys(j, j->depth--);
	json_memory_reset(j);
	j->start = j->at = data ? data : (const void *)"";
	j->end = j->start + (data ? size : 0);
	j->file = file;
	j->line = limits ? limits->line : 0;
	j->any_bytes = limits && limits->any_bytes;
	j->depth_max = depth && depth < JSON_DEPTH_MAX ? depth : JSON_DEPTH_MAX;
	j->state = JSON_VALUE_DUE;
	j->failed = ERR_NONE;
}

/* --- errors --- */

int json_keep_error(struct json *j)
{
	j->failed = err_last();
	snprintf(j->error, sizeof j->error, "%s", err_text());
	return -1;
}

/* The first error again, whatever the thread's error has become since. */
static int fail_again(struct json *j)
{
	return err_set(j->failed, "%s", j->error);
}

static int fail_args(struct json *j, const unsigned char *at, enum err_code code,
		     const char *format, va_list args)
{
	char text[ERR_TEXT_MAX];
	size_t offset = (size_t)(at - j->start);

	if (j->failed)
		return fail_again(j);
	vsnprintf(text, sizeof text, format, args);
	if (j->line)
		err_set(code, "%s:%" PRIu64 ": byte %zu of the line: %s", j->file, j->line, offset,
			text);
	else
		err_set(code, "%s: byte %zu: %s", j->file, offset, text);
	return json_keep_error(j);
}

int json_fail_at(struct json *j, const unsigned char *at, enum err_code code, const char *format,
		 ...)
{
	va_list args;

	va_start(args, format);
	fail_args(j, at, code, format, args);
	va_end(args);
	return -1;
}

int json_fail(struct json *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail_args(j, j->at, ERR_FORMAT, format, args);
	va_end(args);
	return -1;
}

static int fail_format(struct json *j, const char *what)
{
	return json_fail_at(j, j->at, ERR_FORMAT, "%s", what);
}

static int fail_use(struct json *j, const char *what)
{
	return json_fail_at(j, j->at, ERR_ARGUMENT, "%s (a fault of the calling code)", what);
}

/* `expected WHAT, found …` with the next byte, or the end. */
static int fail_expected(struct json *j, const char *what)
{
	if (j->at == j->end)
		return json_fail_at(j, j->at, ERR_FORMAT, "expected %s, found the end of the text",
				    what);
	if (*j->at > 0x20 && *j->at < 0x7F)
		return json_fail_at(j, j->at, ERR_FORMAT, "expected %s, found '%c'", what, *j->at);
	return json_fail_at(j, j->at, ERR_FORMAT, "expected %s, found byte 0x%02X", what, *j->at);
}

/* --- values --- */

static void skip_space(struct json *j)
{
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
		j->at++;
}

static bool next_is(const struct json *j, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(j->end - j->at) >= n && memcmp(j->at, word, n) == 0;
}

/* What people write that is not JSON, said by its name. */
static int fail_value(struct json *j)
{
	if (j->at == j->start && next_is(j, "\xEF\xBB\xBF"))
		return fail_format(j, "a byte order mark is not allowed");
	if (next_is(j, "NaN"))
		return fail_format(j, "NaN is not JSON");
	if (next_is(j, "Infinity"))
		return fail_format(j, "Infinity is not JSON");
	if (next_is(j, "//") || next_is(j, "/*"))
		return fail_format(j, "comments are not JSON");
	return fail_expected(j, "a value");
}

int json_peek(struct json *j)
{
	if (j->failed)
		return fail_again(j);
	if (j->state != JSON_VALUE_DUE)
		return fail_use(j, "no value is due here");
	skip_space(j);
	if (j->at == j->end)
		return fail_value(j);
	switch (*j->at) {
	case '{': return JSON_OBJECT;
	case '[': return JSON_ARRAY;
	case '"': return JSON_STRING;
	case 't': return JSON_TRUE;
	case 'f': return JSON_FALSE;
	case 'n': return JSON_NULL;
	case '-': return JSON_NUMBER;
	default: return *j->at >= '0' && *j->at <= '9' ? JSON_NUMBER : fail_value(j);
	}
}

/* What was found goes by the first byte: whether it is the whole word is seen here. */
static bool is_word(const struct json *j, int found)
{
	switch (found) {
	case JSON_TRUE: return next_is(j, "true");
	case JSON_FALSE: return next_is(j, "false");
	case JSON_NULL: return next_is(j, "null");
	default: return true;
	}
}

static int fail_type(struct json *j, const char *wanted, int found)
{
	if (!is_word(j, found))
		return fail_expected(j, wanted);
	return json_fail_at(j, j->at, ERR_FORMAT, "expected %s, found %s", wanted,
			    type_names[found]);
}

int json_want(struct json *j, enum json_type type)
{
	int found = json_peek(j);

	if (found < 0)
		return -1;
	return found == (int)type ? 0 : fail_type(j, type_names[type], found);
}

static int take_word(struct json *j, const char *word)
{
	if (!next_is(j, word))
		return json_fail_at(j, j->at, ERR_FORMAT, "expected %s", word);
	j->at += strlen(word);
	json_value_done(j);
	return 0;
}

int json_bool(struct json *j, bool *out)
{
	int found = json_peek(j);

	if (found < 0)
		return -1;
	if (found != JSON_TRUE && found != JSON_FALSE)
		return fail_type(j, "true or false", found);
	if (take_word(j, found == JSON_TRUE ? "true" : "false"))
		return -1;
	*out = found == JSON_TRUE;
	return 0;
}

int json_string(struct json *j, struct bytes *out)
{
	if (json_want(j, JSON_STRING) || json_take_string(j, out))
		return -1;
	json_value_done(j);
	return 0;
}

/* --- containers --- */

static int enter(struct json *j, enum json_type type)
{
	struct json_frame *f;

	if (json_want(j, type))
		return -1;
	if (j->depth == j->depth_max)
		return json_fail_at(j, j->at, ERR_LIMIT, "nested deeper than %u", j->depth_max);
	f = &j->frames[j->depth++];
	f->object = type == JSON_OBJECT;
	f->n_keys = 0;
	j->at++;
	j->state = JSON_OPENED;
	return 0;
}

int json_object(struct json *j)
{
	return enter(j, JSON_OBJECT);
}

int json_array(struct json *j)
{
	return enter(j, JSON_ARRAY);
}

static int leave(struct json *j)
{
	j->at++;
	if (j->frames[j->depth - 1].object)
		json_forget_keys(j, j->depth);
	j->depth--;
	json_value_done(j);
	return 0;
}

/* 1 where another key or item begins, 0 when the container CLOSEd, -1. */
static int next_member(struct json *j, bool object, unsigned char close)
{
	if (j->failed)
		return fail_again(j);
	if (j->state == JSON_VALUE_DUE)
		return fail_use(j, "the value before was not read");
	if (!j->depth || j->frames[j->depth - 1].object != object)
		return fail_use(j, object ? "not in an object" : "not in an array");
	skip_space(j);
	if (j->at < j->end && *j->at == close)
		return leave(j);
	if (j->state == JSON_OPENED)
		return 1;
	if (j->at == j->end || *j->at != ',')
		return fail_expected(j, object ? "',' or '}'" : "',' or ']'");
	j->at++;
	skip_space(j);
	return 1;
}

int json_key(struct json *j, struct bytes *key)
{
	const unsigned char *at;
	int got = next_member(j, true, '}');

	if (got <= 0)
		return got;
	at = j->at;
	if (at == j->end || *at != '"')
		return fail_expected(j, "a key in double quotes");
	if (json_take_string(j, key) || json_note_key(j, *key, at))
		return -1;
	skip_space(j);
	if (j->at == j->end || *j->at != ':')
		return fail_expected(j, "':'");
	j->at++;
	j->state = JSON_VALUE_DUE;
	return 1;
}

int json_item(struct json *j)
{
	int got = next_member(j, false, ']');

	if (got <= 0)
		return got;
	if (j->at == j->end || *j->at == ']' || *j->at == ',')
		return fail_expected(j, "a value");
	j->state = JSON_VALUE_DUE;
	return 1;
}

/* --- skipping --- */

/* One step into or over a value: containers are entered only. */
static int pass_value(struct json *j)
{
	struct bytes text;

	switch (json_peek(j)) {
	case JSON_OBJECT: return json_object(j);
	case JSON_ARRAY: return json_array(j);
	case JSON_TRUE: return take_word(j, "true");
	case JSON_FALSE: return take_word(j, "false");
	case JSON_NULL: return take_word(j, "null");
	case JSON_NUMBER: return json_number(j, &text);
	case JSON_STRING:
		if (json_pass_string(j))
			return -1;
		json_value_done(j);
		return 0;
	default: return -1;
	}
}

int json_skip(struct json *j, struct bytes *raw)
{
	uint32_t outside = j->depth;
	const unsigned char *from;
	struct bytes key;
	int got;

	if (json_peek(j) < 0)
		return -1;
	from = j->at;
	do {
		if (pass_value(j))
			return -1;
		for (got = 0; !got && j->depth > outside;) {
			got = j->frames[j->depth - 1].object ? json_key(j, &key) : json_item(j);
			if (got < 0)
				return -1;
		}
	} while (j->depth > outside);
	if (raw)
		*raw = (struct bytes){ (const char *)from, (size_t)(j->at - from) };
	return 0;
}

int json_end(struct json *j)
{
	if (j->failed)
		return fail_again(j);
	if (j->state != JSON_DONE)
		return fail_use(j, "the text's value was not read to its end");
	skip_space(j);
	if (j->at < j->end)
		return json_fail_at(j, j->at, ERR_FORMAT, "%zu bytes after the value",
				    (size_t)(j->end - j->at));
	return 0;
}

size_t json_offset(const struct json *j)
{
	return (size_t)(j->at - j->start);
}
