/*
 * lib/train/schedule.h - the learning rate of a step, from the numbers alone
 *
 * Steps count from 1. Through the warm-up step s has rate x s / warmup; after it the rate falls from its peak at step `warmup` to `least` at
 * step `steps`: by half a cosine, by a line, or (wsd: Hu et al. 2024) not until the last `decay` steps, then by a line; constant
 * stays. Steps past the last have `least` (constant: the peak).
 */
#ifndef LIB_TRAIN_SCHEDULE_H
#define LIB_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "lib/base/buffer.h"

enum schedule_kind {
	SCHEDULE_COSINE,
	SCHEDULE_LINEAR,
	SCHEDULE_WSD,
	SCHEDULE_CONSTANT,
	SCHEDULE_COUNT
};

struct schedule {
	enum schedule_kind kind;
	double peak, least;
	uint64_t steps, warmup, decay; /* decay: of wsd alone */
};

const char *schedule_name(enum schedule_kind k); /* `cosine` */
/* -1 with the error set: steps 0, warm-up or decay longer than all, rates below 0 or not numbers, least above peak. */
int schedule_check(const struct schedule *s);
double schedule_rate(const struct schedule *s, uint64_t step);
/* A table for people: the steps where it bends, and some between. */
int schedule_print(const struct schedule *s, struct buffer *out);

#endif
