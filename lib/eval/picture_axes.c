/* lib/eval/picture_axes.c - axes with their ticks and units, and text */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/eval/picture_parts.h"

void picture_color(cairo_t *c, uint32_t rgb)
{
	cairo_set_source_rgb(c, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
			     (rgb & 255) / 255.0);
}

void picture_text(cairo_t *c, double x, double y, double align, double size, const char *text)
{
	cairo_text_extents_t e;

	cairo_set_font_size(c, size);
	cairo_text_extents(c, text, &e);
	cairo_move_to(c, x - align * e.x_advance, y);
	cairo_show_text(c, text);
}

/* 1, 2 or 5 times a power of ten, so that SPAN has at most COUNT of them. */
static double nice_step(double span, double count)
{
	double least = span / count, power = pow(10, floor(log10(least)));

	for (double m = 1; m < 10; m = m == 2 ? 5 : 2 * m)
		if (m * power >= least)
			return m * power;
	return 10 * power;
}

/* The power of 1000 that BYTES are told in. */
static const char *unit_of(double bytes, double *unit)
{
	static const char *const names[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	int i = 0;

	for (*unit = 1; i < 5 && bytes / *unit >= 1000; i++)
		*unit *= 1000;
	return names[i];
}

static void bytes_axis(cairo_t *c, const struct frame *f)
{
	double unit, step = nice_step(f->bytes, 8);
	const char *name = unit_of(f->bytes, &unit);
	char text[64];

	for (double at = 0; at <= f->bytes * 1.0001; at += step) {
		double y = floor(frame_y(f, at)) + 0.5;

		picture_color(c, 0xe6e6e6);
		cairo_move_to(c, f->left, y);
		cairo_line_to(c, f->left + f->width, y);
		cairo_stroke(c);
		picture_color(c, 0x404040);
		snprintf(text, sizeof(text), "%g", at / unit);
		picture_text(c, f->left - 8, y + 4, 1, 12, text);
	}
	snprintf(text, sizeof(text), "place in the arena, %s", name);
	cairo_save(c);
	cairo_translate(c, 24, f->top + f->height / 2);
	cairo_rotate(c, -M_PI / 2);
	picture_text(c, 0, 0, 0.5, 13, text);
	cairo_restore(c);
}

static void steps_axis(cairo_t *c, const struct frame *f)
{
	double step = nice_step(f->steps, 12), bottom = f->top + f->height;
	char text[64];

	if (step < 1)
		step = 1;
	for (double at = 0; at <= f->steps; at += step) {
		double x = floor(frame_x(f, at)) + 0.5;

		picture_color(c, 0x808080);
		cairo_move_to(c, x, bottom);
		cairo_line_to(c, x, bottom + 5);
		cairo_stroke(c);
		picture_color(c, 0x404040);
		snprintf(text, sizeof(text), "%g", at);
		picture_text(c, x, bottom + 19, 0.5, 12, text);
	}
	picture_text(c, f->left + f->width / 2, bottom + 42, 0.5, 13,
		     "step, in the order in which they run");
}

void picture_axes(cairo_t *c, const struct frame *f)
{
	cairo_set_line_width(c, 1);
	bytes_axis(c, f);
	steps_axis(c, f);
	picture_color(c, 0x808080);
	cairo_rectangle(c, floor(f->left) + 0.5, floor(f->top) + 0.5, floor(f->width),
			floor(f->height));
	cairo_stroke(c);
}
