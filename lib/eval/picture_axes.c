/* lib/eval/picture_axes.c - axes with their ticks and units, and text */

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

/* --- ticks --- */

double axis_place(const struct axis *a, double v)
{
	if (a->logarithmic)
		return log(v / a->from) / log(a->to / a->from);
	return (v - a->from) / (a->to - a->from);
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

static size_t even_ticks(const struct axis *a, double out[AXIS_TICKS_MAX])
{
	double step = nice_step(a->to - a->from, a->ticks), slack = (a->to - a->from) * 1e-4;
	size_t n = 0;

	if (a->whole && step < 1)
		step = 1;
	for (double i = ceil((a->from - slack) / step);
	     i * step <= a->to + slack && n < AXIS_TICKS_MAX; i++)
		out[n++] = i * step + 0.0; /* no -0 */
	return n;
}

/* Powers of ten, and between them 2 and 5, or every digit, as there is room. */
static size_t log_ticks(const struct axis *a, double out[AXIS_TICKS_MAX])
{
	double decades = log10(a->to / a->from);
	int first = (int)floor(log10(a->from));
	double every = ceil(decades / a->ticks);
	size_t n = 0;

	for (int p = first; pow(10, p) <= a->to && n < AXIS_TICKS_MAX - 9; p += (int)every)
		for (int m = 1; m < 10; m++) {
			double v = m * pow(10, p);
			bool five = m == 1 || m == 2 || m == 5;

			if (v < a->from * 0.9999 || v > a->to * 1.0001)
				continue;
			if (m == 1 || (five && decades * 3 <= a->ticks) || decades * 9 <= a->ticks)
				out[n++] = v;
		}
	return n;
}

size_t axis_ticks(const struct axis *a, double out[AXIS_TICKS_MAX])
{
	size_t n = a->logarithmic ? log_ticks(a, out) : 0;

	return n >= 2 ? n : even_ticks(a, out);
}

char *axis_text(const struct axis *a, double v, char out[AXIS_TEXT])
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	int i = 0;

	if (a->unit > 0) {
		snprintf(out, AXIS_TEXT, "%g", v / a->unit);
		return out;
	}
	/* Small spans of large numbers need all digits. */
	if (fabs(a->to) >= 10000 && a->to - a->from >= a->to / 50)
		for (; i < 4 && fabs(v) >= 1000; i++)
			v /= 1000;
	snprintf(out, AXIS_TEXT, "%.6g%s", v, units[i]);
	return out;
}

/* --- drawing --- */

static void y_axis(cairo_t *c, const struct frame *f)
{
	double ticks[AXIS_TICKS_MAX];
	size_t n = axis_ticks(&f->y, ticks);
	char text[AXIS_TEXT];

	for (size_t i = 0; i < n; i++) {
		double y = floor(frame_y(f, ticks[i])) + 0.5;

		picture_color(c, 0xe6e6e6);
		cairo_move_to(c, f->left, y);
		cairo_line_to(c, f->left + f->width, y);
		cairo_stroke(c);
		picture_color(c, 0x404040);
		picture_text(c, f->left - 8, y + 4, 1, 12, axis_text(&f->y, ticks[i], text));
	}
	if (!f->y.label)
		return;
	cairo_save(c);
	cairo_translate(c, f->left - 60, f->top + f->height / 2);
	cairo_rotate(c, -M_PI / 2);
	picture_text(c, 0, 0, 0.5, 13, f->y.label);
	cairo_restore(c);
}

static void x_axis(cairo_t *c, const struct frame *f)
{
	double ticks[AXIS_TICKS_MAX], bottom = f->top + f->height;
	size_t n = axis_ticks(&f->x, ticks);
	char text[AXIS_TEXT];

	for (size_t i = 0; i < n; i++) {
		double x = floor(frame_x(f, ticks[i])) + 0.5;

		picture_color(c, 0x808080);
		cairo_move_to(c, x, bottom);
		cairo_line_to(c, x, bottom + 5);
		cairo_stroke(c);
		picture_color(c, 0x404040);
		picture_text(c, x, bottom + 19, 0.5, 12, axis_text(&f->x, ticks[i], text));
	}
	if (f->x.label)
		picture_text(c, f->left + f->width / 2, bottom + 42, 0.5, 13, f->x.label);
}

void picture_axes(cairo_t *c, const struct frame *f)
{
	cairo_set_line_width(c, 1);
	y_axis(c, f);
	x_axis(c, f);
	picture_color(c, 0x808080);
	cairo_rectangle(c, floor(f->left) + 0.5, floor(f->top) + 0.5, floor(f->width),
			floor(f->height));
	cairo_stroke(c);
}
