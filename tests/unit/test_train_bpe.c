/*
 * tests/unit/test_train_bpe.c - a byte-pair vocabulary from counted words
 *
 * fixtures/golden/train-bpe has what `tokenizers` 0.23.3 trains, by lines with tabs between the fields and texts in
 * hexadecimal, `-` for none:
 *	train SIZE MIN_FREQUENCY MAX_TOKEN_LENGTH LIMIT_ALPHABET BYTE_LEVEL PREFIX SUFFIX
 *	first TEXT		a special token
 *	word COUNT TEXT
 *	piece TEXT		in the order of the ids
 *	any TEXT		a piece whose id depends on a hash map there
 *	merge LEFT RIGHT
 */
#include "lib/text/train_bpe.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "tests/tap.h"

#define MOST 2000

struct word {
	struct bytes text;
	uint64_t count;
};

struct lesson {
	struct train_bpe_options options;
	struct bytes first[40];
	struct word words[MOST];
	size_t n_words;
	struct bytes pieces[MOST];
	size_t n_pieces;
	bool any_ids;
	struct bytes left[MOST], right[MOST];
	size_t n_merges;
};

static struct arena *arena;
static struct lesson lesson;
static struct team *teams[4]; /* of 1, 2, 3 and 7 */

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct bytes unhex(const char *hex)
{
	size_t n = hex[0] == '-' ? 0 : strlen(hex) / 2;
	char *out = arena_alloc(arena, n + 1, 1);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return (struct bytes){ out, n };
}

/* The words go in forwards, backwards, or each in two halves. */
enum order {
	FORWARDS,
	BACKWARDS,
	HALVES,
};

static int add_all(struct train_bpe *t, const struct lesson *l, enum order order)
{
	for (size_t i = 0; i < l->n_words; i++) {
		const struct word *w = &l->words[order == BACKWARDS ? l->n_words - 1 - i : i];
		uint64_t half = order == HALVES ? w->count / 2 : 0;

		if (half && train_bpe_add(t, w->text, half) < 0)
			return -1;
		if (train_bpe_add(t, w->text, w->count - half) < 0)
			return -1;
	}
	return 0;
}

static int train(const struct lesson *l, struct team *team, enum order order,
		 struct model_spec *model)
{
	struct train_bpe_options o = l->options;
	struct train_bpe *t = NULL;
	int result;

	o.team = team;
	o.first = l->first;
	if (train_bpe_new(&t, &o) < 0)
		return -1;
	result = add_all(t, l, order);
	if (result == 0)
		result = train_bpe_run(t, arena, model);
	train_bpe_free(t);
	return result;
}

static struct bytes text_of(const struct model_spec *m, uint32_t id)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (m->pieces[i].id == id)
			return m->pieces[i].text;
	return (struct bytes){ "(none)", 6 };
}

static bool has(const struct model_spec *m, struct bytes text)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (bytes_equal(m->pieces[i].text, text))
			return true;
	return false;
}

static uint32_t id_of(const struct model_spec *m, const char *text)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (bytes_are(m->pieces[i].text, text))
			return m->pieces[i].id;
	return TOKEN_NONE;
}

static size_t wrong_pieces(const struct lesson *l, const struct model_spec *m)
{
	size_t wrong = 0;

	for (size_t i = 0; i < l->n_pieces && i < m->n_pieces; i++) {
		if (m->pieces[i].id != i)
			wrong++;
		if (l->any_ids ? !has(m, l->pieces[i])
			       : !bytes_equal(m->pieces[i].text, l->pieces[i]))
			wrong++;
	}
	return wrong;
}

static size_t wrong_merges(const struct lesson *l, const struct model_spec *m)
{
	size_t wrong = 0;

	for (size_t i = 0; i < l->n_merges && i < m->n_merges; i++)
		if (!bytes_equal(text_of(m, m->merges[i].left), l->left[i]) ||
		    !bytes_equal(text_of(m, m->merges[i].right), l->right[i]))
			wrong++;
	return wrong;
}

static bool are_equal(const struct model_spec *a, const struct model_spec *b)
{
	if (a->n_pieces != b->n_pieces || a->n_merges != b->n_merges)
		return false;
	for (size_t i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].id != b->pieces[i].id ||
		    !bytes_equal(a->pieces[i].text, b->pieces[i].text))
			return false;
	return a->n_merges == 0 ||
	       memcmp(a->merges, b->merges, a->n_merges * sizeof(*a->merges)) == 0;
}

static void check_lesson(const char *file)
{
	struct model_spec model = { 0 }, again = { 0 };
	bool same = true;

	if (!tap_works(train(&lesson, NULL, FORWARDS, &model), "%s: %u pieces", file,
		       lesson.options.vocab_size))
		return;
	tap_is_u64(model.n_pieces, lesson.n_pieces, "%s: as many pieces", file);
	tap_is_u64(wrong_pieces(&lesson, &model), 0, "%s: the same pieces", file);
	tap_is_u64(model.n_merges, lesson.n_merges, "%s: as many merges", file);
	tap_is_u64(wrong_merges(&lesson, &model), 0, "%s: the same merges", file);
	for (int i = 0; i < 4; i++)
		same = train(&lesson, teams[i], (enum order)(i % 3), &again) == 0 &&
		       are_equal(&model, &again) && same;
	tap_ok(same, "%s: the same from 1, 2, 3 and 7 threads, whatever the order", file);
}

static size_t split(char *line, char *fields[8])
{
	size_t n = 0;

	for (char *at = line; at && n < 8; n++) {
		fields[n] = at;
		at = strchr(at, '\t');
		if (at)
			*at++ = '\0';
	}
	return n;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void begin_lesson(char *fields[8])
{
	/* The peer's limit is the length that a piece may not have; two characters always join. */
	uint64_t length = number(fields[3]);

	memset(&lesson, 0, sizeof(lesson));
	lesson.options.vocab_size = (uint32_t)number(fields[1]);
	lesson.options.min_frequency = number(fields[2]);
	lesson.options.max_piece = (uint32_t)(length == 0 ? 0 : length < 3 ? 2 : length - 1);
	lesson.options.max_alphabet = (uint32_t)number(fields[4]);
	lesson.options.byte_level = fields[5][0] == '1';
	lesson.options.continuing_prefix = unhex(fields[6]);
	lesson.options.end_of_word_suffix = unhex(fields[7]);
}

static void take_line(char *line)
{
	char *f[8] = { 0 };

	split(line, f);
	if (strcmp(f[0], "first") == 0) {
		lesson.first[lesson.options.n_first++] = unhex(f[1]);
	} else if (strcmp(f[0], "word") == 0) {
		lesson.words[lesson.n_words++] = (struct word){ unhex(f[2]), number(f[1]) };
	} else if (strcmp(f[0], "merge") == 0) {
		lesson.left[lesson.n_merges] = unhex(f[1]);
		lesson.right[lesson.n_merges++] = unhex(f[2]);
	} else {
		lesson.any_ids = strcmp(f[0], "any") == 0;
		lesson.pieces[lesson.n_pieces++] = unhex(f[1]);
	}
}

static void check_golden(const char *file)
{
	size_t n, lessons = 0;
	char path[100], *all, *line, *next, *f[8];

	snprintf(path, sizeof(path), "fixtures/golden/train-bpe/%s.tsv", file);
	all = tap_fixture(path, &n);
	for (line = all; line < all + n; line = next) {
		next = strchr(line, '\n');
		*next++ = '\0';
		if (strncmp(line, "train\t", 6) != 0) {
			take_line(line);
			continue;
		}
		if (lessons++)
			check_lesson(file);
		split(line, f);
		begin_lesson(f);
	}
	check_lesson(file);
	free(all);
}

static void test_golden(void)
{
	static const char *files[] = { "byte-level", "characters", "ties",
				       "paths",	     "limits",	   "affixes" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check_golden(files[i]);
}

/* --- words of the tests' own --- */

static void begin(uint32_t size)
{
	memset(&lesson, 0, sizeof(lesson));
	lesson.options.vocab_size = size;
}

static void word(const char *text, uint64_t count)
{
	lesson.words[lesson.n_words++] = (struct word){ bytes_of(text), count };
}

static const char *merge_at(const struct model_spec *m, size_t i)
{
	static char text[64];
	struct bytes a, b;

	if (i >= m->n_merges)
		return "(none)";
	a = text_of(m, m->merges[i].left);
	b = text_of(m, m->merges[i].right);
	snprintf(text, sizeof(text), "%.*s %.*s", (int)a.size, a.data, (int)b.size, b.data);
	return text;
}

static void test_large_counts(void)
{
	struct model_spec m = { 0 };

	begin(20);
	word("the", 5000000000u);
	word("ox", 4999999999u);
	word("he", 3);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "counts past 32 bits");
	tap_is_text(merge_at(&m, 0), "h e", "the most frequent pair: 5000000003");
	tap_is_text(merge_at(&m, 1), "t he", "then 5000000000");
	tap_is_text(merge_at(&m, 2), "o x", "then 4999999999");

	begin(20);
	word("ab", UINT64_MAX / 4);
	word("cd", UINT64_MAX / 4 - 1);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "just within 64 bits");
	tap_is_text(merge_at(&m, 0), "a b", "the more frequent one");
	word("e", 6);
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_LIMIT, "64 bits", "just past 64 bits");
	begin(20);
	word("abc", UINT64_MAX / 2);
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_LIMIT, "64 bits", "one word past them");
}

/*
 * In `abcdef` the pair (cde, f) has a place that is gone once abcde is one symbol. It begins in the middle of that, away
 * from both of its ends, and must not be taken for the pair when cde and f are merged for other words.
 */
static void test_place_inside(void)
{
	static const char *const want[] = { "c d",   "cd e",	"a b",	    "ab cde",
					    "cde f", "abcde f", "abcdef g", "(none)" };
	struct model_spec m = { 0 };

	begin(15);
	word("cd", 100);
	word("cde", 3000);
	word("ab", 1500);
	word("abcde", 300);
	word("cdef", 200);
	word("abcdef", 100);
	word("abcdefg", 50);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "places inside of symbols");
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		tap_is_text(merge_at(&m, i), want[i], "merge %zu", i);
}

static void test_smallest_size(void)
{
	struct model_spec m = { 0 };

	begin(6);
	lesson.first[0] = bytes_of("<unk>");
	lesson.options.n_first = 1;
	word("abcdef", 2);
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_ARGUMENT, "there are 7 before",
		  "six pieces for <unk> and six letters");
	lesson.options.vocab_size = 7;
	tap_works(train(&lesson, NULL, FORWARDS, &m), "seven do");
	tap_is_u64(m.n_pieces, 7, "seven pieces");
	tap_is_u64(m.n_merges, 0, "and no merge");
	lesson.options.vocab_size = 1000;
	tap_works(train(&lesson, NULL, FORWARDS, &m), "more than there can be");
	tap_is_u64(m.n_pieces, 12, "all that there can be: five merges");
	lesson.options.byte_level = true;
	lesson.options.vocab_size = 256;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_ARGUMENT, "there are 257 before",
		  "bytes are 256");
}

static void test_nothing(void)
{
	struct model_spec m = { 0 };

	begin(300);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "no words");
	tap_is_u64(m.n_pieces + m.n_merges, 0, "no pieces");
	lesson.options.byte_level = true;
	word("x", 5);
	tap_works(train(&lesson, teams[3], FORWARDS, &m), "one byte");
	tap_is_u64(m.n_pieces, 256, "the bytes");
	tap_is_u64(m.pieces[0].id + (uint64_t)m.pieces[0].text.data[0], '!', "the first is !");
}

static void test_bad_words(void)
{
	struct model_spec m = { 0 };

	begin(300);
	word("good", 1);
	word("ab\xff", 1);
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_FORMAT, "byte 2", "not UTF-8");
	lesson.options.byte_level = true;
	tap_works(train(&lesson, NULL, FORWARDS, &m), "but bytes");
	lesson.options.character_coverage = 1.5;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_ARGUMENT, "coverage", "a share above 1");
}

/* As SentencePiece: characters are taken, the most frequent first, until they make up the share. */
static void test_coverage(void)
{
	struct train_bpe *t = NULL;
	struct model_spec m = { 0 };
	struct train_bpe_options o = { .vocab_size = 50, .character_coverage = 0.9 };

	tap_works(train_bpe_new(&t, &o), "a share of 0.9");
	tap_works(train_bpe_add(t, bytes_of("aaaaab"), 10), "50 a, 10 b");
	tap_works(train_bpe_add(t, bytes_of("bc"), 20), "20 b, 20 c");
	tap_works(train_bpe_add(t, bytes_of("axa"), 9), "18 a, 9 x");
	tap_works(train_bpe_add(t, bytes_of("y"), 1), "1 y: of 128, a and b are 98, with c 118");
	tap_works(train_bpe_run(t, arena, &m), "runs");
	tap_is_u64(id_of(&m, "c"), 2, "c is the last one");
	tap_ok(id_of(&m, "x") == TOKEN_NONE && id_of(&m, "y") == TOKEN_NONE, "x and y are not");
	tap_is_u64(train_bpe_left_out(t), 10, "ten occurrences were left out");
	tap_fails(train_bpe_run(t, arena, &m), ERR_ARGUMENT, "once", "a second run");
	train_bpe_free(t);
}

/* --- going on from a model --- */

static const struct piece_spec old_pieces[] = {
	{ { "a", 1 }, 0, 0 },
	{ { "b", 1 }, 1, 0 },
	{ { "ab", 2 }, 2, 0 },
	{ { "abab", 4 }, 7, 0 },
};
static const struct merge_spec old_merges[] = { { 0, 1, 2 }, { 2, 2, 7 } };
static const struct model_spec old_model = { .kind = MODEL_BPE,
					     .pieces = old_pieces,
					     .n_pieces = 4,
					     .merges = old_merges,
					     .n_merges = 2,
					     .unk = TOKEN_NONE };

static void test_extension(void)
{
	struct model_spec m = { 0 }, again = { 0 };
	uint32_t c;

	begin(9);
	lesson.options.old = &old_model;
	lesson.first[0] = bytes_of("<new>");
	lesson.options.n_first = 1;
	word("abc", 10);
	word("ababc", 20);
	word("bca", 5);
	word("ababab", 3);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "goes on");
	tap_is_u64(m.n_pieces, 9, "nine pieces");
	for (int i = 0; i < 4; i++)
		tap_ok(m.pieces[i].id == old_pieces[i].id &&
			       bytes_equal(m.pieces[i].text, old_pieces[i].text),
		       "piece %d is as it was", i);
	tap_is_u64(id_of(&m, "<new>"), 8, "then what is asked for");
	c = id_of(&m, "c");
	tap_is_u64(c, 9, "then new characters");
	tap_ok(memcmp(m.merges, old_merges, sizeof(old_merges)) == 0, "the old merges come first");
	tap_is_text(merge_at(&m, 2), "abab c", "20 times: the old merges were applied");
	tap_is_text(merge_at(&m, 3), "ab c", "10 times");
	tap_is_text(merge_at(&m, 4), "b c", "5 times");
	tap_is_u64(m.n_merges, 5, "and that is all");
	tap_works(train(&lesson, teams[2], BACKWARDS, &again), "by three threads");
	tap_ok(are_equal(&m, &again), "the same");
	lesson.options.next_id = 5;
	tap_works(train(&lesson, NULL, FORWARDS, &m), "new ids from 5 on");
	tap_is_u64(id_of(&m, "<new>"), 8, "they begin after the old ones all the same");
	lesson.options.next_id = 100;
	tap_works(train(&lesson, NULL, FORWARDS, &m), "new ids from 100 on");
	tap_is_u64(id_of(&m, "<new>"), 100, "so they do");
	tap_is_u64(m.merges[2].result, 102, "merges too");
	lesson.options.vocab_size = 5;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_ARGUMENT, "there are 6 before",
		  "too small for the old pieces, <new> and c");
}

/* A merge that the old model has is not listed again, though new words come to it in another way. */
static void test_old_merge_again(void)
{
	struct model_spec m = { 0 };

	begin(20);
	lesson.options.old = &old_model;
	word("abx", 9);
	word("babab", 9);
	word("aabab", 4);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "goes on");
	for (size_t i = 2; i < m.n_merges; i++)
		tap_ok(m.merges[i].left != 0 || m.merges[i].right != 1, "merge %zu is not a b", i);
	tap_ok(m.n_merges > 2, "there are new ones");
}

static void test_bad_old(void)
{
	struct model_spec m = { 0 }, old = old_model;
	struct piece_spec pieces[4];
	struct merge_spec merge = { 0, 1, 3 };

	memcpy(pieces, old_pieces, sizeof(pieces));
	begin(20);
	lesson.options.old = &old;
	word("abc", 1);
	old.merges = &merge;
	old.n_merges = 1;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_FORMAT, "merge 0",
		  "no piece has the id 3");
	old = old_model;
	old.pieces = pieces;
	pieces[3].id = 1;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_FORMAT, "the id 1", "one id twice");
	pieces[3] = (struct piece_spec){ { "b", 1 }, 7, 0 };
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_FORMAT, "one text", "one text twice");
	pieces[3].id = 0x80000000u;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_FORMAT, "too large",
		  "an id past 31 bits");
	old = old_model;
	old.kind = MODEL_UNIGRAM;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_UNSUPPORTED, "byte-pair", "no BPE");
	old = old_model;
	lesson.options.continuing_prefix = bytes_of("##");
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_MISMATCH, "prefix", "another prefix");
}

/* --- long words and little memory --- */

#define LONG 300000

/* Runs, repeats and noise of four letters, longer than what counts as long. */
static const char *long_text(void)
{
	char *text = arena_alloc(arena, LONG + 1, 1);
	struct random_stream r = random_at(7, 0, 0);

	for (size_t i = 0; i < LONG; i++) {
		uint64_t draw = random_below(&r, 0, i, 4);

		text[i] = "abcd"[i % 1000 < 400 ? 0 : i % 1000 < 500 ? i % 3 : draw];
	}
	return text;
}

static void test_long_word(void)
{
	struct model_spec m = { 0 }, again = { 0 };
	const char *text = long_text();
	bool same = true;

	begin(2000);
	word(text, 3);
	word("abcabc", 5);
	tap_works(train(&lesson, NULL, FORWARDS, &m), "a word of 300,000 letters");
	tap_is_u64(m.n_pieces, 2000, "2,000 pieces");
	for (int i = 0; i < 4; i++)
		same = train(&lesson, teams[i], BACKWARDS, &again) == 0 && are_equal(&m, &again) &&
		       same;
	tap_ok(same, "the same from 1, 2, 3 and 7 threads");
}

/* What the trainer takes grows with each merge, so each limit stops it somewhere else. */
static void test_memory(void)
{
	struct model_spec m = { 0 }, free_of_limit = { 0 };
	const char *text = long_text();
	uint64_t least = 0;
	size_t clear = 0, tries = 0;

	begin(600);
	word(text, 3);
	word("abcabc", 5);
	tap_works(train(&lesson, NULL, FORWARDS, &free_of_limit), "without a limit");
	for (uint64_t memory = 1000; memory < 100000000 && !least; memory += memory / 20) {
		lesson.options.memory = memory;
		tries++;
		if (train(&lesson, NULL, FORWARDS, &m) == 0)
			least = memory;
		else
			clear += err_last() == ERR_LIMIT && strstr(err_text(), "needs");
	}
	tap_is_u64(clear, tries - 1, "each limit is refused as one, and the need is told");
	tap_ok(least > LONG * 9 && least < LONG * 40, "%zu bytes suffice", (size_t)least);
	tap_ok(are_equal(&m, &free_of_limit), "the same result within the limit");
	lesson.options.memory = LONG * 6;
	tap_fails(train(&lesson, NULL, FORWARDS, &m), ERR_LIMIT, "needs 3.",
		  "what is needed is said before it is taken");
}

int main(void)
{
	static const int sizes[] = { 1, 2, 3, 7 };

	if (arena_new(&arena) < 0)
		return 2;
	for (int i = 0; i < 4; i++)
		tap_works(team_new(&teams[i], sizes[i]), "%d threads", sizes[i]);
	tap_run(test_golden);
	tap_run(test_large_counts);
	tap_run(test_place_inside);
	tap_run(test_smallest_size);
	tap_run(test_nothing);
	tap_run(test_bad_words);
	tap_run(test_coverage);
	tap_run(test_extension);
	tap_run(test_old_merge_again);
	tap_run(test_bad_old);
	tap_run(test_long_word);
	tap_run(test_memory);
	for (int i = 0; i < 4; i++)
		team_free(teams[i]);
	arena_free(arena);
	return tap_done();
}
