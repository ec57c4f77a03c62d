/*
 * tests/peer/train-lm.c - steps of training, one for each line that is read: what scripts/peers/train times beside PyTorch
 *
 *	train-lm [-b [-w]] [-j THREADS] [-r BLOCKS] CONFIG.json SEQUENCES LENGTH
 *
 * `ready` is written when all is made. AdamW (3e-4, decay of matrices, clip 1) on made-up tokens, from weights of a normal of 0.02. A
 * line `step` trains one and is answered by `SECONDS LOSS`; `stats` does a step that is measured and writes what the time went into
 * to stderr, with the memory; `peak` answers the multiplications and additions a second of all threads. -b computes in bf16; -w has no
 * f32 masters either, but weights of bf16 that are rounded stochastically. Exit 0, or 2.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/eval/roof.h"
#include "lib/graph/stats.h"
#include "lib/train/trainer.h"

struct work {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
	struct team *team;
	struct trainer_options options;
	struct trainer *trainer;
	enum dtype weights;
	size_t sequences, length;
	uint64_t step;
	struct stats_limits limits; /* 0: not measured */
};

/* --- weights and tokens --- */

/* A normal of 0.02; norms are 1. Each part fills its share of every entry: draws go by place. */
static void fill_part(void *arg, int part, int parts)
{
	const struct work *w = arg;

	for (size_t i = 0; i < store_n(w->store); i++) {
		struct store_entry *e = store_at(w->store, i);
		struct random_stream r = random_at(1, 0, hash_short(e->name, strlen(e->name), 0));
		size_t n = shape_elements(&e->shape), from = n / (size_t)parts * (size_t)part;
		size_t to = part + 1 == parts ? n : from + n / (size_t)parts;

		for (size_t j = from; j < to; j++) {
			float x = e->shape.n > 1 ? 0.02F * random_normal(&r, 0, j) : 1;

			if (w->weights == DTYPE_BF16)
				((uint16_t *)e->data)[j] = bf16_from_f32(x);
			else
				((float *)e->data)[j] = x;
		}
	}
}

/* The parameters, all of the chosen dtype. */
static int declare_weights(struct work *w)
{
	struct store *declared;
	int result = store_new(&declared);

	if (result == 0)
		result = lm_declare(declared, &w->config);
	for (size_t i = 0; result == 0 && i < store_n(declared); i++) {
		const struct store_entry *e = store_at(declared, i);

		if (!store_add(w->store, e->name, STORE_PARAMETER, w->weights, &e->shape))
			result = -1;
	}
	store_free(declared);
	return result;
}

static int make_weights(struct work *w)
{
	if (declare_weights(w) < 0)
		return -1;
	for (size_t i = 0; i < store_n(w->store); i++)
		if (store_allocate(w->store, store_at(w->store, i)) < 0)
			return -1;
	team_run(w->team, fill_part, w);
	for (size_t i = 0; i < store_n(w->store); i++)
		store_touch(store_at(w->store, i));
	return 0;
}

static void make_batch(struct work *w)
{
	struct trainer_batch b = trainer_batch(w->trainer);
	struct random_stream r = random_at(2, 0, 0);

	for (size_t i = 0; i < w->options.tokens; i++) {
		b.ids[i] = (int32_t)random_below(&r, 0, i, w->config.vocab_size);
		b.positions[i] = (int32_t)(i % w->length);
		b.documents[i] = (int32_t)(i / w->length);
	}
	for (size_t i = 0; i < w->options.tokens; i++)
		b.targets[i] = (i + 1) % w->length ? b.ids[i + 1] : -1;
}

static int begin(struct work *w, const char *path, int threads)
{
	if (arena_new(&w->arena) < 0 || hf_config_read(&w->config, w->arena, path) < 0 ||
	    store_new(&w->store) < 0 || team_new(&w->team, threads) < 0 || make_weights(w) < 0)
		return -1;
	w->options.team = w->team;
	w->options.tokens = w->sequences * w->length;
	if (trainer_new(&w->trainer, &w->config, w->store, &w->options) < 0)
		return -1;
	make_batch(w);
	return 0;
}

/* --- what is asked --- */

static int do_step(struct work *w, double *seconds, struct trainer_result *r)
{
	uint64_t start = clock_ns();

	if (trainer_begin(w->trainer, ++w->step, w->sequences * (w->length - 1)) < 0 ||
	    trainer_micro(w->trainer) < 0 || trainer_end(w->trainer, 3e-4, r) < 0)
		return -1;
	*seconds = clock_seconds(start, clock_ns());
	return 0;
}

/* Measured here once: multiplications and additions, and bytes streamed, as show-graph takes them. */
static int find_limits(struct work *w)
{
	struct roof *roof;
	struct roof_floor floor;
	enum level level;
	const char *word;
	int result;

	if (w->limits.operations > 0)
		return 0;
	if (level_choose(&level, &word) < 0 || roof_new(&roof, level, w->team) < 0)
		return -1;
	w->limits.operations = roof_operations(roof, PEAK_F32).median;
	if (roof_operations(roof, PEAK_BF16).n)
		w->limits.operations_half = roof_operations(roof, PEAK_BF16).median;
	result = roof_streams(roof, (const int[]){ 2, 0, 1 }, (size_t)256 << 20, true, &floor);
	for (int i = 0; i < 3 && result == 0; i++) {
		double rate = floor.moved / roof_floor_run(&floor);

		w->limits.bytes = rate > w->limits.bytes ? rate : w->limits.bytes;
	}
	roof_free(roof);
	return result;
}

static int print_stats(struct work *w)
{
	struct plan *plans[] = { trainer_plan(w->trainer), trainer_update_plan(w->trainer) };
	struct trainer_result r;
	struct buffer b = { 0 };
	double seconds;
	int result = -1;

	if (find_limits(w) < 0)
		return -1;
	plan_measure(plans[0], true);
	plan_measure(plans[1], true);
	if (do_step(w, &seconds, &r) == 0 && stats_print(plans[0], &w->limits, &b) == 0 &&
	    stats_print(plans[1], &w->limits, &b) == 0 &&
	    trainer_print_memory(w->trainer, &b) == 0) {
		fwrite(b.data, 1, b.size, stderr);
		result = 0;
	}
	plan_measure(plans[0], false);
	plan_measure(plans[1], false);
	buffer_free(&b);
	return result;
}

static int answer(struct work *w, const char *line)
{
	struct trainer_result r;
	double seconds;

	if (strncmp(line, "step", 4) == 0) {
		if (do_step(w, &seconds, &r) < 0)
			return -1;
		printf("%.6f %.6f\n", seconds, r.loss);
	} else if (strncmp(line, "stats", 5) == 0) {
		if (print_stats(w) < 0)
			return -1;
		puts("done");
	} else {
		if (find_limits(w) < 0)
			return -1;
		printf("%.0f\n", w->limits.operations);
	}
	return fflush(stdout) ? err_system("stdout") : 0;
}

static void end(struct work *w)
{
	trainer_free(w->trainer);
	store_free(w->store);
	team_free(w->team);
	arena_free(w->arena);
}

int main(int argc, char **argv)
{
	struct work w = { .weights = DTYPE_F32,
			  .options = { .compute = DTYPE_F32,
				       .optimizer = TRAINER_ADAMW,
				       .beta1 = 0.9,
				       .beta2 = 0.999,
				       .eps = 1e-8,
				       .weight_decay = 0.01,
				       .clip = 1,
				       .seed = 1 } };
	int c, threads = 2, result;
	char line[64];

	while ((c = getopt(argc, argv, "bwj:r:")) != -1) {
		switch (c) {
		case 'b': w.options.compute = DTYPE_BF16; break;
		case 'w':
			w.weights = DTYPE_BF16;
			w.options.stochastic = true;
			break;
		case 'j': threads = (int)strtol(optarg, NULL, 10); break;
		case 'r': w.options.recompute_blocks = strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (argc - optind != 3)
		return 2;
	w.sequences = strtoul(argv[optind + 1], NULL, 10);
	w.length = strtoul(argv[optind + 2], NULL, 10);
	result = begin(&w, argv[optind], threads);
	if (result == 0) {
		puts("ready");
		fflush(stdout);
	}
	while (result == 0 && fgets(line, sizeof(line), stdin))
		result = answer(&w, line);
	if (result < 0)
		fprintf(stderr, "train-lm: %s\n", err_text());
	end(&w);
	return result < 0 ? 2 : 0;
}
