/*
 * formats/json_internal.h - what the parts of the JSON reader share
 *
 * json.c walks the structure, json_string.c and json_number.c read those values, json_keys.c
 * finds duplicate keys. Nobody else includes this but json_tree.c.
 */
#ifndef FORMATS_JSON_INTERNAL_H
#define FORMATS_JSON_INTERNAL_H

#include <endian.h>
#include <locale.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/names.h"

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

#define JSON_ONES  UINT64_C(0x0101010101010101)
#define JSON_HIGHS UINT64_C(0x8080808080808080)

/* Eight bytes; the first in memory is the lowest. */
static inline uint64_t json_load(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* Marks (0x80) in the bytes of V that are C. Marks above the lowest may be false. */
static inline uint64_t json_marks(uint64_t v, unsigned char c)
{
	uint64_t x = v ^ (JSON_ONES * c);

	return (x - JSON_ONES) & ~x & JSON_HIGHS;
}

/*
 * The first byte from P on that a string cannot hold as it is: a quote, a backslash or a control
 * character; END when there is none. *HIGH gets a bit of JSON_HIGHS when a byte past 0x7F was
 * passed (or stood just behind).
 */
static inline const unsigned char *json_plain_end(const unsigned char *p, const unsigned char *end,
						  uint64_t *high)
{
	while (end - p >= 8) {
		uint64_t v = json_load(p);
		uint64_t control = (v - JSON_ONES * 0x20) & ~v & JSON_HIGHS;
		uint64_t stop = json_marks(v, '"') | json_marks(v, '\\') | control;

		*high |= v;
		if (stop)
			return p + __builtin_ctzll(stop) / 8;
		p += 8;
	}
	for (; p < end && *p >= 0x20 && *p != '"' && *p != '\\'; p++)
		*high |= *p;
	return p;
}

#endif
