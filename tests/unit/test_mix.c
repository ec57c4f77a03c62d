/* lib/data/mix: exact proportions, and each window of a part once in its epoch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/mix.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokens/"

static const struct windows_options two = { .length = 2, .seed = 1, .apart = true };

/* NAME.tok with N tokens of one document, in the program's folder. */
static void make(const char *name, uint32_t vocab, uint32_t n)
{
	struct token_header h = {
		.vocab = vocab, .bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE
	};
	struct token_pack_options o = { .learnt = ROLES_ALL };
	struct token_pack_writer *w = NULL;
	struct outfile *f;
	uint32_t id = 1;
	int failed =
		outfile_new(&f, tap_path(name)) || token_pack_new(&w, f, &h, &o, tap_path(name));

	for (uint32_t i = 0; i < n && !failed; i++)
		failed = token_pack_add(w, &id, 1);
	failed = failed || token_pack_end_document(w) || token_pack_end(w) || outfile_commit(f);
	token_pack_free(w);
	tap_ok(!failed, "%s", name);
}

static int write_mix(const char *const *names, const uint32_t *weights, size_t n)
{
	const char *path = tap_path("a.mix");
	struct outfile *f;

	if (outfile_new(&f, path) != 0)
		return -1;
	if (mix_write(f, path, names, weights, n) != 0) {
		outfile_discard(f);
		return -1;
	}
	return outfile_commit(f);
}

/* Windows of 2: 50 of the first part, 7 of the second, 3 of the third. */
static struct mix *open_three(uint64_t seed)
{
	static const char *const names[] = { "x.tok", "y.tok", "z.tok" };
	static const uint32_t weights[] = { 5, 2, 1 };
	struct windows_options o = two;
	struct mix *m = NULL;

	o.seed = seed;
	make("x.tok", 10, 101);
	make("y.tok", 10, 15);
	make("z.tok", 10, 7);
	tap_works(write_mix(names, weights, 3), "write");
	tap_works(mix_open(&m, tap_path("a.mix"), &o), "open");
	return m;
}

static void test_proportions_are_exact(void)
{
	struct mix *m = open_three(1);
	uint64_t wrong = 0, count[3] = { 0 };

	tap_is_u64(mix_n_parts(m), 3, "parts");
	tap_is_u64(mix_weight(m, 1), 2, "a weight");
	for (uint64_t t = 0; t < 8000; t++) {
		count[mix_at(m, t).part]++;
		if (t % 8 == 7)
			wrong += count[0] != (t + 1) / 8 * 5 || count[1] != (t + 1) / 8 * 2 ||
				 count[2] != (t + 1) / 8;
	}
	tap_is_u64(wrong, 0, "5, 2 and 1 in each 8");
	mix_close(m);
}

/* C11 for each part: in the order of the mix, every window of an epoch comes before the next epoch's turn
   is over. */
static void test_C11_once_an_epoch(void)
{
	struct mix *m = open_three(1);
	uint64_t wrong = 0;

	for (size_t part = 0; part < 3; part++) {
		uint64_t n = windows_n(mix_windows(m, part));
		uint8_t *seen = mem_new((size_t)n * 3, 1);

		/* Blocks until three epochs of the part are over. */
		for (uint64_t t = 0; t < (3 * n / mix_weight(m, part) + 1) * 8; t++) {
			struct mix_place p = mix_at(m, t);

			if (p.part == part && p.epoch < 3)
				seen[p.epoch * n + p.window]++;
		}
		for (uint64_t i = 0; i < n * 3; i++)
			wrong += seen[i] != 1;
		free(seen);
	}
	tap_is_u64(wrong, 0, "each window of each part once in each of three epochs");
	mix_close(m);
}

static void test_order_follows_the_seed(void)
{
	struct mix *a = open_three(1), *b = open_three(1), *c = open_three(2);
	uint64_t unlike = 0, moved = 0;

	for (uint64_t t = 0; t < 800; t++) {
		struct mix_place p = mix_at(a, t), q = mix_at(b, t), r = mix_at(c, t);

		unlike += p.part != q.part || p.window != q.window || p.epoch != q.epoch;
		moved += p.part != r.part || p.window != r.window;
	}
	tap_is_u64(unlike, 0, "the same seed, the same order");
	tap_ok(moved > 400, "another seed, another order");
	mix_close(a);
	mix_close(b);
	mix_close(c);
}

static void test_a_file_alone(void)
{
	struct mix *m = NULL;
	uint64_t wrong = 0, n;

	make("x.tok", 10, 101);
	tap_works(mix_open(&m, tap_path("x.tok"), &two), "open");
	n = windows_n(mix_windows(m, 0));
	tap_is_u64(n, 50, "its windows");
	for (uint64_t t = 0; t < 3 * n; t++) {
		struct mix_place p = mix_at(m, t);

		wrong += p.part != 0 || p.epoch != t / n ||
			 p.window != windows_at(mix_windows(m, 0), t / n, t % n);
	}
	tap_is_u64(wrong, 0, "its own order");
	mix_close(m);
}

static void is_refused(const char *text, enum err_code code, const char *part)
{
	struct mix *m;

	tap_fails(mix_open(&m, tap_file("bad.mix", text, strlen(text)), &two), code, part, "%s",
		  part);
}

#define HASH "000102030405060708090a0b0c0d0e0f"

static void test_refused(void)
{
	static const char *const unlike[] = { "x.tok", "wide.tok" }, *const short_one[] = {
		"one.tok"
	};
	static const char *const line_break[] = { "x\ny" };
	static const uint32_t weights[] = { 1, 1 };
	struct mix *m;

	make("x.tok", 10, 101);
	make("wide.tok", 70000, 10);
	make("one.tok", 10, 1);
	is_refused("", ERR_FORMAT, "is empty, no tokens");
	is_refused("nnutils token mix 2\n", ERR_FORMAT, "is neither");
	is_refused("nnutils token mix 1\n", ERR_FORMAT, "a mix without parts");
	is_refused("nnutils token mix 1\n1\t" HASH "\tx.tok", ERR_FORMAT, ":2: is cut");
	is_refused("nnutils token mix 1\n1 " HASH " x.tok\n", ERR_FORMAT, ":2: is not weight");
	is_refused("nnutils token mix 1\n1\t" HASH "\t\n", ERR_FORMAT, ":2: is not weight");
	is_refused("nnutils token mix 1\n0\t" HASH "\tx.tok\n", ERR_FORMAT, ":2: a weight");
	is_refused("nnutils token mix 1\n1k\t" HASH "\tx.tok\n", ERR_FORMAT, ":2: a weight");
	is_refused("nnutils token mix 1\n1\t12\tx.tok\n", ERR_FORMAT, ":2: 12: not a hash");
	is_refused("nnutils token mix 1\n1\t" HASH "\tnone.tok\n", ERR_MISSING,
		   "none.tok: No such");
	is_refused("nnutils token mix 1\n1\t" HASH "\tx.tok\n", ERR_MISMATCH,
		   "bad.mix wants the one with " HASH);
	tap_fails(write_mix(unlike, weights, 2), ERR_MISMATCH, "vocabulary size 70000",
		  "parts of two tokenizers");
	tap_fails(write_mix(line_break, weights, 1), ERR_ARGUMENT, "cannot name", "a line break");
	tap_fails(write_mix(unlike, weights, 0), ERR_LIMIT, "1 to 1024 parts", "no parts");
	tap_works(write_mix(short_one, weights, 1), "a part of one token");
	tap_fails(mix_open(&m, tap_path("a.mix"), &two), ERR_ARGUMENT, "one.tok: has no window",
		  "which has no window");
}

int main(void)
{
	tap_run(test_proportions_are_exact);
	tap_run(test_C11_once_an_epoch);
	tap_run(test_order_follows_the_seed);
	tap_run(test_a_file_alone);
	tap_run(test_refused);
	return tap_done();
}
