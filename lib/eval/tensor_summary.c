/* lib/eval/tensor_summary.c - what the values of a tensor are like */

#include "lib/eval/tensor_summary.h"

#include <math.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/scan.h"

struct work {
	const struct tensor_info *tensor;
	enum level level;
	struct tensor_stats *stats; /* a chunk each */
	struct progress *progress;
};

static void look_at(void *arg, size_t i)
{
	struct work *w = arg;
	struct scan_chunk c = scan_chunk(w->tensor, i);
	const struct dtype_info *info = dtype_info(w->tensor->dtype);

	tensor_stats_chunk(w->level, w->tensor->dtype, scan_data(w->tensor, c.from), c.n,
			   &w->stats[i]);
	progress_add(w->progress, c.n / info->block * info->bytes);
}

static struct tensor_summary summary(const struct tensor_stats *s)
{
	struct tensor_summary out = {
		.n = s->n,
		.zeros = s->zeros,
		.nans = s->nans,
		.infinities = s->positive_infs + s->negative_infs,
		.min = NAN,
		.max = NAN,
		.mean = NAN,
		.rms = NAN,
	};

	if (out.nans < out.n) {
		out.min = s->min;
		out.max = s->max;
	}
	if (out.nans + out.infinities < out.n) {
		out.mean = tensor_stats_mean(s);
		out.rms = tensor_stats_rms(s);
	}
	return out;
}

int tensor_summarise(struct team *team, const struct tensor_info *t, struct tensor_summary *out,
		     struct progress *p)
{
	size_t n = scan_n_chunks(t);
	struct work w = { .tensor = t, .progress = p };
	struct tensor_stats total;

	if (!dtype_decodes(t->dtype))
		return err_set(ERR_UNSUPPORTED,
			       "tensor " BYTES_FMT ": values of %s are not decoded",
			       BYTES_ARG(t->name), dtype_name(t->dtype));
	if (scan_level(&w.level) < 0)
		return -1;
	w.stats = mem_new(n, sizeof(*w.stats));
	if (!w.stats)
		return -1;
	team_chunks(team, n, look_at, &w);
	tensor_stats_start(&total);
	for (size_t i = 0; i < n; i++)
		tensor_stats_add(&total, &w.stats[i]);
	free(w.stats);
	*out = summary(&total);
	return 0;
}
