/* lib/train/training_describe.c - what a run would do, for people */

#include <inttypes.h>

#include "lib/base/number.h"
#include "lib/train/training_parts.h"

static uint64_t n_parameters(const struct training *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < store_n(t->model.store); i++)
		if (store_at(t->model.store, i)->kind == STORE_PARAMETER)
			n += shape_elements(&store_at(t->model.store, i)->shape);
	return n;
}

static void put_lengths(const struct training *t, struct buffer *out)
{
	uint64_t tokens = t->o.steps * t->o.batch * t->o.ctx, parameters = n_parameters(t);
	char text[NUMBER_TEXT];

	buffer_format(out, "parameters  %" PRIu64 " (%s)\n", parameters,
		      number_count(parameters, text));
	buffer_format(out, "steps       %" PRIu64 "\n", t->o.steps);
	buffer_format(out,
		      "a step      %" PRIu64 " windows of %" PRIu64 " tokens, %" PRIu64
		      " micro-batches\n",
		      t->o.batch, t->o.ctx, t->o.batch / t->o.micro_batch);
	buffer_format(out, "tokens      %" PRIu64 " (%s, %.1f a parameter)\n", tokens,
		      number_count(tokens, text), (double)tokens / (double)parameters);
	buffer_format(out, "operations  %.3g a token, %.3g in all\n", t->operations,
		      t->operations * (double)tokens);
}

int training_describe(struct training *t, struct buffer *out)
{
	put_lengths(t, out);
	if (feed_mix(t->feed))
		buffer_format(out, "passes      %.2f over the %stokens\n",
			      (double)t->o.steps * (double)t->o.batch / (double)feed_epoch(t->feed),
			      mix_n_parts(feed_mix(t->feed)) > 1 ? "first part's " : "");
	buffer_put_text(out, "\nmemory, bytes\n");
	if (trainer_print_memory(t->trainer, out) < 0)
		return -1;
	if (training_copy_bytes(t))
		buffer_format(out, "%-20s %14" PRIu64 "\n", "copy to be written",
			      training_copy_bytes(t));
	buffer_put_text(out, "\nlearning rate\n");
	return schedule_print(&t->schedule, out);
}
