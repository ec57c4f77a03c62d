/* lib/train/fit.c - how large a micro-batch is, and how many blocks are recomputed, so that training fits the memory */

#include "lib/train/fit.h"

#include "lib/base/err.h"
#include "lib/train/trainer_parts.h"

/* 1: O fits, 0: it does not, -1: it cannot be planned at all. */
static int fits(const struct hf_config *c, struct store *s, const struct trainer_options *o)
{
	uint64_t bytes = trainer_needs(c, s, o);

	return bytes == 0 ? -1 : bytes <= o->memory;
}

/* Says what a trainer with O says when it is refused. */
static int refuse(const struct hf_config *c, struct store *s, const struct trainer_options *o)
{
	struct trainer *t;

	if (trainer_new(&t, c, s, o) == 0) {
		trainer_free(t);
		return err_set(ERR_LIMIT, "training does not fit, and then it does");
	}
	return -1;
}

/* The next smaller divisor of SEQUENCES; 0 after 1. */
static size_t smaller_divisor(size_t sequences, size_t windows)
{
	do
		windows--;
	while (windows && sequences % windows);
	return windows;
}

static size_t largest_start(size_t sequences, uint32_t length)
{
	size_t most = FIT_ROWS / length;

	if (most >= sequences)
		return sequences;
	return most ? smaller_divisor(sequences, most + 1) : 1;
}

int fit_micro_batch(size_t *windows, const struct hf_config *c, struct store *s,
		    const struct trainer_options *o, size_t sequences, uint32_t length)
{
	struct trainer_options probe = *o;
	int fit = 1;

	if (sequences == 0 || length == 0)
		return err_set(ERR_ARGUMENT, "a step of %zu sequences of %u tokens", sequences,
			       length);
	probe.recompute_blocks = SIZE_MAX;
	probe.team = NULL;
	probe.memory -= o->memory / FIT_ROOM;
	for (size_t n = largest_start(sequences, length); n; n = smaller_divisor(sequences, n)) {
		*windows = n;
		probe.tokens = n * length;
		if (o->memory)
			fit = fits(c, s, &probe);
		if (fit)
			return fit < 0 ? -1 : 0;
	}
	probe.team = o->team;
	probe.memory = o->memory;
	fit = fits(c, s, &probe);
	return fit < 0 ? -1 : fit ? 0 : refuse(c, s, &probe);
}

static size_t as_option(const struct hf_config *c, size_t blocks)
{
	return blocks >= c->n_layers ? SIZE_MAX : blocks;
}

int fit_recompute(size_t *blocks, const struct hf_config *c, struct store *s,
		  const struct trainer_options *o)
{
	struct trainer_options probe = *o;
	size_t low = 0, high = c->n_layers;
	int fit;

	*blocks = 0;
	if (!o->memory)
		return 0;
	/* LOW to HIGH: HIGH is known to fit once the loop is left, or is all of them. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		probe.recompute_blocks = as_option(c, middle);
		fit = fits(c, s, &probe);
		if (fit < 0)
			return -1;
		if (fit)
			high = middle;
		else
			low = middle + 1;
	}
	*blocks = probe.recompute_blocks = as_option(c, high);
	fit = fits(c, s, &probe);
	return fit < 0 ? -1 : fit ? 0 : refuse(c, s, &probe);
}
