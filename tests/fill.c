/* tests/fill.c - made-up values for inputs and parameters of graphs */

#include "tests/fill.h"

#include <math.h>

#include "tests/tap.h"

void fill_waves(float *x, size_t n, double step)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)sin((double)i * step + step) * 0.5f;
}

void fill_parameters(struct store *s)
{
	for (size_t i = 0; i < store_n(s); i++) {
		struct store_entry *e = store_at(s, i);

		if (e->kind != STORE_PARAMETER)
			continue;
		tap_works(store_allocate(s, e), "%s", e->name);
		fill_waves(e->data, shape_elements(&e->shape), 0.7 + (double)i);
		store_touch(e);
	}
}
