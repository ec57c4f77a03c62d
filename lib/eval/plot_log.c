/*
 * lib/eval/plot_log.c - runs side by side, as a picture
 *
 * Losses above, rate, norm and speed below. What was smoothed is drawn over what was logged, which stays visible in a lighter tone;
 * validation is dashed, with a mark at each point. The colors are those of Okabe and Ito (2008), which people who see few colors
 * tell apart.
 */
#include "lib/eval/plot_log.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/picture_parts.h"

#define LEFT	   92
#define MARGIN	   32
#define LEGEND_TOP 76

static const uint32_t colors[PLOT_RUNS_MAX] = { 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
						0xe69f00, 0x56b4e9, 0x000000, 0x8c6d1f };

struct page {
	const struct train_log *runs;
	size_t n;
	const struct plot_options *options;
	double *scratch; /* as long as the longest series */
};

#define BIT(m) (1u << (m))

static bool usable(double v, bool logarithmic)
{
	return !logarithmic || v > 0;
}

static void widen(const struct train_series *s, bool of_x, bool logarithmic, double *from,
		  double *to)
{
	for (size_t i = 0; i < s->n; i++) {
		double v = of_x ? s->x[i] : s->y[i];

		if (!usable(v, logarithmic))
			continue;
		*from = v < *from ? v : *from;
		*to = v > *to ? v : *to;
	}
}

bool plot_range(const struct train_log *runs, size_t n, unsigned metrics, bool of_x,
		bool logarithmic, double *from, double *to)
{
	*from = INFINITY;
	*to = -INFINITY;
	for (size_t r = 0; r < n; r++)
		for (int m = 0; m < TRAIN_METRICS; m++)
			if (metrics & BIT(m))
				widen(&runs[r].series[m], of_x, logarithmic, from, to);
	if (*from > *to)
		return false;
	if (*from == *to) {
		double half = *from == 0 ? 1 : fabs(*from) * 0.1;

		*from -= logarithmic || of_x ? half * (*from > 0) : half;
		*to += half;
	}
	return true;
}

/* --- lines --- */

static void color_of(cairo_t *c, size_t run, double alpha)
{
	uint32_t rgb = colors[run % PLOT_RUNS_MAX];

	cairo_set_source_rgba(c, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
			      (rgb & 255) / 255.0, alpha);
}

/* The points of a column of pixels become its lowest and highest, so that a long log costs what a short one does. */
struct pen {
	cairo_t *c;
	bool begun;
	double column, least, most;
};

static void pen_flush(struct pen *p)
{
	if (!isfinite(p->column))
		return;
	if (p->begun)
		cairo_line_to(p->c, p->column, p->most);
	else
		cairo_move_to(p->c, p->column, p->most);
	cairo_line_to(p->c, p->column, p->least);
	p->begun = true;
}

static void pen_to(struct pen *p, double x, double y)
{
	if (isfinite(p->column) && x - p->column < 0.5) {
		p->least = y < p->least ? y : p->least;
		p->most = y > p->most ? y : p->most;
		return;
	}
	pen_flush(p);
	p->column = x;
	p->least = p->most = y;
}

static void draw_line(cairo_t *c, const struct frame *f, const double *x, const double *y, size_t n)
{
	struct pen pen = { .c = c, .column = -INFINITY };

	for (size_t i = 0; i < n; i++)
		if (usable(x[i], f->x.logarithmic) && usable(y[i], f->y.logarithmic))
			pen_to(&pen, frame_x(f, x[i]), frame_y(f, y[i]));
	pen_flush(&pen);
	cairo_stroke(c);
}

static void draw_marks(cairo_t *c, const struct frame *f, const struct train_series *s)
{
	double last = -INFINITY;

	for (size_t i = 0; i < s->n; i++) {
		double x;

		if (!usable(s->x[i], f->x.logarithmic) || !usable(s->y[i], f->y.logarithmic))
			continue;
		x = frame_x(f, s->x[i]);
		if (x - last < 9 && i + 1 < s->n)
			continue;
		last = x;
		cairo_arc(c, x, frame_y(f, s->y[i]), 3.2, 0, 2 * M_PI);
		cairo_fill(c);
	}
}

static void draw_smoothed(cairo_t *c, const struct frame *f, const struct page *p, size_t run,
			  enum train_metric m)
{
	const struct train_series *s = &p->runs[run].series[m];
	bool smooth = p->options->smooth > 0 && m != TRAIN_RATE;

	color_of(c, run, smooth ? 0.25 : 1);
	cairo_set_line_width(c, smooth ? 1 : 1.6);
	draw_line(c, f, s->x, s->y, s->n);
	if (!smooth)
		return;
	train_smooth(s, p->options->smooth, p->scratch);
	color_of(c, run, 1);
	cairo_set_line_width(c, 1.8);
	draw_line(c, f, s->x, p->scratch, s->n);
}

static void draw_validation(cairo_t *c, const struct frame *f, const struct train_log *l,
			    size_t run)
{
	static const double dashes[] = { 6, 4 };
	const struct train_series *s = &l->series[TRAIN_VAL_LOSS];

	color_of(c, run, 1);
	cairo_set_line_width(c, 1.4);
	cairo_set_dash(c, dashes, 2, 0);
	draw_line(c, f, s->x, s->y, s->n);
	cairo_set_dash(c, NULL, 0, 0);
	draw_marks(c, f, s);
}

/* --- panels --- */

/* A little room above and below; what is no loss and begins near 0 is shown from there. */
static void pad(struct axis *y, bool losses)
{
	double room = (y->to - y->from) * 0.04, ratio = pow(y->to / y->from, 0.04);

	if (y->logarithmic) {
		y->from /= ratio;
		y->to *= ratio;
		return;
	}
	y->from = !losses && y->from >= 0 && y->from < y->to / 4 ? 0 : y->from - room;
	y->to += room;
}

/* METRICS share a frame. False: there is nothing to show. */
static bool panel(cairo_t *c, const struct page *p, struct frame *f, unsigned metrics)
{
	if (!plot_range(p->runs, p->n, metrics, false, f->y.logarithmic, &f->y.from, &f->y.to))
		return false;
	pad(&f->y, metrics & BIT(TRAIN_LOSS));
	picture_axes(c, f);
	cairo_save(c);
	cairo_rectangle(c, f->left, f->top, f->width, f->height);
	cairo_clip(c);
	cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
	for (size_t r = 0; r < p->n; r++)
		for (int m = 0; m < TRAIN_METRICS; m++)
			if (metrics & BIT(m) && m == TRAIN_VAL_LOSS)
				draw_validation(c, f, &p->runs[r], r);
			else if (metrics & BIT(m))
				draw_smoothed(c, f, p, r, (enum train_metric)m);
	cairo_restore(c);
	return true;
}

static void panel_title(cairo_t *c, const struct frame *f, const char *text)
{
	picture_color(c, 0x202020);
	picture_text(c, f->left, f->top - 10, 0, 13, text);
}

/* Rate, norm and speed, those that are there, side by side. */
static void small_panels(cairo_t *c, const struct page *p, struct axis x, double top)
{
	static const struct {
		enum train_metric metric;
		const char *title;
	} rows[] = { { TRAIN_RATE, "learning rate" },
		     { TRAIN_NORM, "gradient norm" },
		     { TRAIN_SPEED, "tokens a second" } };
	double width = (PICTURE_WIDTH - MARGIN - LEFT + 60) / 3.0, from, to;
	int column = 0;

	x.ticks = 5;
	x.label = NULL;
	for (size_t i = 0; i < 3; i++) {
		struct frame f = { .left = LEFT + column * width,
				   .top = top,
				   .width = width - 60,
				   .height = PICTURE_HEIGHT - top - 34,
				   .x = x,
				   .y = { .ticks = 5 } };

		if (!plot_range(p->runs, p->n, BIT(rows[i].metric), false, false, &from, &to))
			continue;
		panel(c, p, &f, BIT(rows[i].metric));
		panel_title(c, &f, rows[i].title);
		column++;
	}
}

/* --- the legend --- */

struct legend {
	cairo_t *c;
	double x, y;
};

/* Where the next entry of TEXT goes: on the next line when this one is full. */
static void legend_place(struct legend *l, const char *text)
{
	cairo_text_extents_t e;

	cairo_set_font_size(l->c, 13);
	cairo_text_extents(l->c, text, &e);
	if (l->x > LEFT && l->x + 34 + e.x_advance > PICTURE_WIDTH - MARGIN) {
		l->x = LEFT;
		l->y += 22;
	}
}

static void legend_text(struct legend *l, const char *text)
{
	cairo_text_extents_t e;

	picture_color(l->c, 0x202020);
	picture_text(l->c, l->x + 34, l->y, 0, 13, text);
	cairo_text_extents(l->c, text, &e);
	l->x += 34 + e.x_advance + 26;
}

static void legend_line(struct legend *l, double width, bool dashed)
{
	static const double dashes[] = { 6, 4 };
	cairo_t *c = l->c;
	double y = l->y - 4.5;

	cairo_set_line_width(c, width);
	cairo_set_dash(c, dashes, dashed ? 2 : 0, 0);
	cairo_move_to(c, l->x, y);
	cairo_line_to(c, l->x + 26, y);
	cairo_stroke(c);
	cairo_set_dash(c, NULL, 0, 0);
	if (!dashed)
		return;
	cairo_arc(c, l->x + 13, y, 3.2, 0, 2 * M_PI);
	cairo_fill(c);
}

/* What a kind of line means, in grey. */
static void legend_kind(struct legend *l, const char *text, uint32_t color, double width,
			bool dashed)
{
	legend_place(l, text);
	picture_color(l->c, color);
	legend_line(l, width, dashed);
	legend_text(l, text);
}

static bool has(const struct page *p, enum train_metric m)
{
	for (size_t r = 0; r < p->n; r++)
		if (p->runs[r].series[m].n)
			return true;
	return false;
}

/* The runs by color; then what solid, light and dashed mean. Returns the line where it ends. */
static double draw_legend(cairo_t *c, const struct page *p)
{
	struct legend l = { c, LEFT, LEGEND_TOP };
	bool smooth = p->options->smooth > 0;

	for (size_t r = 0; r < p->n; r++) {
		legend_place(&l, p->runs[r].name);
		color_of(c, r, 1);
		legend_line(&l, 3, false);
		legend_text(&l, p->runs[r].name);
	}
	l.x += 20;
	legend_kind(&l, smooth ? "training, smoothed" : "training", 0x606060, 1.8, false);
	if (smooth)
		legend_kind(&l, "as logged", 0xc8c8c8, 1, false);
	if (has(p, TRAIN_VAL_LOSS))
		legend_kind(&l, "validation", 0x606060, 1.4, true);
	return l.y;
}

/* --- the whole --- */

static void draw(cairo_t *c, const void *arg)
{
	const struct page *p = arg;
	bool small = has(p, TRAIN_RATE) || has(p, TRAIN_NORM) || has(p, TRAIN_SPEED);
	double top = draw_legend(c, p) + 20;
	struct axis x = { .logarithmic = p->options->log_x,
			  .whole = true,
			  .ticks = 12,
			  .label = p->options->x == TRAIN_BY_TOKENS ? "tokens" : "step" };
	struct frame f = { .left = LEFT,
			   .top = top,
			   .width = PICTURE_WIDTH - LEFT - MARGIN,
			   .height = PICTURE_HEIGHT - top - (small ? 320 : 64),
			   .y = { .ticks = 8, .logarithmic = p->options->log_y, .label = "loss" } };

	plot_range(p->runs, p->n, ~0u, true, x.logarithmic, &x.from, &x.to);
	if (!x.logarithmic && x.from < x.to / 20)
		x.from = 0;
	f.x = x;
	panel(c, p, &f, BIT(TRAIN_LOSS) | BIT(TRAIN_VAL_LOSS));
	if (small)
		small_panels(c, p, x, f.top + f.height + 90);
	picture_color(c, 0x202020);
	picture_text(c, LEFT, 42, 0, 19, p->options->title ? p->options->title : "training");
}

static size_t longest(const struct train_log *runs, size_t n)
{
	size_t most = 0;

	for (size_t r = 0; r < n; r++)
		for (int m = 0; m < TRAIN_METRICS; m++)
			if (runs[r].series[m].n > most)
				most = runs[r].series[m].n;
	return most;
}

int plot_log_picture(const struct train_log *runs, size_t n, const struct plot_options *o,
		     const char *path)
{
	struct page page = { runs, n, o, mem_new(longest(runs, n) + 1, sizeof(double)) };
	double from, to;
	int result = -1;

	if (!page.scratch)
		return -1;
	if (!plot_range(runs, n, ~0u, true, o->log_x, &from, &to) ||
	    !plot_range(runs, n, ~0u, false, false, &from, &to))
		err_set(ERR_ARGUMENT, "%s: nothing is left to draw on a logarithmic axis", path);
	else
		result = picture_write(path, PICTURE_WIDTH, PICTURE_HEIGHT, draw, &page);
	free(page.scratch);
	return result;
}
