/* tests/unit/test_update.c - the update of one parameter: small steps in bf16, moments of 8 bits. The numbered cases are mistakes that trainers have made */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/graph/plan.h"
#include "lib/train/update.h"
#include "tests/tap.h"

/* One check where it fails, none where it does not: there are hundreds of steps. */
static void works(int result, const char *what, int step)
{
	if (result < 0)
		tap_ok(false, "%s of step %d: %s", what, step, err_text());
}

/* The update alone, of a parameter of N elements whose gradient is GRADIENT, STEPS times. */
struct alone {
	struct store *store;
	struct graph *graph;
	struct plan *plan;
	struct store_entry *entry;
	struct update_scalars scalars;
};

static bool begin_alone(struct alone *a, const struct trainer_options *o, enum dtype dtype,
			struct shape shape, const float *first)
{
	struct update_item item = { .rule = o->optimizer, .decays = true };

	*a = (struct alone){ 0 };
	if (!tap_works(store_new(&a->store), "a store"))
		return false;
	a->entry = item.entry = store_add(a->store, "p", STORE_PARAMETER, dtype, &shape);
	if (!item.entry || !store_sum(a->store, item.entry) ||
	    store_allocate(a->store, item.entry) < 0 ||
	    store_allocate(a->store, item.entry->sum) < 0 ||
	    !tap_works(graph_new(&a->graph, a->store, NULL), "a graph"))
		return false;
	for (size_t i = 0; i < shape_elements(&shape); i++)
		if (dtype == DTYPE_BF16)
			((uint16_t *)item.entry->data)[i] = bf16_from_f32(first[i]);
		else
			((float *)item.entry->data)[i] = first[i];
	update_scalars(a->graph, &a->scalars);
	update_append(a->graph, &item, o, &a->scalars);
	return tap_works(plan_new(&a->plan, a->graph, NULL), "a plan");
}

static void step_alone(struct alone *a, const struct trainer_options *o, double rate, uint64_t t)
{
	struct update_values v = update_values(o, rate, 1, t);

	memcpy(plan_data(a->plan, a->scalars.h), v.h, sizeof(v.h));
	memcpy(plan_data(a->plan, a->scalars.plain), v.plain, sizeof(v.plain));
	memcpy(plan_data(a->plan, a->scalars.ema), v.ema, sizeof(v.ema));
	works(plan_run(a->plan, 1, t), "the update", (int)t);
}

static void end_alone(struct alone *a)
{
	plan_free(a->plan);
	graph_free(a->graph);
	store_free(a->store);
}

/* D12: 1 in bf16, 100 steps of -6e-4: nearest rounding stays at 1, stochastic rounding comes to 0.94 in the mean. */
static void test_small_steps(void)
{
	enum { N = 4096 };
	static float first[N];

	for (int i = 0; i < N; i++)
		first[i] = 1;
	for (int stochastic = 0; stochastic < 2; stochastic++) {
		struct trainer_options o = { .optimizer = TRAINER_LION,
					     .beta1 = 0.9,
					     .beta2 = 0.99,
					     .stochastic = stochastic };
		struct alone a;
		double mean = 0;

		if (begin_alone(&a, &o, DTYPE_BF16, SHAPE(N), first)) {
			for (int i = 0; i < N; i++)
				((float *)a.entry->sum->data)[i] = 1;
			for (uint64_t t = 1; t <= 100; t++)
				step_alone(&a, &o, 6e-4, t);
			for (int i = 0; i < N; i++)
				mean += (double)bf16_to_f32(((uint16_t *)a.entry->data)[i]) / N;
			tap_ok(stochastic ? fabs(mean - 0.94) < 2e-3 : mean == 1,
			       "%s: %.5f after 100 steps", stochastic ? "stochastic" : "to nearest",
			       mean);
		}
		end_alone(&a);
	}
}

/* D16: an element whose gradient is always 0 stays, among others with 1. */
static void test_eight_bits_stay(void)
{
	enum { N = 512 };
	static float first[N];
	struct trainer_options o = {
		.optimizer = TRAINER_ADAMW8, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8
	};
	struct alone a;

	for (int i = 0; i < N; i++)
		first[i] = 0.5F;
	if (begin_alone(&a, &o, DTYPE_F32, SHAPE(N), first)) {
		for (int i = 0; i < N; i++)
			((float *)a.entry->sum->data)[i] = i % 64 == 3 ? 0 : 1;
		for (uint64_t t = 1; t <= 500; t++)
			step_alone(&a, &o, 1e-3, t);
		tap_ok(((float *)a.entry->data)[3] == 0.5F && ((float *)a.entry->data)[323] == 0.5F,
		       "0.5 stays %.9g", (double)((float *)a.entry->data)[3]);
		tap_ok(fabs((double)((float *)a.entry->data)[4]) < 1e-2,
		       "0.5 becomes %.5f in 500 steps of 1e-3",
		       (double)((float *)a.entry->data)[4]);
	}
	end_alone(&a);
}

int main(void)
{
	tap_run(test_small_steps);
	tap_run(test_eight_bits_stay);
	return tap_done();
}
