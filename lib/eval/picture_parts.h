/*
 * lib/eval/picture_parts.h - what pictures share: a frame with its axes, text, files
 *
 * Private to lib/eval/picture*.c and plot_*.c.
 */
#ifndef LIB_EVAL_PICTURE_PARTS_H
#define LIB_EVAL_PICTURE_PARTS_H

#include <cairo.h>
#include <stdbool.h>
#include <stdint.h>

#define PICTURE_WIDTH  1280
#define PICTURE_HEIGHT 760

struct axis {
	double from, to; /* to > from; both > 0 when logarithmic */
	bool logarithmic;
	bool whole;	   /* ticks at whole numbers only */
	double unit;	   /* ticks are told in it; 0: 1, and with k, M, G where they are large */
	double ticks;	   /* about as many at most */
	const char *label; /* or NULL */
};

/* The frame of a plot, in points, and what its axes span. */
struct frame {
	double left, top, width, height;
	struct axis x, y;
};

/* Where V lies between the ends of the axis: 0 to 1. */
double axis_place(const struct axis *a, double v);

static inline double frame_x(const struct frame *f, double v)
{
	return f->left + f->width * axis_place(&f->x, v);
}

static inline double frame_y(const struct frame *f, double v)
{
	return f->top + f->height * (1 - axis_place(&f->y, v));
}

/* Values at which an axis has ticks, ascending, at most N; returns how many. */
#define AXIS_TICKS_MAX 64
size_t axis_ticks(const struct axis *a, double out[AXIS_TICKS_MAX]);
/* What stands at the tick V. */
#define AXIS_TEXT 32
char *axis_text(const struct axis *a, double v, char out[AXIS_TEXT]);

/* --- picture_axes.c --- */
void picture_color(cairo_t *c, uint32_t rgb);
/* ALIGN: 0 begins at X, 0.5 is centred there, 1 ends there. */
void picture_text(cairo_t *c, double x, double y, double align, double size, const char *text);
/* Lines across at the ticks of y, the border, ticks and labels. */
void picture_axes(cairo_t *c, const struct frame *f);

/* --- picture_file.c --- */

/* A white page, drawn by DRAW; a PNG or an SVG by the end of PATH, which appears when it is whole. 0, or -1 with the error set. */
typedef void picture_drawer(cairo_t *c, const void *arg);
int picture_write(const char *path, double width, double height, picture_drawer *draw,
		  const void *arg);

#endif
