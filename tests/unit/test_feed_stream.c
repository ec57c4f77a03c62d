/*
 * tests/unit/test_feed_stream.c - rows of steps from a token stream: the windows of the same documents packed, spans shuffled in themselves,
 * steps that do not depend on where reading began, ends
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/data/stream_windows.h"
#include "lib/data/windows.h"
#include "lib/train/feed.h"
#include "tests/tap.h"

#define EOS  999
#define ROWS 256

static int32_t ids[ROWS], targets[ROWS], positions[ROWS], documents[ROWS];
static const struct trainer_batch rows = { ids, targets, positions, documents };
static const struct token_header header = {
	.vocab = 1000, .bos = TOKEN_NONE, .eos = EOS, .pad = 998
};

struct document_plan {
	size_t length;
	struct token_run run; /* length 0: none */
	bool ends;	      /* its last id is eos */
};

static uint32_t id_of(const struct document_plan *d, size_t k, uint32_t id)
{
	return d->ends && k + 1 == d->length ? EOS : id % 900;
}

static int append(void *arg, const void *data, size_t n)
{
	buffer_put(arg, data, n);
	return 0;
}

/* Ids count on from 1, over all documents. */
static int write_stream(struct buffer *b, const struct document_plan *d, size_t n)
{
	struct token_writer *w = NULL;
	uint32_t id = 1;
	int failed = token_writer_new(&w, &header, append, b);

	for (size_t i = 0; i < n && !failed; i++) {
		for (size_t k = 0; k < d[i].length && !failed; k++) {
			uint32_t one = id_of(&d[i], k, id++);

			failed = token_writer_add(w, &one, 1);
		}
		if (d[i].run.length && !failed)
			failed = token_writer_run(w, &d[i].run);
		failed = failed || token_writer_end_document(w);
	}
	failed = failed || token_writer_end(w);
	token_writer_free(w);
	return failed;
}

/* CUT bytes are left out at the end. */
static const char *make_stream(const char *name, const struct document_plan *d, size_t n,
			       size_t cut)
{
	struct buffer b = { 0 };
	const char *path;

	tap_ok(write_stream(&b, d, n) == 0, "%s", name);
	path = tap_file(name, b.data, b.size - cut);
	buffer_free(&b);
	return path;
}

/* As pack-tokens writes them: eos after each document that has tokens. */
static const char *make_pack(const char *name, const struct document_plan *d, size_t n)
{
	struct token_pack_options o = { .learnt = ROLES_LEARNT };
	struct token_pack_writer *w = NULL;
	const char *path = tap_path(name);
	struct outfile *f;
	uint32_t id = 1;
	int failed = outfile_new(&f, path) || token_pack_new(&w, f, &header, &o, path);

	for (size_t i = 0; i < n && !failed; i++) {
		for (size_t k = 0; k < d[i].length && !failed; k++) {
			uint32_t one = id_of(&d[i], k, id++);

			failed = token_pack_add(w, &one, 1);
		}
		if (d[i].run.length && !failed)
			failed = token_pack_add_run(w, &d[i].run);
		if (d[i].length && !d[i].ends && !failed)
			failed = token_pack_add_separator(w, EOS);
		failed = failed || token_pack_end_document(w);
	}
	failed = failed || token_pack_end(w) || outfile_commit(f);
	token_pack_free(w);
	tap_ok(!failed, "%s", name);
	return path;
}

static const struct document_plan plan[] = {
	{ 3, { 0 }, false },
	{ 0, { 0 }, false },
	{ 11, { 2, 5, ROLE_PROMPT }, false },
	{ 1, { 0 }, false },
	{ 40, { 0 }, false },
	{ 8, { 0 }, true },
	{ 12, { 0, 12, ROLE_COMPLETION }, false },
	{ 5, { 1, 3, ROLE_USER }, false },
};
#define N_PLAN (sizeof(plan) / sizeof(plan[0]))

/* --- windows ---------------------------------------------------------------------------- */

struct window {
	uint32_t ids[8], documents[8];
	uint8_t learnt[7];
};

/* One span of all windows: each window of the packed file comes out exactly once. */
static void compare_windows(bool apart)
{
	struct window got, want;
	struct token_pack *p = NULL;
	struct windows *w = NULL;
	struct stream_windows *s = NULL;
	uint64_t n = 0, found = 0, seen = 0;

	tap_works(token_pack_open(&p, make_pack("pack", plan, N_PLAN)), "packed");
	tap_works(windows_new(&w, p, &(struct windows_options){ .length = 7, .apart = apart }),
		  "windows");
	tap_works(stream_windows_open(&s, make_stream("stream", plan, N_PLAN, 0),
				      &(struct stream_windows_options){
					      .length = 7, .span = 100, .apart = apart }),
		  "streamed");
	while (stream_windows_get(s, n, got.ids, got.documents, got.learnt) == 1) {
		for (uint64_t i = 0; i < windows_n(w); i++) {
			windows_get(w, i, want.ids, want.documents, want.learnt);
			if (!(seen >> i & 1) && memcmp(&got, &want, sizeof(got)) == 0) {
				seen |= (uint64_t)1 << i;
				found++;
				break;
			}
		}
		n++;
	}
	/* 79 tokens and 7 separators: 86 tokens, 13 windows of 7 and what follows. */
	tap_is_u64(windows_n(w), 13, "windows of the file");
	tap_is_u64(n, windows_n(w), "as many windows of the stream");
	tap_is_u64(found, n, "the same ones");
	stream_windows_close(s);
	windows_free(w);
	token_pack_close(p);
}

static void test_windows(void)
{
	compare_windows(false);
	compare_windows(true);
}

/* --- steps ------------------------------------------------------------------------------ */

static struct feed *open_stream(const char *path, uint32_t length, size_t sequences,
				uint64_t shuffle, bool apart)
{
	struct feed *f = NULL;

	tap_works(feed_open_stream(&f, path,
				   &(struct feed_options){ .length = length,
							   .sequences = sequences,
							   .seed = 5,
							   .apart = apart },
				   shuffle),
		  "a feed");
	return f;
}

/* 64 windows of 4: one document of 256 tokens and its separator. */
static const char *make_long(const char *name)
{
	return make_stream(name, (struct document_plan[]){ { 256, { 0 }, false } }, 1, 0);
}

/* The window's place in the stream, from its first id. */
static int place_of(size_t row)
{
	return (ids[row] - 1) / 4;
}

/* Spans of 16 windows over steps of 4: what is in 4 steps is what the span has, in another order; no window leaves its span. */
static void test_span(void)
{
	struct feed *f = open_stream(make_long("span"), 4, 4, 64, false);
	int seen[64] = { 0 };
	bool inside = true, in_order = true;
	int last = -1;
	uint64_t n;

	for (uint64_t step = 1; step <= 16; step++) {
		tap_works(feed_step(f, step, 0, &n), "step %d", (int)step);
		tap_is_u64(n, 16, "targets");
		feed_fill(f, 0, 4, 16, &rows);
		for (size_t i = 0; i < 16; i += 4) {
			int place = place_of(i);

			seen[place]++;
			inside = inside && place / 16 == ((int)step - 1) / 4;
			in_order = in_order && place > last;
			last = place;
		}
	}
	tap_ok(inside, "windows stay in their span");
	tap_ok(!in_order, "and are shuffled");
	for (int i = 0; i < 64; i++)
		if (seen[i] != 1)
			tap_ok(false, "window %d came %d times", i, seen[i]);
	feed_close(f);
}

/* Step 7, asked for first, has the rows that it has after six others; so has one that was skipped to. */
static void test_resume(void)
{
	const char *path = make_long("resume");
	struct feed *whole = open_stream(path, 4, 3, 40, false);
	struct feed *later = open_stream(path, 4, 3, 40, false);
	struct feed *moved = open_stream(path, 4, 3, 40, false);
	int32_t want[12];
	uint64_t n;

	for (uint64_t step = 1; step <= 7; step++)
		tap_works(feed_step(whole, step, 0, &n), "step %d", (int)step);
	feed_fill(whole, 0, 3, 12, &rows);
	memcpy(want, ids, sizeof(want));
	tap_works(feed_step(later, 7, 0, &n), "step 7 at once");
	feed_fill(later, 0, 3, 12, &rows);
	tap_ok(memcmp(ids, want, sizeof(want)) == 0, "the same rows");
	tap_works(feed_step(moved, 5, 6, &n), "step 5, moved on by 6 places");
	feed_fill(moved, 0, 3, 12, &rows);
	tap_ok(memcmp(ids, want, sizeof(want)) == 0, "the same rows again");
	tap_fails(feed_step(whole, 1, 0, &n), ERR_ARGUMENT, "read forwards", "back");
	tap_works(feed_step(whole, 8, 0, &n), "it goes on");
	feed_close(whole);
	feed_close(later);
	feed_close(moved);
}

/* Documents of 3 and 4 tokens, each and its separator in one window. */
static void test_apart(void)
{
	static const int32_t want_ids[] = { 1, 2, 3, EOS, 4, 5, 6, 7 };
	static const int32_t want_targets[] = { 2, 3, EOS, -1, 5, 6, 7, EOS };
	static const int32_t want_positions[] = { 0, 1, 2, 3, 0, 1, 2, 3 };
	const char *path = make_stream(
		"apart", (struct document_plan[]){ { 3, { 0 }, false }, { 4, { 0 }, false } }, 2,
		0);
	struct feed *f = open_stream(path, 8, 1, 0, true);
	uint64_t n;

	tap_works(feed_step(f, 1, 0, &n), "a step");
	feed_fill(f, 0, 1, 8, &rows);
	tap_ok(memcmp(ids, want_ids, sizeof(want_ids)) == 0, "ids");
	tap_ok(memcmp(targets, want_targets, sizeof(want_targets)) == 0, "targets");
	tap_ok(memcmp(positions, want_positions, sizeof(want_positions)) == 0, "positions");
	tap_ok(documents[3] == documents[0] && documents[4] != documents[3], "numbers");
	tap_is_u64(n, 7, "targets");
	feed_close(f);
}

/* --- ends ------------------------------------------------------------------------------- */

static void test_ended(void)
{
	struct feed *f = open_stream(make_long("ended"), 4, 5, 0, false);
	uint64_t n;

	for (uint64_t step = 1; step <= 12; step++)
		tap_works(feed_step(f, step, 0, &n), "step %d", (int)step);
	tap_ok(!feed_ended(f), "not ended");
	tap_fails(feed_step(f, 13, 0, &n), ERR_MISSING, "ended after 256 tokens, within step 13",
		  "64 windows are 12 steps of 5");
	tap_ok(feed_ended(f), "ended");
	tap_fails(feed_step(f, 14, 0, &n), ERR_MISSING, "within step 14", "nothing more");
	feed_close(f);
	f = open_stream(make_stream("nothing", NULL, 0, 0), 4, 1, 0, false);
	tap_fails(feed_step(f, 1, 0, &n), ERR_MISSING, "within step 1", "an empty stream");
	feed_close(f);
}

/* A stream that was cut is never one that has ended. */
static void test_cut(void)
{
	static const struct document_plan one[] = { { 256, { 0 }, false } };
	struct feed *f = open_stream(make_stream("cut", one, 1, 48), 4, 5, 0, false);
	uint64_t n;

	tap_fails(feed_step(f, 1, 0, &n), ERR_FORMAT, "cut", "the document's end is not there");
	tap_ok(!feed_ended(f), "that is no end");
	tap_fails(feed_step(f, 2, 0, &n), ERR_ARGUMENT, "failed before", "and stays so");
	feed_close(f);
	f = open_stream(make_stream("endless", one, 1, 40), 4, 5, 0, false);
	for (uint64_t step = 1; step <= 12; step++)
		tap_works(feed_step(f, step, 0, &n), "step %d", (int)step);
	tap_fails(feed_step(f, 13, 0, &n), ERR_FORMAT, "cut", "the end record is not there");
	tap_ok(!feed_ended(f), "that is no end");
	feed_close(f);
}

/* A document longer than what is held: its windows come before it ends; a role for what is in use is refused, for what is not it counts. */
static void test_long_document(void)
{
	size_t length = STREAM_WINDOWS_AHEAD + 30000;
	struct document_plan d[] = { { length, { 20000, 20000, ROLE_PROMPT }, false } };
	struct feed *f = open_stream(make_stream("late", d, 1, 0), 100, 1, 0, false);
	uint64_t n, step;

	d[0].run.start = length - 1000;
	d[0].run.length = 1000;
	for (step = 1; feed_step(f, step, 0, &n) == 0; step++)
		;
	tap_ok(step > 1, "%d steps before the document's end", (int)step - 1);
	tap_fails(feed_step(f, step, 0, &n), ERR_ARGUMENT, "failed before", "a late role");
	feed_close(f);
	f = open_stream(make_stream("last", d, 1, 0), 100, 1, 0, false);
	tap_works(feed_step(f, length / 100, 0, &n), "the last whole window");
	tap_is_u64(n, 0, "no target has a role that is learnt");
	tap_works(feed_step(f, length / 100 + 1, 0, &n), "the rest");
	tap_is_u64(n, 1, "the separator is one");
	feed_close(f);
}

static void test_refused(void)
{
	struct feed *f;

	tap_fails(feed_open_stream(
			  &f, make_long("fit"),
			  &(struct feed_options){ .length = 4, .sequences = 1, .fit = FIT_BEST },
			  0),
		  ERR_ARGUMENT, "packed file", "best fit of a stream");
	tap_fails(feed_open_stream(&f, tap_file("no", "no stream", 9),
				   &(struct feed_options){ .length = 4, .sequences = 1 }, 0),
		  ERR_FORMAT, "", "no stream");
}

int main(void)
{
	tap_run(test_windows);
	tap_run(test_span);
	tap_run(test_resume);
	tap_run(test_apart);
	tap_run(test_ended);
	tap_run(test_cut);
	tap_run(test_long_document);
	tap_run(test_refused);
	return tap_done();
}
