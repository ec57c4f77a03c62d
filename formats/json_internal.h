/*
 * formats/json_internal.h - what the parts of the JSON reader share
 *
 * json.c walks the structure, json_string.c and json_number.c read those values, json_keys.c
 * finds duplicate keys. Nobody else includes this but json_tree.c.
 */
#ifndef FORMATS_JSON_INTERNAL_H
#define FORMATS_JSON_INTERNAL_H

#include <locale.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/names.h"
#include "lib/base/scan.h"

/* Keys of one object that are compared one by one before a table is made. */
#define JSON_FEW_KEYS 16

/* What the next call may be. */
enum json_state {
	JSON_VALUE_DUE, /* a value must be read */
	JSON_OPENED,	/* a container was entered, nothing of it read */
	JSON_BETWEEN,	/* a value of a container was read */
	JSON_DONE,	/* the text's one value was read */
};

struct json_frame {
	bool object;
	size_t n_keys;
	struct bytes few[JSON_FEW_KEYS];
};

struct json_chunk; /* a piece of the memory that unescaped strings live in */

struct json {
	const unsigned char *start, *at, *end;
	const char *file;
	uint64_t line;
	uint32_t depth, depth_max;
	enum json_state state;
	bool any_bytes;
	enum err_code failed; /* the first error's code, or ERR_NONE */
	char error[ERR_TEXT_MAX + 1];
	struct json_frame frames[JSON_DEPTH_MAX];
	struct names *tables[JSON_DEPTH_MAX]; /* by depth, made when first needed, reused */
	struct json_chunk *chunks;	      /* the newest, and largest, first */
	char *digits;			      /* room for one long number */
	size_t digits_capacity;
	locale_t c_locale;
};

/* Sets and keeps the error with the place AT; returns -1. */
int json_fail_at(struct json *j, const unsigned char *at, enum err_code code, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

/* Keeps the thread's present error (memory) as the reader's; returns -1. */
int json_keep_error(struct json *j);

/* The next value is of TYPE: 0, or -1 with `expected …, found …`. */
int json_want(struct json *j, enum json_type type);

/* A value was read: what may come next follows from where the reader stands. */
static inline void json_value_done(struct json *j)
{
	j->state = j->depth ? JSON_BETWEEN : JSON_DONE;
}

/* --- json_string.c --- */

/* The string whose opening quote is the next byte: checked and passed, and decoded to *OUT. */
int json_take_string(struct json *j, struct bytes *out);
int json_pass_string(struct json *j); /* checked and passed only */

void json_memory_reset(struct json *j);
void json_memory_free(struct json *j);

/* --- json_number.c --- */

int json_take_number(struct json *j, struct bytes *out); /* the grammar alone */
/* TEXT, which json_take_number gave, to the nearest double; infinite past the range. */
int json_to_double(struct json *j, struct bytes text, double *out);

/* --- json_keys.c --- */

/* Notes a key of the innermost object, whose text is at AT; -1 when it was there before. */
int json_note_key(struct json *j, struct bytes key, const unsigned char *at);
/* The innermost object ends, or is given up. */
void json_forget_keys(struct json *j, uint32_t depth);

/* --- scanning --- */

/* The mask of the bytes of V that a string cannot hold as they are: a quote, a backslash, a control character. */
static inline uint64_t json_stops(scan_bytes v)
{
	return scan_mask(
		scan_or(scan_or(scan_equal(v, '"'), scan_equal(v, '\\')), scan_at_most(v, 0x1F)));
}

static inline bool json_is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

/*
 * The first byte from P on that a string cannot hold as it is; END when there is none. *HIGH becomes other
 * than 0 when a byte past 0x7F was passed (or stood just behind).
 */
static inline const unsigned char *json_plain_end(const unsigned char *p, const unsigned char *end,
						  uint64_t *high)
{
	while (end - p >= SCAN_WIDTH) {
		scan_bytes v = scan_load(p);
		uint64_t stops = json_stops(v);

		*high |= scan_high(v);
		if (stops)
			return p + scan_first(stops);
		p += SCAN_WIDTH;
	}
	for (; p < end && json_is_plain(*p); p++)
		*high |= *p & 0x80;
	return p;
}

#endif
