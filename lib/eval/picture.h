/*
 * lib/eval/picture.h - a plan's arena over time, drawn with cairo
 */
#ifndef LIB_EVAL_PICTURE_H
#define LIB_EVAL_PICTURE_H

#include "lib/graph/plan.h"

/* What a stretch of the arena holds; the colors of the picture. */
enum arena_kind {
	ARENA_INPUT,
	ARENA_PASSING,	  /* of the forward half, and ends there */
	ARENA_KEPT,	  /* of the forward half, for the backward one */
	ARENA_RECOMPUTED, /* a second self */
	ARENA_GRADIENT,	  /* of the backward half */
	ARENA_WORKSPACE,
	ARENA_KINDS
};
const char *arena_kind_name(enum arena_kind kind);
enum arena_kind arena_kind_of(const struct plan *p, const struct plan_life *life);

/* The first step of the backward half; plan_n_steps when there is none. */
size_t plan_first_backward(const struct plan *p);

/*
 * Steps to the right, bytes upwards, a rectangle a tensor, a line for what is in use; a PNG or an SVG by the end of PATH, which
 * appears when it is whole. 0, or -1 with the error set.
 */
int picture_arena(const struct plan *p, const char *title, const char *path);

#endif
