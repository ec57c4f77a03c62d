/* lib/data/windows: which tokens a window has, and that each has its turn. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/windows.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokens/"

static struct windows *new_windows(const struct token_pack *p, uint32_t length, enum token_fit fit,
				   bool apart)
{
	struct windows_options o = { .length = length, .fit = fit, .seed = 1, .apart = apart };
	struct windows *w = NULL;

	tap_works(windows_new(&w, p, &o), "windows");
	return w;
}

/* ids, then :documents, then :learnt, a digit each. */
static void is_window(const struct windows *w, uint64_t i, uint32_t length, const char *want)
{
	uint32_t ids[16], documents[16];
	struct buffer b = { 0 };
	uint8_t learnt[16];

	memset(learnt, 9, sizeof(learnt));
	tap_works(windows_get(w, i, ids, documents, learnt), "window %u", (unsigned)i);
	for (uint32_t t = 0; t <= length; t++)
		buffer_format(&b, "%u", (unsigned)ids[t]);
	buffer_put_text(&b, ":");
	for (uint32_t t = 0; t <= length; t++)
		buffer_format(&b, "%u", (unsigned)documents[t]);
	buffer_put_text(&b, ":");
	for (uint32_t t = 0; t < length; t++)
		buffer_format(&b, "%u", (unsigned)learnt[t]);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "window %u", (unsigned)i);
	buffer_free(&b);
}

static void has_counts(const struct windows *w, uint64_t n, uint64_t targets, uint64_t lost,
		       uint64_t cut)
{
	struct windows_counts c;

	tap_works(windows_count(w, &c), "count");
	tap_is_u64(c.windows, n, "windows");
	tap_is_u64(c.targets, targets, "targets");
	tap_is_u64(c.lost, lost, "lost");
	tap_is_u64(c.cut, cut, "cut");
	tap_is_u64(windows_n(w), n, "windows_n");
}

/* [1 2 3] [4 5 6 7] [] [8]. C14: the first token of a document is no target of the one before. */
static void test_C14_cut(void)
{
	struct token_pack *p;
	struct windows *w;

	tap_works(token_pack_open(&p, GOOD "plain.tok"), "open");
	w = new_windows(p, 4, FIT_CUT, true);
	is_window(w, 0, 4, "12345:00011:1101");
	is_window(w, 1, 4, "56780:00012:1100");
	has_counts(w, 2, 5, 0, 1);
	windows_free(w);
	w = new_windows(p, 4, FIT_NONE, false);
	is_window(w, 0, 4, "12345:00000:1111");
	is_window(w, 1, 4, "56780:00001:1110");
	has_counts(w, 2, 7, 0, 1);
	windows_free(w);
	w = new_windows(p, 7, FIT_CUT, false);
	is_window(w, 0, 7, "12345678:00000000:1111111");
	has_counts(w, 1, 7, 0, 0);
	windows_free(w);
	token_pack_close(p);
}

static void test_C14_best_and_one(void)
{
	struct token_pack *p;
	struct windows *w;

	tap_works(token_pack_open(&p, GOOD "plain.tok"), "open");
	/* Room for 7: the document of 4, then that of 3; the one of 1 has no target. */
	w = new_windows(p, 6, FIT_BEST, true);
	is_window(w, 0, 6, "4567123:0000111:111011");
	has_counts(w, 1, 5, 1, 0);
	windows_free(w);
	/* Room for 3: the document of 4 is cut into 4 5 6 and 6 7. */
	w = new_windows(p, 2, FIT_BEST, true);
	is_window(w, 0, 2, "123:000:11");
	is_window(w, 1, 2, "456:000:11");
	is_window(w, 2, 2, "670:001:10");
	has_counts(w, 3, 5, 1, 1);
	windows_free(w);
	w = new_windows(p, 2, FIT_ONE, true);
	is_window(w, 0, 2, "123:000:11");
	is_window(w, 1, 2, "456:000:11");
	is_window(w, 2, 2, "000:000:00");
	is_window(w, 3, 2, "800:011:00");
	has_counts(w, 4, 4, 1, 1);
	windows_free(w);
	token_pack_close(p);
}

/* 9 1 2 9 3 4 0 | 5 6 7: scaffold, user, text, assistant | prompt, completion. */
static void test_roles(void)
{
	struct token_pack *p;
	struct windows *w;

	tap_works(token_pack_open(&p, GOOD "chat.tok"), "open");
	w = new_windows(p, 9, FIT_CUT, true);
	is_window(w, 0, 9, "9129340567:0000000111:001111001");
	windows_free(w);
	w = new_windows(p, 3, FIT_ONE, true);
	is_window(w, 0, 3, "9129:0000:001");
	is_window(w, 1, 3, "5670:0001:010");
	windows_free(w);
	token_pack_close(p);
}

static void test_refused(void)
{
	struct windows_options o = { 0 };
	struct token_pack *p;
	struct windows *w;
	uint32_t ids[5];

	tap_works(token_pack_open(&p, GOOD "plain.tok"), "open");
	tap_fails(windows_new(&w, p, &o), ERR_ARGUMENT, "1 to 2^24", "a length of 0");
	o.length = WINDOW_LENGTH_MAX + 1;
	tap_fails(windows_new(&w, p, &o), ERR_ARGUMENT, "1 to 2^24", "a length too large");
	o.length = 4;
	tap_works(windows_new(&w, p, &o), "new");
	tap_fails(windows_get(w, 2, ids, NULL, NULL), ERR_ARGUMENT, "window 2 of 2",
		  "past the last");
	windows_free(w);
	token_pack_close(p);
	tap_works(token_pack_open(&p, GOOD "nothing.tok"), "nothing");
	for (int fit = FIT_CUT; fit < N_FITS; fit++) {
		w = new_windows(p, 4, (enum token_fit)fit, true);
		has_counts(w, 0, 0, 0, 0);
		windows_free(w);
	}
	token_pack_close(p);
}

/* --- many documents ------------------------------------------------------------------------- */

#define N_DOCUMENTS 2000

static uint32_t length_of(uint32_t i)
{
	return i * 2654435761u % 97 + (i % 50 == 0) * 400;
}

/* Token t of the file is t + 1, so that a window tells where it is from. */
static struct token_pack *many(uint64_t *n_tokens)
{
	struct token_pack_options o = { .learnt = ROLES_ALL };
	struct token_header h = {
		.vocab = 1 << 20, .bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = 0
	};
	const char *path = tap_path("many.tok");
	struct token_pack_writer *w;
	struct token_pack *p;
	struct outfile *f;
	uint32_t next = 1;
	int failed;

	failed = outfile_new(&f, path) || token_pack_new(&w, f, &h, &o, path);
	for (uint32_t i = 0; i < N_DOCUMENTS && !failed; i++) {
		for (uint32_t t = 0; t < length_of(i) && !failed; t++, next++)
			failed = token_pack_add(w, &next, 1);
		failed = failed || token_pack_end_document(w);
	}
	failed = failed || token_pack_end(w) || outfile_commit(f) || token_pack_open(&p, path);
	tap_ok(!failed, "a file of %d documents", N_DOCUMENTS);
	if (failed)
		exit(1);
	token_pack_free(w);
	*n_tokens = next - 1;
	return p;
}

/* How often each token is a target, over all windows; SEEN has a place a token. */
static void count_targets(const struct windows *w, uint32_t length, uint8_t *seen)
{
	uint32_t *ids = mem_new(length + 1, sizeof(*ids));
	uint8_t *learnt = mem_new(length, 1);

	for (uint64_t i = 0; i < windows_n(w); i++) {
		if (windows_get(w, i, ids, NULL, learnt) != 0)
			tap_ok(false, "window %u: %s", (unsigned)i, err_text());
		for (uint32_t t = 0; t < length; t++)
			if (learnt[t])
				seen[ids[t + 1]]++;
	}
	free(ids);
	free(learnt);
}

static void each_token_once(enum token_fit fit, bool apart, uint32_t length)
{
	uint64_t n, wrong = 0, targets = 0, at = 1;
	struct token_pack *p = many(&n);
	struct windows *w = new_windows(p, length, fit, apart);
	uint8_t *seen = mem_new((size_t)n + 1, 1);
	struct windows_counts c;

	count_targets(w, length, seen);
	/* Apart, the first token of a document is no target; else only the first of all is none. */
	for (uint32_t i = 0; i < N_DOCUMENTS; at += length_of(i++)) {
		for (uint32_t t = 0; t < length_of(i); t++) {
			wrong += seen[at + t] != (t > 0 || (!apart && at > 1));
			targets += seen[at + t];
		}
	}
	tap_is_u64(wrong, 0, "each token is a target once");
	tap_works(windows_count(w, &c), "count");
	tap_is_u64(c.targets, targets, "and so many are counted");
	free(seen);
	windows_free(w);
	token_pack_close(p);
}

static void test_each_token_once(void)
{
	each_token_once(FIT_CUT, true, 64);
	each_token_once(FIT_CUT, false, 63);
	each_token_once(FIT_BEST, true, 128);
	each_token_once(FIT_BEST, true, 1000);
	each_token_once(FIT_BEST, true, 1);
	each_token_once(FIT_ONE, true, 600);
}

/* Best-fit decreasing, the slow way: the windows must be no other. */
static void test_best_is_best(void)
{
	uint32_t length = 200, room = length + 1, left[N_DOCUMENTS] = { 0 };
	uint64_t n, n_windows = 0, unlike = 0;
	struct token_pack *p = many(&n);
	struct windows *w = new_windows(p, length, FIT_BEST, true);
	struct windows_counts c;
	uint64_t largest = 0;

	for (uint32_t size = room; size > 1; size--) {
		for (uint32_t i = 0; i < N_DOCUMENTS; i++) {
			uint32_t l = length_of(i);

			/* What is longer than a window goes in steps of LENGTH; its rest is a piece too. */
			for (; l > 1; l = l > room ? l - length : 0) {
				uint32_t piece = l > room ? room : l, best = UINT32_MAX;

				if (piece != size)
					continue;
				for (uint32_t k = 0; k < n_windows; k++)
					if (left[k] >= piece &&
					    (best == UINT32_MAX || left[k] < left[best]))
						best = k;
				if (best == UINT32_MAX)
					left[best = (uint32_t)n_windows++] = room;
				left[best] -= piece;
			}
		}
	}
	tap_is_u64(windows_n(w), n_windows, "as many windows as the slow way makes");
	for (uint64_t i = 0; i < windows_n(w); i++) {
		uint32_t ids[201], documents[201];

		unlike += windows_get(w, i, ids, documents, NULL) != 0;
		largest = documents[length] > largest ? documents[length] : largest;
	}
	tap_is_u64(unlike, 0, "all are there");
	tap_works(windows_count(w, &c), "count");
	tap_ok(c.targets * 100 > c.windows * length * 95, "and they are 95 %% full: %.1f %%",
	       100.0 * (double)c.targets / (double)(c.windows * length));
	tap_ok(largest > 2, "some hold several documents");
	windows_free(w);
	token_pack_close(p);
}

/* --- C11 ----------------------------------------------------------------------------------------- */

/* READERS readers take turns at an epoch; SEEN counts each window. The order goes to ORDER. */
static void read_epoch(const struct windows *w, uint64_t epoch, uint64_t readers, uint8_t *seen,
		       uint64_t *order)
{
	uint64_t n = windows_n(w);

	for (uint64_t r = 0; r < readers; r++)
		for (uint64_t k = r; k < n; k += readers) {
			order[k] = windows_at(w, epoch, k);
			seen[order[k]]++;
		}
}

static void test_C11_once_an_epoch(void)
{
	uint64_t n_tokens, n, wrong = 0, moved = 0, *order[3];
	struct token_pack *p = many(&n_tokens);
	struct windows *w = new_windows(p, 100, FIT_CUT, true), *again;
	struct windows_options other = { .length = 100, .seed = 2 };
	uint8_t *seen;

	n = windows_n(w);
	seen = mem_new((size_t)n, 1);
	for (int i = 0; i < 3; i++)
		order[i] = mem_new((size_t)n, sizeof(uint64_t));
	for (uint64_t readers = 1; readers < 5; readers++) {
		memset(seen, 0, (size_t)n);
		read_epoch(w, 0, readers, seen, order[readers > 1]);
		for (uint64_t i = 0; i < n; i++)
			wrong += seen[i] != 1 || order[0][i] != order[readers > 1][i];
	}
	tap_is_u64(wrong, 0, "each window once an epoch, in one order for 1 to 4 readers");
	memset(seen, 0, (size_t)n);
	read_epoch(w, 1, 4, seen, order[1]);
	tap_works(windows_new(&again, p, &other), "another seed");
	read_epoch(again, 0, 1, seen, order[2]);
	for (uint64_t i = 0; i < n; i++) {
		wrong += seen[i] != 2;
		moved += order[1][i] != order[0][i];
		moved += order[2][i] != order[0][i];
	}
	tap_is_u64(wrong, 0, "in the second epoch and under another seed too");
	tap_ok(moved > 2 * n * 9 / 10, "in another order");
	for (int i = 0; i < 3; i++)
		free(order[i]);
	free(seen);
	windows_free(again);
	windows_free(w);
	token_pack_close(p);
}

int main(void)
{
	tap_run(test_C14_cut);
	tap_run(test_C14_best_and_one);
	tap_run(test_roles);
	tap_run(test_refused);
	tap_run(test_each_token_once);
	tap_run(test_best_is_best);
	tap_run(test_C11_once_an_epoch);
	return tap_done();
}
