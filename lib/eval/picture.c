/*
 * lib/eval/picture.c - a plan's arena over time
 *
 * The colors are those of Okabe and Ito (2008), which people who see few colors tell apart.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/eval/picture.h"
#include "lib/eval/picture_parts.h"
#include "lib/graph/op_table.h"

static const struct {
	const char *name;
	uint32_t fill, text;
} kinds[ARENA_KINDS] = {
	[ARENA_INPUT] = { "inputs", 0xbdbdbd, 0x000000 },
	[ARENA_PASSING] = { "ends in the forward half", 0x8fd0f5, 0x000000 },
	[ARENA_KEPT] = { "kept for the backward half", 0x0072b2, 0xffffff },
	[ARENA_RECOMPUTED] = { "computed again", 0xcc79a7, 0x000000 },
	[ARENA_GRADIENT] = { "gradients", 0xe69f00, 0x000000 },
	[ARENA_WORKSPACE] = { "workspace of a kernel", 0x009e73, 0xffffff },
};

const char *arena_kind_name(enum arena_kind kind)
{
	return kinds[kind].name;
}

size_t plan_first_backward(const struct plan *p)
{
	size_t i = 0;

	while (i < plan_n_steps(p) && !plan_step(p, i).node->backward)
		i++;
	return i;
}

enum arena_kind arena_kind_of(const struct plan *p, const struct plan_life *life)
{
	const struct node *n;

	if (!life->tensor)
		return ARENA_WORKSPACE;
	n = life->tensor->node;
	if (n->op == OP_INPUT)
		return ARENA_INPUT;
	if (n->again)
		return ARENA_RECOMPUTED;
	if (n->backward)
		return ARENA_GRADIENT;
	return life->last >= plan_first_backward(p) && plan_first_backward(p) < plan_n_steps(p)
		       ? ARENA_KEPT
		       : ARENA_PASSING;
}

/* --- rectangles --- */

static double width_of_text(cairo_t *c, const char *text, double size)
{
	cairo_text_extents_t e;

	cairo_set_font_size(c, size);
	cairo_text_extents(c, text, &e);
	return e.x_advance;
}

struct box {
	double x, y, width, height;
};

static struct box box_of(const struct frame *f, const struct plan_life *life)
{
	double end = (double)life->last + 1 < f->x.to ? (double)life->last + 1 : f->x.to;
	double x = frame_x(f, (double)life->first), y = frame_y(f, (double)life->to);

	return (struct box){ x, y, frame_x(f, end) - x, frame_y(f, (double)life->from) - y };
}

static void draw_life(cairo_t *c, const struct frame *f, const struct plan *p,
		      const struct plan_life *life)
{
	struct box b = box_of(f, life);

	cairo_rectangle(c, b.x, b.y, b.width, b.height);
	picture_color(c, kinds[arena_kind_of(p, life)].fill);
	cairo_fill_preserve(c);
	cairo_set_line_width(c, b.width > 3 && b.height > 3 ? 0.8 : 0.2);
	picture_color(c, 0xffffff);
	cairo_stroke(c);
}

/* What is in the rectangle, where there is room. */
static void label_life(cairo_t *c, const struct frame *f, const struct plan *p,
		       const struct plan_life *life)
{
	struct box b = box_of(f, life);
	const char *name = life->tensor ? op_info(life->tensor->node->op)->name : "scratch";

	if (b.height < 12 || width_of_text(c, name, 10) > b.width - 4)
		return;
	picture_color(c, kinds[arena_kind_of(p, life)].text);
	picture_text(c, b.x + b.width / 2, b.y + b.height / 2 + 3.5, 0.5, 10, name);
}

static void each_life(cairo_t *c, const struct frame *f, const struct plan *p,
		      void (*fn)(cairo_t *c, const struct frame *f, const struct plan *p,
				 const struct plan_life *life))
{
	for (size_t i = 0; i < plan_n_lives(p); i++) {
		struct plan_life life = plan_life(p, i);

		fn(c, f, p, &life);
	}
}

/* --- what is in use, step by step --- */

static double *bytes_in_use(const struct plan *p)
{
	size_t n = plan_n_steps(p);
	double *use = mem_new(n + 2, sizeof(*use));

	if (!use)
		return NULL;
	for (size_t i = 0; i < plan_n_lives(p); i++) {
		struct plan_life life = plan_life(p, i);
		double size = (double)(life.to - life.from);

		use[life.first < n ? life.first : n] += size;
		use[life.last + 1 < n ? life.last + 1 : n + 1] -= size;
	}
	for (size_t i = 1; i <= n; i++)
		use[i] += use[i - 1];
	return use;
}

static void draw_use(cairo_t *c, const struct frame *f, const double *use, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i == 0)
			cairo_move_to(c, frame_x(f, 0), frame_y(f, use[0]));
		else
			cairo_line_to(c, frame_x(f, (double)i), frame_y(f, use[i]));
		cairo_line_to(c, frame_x(f, (double)i + 1), frame_y(f, use[i]));
	}
	cairo_set_line_width(c, 3.2);
	picture_color(c, 0xffffff);
	cairo_stroke_preserve(c);
	cairo_set_line_width(c, 1.6);
	picture_color(c, 0x1a1a1a);
	cairo_stroke(c);
}

/* --- lines and legend --- */

static void draw_peak(cairo_t *c, const struct frame *f, uint64_t peak)
{
	static const double dashes[] = { 7, 4 };
	char bytes[NUMBER_TEXT], text[64];
	double y = frame_y(f, (double)peak);

	cairo_set_line_width(c, 1.4);
	picture_color(c, 0xd00000);
	cairo_set_dash(c, dashes, 2, 0);
	cairo_move_to(c, f->left, y);
	cairo_line_to(c, f->left + f->width, y);
	cairo_stroke(c);
	cairo_set_dash(c, NULL, 0, 0);
	snprintf(text, sizeof(text), "peak %s", number_bytes(peak, bytes));
	picture_text(c, f->left + f->width + 8, y + 4, 0, 12, text);
}

static void draw_border(cairo_t *c, const struct frame *f, size_t step)
{
	static const double dashes[] = { 3, 3 };
	double x = frame_x(f, (double)step);

	if ((double)step >= f->x.to)
		return;
	cairo_set_line_width(c, 1.2);
	picture_color(c, 0x404040);
	cairo_set_dash(c, dashes, 2, 0);
	cairo_move_to(c, x, f->top - 18);
	cairo_line_to(c, x, f->top + f->height);
	cairo_stroke(c);
	cairo_set_dash(c, NULL, 0, 0);
	picture_text(c, x - 8, f->top - 8, 1, 12, "forward");
	picture_text(c, x + 8, f->top - 8, 0, 12, "backward");
}

static void draw_legend(cairo_t *c, const struct frame *f, const struct plan *p)
{
	double x = f->left + f->width + 10, y = f->top + 64;
	bool there[ARENA_KINDS] = { false };

	for (size_t i = 0; i < plan_n_lives(p); i++) {
		struct plan_life life = plan_life(p, i);

		there[arena_kind_of(p, &life)] = true;
	}
	for (int k = 0; k < ARENA_KINDS; k++) {
		if (!there[k])
			continue;
		picture_color(c, kinds[k].fill);
		cairo_rectangle(c, x, y - 11, 16, 13);
		cairo_fill(c);
		picture_color(c, 0x202020);
		picture_text(c, x + 24, y, 0, 12, kinds[k].name);
		y += 22;
	}
	cairo_set_line_width(c, 1.6);
	picture_color(c, 0x1a1a1a);
	cairo_move_to(c, x, y - 5);
	cairo_line_to(c, x + 16, y - 5);
	cairo_stroke(c);
	picture_text(c, x + 24, y, 0, 12, "in use, all together");
}

/* --- the whole --- */

static uint64_t peak_of(const struct plan *p)
{
	uint64_t peak = 0;

	for (size_t i = 0; i < plan_n_lives(p); i++)
		if (plan_life(p, i).to > peak)
			peak = plan_life(p, i).to;
	return peak;
}

struct arena_page {
	const struct plan *plan;
	const char *title;
	const double *use;
};

/* The power of 1000 that BYTES are told in. */
static const char *unit_of(double bytes, double *unit)
{
	static const char *const names[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	int i = 0;

	for (*unit = 1; i < 5 && bytes / *unit >= 1000; i++)
		*unit *= 1000;
	return names[i];
}

static struct frame frame_of(size_t steps, uint64_t peak, double unit, const char *label)
{
	return (struct frame){
		.left = 84,
		.top = 78,
		.width = PICTURE_WIDTH - 84 - 224,
		.height = PICTURE_HEIGHT - 78 - 66,
		.x = { .to = steps ? (double)steps : 1,
		       .ticks = 12,
		       .unit = 1,
		       .whole = true,
		       .label = "step, in the order in which they run" },
		.y = { .to = peak ? (double)peak * 1.04 : 1,
		       .ticks = 8,
		       .unit = unit,
		       .label = label },
	};
}

static void draw(cairo_t *c, const void *arg)
{
	const struct arena_page *page = arg;
	const struct plan *p = page->plan;
	uint64_t peak = peak_of(p);
	size_t n = plan_n_steps(p);
	struct frame f;
	char label[64];
	double unit;

	snprintf(label, sizeof(label), "place in the arena, %s",
		 unit_of(peak ? (double)peak * 1.04 : 1, &unit));
	f = frame_of(n, peak, unit, label);
	picture_axes(c, &f);
	each_life(c, &f, p, draw_life);
	draw_use(c, &f, page->use, n);
	each_life(c, &f, p, label_life);
	draw_border(c, &f, plan_first_backward(p));
	draw_peak(c, &f, peak);
	draw_legend(c, &f, p);
	picture_color(c, 0x202020);
	picture_text(c, f.left, 32, 0, 17, page->title);
}

int picture_arena(const struct plan *p, const char *title, const char *path)
{
	double *use = bytes_in_use(p);
	struct arena_page page = { p, title, use };
	int result;

	if (!use)
		return -1;
	result = picture_write(path, PICTURE_WIDTH, PICTURE_HEIGHT, draw, &page);
	free(use);
	return result;
}
