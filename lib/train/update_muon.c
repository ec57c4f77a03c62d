/* lib/train/update_muon.c - a hidden matrix moved by the orthogonal matrix near its momentum (trainer.h says how) */

#include <math.h>

#include "lib/base/err.h"
#include "lib/graph/op_table.h"
#include "lib/train/update.h"

#define STEPS 5

/* Momentum, and the step of Nesterov that looks past it: u. */
static struct tensor *direction(struct graph *g, struct store_entry *e, double momentum,
				const struct update_scalars *s)
{
	struct store_entry *kept = store_beside(graph_store(g), e, "momentum", DTYPE_F32);
	struct tensor *gradient = op_mul(g, graph_entry(g, e->sum), op_slice(g, s->h, 0, 1, 1));
	struct tensor *m;

	if (!kept) {
		graph_error(g, "%s", err_text());
		return NULL;
	}
	m = op_ema(g, graph_entry(g, kept), gradient,
		   graph_constant(g, DTYPE_F32, SHAPE(1), &(float){ (float)momentum }));
	return op_add(g, op_scale(g, m, momentum, 0), op_scale(g, gradient, 1 - momentum, 0));
}

/* The last step is that of sgd without momentum, which decays and rounds as the others do; its room is not kept. */
struct tensor *update_muon(struct graph *g, const struct update_item *item,
			   const struct trainer_options *o, const struct update_scalars *s,
			   const struct optimizer_attributes *a)
{
	struct store_entry *e = item->entry;
	struct optimizer_attributes last = *a;
	size_t rows = e->shape.at[0], columns = e->shape.at[1];
	struct tensor *u = op_orthogonalize(g, direction(g, e, o->momentum, s), STEPS);

	u = op_scale(g, u, 0.2 * sqrt((double)(rows > columns ? rows : columns)), 0);
	last.beta1 = 0;
	return op_sgd(g, graph_entry(g, e), op_fill(g, DTYPE_F32, e->shape, 0), u, s->plain, &last);
}
