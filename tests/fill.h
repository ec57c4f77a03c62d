/* tests/fill.h - made-up values for inputs and parameters of graphs */
#ifndef TESTS_FILL_H
#define TESTS_FILL_H

#include "lib/graph/store.h"

/* Half a sine, whose angle grows by STEP: N values that STEP tells apart. */
void fill_waves(float *x, size_t n, double step);
/* Memory and values for every parameter of S, f32, another wave each. */
void fill_parameters(struct store *s);

#endif
