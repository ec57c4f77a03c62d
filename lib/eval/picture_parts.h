/* lib/eval/picture_parts.h - where the parts of the picture lie; users include picture.h */
#ifndef LIB_EVAL_PICTURE_PARTS_H
#define LIB_EVAL_PICTURE_PARTS_H

#include <cairo.h>

#include "lib/eval/picture.h"

#define PICTURE_WIDTH  1280
#define PICTURE_HEIGHT 760

/* The frame of the plot, in points, and what its axes span. */
struct frame {
	double left, top, width, height;
	double steps, bytes;
};

static inline double frame_x(const struct frame *f, double step)
{
	return f->left + f->width * step / f->steps;
}

static inline double frame_y(const struct frame *f, double bytes)
{
	return f->top + f->height * (1 - bytes / f->bytes);
}

/* --- picture_axes.c --- */
void picture_color(cairo_t *c, uint32_t rgb);
/* ALIGN: 0 begins at X, 0.5 is centred there, 1 ends there. */
void picture_text(cairo_t *c, double x, double y, double align, double size, const char *text);
void picture_axes(cairo_t *c, const struct frame *f);

#endif
