/*
 * tests/peer/checkpoint.c - checkpoints of a model beside a plain writer of as many bytes, in turn
 *
 *	checkpoint CONFIG.json FOLDER [ROUNDS]
 *
 * A round is a checkpoint of the model with AdamW's state, with the removal of the one before it, and a plain file of the same bytes, in
 * the way of `dd bs=8M oflag=direct conv=fsync` but from huge pages, which the disk takes twice as fast; its removal is not counted.
 * Printed: seconds of each, and at the end MB a second and the ratio of the rounds' ratios. FOLDER must not be there. Exit 0, or 2.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/timing.h"
#include "lib/model/lm.h"
#include "lib/model/lm_rules.h"
#include "lib/train/run_folder.h"

#define WRITE  ((size_t)8 << 20)
#define ROUNDS 20

enum way { CHECKPOINT, PLAIN, WAYS };

static const char *const names[WAYS] = { "checkpoint", "plain" };

struct work {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
	struct bind_rules rules;
	struct run_folder *folder;
	struct run_state state;
	size_t bytes;
	void *block; /* WRITE bytes */
	char *path;
};

static int check(int result, const char *what)
{
	return result < 0 ? err_system("%s", what) : 0;
}

/* Values that no disk makes smaller. */
static void fill(struct store_entry *e)
{
	uint32_t x = (uint32_t)e->place + 1;

	for (size_t i = 0; i < e->size / 4; i++)
		((uint32_t *)e->data)[i] = (x = x * 1664525 + 1013904223) >> 3;
	store_touch(e);
}

static int add_state(struct work *w, size_t i, const char *suffix)
{
	return store_beside(w->store, store_at(w->store, i), suffix, DTYPE_F32) ? 0 : -1;
}

static int begin(struct work *w, const char *config, const char *folder)
{
	enum run_found found;
	size_t n;

	if (arena_new(&w->arena) < 0 || hf_config_read(&w->config, w->arena, config) < 0 ||
	    store_new(&w->store) < 0 || lm_declare(w->store, &w->config) < 0 ||
	    lm_rules(&w->rules, w->arena, &w->config, MODEL_FOLDER, true) < 0)
		return -1;
	n = store_n(w->store);
	for (size_t i = 0; i < n; i++)
		if (add_state(w, i, "first") < 0 || add_state(w, i, "second") < 0)
			return -1;
	for (size_t i = 0; i < store_n(w->store); i++) {
		if (store_allocate(w->store, store_at(w->store, i)) < 0)
			return -1;
		fill(store_at(w->store, i));
		w->bytes += store_at(w->store, i)->size;
	}
	w->block = mem_pages(WRITE);
	w->path = mem_format("%s/plain", folder);
	if (!w->block || !w->path)
		return -1;
	memcpy(w->block, store_at(w->store, 0)->data, WRITE);
	return run_folder_open(&w->folder, folder, false, &found);
}

static void end(struct work *w)
{
	run_folder_close(w->folder);
	store_free(w->store);
	arena_free(w->arena);
	free(w->block);
	free(w->path);
}

static int checkpoint(struct work *w)
{
	const struct run_checkpoint c = {
		.config = &w->config, .store = w->store, .rules = &w->rules, .state = &w->state
	};

	w->state.step++;
	return run_folder_checkpoint(w->folder, &c) < 0 ? -1 : run_folder_keep(w->folder, 1);
}

static int write_all(int fd, const struct work *w)
{
	for (size_t at = 0; at < w->bytes; at += WRITE)
		if (check(write(fd, w->block, WRITE) == (ssize_t)WRITE ? 0 : -1, w->path) < 0)
			return -1;
	return check(fsync(fd), w->path);
}

static int plain(struct work *w)
{
	int fd = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0666), result;

	if (check(fd, w->path) < 0)
		return -1;
	result = write_all(fd, w);
	close(fd);
	return result;
}

static int run(struct work *w, enum way way)
{
	return way == CHECKPOINT ? checkpoint(w) : plain(w);
}

static int measure(struct work *w, int rounds)
{
	static double seconds[WAYS][ROUNDS], scratch[ROUNDS];
	struct spread ratio;

	for (int i = 0; i < rounds; i++)
		for (int k = 0; k < WAYS; k++) {
			uint64_t start = clock_ns();

			if (run(w, (enum way)k) < 0)
				return -1;
			seconds[k][i] = clock_seconds(start, clock_ns());
			unlink(w->path);
			printf("%-10s %.3f s\n", names[k], seconds[k][i]);
			fflush(stdout);
		}
	ratio = timing_ratio(seconds[PLAIN], seconds[CHECKPOINT], (size_t)rounds, scratch);
	for (int k = 0; k < WAYS; k++) {
		struct spread s = timing_spread(seconds[k], (size_t)rounds);

		printf("%-10s %.0f MB/s (%.0f to %.0f), of %.0f MB\n", names[k],
		       (double)w->bytes / s.median * 1e-6, (double)w->bytes / s.high * 1e-6,
		       (double)w->bytes / s.low * 1e-6, (double)w->bytes * 1e-6);
	}
	printf("a checkpoint has %.2f (%.2f to %.2f) of the plain rate\n", ratio.median, ratio.low,
	       ratio.high);
	return 0;
}

int main(int argc, char **argv)
{
	struct work w = { 0 };
	int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5, result;

	if (argc < 3 || rounds < 1 || rounds > ROUNDS) {
		fprintf(stderr, "usage: checkpoint CONFIG.json FOLDER [ROUNDS, at most %d]\n",
			ROUNDS);
		return 2;
	}
	result = begin(&w, argv[1], argv[2]);
	if (result == 0)
		result = measure(&w, rounds);
	if (result < 0)
		fprintf(stderr, "checkpoint: %s\n", err_text());
	end(&w);
	return result < 0 ? 2 : 0;
}
