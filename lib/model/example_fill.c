/* lib/model/example_fill.c - made-up values for the example models */

#include <math.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/graph/plan.h"
#include "lib/model/example.h"

static struct random_stream stream_of(uint64_t seed, const char *name)
{
	return random_at(seed, 0, hash_short(name, strlen(name), 0));
}

static void fill_normal(float *x, size_t n, double deviation, struct random_stream r)
{
	for (size_t i = 0; i < n; i++)
		x[i] = random_normal(&r, 0, i) * (float)deviation;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && strcmp(name + n - m, end) == 0;
}

static int fill_entry(struct store *s, struct store_entry *e, uint64_t seed)
{
	size_t n = shape_elements(&e->shape);
	float *x;

	if (store_allocate(s, e) < 0)
		return -1;
	x = e->data;
	if (ends_with(e->name, "norm.weight"))
		for (size_t i = 0; i < n; i++)
			x[i] = 1;
	else if (e->shape.n > 1)
		fill_normal(x, n, 1 / sqrt((double)e->shape.at[e->shape.n - 1]),
			    stream_of(seed, e->name));
	store_touch(e);
	return 0;
}

int example_fill_store(struct store *s, uint64_t seed)
{
	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER &&
		    fill_entry(s, store_at(s, i), seed) < 0)
			return -1;
	return 0;
}

/* The scalars of a first step: rate, the gradient's scale, and what AdamW corrects its moments by. */
static void fill_scalars(float *h, size_t n)
{
	static const float first[] = { 1e-3f, 1, 0.1f, 0.05f };

	memcpy(h, first, n * sizeof(*h));
}

static int fill_input(struct plan *p, const struct tensor *t, const char *name, size_t vocab,
		      uint64_t seed)
{
	struct random_stream r = stream_of(seed, name);
	size_t n;
	void *data;

	if (!t)
		return 0;
	data = plan_data(p, t);
	if (!data)
		return -1;
	n = shape_elements(&t->shape);
	if (strcmp(name, "h") == 0)
		fill_scalars(data, n);
	else if (t->dtype == DTYPE_I32)
		for (size_t i = 0; i < n; i++)
			((int32_t *)data)[i] = (int32_t)random_below(&r, 0, i, vocab);
	else
		fill_normal(data, n, 1, r);
	return 0;
}

int example_fill_inputs(struct plan *p, struct graph *g, const struct example_config *c,
			uint64_t seed)
{
	static const char *const names[] = { "x", "target", "h" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fill_input(p, graph_find(g, names[i]), names[i], c->vocab, seed) < 0)
			return -1;
	return 0;
}
