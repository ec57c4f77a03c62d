/* formats/shape_text.c - a tensor's shape for people */

#include "formats/shape_text.h"

#include <inttypes.h>
#include <stdio.h>

char *shape_text(const struct tensor_info *t, char out[SHAPE_TEXT])
{
	size_t at = 0;

	if (t->n_dims == 0)
		snprintf(out, SHAPE_TEXT, "scalar");
	for (uint32_t i = 0; i < t->n_dims; i++)
		at += (size_t)snprintf(out + at, SHAPE_TEXT - at, "%s%" PRIu64, i ? "x" : "",
				       t->shape[i]);
	return out;
}
