/* lib/train/trainer_watch.c - by parameter: the norm of its gradient, and how far the step moved it */

#include <math.h>

#include "lib/base/memory.h"
#include "lib/train/trainer_parts.h"

/* As it was before the step: a copy that ends when the difference is squared. */
static void append_watched(struct trainer *t, struct graph *g, size_t i, struct tensor **moved,
			   struct tensor **before)
{
	const struct update_item *item = &t->items[i];
	struct tensor *old = op_copy(g, op_cast(g, graph_entry(g, item->entry), DTYPE_F32));
	struct tensor *now = update_append(g, item, &t->options, &t->watched_scalars);

	*before = op_sum_squares(g, old);
	*moved = op_sum_squares(g, op_sub(g, op_cast(g, now, DTYPE_F32), old));
	update_clear(g, item->entry->sum);
}

void trainer_build_watched(struct trainer *t, struct graph *g)
{
	struct tensor **all = mem_new(2 * t->n_items, sizeof(*all));

	if (!all)
		return;
	update_scalars(g, &t->watched_scalars);
	for (size_t i = 0; i < t->n_items; i++)
		append_watched(t, g, i, &all[i], &all[t->n_items + i]);
	t->moved = trainer_joined(g, all, t->n_items);
	t->before = trainer_joined(g, all + t->n_items, t->n_items);
	free(all);
	graph_output(g, t->moved, "moved");
	graph_output(g, t->before, "before");
}

/* SQUARES are of the sums, as the measuring plan gave them. */
int trainer_keep_watched(struct trainer *t, const float *squares)
{
	const float *moved = plan_data(t->plans[TRAINER_WATCHED], t->moved);
	const float *before = plan_data(t->plans[TRAINER_WATCHED], t->before);

	if (!moved || !before)
		return -1;
	for (size_t i = 0; i < t->n_items; i++) {
		t->watched[3 * i] = squares[i];
		t->watched[3 * i + 1] = moved[i];
		t->watched[3 * i + 2] = before[i];
	}
	t->was_watched = true;
	return 0;
}

void trainer_watch(struct trainer *t, bool on)
{
	t->watch = on;
}

size_t trainer_n_watched(const struct trainer *t)
{
	return t->was_watched ? t->n_items : 0;
}

struct trainer_watched trainer_watched(const struct trainer *t, size_t i)
{
	const float *w = &t->watched[3 * i];

	return (struct trainer_watched){
		.name = t->items[i].entry->name,
		.grad_norm = sqrt((double)w[0]),
		.update_ratio = w[2] > 0 ? sqrt((double)w[1] / (double)w[2]) : NAN,
	};
}
