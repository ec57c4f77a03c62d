/*
 * tests/unit/test_feed.c - rows of steps: every window once an epoch, targets one on, documents apart, padding without targets
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/train/feed.h"
#include "tests/tap.h"

#define ROWS 64

static int32_t ids[ROWS], targets[ROWS], positions[ROWS], documents[ROWS];
static const struct trainer_batch rows = { ids, targets, positions, documents };

/* Documents of the given lengths; ids count on from 1. */
static const char *make(const char *name, const size_t *lengths, size_t n)
{
	struct token_header h = {
		.vocab = 1000, .bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE
	};
	struct token_pack_options o = { .learnt = ROLES_ALL };
	struct token_pack_writer *w = NULL;
	const char *path = tap_path(name);
	struct outfile *f;
	uint32_t id = 1;
	int failed = outfile_new(&f, path) || token_pack_new(&w, f, &h, &o, path);

	for (size_t i = 0; i < n && !failed; i++) {
		for (size_t k = 0; k < lengths[i] && !failed; k++, id++)
			failed = token_pack_add(w, &id, 1);
		failed = failed || token_pack_end_document(w);
	}
	failed = failed || token_pack_end(w) || outfile_commit(f);
	token_pack_free(w);
	tap_ok(!failed, "%s", name);
	return path;
}

static struct feed *open_feed(const char *path, uint32_t length, size_t sequences, bool apart)
{
	struct feed *f = NULL;

	tap_works(feed_open(&f, path,
			    &(struct feed_options){ .length = length,
						    .sequences = sequences,
						    .seed = 3,
						    .apart = apart }),
		  "a feed");
	return f;
}

static void is_row(const int32_t *got, const int32_t *want, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (got[i] != want[i]) {
			tap_ok(false, "%s: place %zu is %d, not %d", what, i, got[i], want[i]);
			return;
		}
	tap_ok(true, "%s", what);
}

/* 13 tokens, windows of 4: three in an epoch, each once, whatever the step's size. */
static void test_epoch(void)
{
	struct feed *f = open_feed(make("epoch", (size_t[]){ 13 }, 1), 4, 1, false);
	int seen[4] = { 0 };
	uint64_t n;

	tap_is_u64(feed_epoch(f), 3, "windows");
	for (uint64_t step = 1; step <= 6; step++) {
		tap_works(feed_step(f, step, 0, &n), "step %d", (int)step);
		tap_is_u64(n, 4, "targets");
		feed_fill(f, 0, 1, 4, &rows);
		seen[(ids[0] - 1) / 4]++;
		for (int i = 0; i < 4; i++)
			tap_ok(targets[i] == ids[i] + 1, "one on");
	}
	tap_ok(seen[0] == 2 && seen[1] == 2 && seen[2] == 2, "two epochs");
	feed_close(f);
}

/* Steps of two windows are those of steps of one, two by two; a skip moves on. */
static void test_places(void)
{
	const char *path = make("places", (size_t[]){ 41 }, 1);
	struct feed *one = open_feed(path, 4, 1, false), *two = open_feed(path, 4, 2, false);
	int32_t first[8];
	uint64_t n;

	for (uint64_t step = 1; step <= 5; step++) {
		for (uint64_t k = 0; k < 2; k++) {
			tap_works(feed_step(one, 2 * step - 1 + k, 0, &n), "one");
			feed_fill(one, 0, 1, 4, &rows);
			memcpy(first + 4 * k, ids, 4 * sizeof(*ids));
		}
		tap_works(feed_step(two, step, 0, &n), "two");
		feed_fill(two, 0, 2, 8, &rows);
		is_row(ids, first, 8, "the same windows");
		tap_ok(documents[3] != documents[4], "windows have numbers of their own");
		tap_ok(positions[3] == 3 && positions[4] == 0, "and positions");
	}
	tap_works(feed_step(two, 1, 2, &n), "skipped");
	feed_fill(two, 0, 2, 8, &rows);
	memcpy(first, ids, sizeof(first));
	tap_works(feed_step(two, 2, 0, &n), "the next");
	feed_fill(two, 0, 2, 8, &rows);
	is_row(ids, first, 8, "a skip of a step's windows is the next step");
	feed_close(one);
	feed_close(two);
}

/* Documents of 3 and 4 tokens in one window of 6. */
static void test_apart(void)
{
	const char *path = make("apart", (size_t[]){ 3, 4 }, 2);
	struct feed *f = open_feed(path, 6, 1, true);
	uint64_t n;

	tap_works(feed_step(f, 1, 0, &n), "a step");
	feed_fill(f, 0, 1, 8, &rows);
	is_row(ids, (int32_t[]){ 1, 2, 3, 4, 5, 6, 0, 0 }, 8, "ids");
	is_row(targets, (int32_t[]){ 2, 3, -1, 5, 6, 7, -1, -1 }, 8,
	       "the first token of a document is no target");
	is_row(positions, (int32_t[]){ 0, 1, 2, 0, 1, 2 }, 6, "positions begin anew");
	tap_ok(documents[2] != documents[3] && documents[0] == documents[2], "numbers");
	tap_ok(documents[6] != documents[5], "padding has its own");
	tap_is_u64(n, 5, "targets");
	feed_close(f);
	f = open_feed(path, 6, 1, false);
	tap_works(feed_step(f, 1, 0, &n), "together");
	feed_fill(f, 0, 1, 6, &rows);
	is_row(targets, (int32_t[]){ 2, 3, 4, 5, 6, 7 }, 6, "with all targets");
	is_row(positions, (int32_t[]){ 0, 1, 2, 3, 4, 5 }, 6, "positions go on");
	tap_ok(documents[0] == documents[5], "one number");
	feed_close(f);
}

static void test_pass(void)
{
	struct feed *f = open_feed(make("pass", (size_t[]){ 14 }, 1), 4, 3, false);
	uint64_t targets_read, all = 0;
	size_t n;

	tap_works(feed_pass(f, 0, &n, &targets_read), "the first");
	tap_is_u64(n, 3, "three windows");
	all += targets_read;
	feed_fill(f, 0, 3, 12, &rows);
	is_row(ids, (int32_t[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, 12, "in order");
	tap_works(feed_pass(f, 3, &n, &targets_read), "the rest");
	tap_is_u64(n, 1, "one window");
	all += targets_read;
	feed_fill(f, 0, 3, 12, &rows);
	is_row(targets, (int32_t[]){ 14, -1, -1, -1, -1, -1, -1, -1 }, 8, "padded");
	tap_is_u64(all, 13, "every token but the first is a target");
	tap_works(feed_pass(f, 4, &n, &targets_read), "past the end");
	tap_is_u64(n, 0, "nothing");
	feed_close(f);
}

static void test_empty(void)
{
	struct feed *f;

	tap_fails(feed_open(&f, make("empty", (size_t[]){ 1 }, 1),
			    &(struct feed_options){ .length = 4, .sequences = 1 }),
		  ERR_ARGUMENT, "has no window", "one token");
}

int main(void)
{
	tap_run(test_epoch);
	tap_run(test_places);
	tap_run(test_apart);
	tap_run(test_pass);
	tap_run(test_empty);
	return tap_done();
}
