/* lib/train/update.c - one parameter's update by its rule; decay is of matrices alone */

#include "lib/train/update.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/graph/op_table.h"

void update_scalars(struct graph *g, struct update_scalars *s)
{
	s->h = graph_input(g, "h", DTYPE_F32, SHAPE(4));
	s->plain = graph_input(g, "plain", DTYPE_F32, SHAPE(2));
	s->ema = graph_input(g, "ema", DTYPE_F32, SHAPE(1));
}

/* 1 - beta^t, exact for a small step too. */
static double correction(double beta, uint64_t t)
{
	return beta > 0 ? -expm1((double)t * log(beta)) : 1;
}

struct update_values update_values(const struct trainer_options *o, double rate, double scale,
				   uint64_t t)
{
	return (struct update_values){
		.h = { (float)rate, (float)scale, (float)correction(o->beta1, t),
		       (float)correction(o->beta2, t) },
		.plain = { (float)rate, 1 },
		.ema = { (float)o->ema },
	};
}

/* --- state --- */

static struct tensor *entry_or_error(struct graph *g, struct store_entry *e)
{
	if (!e)
		graph_error(g, "%s", err_text());
	return e ? graph_entry(g, e) : NULL;
}

static struct tensor *beside(struct graph *g, struct store_entry *e, const char *suffix,
			     enum dtype dtype)
{
	return entry_or_error(g, store_beside(graph_store(g), e, suffix, dtype));
}

/* f32, one for each 256 elements of E. */
static struct tensor *scales(struct graph *g, struct store_entry *e, const char *suffix)
{
	struct store *s = graph_store(g);
	const struct shape shape = SHAPE((shape_elements(&e->shape) + 255) / 256);
	char name[512];
	struct store_entry *made;

	if ((size_t)snprintf(name, sizeof(name), "%s.%s", e->name, suffix) >= sizeof(name)) {
		graph_error(g, "%s: a name of more than 511 bytes", e->name);
		return NULL;
	}
	made = store_find(s, name);
	return entry_or_error(g, made ? made : store_add(s, name, STORE_STATE, DTYPE_F32, &shape));
}

/* --- rules --- */

static struct tensor *adamw(struct graph *g, struct store_entry *e, const struct update_scalars *s,
			    const struct optimizer_attributes *a)
{
	return op_adamw(g, graph_entry(g, e), beside(g, e, "first", DTYPE_F32),
			beside(g, e, "second", DTYPE_F32), graph_entry(g, e->sum), s->h, a);
}

static struct tensor *adamw8(struct graph *g, struct store_entry *e, const struct update_scalars *s,
			     const struct optimizer_attributes *a)
{
	struct adamw8_state state = { .first = beside(g, e, "first", DTYPE_I8),
				      .second = beside(g, e, "second", DTYPE_U8),
				      .first_scale = scales(g, e, "first_scale"),
				      .second_scale = scales(g, e, "second_scale") };

	return op_adamw8(g, graph_entry(g, e), &state, graph_entry(g, e->sum), s->h, a);
}

static struct tensor *lion(struct graph *g, struct store_entry *e, const struct update_scalars *s,
			   const struct optimizer_attributes *a)
{
	return op_lion(g, graph_entry(g, e), beside(g, e, "momentum", DTYPE_F32),
		       graph_entry(g, e->sum), s->h, a);
}

static struct tensor *sgd(struct graph *g, struct store_entry *e, const struct update_scalars *s,
			  const struct optimizer_attributes *a)
{
	return op_sgd(g, graph_entry(g, e), beside(g, e, "momentum", DTYPE_F32),
		      graph_entry(g, e->sum), s->h, a);
}

static struct tensor *move(struct graph *g, const struct update_item *item,
			   const struct trainer_options *o, const struct update_scalars *s)
{
	struct optimizer_attributes a = { .beta1 = o->beta1,
					  .beta2 = o->beta2,
					  .eps = o->eps,
					  .weight_decay = item->decays ? o->weight_decay : 0,
					  .stochastic = o->stochastic ? STOCHASTIC_PARAMETER : 0 };

	switch (item->rule) {
	case TRAINER_LION: return lion(g, item->entry, s, &a);
	case TRAINER_MUON: return update_muon(g, item, o, s, &a);
	case TRAINER_SGD: a.beta1 = o->momentum; return sgd(g, item->entry, s, &a);
	case TRAINER_ADAMW8:
		a.stochastic |= STOCHASTIC_MOMENTS;
		return adamw8(g, item->entry, s, &a);
	default: return adamw(g, item->entry, s, &a);
	}
}

/* The scope is the parameter's name: draws do not go by what else there is. */
struct tensor *update_append(struct graph *g, const struct update_item *item,
			     const struct trainer_options *o, const struct update_scalars *s)
{
	struct tensor *moved;

	graph_push(g, "%s", item->entry->name);
	moved = move(g, item, o, s);
	if (o->ema > 0)
		op_ema(g, beside(g, item->entry, "ema", DTYPE_F32), op_cast(g, moved, DTYPE_F32),
		       s->ema);
	graph_pop(g);
	return moved;
}

void update_clear(struct graph *g, struct store_entry *sum)
{
	graph_append(
		g, OP_REPLACE,
		(struct tensor *[]){ graph_entry(g, sum), op_fill(g, DTYPE_F32, sum->shape, 0) }, 2,
		NULL);
}
