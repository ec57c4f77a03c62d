/* kernels/cpu/reduce.c - sum, mean, amax and logsumexp over axes: reduce.h tells how */
#include "kernels/cpu/level.h"

#include "kernels/cpu/reduce_columns.h"
#include "kernels/cpu/reduce_rows.h"

/* Nothing is folded: results, if there are any, are those of nothing. */
static void fill(const struct kernel_call *c, const struct reduction *r)
{
	float y = value(r, nothing(), 0);
	size_t from, to;

	kernel_share(kernel_elements(&c->out[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		put(c, i, &y, 1);
}

static void run(const struct kernel_call *c, enum what what)
{
	struct reduction r = { .what = what };

	if (kernel_elements(&c->in[0]) == 0) {
		if (c->phase == 0)
			fill(c, &r);
		return;
	}
	make_reduction(c, what, &r);
	if (c->phase == 0)
		(r.columns ? columns : rows)(c, &r);
	else if (r.pieces > 1)
		(r.columns ? add_columns : add_rows)(c, &r);
}

static size_t scratch(const struct kernel_call *c, enum what what)
{
	struct reduction r;

	if (kernel_elements(&c->in[0]) == 0)
		return 0;
	make_reduction(c, what, &r);
	if (r.pieces == 1)
		return 0;
	return r.results * r.pieces *
	       (r.columns ? 2 * r.width * sizeof(float) : sizeof(struct result));
}

static bool claims(const struct kernel_call *c)
{
	struct reduction r;

	if (!operand_is_float(c->in[0].dtype) || !operand_is_float(c->out[0].dtype) ||
	    !kernel_dense(&c->out[0]))
		return false;
	return kernel_elements(&c->in[0]) == 0 || make_reduction(c, SUM, &r);
}

#define KERNEL(name, what)                                                            \
 static void run_##name(const struct kernel_call *c)                                  \
 {                                                                                    \
  run(c, what);                                                                       \
 }                                                                                    \
 static size_t scratch_##name(const struct kernel_call *c)                            \
 {                                                                                    \
  return scratch(c, what);                                                            \
 }                                                                                    \
 LEVEL_KERNEL(name, pieces, .claims = claims, .scratch = scratch_##name, .phases = 2, \
	      .run = run_##name)

KERNEL(sum, SUM);
KERNEL(mean, MEAN);
KERNEL(amax, AMAX);
KERNEL(logsumexp, LOGSUMEXP);
