/* tests/op_cases_images.c - cases of convolutions, pools and resizing */

#include "tests/op_cases.h"

static const struct {
	struct shape x, w;
	struct conv_attributes a;
} convolutions[] = {
	{ SHAPE(2, 3, 7, 6),
	  SHAPE(4, 3, 3, 3),
	  { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 4, 9, 8),
	  SHAPE(6, 2, 3, 2),
	  { { 2, 1 }, { 1, 0, 2, 1 }, { 1, 2 }, 2, 0, { 0 } } },
	{ SHAPE(2, 5, 6, 6),
	  SHAPE(5, 1, 3, 3),
	  { { 2, 2 }, { 1, 1, 1, 1 }, { 1, 1 }, 5, 0, { 0 } } },
	{ SHAPE(2, 8, 5, 3), SHAPE(7, 8, 1, 1), { { 1, 1 }, { 0 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 2, 11, 12),
	  SHAPE(2, 2, 3, 2),
	  { { 3, 2 }, { 2, 1, 0, 1 }, { 2, 3 }, 1, 0, { 0 } } },
	/* Too large for differences: many channels, places, rows; places of a depthwise one; pieces of images. */
	{ SHAPE(1, 70, 5, 5),
	  SHAPE(7, 70, 3, 3),
	  { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 2, 15, 19),
	  SHAPE(3, 2, 3, 3),
	  { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 1, 2, 3), SHAPE(390, 1, 1, 1), { { 1, 1 }, { 0 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 390, 2, 3), SHAPE(1, 390, 1, 1), { { 1, 1 }, { 0 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 2, 15, 19),
	  SHAPE(2, 1, 3, 3),
	  { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 2, 0, { 0 } } },
	{ SHAPE(2, 2, 91, 91), SHAPE(2, 2, 1, 1), { { 1, 1 }, { 0 }, { 1, 1 }, 1, 0, { 0 } } },
	/* Taps so far apart that no band of rows is near; rows of several bands; a row of many columns. */
	{ SHAPE(1, 2, 3, 100),
	  SHAPE(3, 2, 2, 3),
	  { { 1, 1 }, { 2000, 1, 0, 1 }, { 2000, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 1, 23, 301),
	  SHAPE(7, 1, 3, 3),
	  { { 2, 2 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	/* Many rows of more places than a piece has; long rows of few; one that is depthwise. */
	{ SHAPE(1, 17, 2, 261),
	  SHAPE(121, 17, 2, 3),
	  { { 1, 1 }, { 0, 1, 0, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 1, 2, 4200),
	  SHAPE(2, 1, 2, 3),
	  { { 1, 2 }, { 0, 1, 0, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 1, 1, 300),
	  SHAPE(16, 1, 1, 3),
	  { { 1, 1 }, { 0, 1, 0, 1 }, { 1, 1 }, 1, 0, { 0 } } },
	{ SHAPE(1, 2, 3, 2100),
	  SHAPE(2, 1, 3, 3),
	  { { 1, 1 }, { 0, 1, 0, 1 }, { 1, 1 }, 2, 0, { 0 } } },
};
#define N_CONVOLUTIONS (sizeof(convolutions) / sizeof(convolutions[0]))
#define N_SMALL	       5
#define N_TWICE	       11 /* with a bias and without one */

static void convolved(struct op_case *x, size_t i, struct shape s)
{
	if (i < N_SMALL)
		case_floats(x, s, FILL_NORMAL);
	else
		case_fixed(x, s, FILL_NORMAL);
}

/* Why NaN and infinities spread. */
static const char padding[] = "zeros around the image are multiplied, and ref leaves them out";

void cases_conv2d(struct op_cases *c)
{
	for (size_t i = 0; i < N_CONVOLUTIONS; i++)
		for (int bias = 0; bias < 2; bias++) {
			struct op_case *x;

			if (i >= N_TWICE && (int)(i % 2) != bias)
				continue;
			x = case_new(c, &convolutions[i].a);

			convolved(x, i, convolutions[i].x);
			convolved(x, i, convolutions[i].w);
			if (bias)
				convolved(x, i, SHAPE(convolutions[i].w.at[0]));
		}
	for (uint32_t how = ACTIVATION_SILU; how <= ACTIVATION_GELU; how++) {
		struct conv_attributes a = convolutions[how % 2].a;
		struct op_case *x;

		a.activation = how; /* an epilogue is made by the planner, after the gradient */
		x = case_new(c, &a);
		case_fixed(x, convolutions[how % 2].x, FILL_NORMAL);
		case_fixed(x, convolutions[how % 2].w, FILL_NORMAL);
		case_fixed(x, SHAPE(convolutions[how % 2].w.at[0]), FILL_NORMAL);
	}
	cases_spread(c, padding);
}

static size_t length_of(const struct conv_attributes *a, int axis, size_t length, size_t taps)
{
	return (length + a->pad[axis] + a->pad[axis + 2] - a->dilation[axis] * (taps - 1) - 1) /
		       a->stride[axis] +
	       1;
}

static struct shape result_of(size_t i)
{
	const struct shape *x = &convolutions[i].x, *w = &convolutions[i].w;
	const struct conv_attributes *a = &convolutions[i].a;

	return SHAPE(x->at[0], w->at[0], length_of(a, 0, x->at[2], w->at[2]),
		     length_of(a, 1, x->at[3], w->at[3]));
}

void cases_conv2d_dx(struct op_cases *c)
{
	for (size_t i = 0; i < N_CONVOLUTIONS; i++) {
		struct conv_attributes a = convolutions[i].a;
		struct op_case *x;

		a.size[0] = (uint32_t)convolutions[i].x.at[2];
		a.size[1] = (uint32_t)convolutions[i].x.at[3];
		x = case_new(c, &a);
		convolved(x, i, result_of(i));
		convolved(x, i, convolutions[i].w);
		if (i % 2)
			convolved(x, i, SHAPE(convolutions[i].x.at[1]));
	}
	cases_spread(c, padding);
}

void cases_conv2d_dw(struct op_cases *c)
{
	for (size_t i = 0; i < N_CONVOLUTIONS; i++) {
		struct conv_attributes a = convolutions[i].a;
		struct op_case *x;

		a.size[0] = (uint32_t)convolutions[i].w.at[2];
		a.size[1] = (uint32_t)convolutions[i].w.at[3];
		x = case_new(c, &a);
		convolved(x, i, convolutions[i].x);
		convolved(x, i, result_of(i));
	}
	cases_spread(c, padding);
}

static const struct pool_attributes pools[] = {
	{ { 2, 2 }, { 2, 2 }, { 0, 0 }, 0, 0, { 0 } },
	{ { 3, 3 }, { 2, 1 }, { 1, 1 }, 0, 0, { 0 } },
	{ { 5, 3 }, { 1, 2 }, { 2, 1 }, 1, 0, { 0 } },
};

void cases_pool(struct op_cases *c)
{
	for (size_t i = 0; i < 3; i++)
		case_floats(case_new(c, &pools[i]), SHAPE(2, 3, 7, 6), FILL_APART);
}

static struct shape pooled(const struct pool_attributes *a)
{
	return SHAPE(2, 3, (7 + 2 * a->pad[0] - a->kernel[0]) / a->stride[0] + 1,
		     (6 + 2 * a->pad[1] - a->kernel[1]) / a->stride[1] + 1);
}

static struct pool_attributes of_image(struct pool_attributes a)
{
	a.size[0] = 7;
	a.size[1] = 6;
	return a;
}

void cases_max_pool_grad(struct op_cases *c)
{
	for (size_t i = 0; i < 3; i++) {
		struct pool_attributes a = of_image(pools[i]);
		struct op_case *x = case_new(c, &a);

		case_floats(x, pooled(&a), FILL_NORMAL);
		case_exact(x, DTYPE_I32, pooled(&a), FILL_IDS, 0, 42);
	}
}

void cases_avg_pool_grad(struct op_cases *c)
{
	for (size_t i = 0; i < 3; i++) {
		struct pool_attributes a = of_image(pools[i]);

		case_floats(case_new(c, &a), pooled(&a), FILL_NORMAL);
	}
}

void cases_resize(struct op_cases *c)
{
	for (uint32_t mode = RESIZE_NEAREST; mode <= RESIZE_BICUBIC; mode++)
		for (uint32_t corners = 0; corners <= (mode != RESIZE_NEAREST); corners++) {
			case_floats(
				case_new(c,
					 &(struct resize_attributes){ mode, corners, { 10, 7 } }),
				SHAPE(2, 3, 5, 4), FILL_NORMAL);
			case_floats(
				case_new(c, &(struct resize_attributes){ mode, corners, { 3, 5 } }),
				SHAPE(1, 2, 7, 9), FILL_NORMAL);
		}
	cases_end(c, "taps of weight 0 are multiplied or left out");
}
