/*
 * lib/eval/plot_text.c - losses as a plot of characters
 *
 * A character cell is four dots, two by two, as the quadrants of U+2580 to U+259F show them; a validation loss is an `o`. One plot a
 * run, all with the same axes, since characters without colors cannot tell lines apart.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/err.h"
#include "lib/eval/picture_parts.h"
#include "lib/eval/plot_log.h"

#define LABEL 9 /* characters before the axis */

/* By the bits of its dots: 1 upper left, 2 upper right, 4 lower left, 8 lower right. */
static const char *const quadrants[16] = { " ",	     "\u2598", "\u259d", "\u2580",
					   "\u2596", "\u258c", "\u259e", "\u259b",
					   "\u2597", "\u259a", "\u2590", "\u259c",
					   "\u2584", "\u2599", "\u259f", "\u2588" };

struct cells {
	size_t width, height;
	uint8_t *dots; /* owned */
	bool *marks;   /* owned */
	struct axis x, y;
};

/* The dot of V among N; -1: outside. */
static long place(const struct axis *a, double v, size_t n)
{
	double at = axis_place(a, v) * (double)n;

	if (!(at >= 0) || at > (double)n)
		return -1;
	return at >= (double)n ? (long)n - 1 : (long)at;
}

static void put_dot(struct cells *c, long x, long up)
{
	size_t row = c->height - 1 - (size_t)up / 2;

	c->dots[row * c->width + (size_t)x / 2] |= (uint8_t)(1 << (x % 2 + (up % 2 ? 0 : 2)));
}

/* One column after another; what lies between two heights is filled, so that steep lines hang together. */
static void put_line(struct cells *c, const double *xs, const double *ys, size_t n)
{
	long last_x = -1, last_up = -1;

	for (size_t i = 0; i < n; i++) {
		long x, up, step;

		if ((c->x.logarithmic && xs[i] <= 0) || (c->y.logarithmic && ys[i] <= 0))
			continue;
		x = place(&c->x, xs[i], 2 * c->width);
		up = place(&c->y, ys[i], 2 * c->height);
		if (x < 0 || up < 0)
			continue;
		step = last_x >= 0 && x - last_x <= 1 ? (last_up < up ? 1 : -1) : 0;
		for (long at = last_up; step && at != up; at += step)
			put_dot(c, x, at);
		for (long at = last_x + 1; last_x >= 0 && at < x; at++)
			put_dot(c, at, last_up + (up - last_up) * (at - last_x) / (x - last_x));
		put_dot(c, x, up);
		last_x = x;
		last_up = up;
	}
}

static void put_marks(struct cells *c, const struct train_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		long x, up;

		if ((c->x.logarithmic && s->x[i] <= 0) || (c->y.logarithmic && s->y[i] <= 0))
			continue;
		x = place(&c->x, s->x[i], c->width);
		up = place(&c->y, s->y[i], c->height);
		if (x >= 0 && up >= 0)
			c->marks[(c->height - 1 - (size_t)up) * c->width + (size_t)x] = true;
	}
}

/* --- printing --- */

/* The tick in a row, if there is one. */
static bool tick_in(const struct cells *c, size_t row, double *out)
{
	double ticks[AXIS_TICKS_MAX];
	size_t n = axis_ticks(&c->y, ticks);

	for (size_t i = 0; i < n; i++)
		if (place(&c->y, ticks[i], c->height) == (long)(c->height - 1 - row)) {
			*out = ticks[i];
			return true;
		}
	return false;
}

static void print_rows(const struct cells *c, struct buffer *out)
{
	char text[AXIS_TEXT];
	double tick;

	for (size_t row = 0; row < c->height; row++) {
		size_t end = c->width;
		bool there = tick_in(c, row, &tick);

		buffer_format(out, "%*s %s", LABEL - 2, there ? axis_text(&c->y, tick, text) : "",
			      there ? "\u2524" : "\u2502");
		while (end && !c->dots[row * c->width + end - 1] &&
		       !c->marks[row * c->width + end - 1])
			end--;
		for (size_t i = 0; i < end; i++)
			buffer_put_text(out, c->marks[row * c->width + i]
						     ? "o"
						     : quadrants[c->dots[row * c->width + i]]);
		buffer_put_u8(out, '\n');
	}
}

/* The axis below, and the texts of its ticks, as far as they do not touch. */
static void print_axis(const struct cells *c, struct buffer *out, const char *label)
{
	double ticks[AXIS_TICKS_MAX];
	size_t n = axis_ticks(&c->x, ticks), at = 0;
	struct buffer texts = { 0 };

	buffer_format(out, "%*s\u2514", LABEL - 1, "");
	for (size_t i = 0; i < n; i++) {
		long x = place(&c->x, ticks[i], c->width);
		char text[AXIS_TEXT];
		size_t size = strlen(axis_text(&c->x, ticks[i], text)), from;

		for (; x >= 0 && at < (size_t)x; at++)
			buffer_put_text(out, "\u2500");
		if (x < 0 || at > (size_t)x)
			continue;
		buffer_put_text(out, "\u252c");
		at++;
		from = LABEL + (size_t)x - (size / 2 < LABEL + (size_t)x ? size / 2 : 0);
		if (texts.size && from < texts.size + 2)
			continue;
		while (texts.size < from && !texts.failed)
			buffer_put_u8(&texts, ' ');
		buffer_put_text(&texts, text);
	}
	for (; at < c->width; at++)
		buffer_put_text(out, "\u2500");
	buffer_put_u8(out, '\n');
	buffer_put(out, texts.data, texts.size);
	buffer_format(out, "  %s\n", label);
	buffer_free(&texts);
}

static void print_head(const struct train_log *l, struct buffer *out)
{
	const struct train_series *loss = &l->series[TRAIN_LOSS], *val = &l->series[TRAIN_VAL_LOSS];
	double best = INFINITY;

	for (size_t i = 0; i < val->n; i++)
		best = val->y[i] < best ? val->y[i] : best;
	buffer_format(out, "%s", l->name);
	if (loss->n)
		buffer_format(out, "  loss %.4f", loss->y[loss->n - 1]);
	if (val->n)
		buffer_format(out, "  validation (o) %.4f, best %.4f", val->y[val->n - 1], best);
	buffer_put_u8(out, '\n');
}

/* --- the whole --- */

static int plot_run(const struct train_log *l, const struct plot_options *o, struct cells *c,
		    struct buffer *out)
{
	const struct train_series *s = &l->series[TRAIN_LOSS];
	double *smooth = mem_new(s->n + 1, sizeof(*smooth));

	if (!smooth)
		return -1;
	memset(c->dots, 0, c->width * c->height);
	memset(c->marks, 0, c->width * c->height);
	train_smooth(s, o->smooth, smooth);
	put_line(c, s->x, smooth, s->n);
	put_marks(c, &l->series[TRAIN_VAL_LOSS]);
	free(smooth);
	print_head(l, out);
	print_rows(c, out);
	print_axis(c, out, o->x == TRAIN_BY_TOKENS ? "tokens" : "step");
	return buffer_check(out);
}

int plot_log_text(const struct train_log *runs, size_t n, const struct plot_options *o,
		  size_t width, size_t height, struct buffer *out)
{
	unsigned losses = 1u << TRAIN_LOSS | 1u << TRAIN_VAL_LOSS;
	struct cells c = { .width = width > LABEL + 8 ? width - LABEL : 8,
			   .height = height > 6 ? height - 3 : 3,
			   .x = { .logarithmic = o->log_x, .whole = true },
			   .y = { .logarithmic = o->log_y } };
	int result = 0;

	if (!plot_range(runs, n, losses, true, o->log_x, &c.x.from, &c.x.to) ||
	    !plot_range(runs, n, losses, false, o->log_y, &c.y.from, &c.y.to))
		return err_set(ERR_ARGUMENT, "there is no loss to draw");
	c.x.ticks = (double)c.width / 10;
	c.y.ticks = (double)c.height / 2;
	c.dots = mem_new(c.width * c.height, 1);
	c.marks = mem_new(c.width * c.height, sizeof(*c.marks));
	if (!c.dots || !c.marks)
		result = -1;
	for (size_t i = 0; i < n && result == 0; i++)
		result = plot_run(&runs[i], o, &c, out);
	free(c.dots);
	free(c.marks);
	return result;
}
