/* lib/eval/tensor_diff.c - how far two tensors of one shape lie apart */

#include "lib/eval/tensor_diff.h"

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/scan.h"

struct work {
	const struct tensor_info *a, *b;
	struct tensor_tolerance tolerance;
	enum level level;
	struct tensor_compare *chunks;
	struct progress *progress;
};

static uint64_t bytes_of_chunk(const struct tensor_info *t, size_t n)
{
	const struct dtype_info *info = dtype_info(t->dtype);

	return n / info->block * info->bytes;
}

static void compare_values(void *arg, size_t i)
{
	struct work *w = arg;
	struct scan_chunk c = scan_chunk(w->a, i);

	tensor_compare_chunk(w->level, w->a->dtype, scan_data(w->a, c.from), w->b->dtype,
			     scan_data(w->b, c.from), c.n, w->tolerance, &w->chunks[i]);
	progress_add(w->progress, bytes_of_chunk(w->a, c.n) + bytes_of_chunk(w->b, c.n));
}

static int diff_values(struct team *team, struct work *w, struct tensor_diff *out)
{
	size_t n = scan_n_chunks(w->a);

	if (scan_level(&w->level) < 0)
		return -1;
	w->chunks = mem_new(n, sizeof(*w->chunks));
	if (!w->chunks)
		return -1;
	team_chunks(team, n, compare_values, w);
	for (size_t i = 0; i < n; i++)
		tensor_compare_add(&out->values, &w->chunks[i]);
	free(w->chunks);
	return 0;
}

static void diff_bytes(struct work *w, struct tensor_diff *out)
{
	struct tensor_compare *c = &out->values;

	out->bytes_only = true;
	c->n = w->a->n_bytes;
	for (uint64_t i = 0; i < c->n; i++) {
		if (w->a->data[i] == w->b->data[i])
			continue;
		if (c->n_differ++ == 0)
			c->first_differ = i;
	}
	progress_add(w->progress, 2 * c->n);
}

int tensor_diff(struct team *team, const struct tensor_info *a, const struct tensor_info *b,
		struct tensor_tolerance tolerance, struct tensor_diff *out, struct progress *p)
{
	struct work w = { .a = a, .b = b, .tolerance = tolerance, .progress = p };

	*out = (struct tensor_diff){ 0 };
	tensor_compare_start(&out->values);
	if (a->n_elements != b->n_elements)
		return err_set(ERR_MISMATCH,
			       "tensor " BYTES_FMT ": %" PRIu64 " elements beside %" PRIu64,
			       BYTES_ARG(a->name), a->n_elements, b->n_elements);
	if (dtype_decodes(a->dtype) && dtype_decodes(b->dtype))
		return diff_values(team, &w, out);
	if (a->dtype != b->dtype || a->n_bytes != b->n_bytes)
		return err_set(ERR_UNSUPPORTED,
			       "tensor " BYTES_FMT ": %s and %s cannot be compared",
			       BYTES_ARG(a->name), dtype_name(a->dtype), dtype_name(b->dtype));
	diff_bytes(&w, out);
	return 0;
}
