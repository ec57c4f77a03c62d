/* Counting words in bounded memory: whatever the memory, the parts and the order, the same words and counts. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/team.h"
#include "lib/text/word_counts.h"
#include "lib/text/word_counts_table.h"
#include "tests/tap.h"

static struct word_counts *make(int parts, uint64_t memory)
{
	struct word_counts *w;
	struct word_counts_options o = { .parts = parts, .memory = memory, .folder = tap_folder() };

	if (word_counts_new(&w, &o) < 0) {
		tap_works(-1, "a new one");
		exit(1);
	}
	return w;
}

static void add(struct word_counts *w, int part, const char *word, uint64_t count)
{
	if (word_counts_add(w, part, bytes_of(word), count) < 0)
		tap_works(-1, "add %s", word);
}

/* The next word is WORD, COUNT times. */
static void next_is(struct word_counts *w, struct bytes word, uint64_t count)
{
	struct bytes got = { 0 };
	uint64_t n = 0;

	if (tap_ok(word_counts_next(w, &got, &n) == 1, "there is a word")) {
		tap_is_bytes(got, word, "it is %zu bytes", word.size);
		tap_is_u64(n, count, "its count");
	}
}

static void ends(struct word_counts *w)
{
	struct bytes word;
	uint64_t count;

	tap_is_i64(word_counts_next(w, &word, &count), 0, "no more words");
	tap_is_i64(word_counts_next(w, &word, &count), 0, "and none after that");
}

static void test_empty(void)
{
	struct word_counts *w = make(3, 0);

	tap_works(word_counts_begin(w), "nothing to read");
	ends(w);
	tap_is_u64(word_counts_occurrences(w), 0, "no occurrences");
	word_counts_free(w);
	word_counts_free(NULL);
}

/* Bytes are compared as unsigned, a prefix comes first, a NUL is a byte; 12 bytes are the longest that lie in a slot. */
static void test_order(void)
{
	static const struct bytes sorted[] = {
		{ "\0", 1 },
		{ "\0\0", 2 },
		{ "a", 1 },
		{ "a\0", 2 },
		{ "a\0\0\0\0\0\0", 7 },
		{ "a\0b", 3 },
		{ "ab", 2 },
		{ "abc", 3 },
		{ "abcd", 4 },
		{ "abcde", 5 },
		{ "abcdef", 6 },
		{ "abcdefg", 7 },
		{ "abcdefgh", 8 },
		{ "abcdefgh\0", 9 },
		{ "abcdefghi", 9 },
		{ "abcdefghij", 10 },
		{ "abcdefghijk", 11 },
		{ "abcdefghijkl", 12 },
		{ "abcdefghijkl\0", 13 },
		{ "abcdefghijklm", 13 },
		{ "abcdefghijklmn", 14 },
		{ "abcdefghijkm", 12 },
		{ "abcz", 4 },
		{ "\x7f", 1 },
		{ "\x80", 1 },
		{ "\xff", 1 },
		{ "\xff\xff", 2 },
	};
	size_t n = sizeof(sorted) / sizeof(sorted[0]);
	struct word_counts *w = make(2, 0);

	for (size_t i = 0; i < n; i++)
		for (int part = 0; part < 2; part++)
			tap_works(word_counts_add(w, part, sorted[(i * 16 + 5) % n],
						  (uint64_t)part + 1),
				  "add");
	tap_works(word_counts_begin(w), "begin");
	for (size_t i = 0; i < n; i++)
		next_is(w, sorted[i], 3);
	ends(w);
	tap_is_u64(word_counts_occurrences(w), 3 * n, "occurrences");
	tap_is_u64(word_counts_spilled(w), 0, "nothing was spilled");
	word_counts_free(w);
}

static void test_again(void)
{
	struct word_counts *w = make(1, 0);

	add(w, 0, "b", 2);
	add(w, 0, "a", 1);
	for (int i = 0; i < 3; i++) {
		tap_works(word_counts_begin(w), "begin");
		next_is(w, bytes_of("a"), 1);
		if (i != 1)
			next_is(w, bytes_of("b"), 2);
	}
	ends(w);
	tap_fails(word_counts_add(w, 0, bytes_of("c"), 1), ERR_ARGUMENT, "being read",
		  "too late to add");
	word_counts_free(w);
}

static void test_limits(void)
{
	struct word_counts *w = make(2, 0);

	tap_fails(word_counts_add(w, 0, (struct bytes){ "", 0 }, 1), ERR_ARGUMENT, "empty",
		  "an empty word");
	tap_fails(word_counts_add(w, 0, (struct bytes){ "a", WORD_BYTES_MAX + 1 }, 1), ERR_LIMIT,
		  "a word of 1073741825 bytes", "a word past the limit");
	add(w, 0, "the", 5000000000);
	add(w, 0, "the", 5000000000);
	tap_works(word_counts_begin(w), "begin");
	next_is(w, bytes_of("the"), 10000000000);
	word_counts_free(w);
}

static void test_sums(void)
{
	struct word_counts *w = make(2, 0);

	add(w, 0, "the", UINT64_MAX - 2);
	tap_fails(word_counts_add(w, 0, bytes_of("the"), 3), ERR_LIMIT,
		  "more than 18446744073709551615 times", "a word's sum past 64 bits");
	tap_fails(word_counts_add(w, 0, bytes_of("of"), 3), ERR_LIMIT, "more than",
		  "all words' sum past 64 bits");
	add(w, 0, "the", 2);
	tap_works(word_counts_begin(w), "the largest sum");
	next_is(w, bytes_of("the"), UINT64_MAX);
	word_counts_free(w);

	w = make(2, 0);
	add(w, 0, "the", UINT64_MAX);
	add(w, 1, "the", 1);
	tap_fails(word_counts_begin(w), ERR_LIMIT, "more than", "two parts' sum past 64 bits");
	tap_fails(word_counts_begin(w), ERR_ARGUMENT, "not to be read", "and not read after that");
	word_counts_free(w);
}

/* --- many words against a list that is sorted another way --- */

#define LONGEST 40

struct entry {
	char text[LONGEST];
	size_t size;
	uint64_t count;
};

/* Word I: 2 to LONGEST bytes, of any value, distinct; prefixes are shared, and lengths lie about 12. */
static struct entry entry_of(uint32_t i)
{
	uint64_t bits = hash_short(&i, sizeof(i), 7);
	struct entry e = { .size = 4 + bits % 17, .count = 1 + (bits >> 40) % 5 };

	if ((bits >> 20) % 64 == 0)
		e.size = LONGEST;
	memset(e.text, (int)(bits >> 8 & 3), e.size);
	for (size_t k = 0; k < 4; k++)
		e.text[e.size - 1 - k] = (char)(i >> (8 * k));
	return e;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return bytes_compare((struct bytes){ x->text, x->size },
			     (struct bytes){ y->text, y->size });
}

static struct entry *sorted_entries(uint32_t n)
{
	struct entry *e = calloc(n, sizeof(*e));

	for (uint32_t i = 0; i < n; i++)
		e[i] = entry_of(i);
	qsort(e, n, sizeof(*e), compare);
	return e;
}

/* Every word's count is ROUNDS times its own. The number of the first that is not so; N when all are and no more come. */
static size_t first_wrong(struct word_counts *w, const struct entry *e, size_t n, uint64_t rounds)
{
	struct bytes word;
	uint64_t count;

	for (size_t i = 0; i < n; i++)
		if (word_counts_next(w, &word, &count) != 1 || count != rounds * e[i].count ||
		    !bytes_equal(word, (struct bytes){ e[i].text, e[i].size }))
			return i;
	return word_counts_next(w, &word, &count) == 0 ? n : n + 1;
}

/* ROUNDS times, each in another order; word I of a round goes to some part. */
static int add_rounds(struct word_counts *w, int parts, uint32_t n, uint32_t rounds)
{
	for (uint32_t r = 0; r < rounds; r++)
		for (uint32_t i = 0; i < n; i++) {
			/* 48271 is prime, and no divisor of any N here. */
			uint32_t at = (uint32_t)((uint64_t)i * 48271 % n);
			struct entry e = entry_of(at);
			int part = (int)((i / 7 + r) % (uint32_t)parts);

			if (word_counts_add(w, part, (struct bytes){ e.text, e.size }, e.count) < 0)
				return -1;
		}
	return 0;
}

static void check_many(uint32_t n, int parts, uint64_t memory, uint64_t least, uint64_t most)
{
	struct entry *e = sorted_entries(n);
	struct word_counts *w = make(parts, memory);
	uint64_t spilled;

	tap_works(add_rounds(w, parts, n, 3), "add %" PRIu32 " words three times", n);
	tap_works(word_counts_begin(w), "begin");
	tap_is_u64(first_wrong(w, e, n, 3), n, "%" PRIu32 " words of %d parts, %" PRIu64 " bytes",
		   n, parts, memory);
	spilled = word_counts_spilled(w);
	tap_ok(spilled >= least && spilled <= most, "%" PRIu64 " bytes were spilled", spilled);
	tap_works(word_counts_begin(w), "begin again");
	tap_is_u64(first_wrong(w, e, n, 3), n, "the same again");
	word_counts_free(w);
	free(e);
}

/* A record is about 14 bytes. 15 runs can be read at once in 1 MiB. */
static void test_many(void)
{
	check_many(100000, 1, (uint64_t)64 << 20, 0, 0);
	check_many(100000, 4, (uint64_t)64 << 20, 0, 0);
	check_many(50000, 1, (uint64_t)1 << 20, 1000000, 3000000);
	/* Some 80 runs: two passes before the last. */
	check_many(300000, 1, 0, 24000000, 60000000);
	check_many(300000, 3, (uint64_t)3 << 20, 12000000, 60000000);
}

static void add_of_part(void *arg, int part, int parts)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct entry e = entry_of(i);

		if (i % (uint32_t)parts != (uint32_t)part &&
		    word_counts_add(arg, part, (struct bytes){ e.text, e.size }, e.count) < 0)
			abort();
	}
}

/* Threads spill into one file at once. */
static void test_threads(void)
{
	struct entry *e = sorted_entries(100000);
	struct word_counts *w = make(4, (uint64_t)4 << 20);
	struct team *team;

	if (!tap_works(team_new(&team, 4), "a team"))
		return;
	team_run(team, add_of_part, w);
	tap_works(word_counts_begin(w), "begin");
	tap_is_u64(first_wrong(w, e, 100000, 3), 100000, "each word from three of four threads");
	tap_ok(word_counts_spilled(w) > 0, "they spilled");
	team_free(team);
	word_counts_free(w);
	free(e);
}

/* --- long words --- */

static void test_long(void)
{
	size_t n = (size_t)5 << 20;
	char *text = malloc(n);
	struct word_counts *w = make(1, 0);

	memset(text, 'x', n);
	for (size_t cut = 0; cut < 24; cut++)
		tap_works(word_counts_add(w, 0, (struct bytes){ text, n - cut * 200000 }, cut + 1),
			  "%zu bytes", n - cut * 200000);
	tap_works(word_counts_add(w, 0, (struct bytes){ text, n }, 1), "the longest again");
	tap_works(word_counts_add(w, 0, (struct bytes){ text, 1 }, 1), "one byte");
	tap_works(word_counts_begin(w), "begin");
	next_is(w, (struct bytes){ text, 1 }, 1);
	for (size_t cut = 24; cut-- > 0;)
		next_is(w, (struct bytes){ text, n - cut * 200000 }, cut ? cut + 1 : 2);
	ends(w);
	tap_ok(word_counts_spilled(w) > n, "spilled");
	word_counts_free(w);
	free(text);
}

/* --- trouble with the disk --- */

static void test_no_folder(void)
{
	struct word_counts_options o = { .parts = 1, .folder = "/nonexistent/folder" };
	struct word_counts *w;

	tap_works(word_counts_new(&w, &o), "a folder is not needed before it spills");
	tap_fails(add_rounds(w, 1, 50000, 1), ERR_IO, "/nonexistent/folder", "no such folder");
	word_counts_free(w);
}

static void test_full(void)
{
	struct rlimit before, small = { 300000, 300000 };
	struct word_counts *w = make(1, 0);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	tap_fails(add_rounds(w, 1, 300000, 1), ERR_IO, "File too large", "a file that cannot grow");
	tap_ok(strstr(err_text(), tap_folder()) != NULL, "the folder is named");
	setrlimit(RLIMIT_FSIZE, &before);
	word_counts_free(w);
}

/* --- all at once --- */

static void test_table(void)
{
	struct word_counts *w = make(2, 0);
	struct train_word *words;
	struct arena *arena;
	size_t n;

	if (!tap_works(arena_new(&arena), "an arena"))
		return;
	add(w, 0, "b", 2);
	add(w, 1, "b", 3);
	add(w, 1, "\xc3\xa4hnlich", 1);
	add(w, 0, "a", 4);
	/* Three words of 24 bytes, and 1 + 1 + 8 bytes of text. */
	tap_fails(word_counts_table(w, arena, 81, &words, &n), ERR_LIMIT,
		  "3 distinct words take 82 B of memory: the limit is 81 B", "a byte too few");
	if (tap_works(word_counts_table(w, arena, 82, &words, &n), "room enough")) {
		tap_is_u64(n, 3, "three words");
		tap_is_bytes(words[0].text, bytes_of("a"), "the first");
		tap_is_u64(words[0].count, 4, "its count");
		tap_is_bytes(words[1].text, bytes_of("b"), "the second");
		tap_is_u64(words[1].count, 5, "its count");
		tap_is_bytes(words[2].text, bytes_of("\xc3\xa4hnlich"), "the third");
	}
	word_counts_free(w);
	w = make(1, 0);
	tap_works(word_counts_table(w, arena, 1, &words, &n), "no words");
	tap_is_u64(n, 0, "none");
	word_counts_free(w);
	w = make(1, 0);
	add(w, 0, "\xc3", 1);
	tap_fails(word_counts_table(w, arena, 0, &words, &n), ERR_FORMAT, "not UTF-8",
		  "half a character");
	word_counts_free(w);
	arena_free(arena);
}

int main(void)
{
	tap_run(test_empty);
	tap_run(test_order);
	tap_run(test_again);
	tap_run(test_limits);
	tap_run(test_sums);
	tap_run(test_many);
	tap_run(test_threads);
	tap_run(test_long);
	tap_run(test_no_folder);
	tap_run(test_full);
	tap_run(test_table);
	return tap_done();
}
