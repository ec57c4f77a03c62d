/* lib/train/trainer_memory.c - what a trainer needs, by kind; what does not fit is refused with what would make it fit */

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/train/trainer_parts.h"

static bool reads(const struct trainer *t, const struct store_entry *e)
{
	for (int i = 0; i < TRAINER_GRAPH_COUNT; i++)
		if (t->graphs[i] && graph_find(t->graphs[i], e->name))
			return true;
	return false;
}

static enum plan_memory kind_of(const struct store_entry *e)
{
	switch (e->kind) {
	case STORE_STATE: return PLAN_STATE;
	case STORE_GRADIENT: return PLAN_GRADIENTS;
	case STORE_CACHE: return PLAN_CACHE;
	case STORE_DERIVED: return PLAN_DERIVED;
	default: return PLAN_WEIGHTS;
	}
}

/* The plan whose part of the arena is the largest: the others lie in it. */
static const struct plan *largest(const struct trainer *t)
{
	const struct plan *most = t->plans[0];

	for (int i = 1; i < TRAINER_GRAPH_COUNT; i++)
		if (plan_bytes(t->plans[i], PLAN_ACTIVATIONS) +
			    plan_bytes(t->plans[i], PLAN_WORKSPACE) >
		    plan_bytes(most, PLAN_ACTIVATIONS) + plan_bytes(most, PLAN_WORKSPACE))
			most = t->plans[i];
	return most;
}

uint64_t trainer_bytes(const struct trainer *t, enum plan_memory kind)
{
	uint64_t bytes = 0;

	if (kind == PLAN_ACTIVATIONS || kind == PLAN_WORKSPACE)
		return plan_bytes(largest(t), kind);
	for (size_t i = 0; i < store_n(t->store); i++) {
		const struct store_entry *e = store_at(t->store, i);

		if (kind_of(e) == kind && reads(t, e))
			bytes += e->size;
	}
	return bytes;
}

uint64_t trainer_bytes_total(const struct trainer *t)
{
	uint64_t bytes = 0;

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		bytes += trainer_bytes(t, (enum plan_memory)i);
	return bytes;
}

int trainer_print_memory(const struct trainer *t, struct buffer *out)
{
	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		buffer_format(out, "%-20s %14" PRIu64 "\n", plan_memory_name((enum plan_memory)i),
			      trainer_bytes(t, (enum plan_memory)i));
	buffer_format(out, "%-20s %14" PRIu64 "\n", "in all", trainer_bytes_total(t));
	return buffer_check(out);
}

/* --- what does not fit --- */

uint64_t trainer_needs(const struct hf_config *c, struct store *s, const struct trainer_options *o)
{
	struct trainer_options free_of_limits = *o;
	struct trainer *t;
	uint64_t total;

	free_of_limits.memory = 0;
	if (trainer_new(&t, c, s, &free_of_limits) < 0)
		return 0;
	total = trainer_bytes_total(t);
	trainer_free(t);
	return total;
}

/* What T would need with a micro-batch of TOKENS and all blocks computed again; 0 with the error set. */
static uint64_t total_with(const struct trainer *t, size_t tokens)
{
	struct trainer_options o = t->options;

	o.tokens = tokens;
	o.recompute_blocks = SIZE_MAX;
	return trainer_needs(t->config, t->store, &o);
}

/* The largest micro-batch of half, a quarter ... of the tokens that fits; 0: none. */
static size_t tokens_that_fit(const struct trainer *t, uint64_t *total)
{
	size_t tokens = t->options.tokens;

	if (t->options.recompute_blocks == SIZE_MAX)
		tokens /= 2;
	for (; tokens; tokens /= 2) {
		*total = total_with(t, tokens);
		if (*total && *total <= t->options.memory)
			return tokens;
	}
	return 0;
}

static int refuse(const struct trainer *t, uint64_t total)
{
	uint64_t room = trainer_bytes(t, PLAN_ACTIVATIONS) + trainer_bytes(t, PLAN_WORKSPACE);
	uint64_t other = 0;
	size_t tokens = tokens_that_fit(t, &other);
	char advice[160];

	if (!tokens)
		snprintf(advice, sizeof(advice),
			 "no micro-batch makes it fit; the optimizers lion, sgd and adamw8 keep "
			 "less");
	else
		snprintf(advice, sizeof(advice),
			 "recomputing every block with %zu tokens a micro-batch needs %" PRIu64,
			 tokens, other);
	return err_set(ERR_LIMIT,
		       "training needs %" PRIu64 " bytes, %" PRIu64 " allowed: %" PRIu64
		       " weights, %" PRIu64 " their copies, %" PRIu64 " gradients, %" PRIu64
		       " optimizer, %" PRIu64 " activations of %zu tokens; %s",
		       total, t->options.memory, trainer_bytes(t, PLAN_WEIGHTS),
		       trainer_bytes(t, PLAN_DERIVED), trainer_bytes(t, PLAN_GRADIENTS),
		       trainer_bytes(t, PLAN_STATE), room, t->options.tokens, advice);
}

int trainer_check_memory(const struct trainer *t)
{
	uint64_t total = trainer_bytes_total(t);

	return t->options.memory && total > t->options.memory ? refuse(t, total) : 0;
}
