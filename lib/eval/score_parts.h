/* lib/eval/score_parts.h - what the files of score.h share; users include score.h */
#ifndef LIB_EVAL_SCORE_PARTS_H
#define LIB_EVAL_SCORE_PARTS_H

#include "formats/json.h"
#include "lib/base/arena.h"
#include "lib/eval/score.h"

#define SCORE_NO_GOLD SIZE_MAX

struct record {
	struct bytes fields; /* `"key":value,...` that are passed on */
	struct bytes context, *texts;
	bool choices; /* else one completion */
	size_t n, gold;
	struct continuation *items;
};

struct score {
	struct score_options o;
	struct continuations *continuations;
	struct encoder *encoder; /* owned */
	struct json *json;	 /* owned */
	struct arena *arena;	 /* owned: of the records */
	struct encoding context, whole;
	struct record *records; /* owned */
	size_t n, capacity;
	struct score_sums sums;
};

/* --- score_record.c --- */

/* RECORD, line LINE of NAME, is an object: its fields, its texts, its answer. */
int score_read(struct score *s, struct record *out, struct bytes record, const char *name,
	       uint64_t line);

/* --- score_encode.c --- */

/* The texts of R become tokens, and continuations that are to be computed. */
int score_encode(struct score *s, struct record *r);

#endif
