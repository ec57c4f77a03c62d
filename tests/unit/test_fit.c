/* tests/unit/test_fit.c - the micro-batch and the recomputation that fit a limit; the limits come from trainers that were planned without one */

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/train/fit.h"
#include "lib/train/trainer_parts.h"
#include "tests/tap.h"

enum { LENGTH = 64, SEQUENCES = 12, LAYERS = 6 };

static const char config_text[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"64, "
	"\"hidden_size\": 32, \"intermediate_size\": 96, \"num_hidden_layers\": 6, "
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"max_position_embeddings\": "
	"8192}";

struct fixture {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
	struct trainer_options options;
};

static bool begin(struct fixture *f)
{
	*f = (struct fixture){ .options = { .compute = DTYPE_F32, .seed = 1 } };
	if (!tap_works(arena_new(&f->arena), "an arena") ||
	    !tap_works(hf_config_parse(&f->config, f->arena,
				       (struct bytes){ config_text, strlen(config_text) },
				       "config"),
		       "the configuration") ||
	    !tap_works(store_new(&f->store), "a store"))
		return false;
	store_declaring(f->store, true);
	if (!tap_works(lm_declare(f->store, &f->config), "the parameters"))
		return false;
	store_declaring(f->store, false);
	return true;
}

static void end(struct fixture *f)
{
	store_free(f->store);
	arena_free(f->arena);
}

/* What WINDOWS need with BLOCKS computed again. */
static uint64_t needs(struct fixture *f, size_t windows, size_t blocks)
{
	f->options.tokens = windows * LENGTH;
	f->options.recompute_blocks = blocks;
	return trainer_needs(&f->config, f->store, &f->options);
}

/* The least limit that has room for NEEDED and what is left to threads. */
static uint64_t limit_for(uint64_t needed)
{
	uint64_t limit = needed + needed / (FIT_ROOM - 1);

	while (limit - limit / FIT_ROOM < needed)
		limit++;
	while (limit - 1 - (limit - 1) / FIT_ROOM >= needed)
		limit--;
	return limit;
}

static size_t micro_batch(struct fixture *f, uint64_t memory, size_t sequences, uint32_t length)
{
	struct trainer_options o = f->options;
	size_t windows = 0;

	o.memory = memory;
	tap_works(fit_micro_batch(&windows, &f->config, f->store, &o, sequences, length),
		  "%zu windows of %u", sequences, length);
	return windows;
}

static void test_without_limit(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	tap_is_u64(micro_batch(&f, 0, 12, 64), 12, "all of a small step");
	tap_is_u64(micro_batch(&f, 0, 64, 256), 16, "4,096 rows");
	tap_is_u64(micro_batch(&f, 0, 30, 256), 15, "the divisor below 16");
	tap_is_u64(micro_batch(&f, 0, 17, 1024), 1, "a prime has only 1 below it");
	tap_is_u64(micro_batch(&f, 0, 8, 8192), 1, "a long window");
	tap_fails(fit_micro_batch(&(size_t){ 0 }, &f.config, f.store, &f.options, 0, 64),
		  ERR_ARGUMENT, "a step of 0 sequences", "nothing to cut");
	end(&f);
}

static void test_limit(void)
{
	static const size_t divisors[] = { 12, 6, 4, 3, 2, 1 };
	struct trainer_options o;
	struct fixture f;
	size_t windows;

	if (!begin(&f))
		return;
	for (size_t i = 0; i < sizeof(divisors) / sizeof(*divisors); i++) {
		uint64_t just = limit_for(needs(&f, divisors[i], SIZE_MAX));

		tap_is_u64(micro_batch(&f, just, SEQUENCES, LENGTH), divisors[i],
			   "%zu windows have room for themselves", divisors[i]);
		if (divisors[i] > 1)
			tap_is_u64(micro_batch(&f, just - 1, SEQUENCES, LENGTH), divisors[i + 1],
				   "a byte less: %zu", divisors[i + 1]);
	}
	tap_is_u64(micro_batch(&f, needs(&f, 1, SIZE_MAX), SEQUENCES, LENGTH), 1,
		   "the smallest one takes what was left too");
	o = f.options;
	o.memory = needs(&f, 1, SIZE_MAX) - 1;
	tap_fails(fit_micro_batch(&windows, &f.config, f.store, &o, SEQUENCES, LENGTH), ERR_LIMIT,
		  "training needs", "less than one window");
	end(&f);
}

/* The bits of a run go by it. */
static void test_threads(void)
{
	static const int threads[] = { 2, 7 };
	struct fixture f;

	if (!begin(&f))
		return;
	for (int i = 0; i < 2; i++) {
		struct team *team;
		uint64_t most = needs(&f, SEQUENCES, SIZE_MAX), step = most / 37;

		if (!tap_works(team_new(&team, threads[i]), "a team of %d", threads[i]))
			continue;
		for (uint64_t limit = limit_for(needs(&f, 2, SIZE_MAX)); limit < most;
		     limit += step) {
			size_t alone = micro_batch(&f, limit, SEQUENCES, LENGTH);

			f.options.team = team;
			tap_is_u64(micro_batch(&f, limit, SEQUENCES, LENGTH), alone,
				   "%d threads, %d bytes", threads[i], (int)limit);
			f.options.team = NULL;
		}
		team_free(team);
	}
	end(&f);
}

static void test_recompute(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	for (size_t i = 0; i <= LAYERS; i++) {
		uint64_t just = needs(&f, SEQUENCES, i == LAYERS ? SIZE_MAX : i);
		size_t blocks = 99;
		struct trainer_options o = f.options;

		o.memory = just;
		tap_works(fit_recompute(&blocks, &f.config, f.store, &o), "room for %zu", i);
		/* Fewer may need no more than I do: then they are taken. */
		tap_ok(needs(&f, SEQUENCES, blocks) <= just, "%zu blocks fit", blocks);
		tap_ok(blocks == 0 || (blocks == SIZE_MAX && i == LAYERS) || blocks <= i,
		       "not more than %zu", i);
		tap_ok(blocks == 0 || needs(&f, SEQUENCES,
					    blocks == SIZE_MAX ? LAYERS - 1 : blocks - 1) > just,
		       "one block fewer than %zu does not fit", blocks);
	}
	f.options.memory = 0;
	f.options.tokens = LENGTH;
	{
		size_t blocks = 99;

		tap_works(fit_recompute(&blocks, &f.config, f.store, &f.options), "no limit");
		tap_is_u64(blocks, 0, "without a limit nothing is computed again");
		f.options.memory = 1000;
		tap_fails(fit_recompute(&blocks, &f.config, f.store, &f.options), ERR_LIMIT,
			  "training needs", "nothing fits 1,000 bytes");
	}
	end(&f);
}

int main(void)
{
	tap_run(test_without_limit);
	tap_run(test_limit);
	tap_run(test_threads);
	tap_run(test_recompute);
	return tap_done();
}
