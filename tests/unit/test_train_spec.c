/* tests/unit/test_train_spec.c - what stands around a vocabulary that is trained, and which trainer makes it */
#include "lib/text/train_spec.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/text/tokenizer.h"
#include "lib/text/train_merges.h"
#include "lib/text/train_model.h"
#include "lib/text/train_words.h"
#include "lib/text/words.h"
#include "tests/tap.h"

static struct arena *arena;

/* --- special tokens and roles --- */

static void check_ids(const struct train_spec *t, const char *const *texts, const char *what)
{
	size_t n = 0;

	for (; texts[n]; n++) {
		if (n < t->spec.n_added && t->spec.added[n].id == n && t->spec.added[n].special &&
		    bytes_are(t->spec.added[n].text, texts[n]))
			continue;
		tap_ok(false, "%s: id %zu is %s", what, n, texts[n]);
		return;
	}
	tap_is_u64(t->spec.n_added, n, "%s: %zu special tokens, from id 0", what, n);
}

static void test_defaults(void)
{
	static const char *const bpe[] = { "<|endoftext|>", NULL };
	static const char *const spm[] = { "<unk>", "<s>", "</s>", NULL };
	static const char *const bert[] = { "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", NULL };
	struct train_spec t;

	tap_works(train_spec_begin(&t, arena, &(struct train_spec_options){ 0 }), "bpe");
	check_ids(&t, bpe, "bpe");
	tap_ok(t.spec.eos == 0 && t.spec.bos == TOKEN_NONE && t.spec.unk == TOKEN_NONE, "its eos");
	tap_is_u64(t.n_first, 1, "one first piece");
	tap_ok(t.spec.n_pretokenizers == 1 && t.spec.pretokenizers[0].byte_level.use_regex &&
		       !t.spec.pretokenizers[0].byte_level.add_prefix_space,
	       "GPT-2's split");

	tap_works(train_spec_begin(&t, arena,
				   &(struct train_spec_options){ .kind = TRAIN_SENTENCEPIECE }),
		  "sentencepiece");
	check_ids(&t, spm, "sentencepiece");
	tap_is_u64(t.n_first, 3 + 256, "with 256 bytes");
	tap_is_bytes(t.first[3 + 255], bytes_of("<0xFF>"), "the last of them");
	tap_ok(t.spec.model.byte_fallback && t.spec.model.unk == 0, "byte fallback");
	tap_is_u64(t.spec.n_pretokenizers, 1, "one pre-tokenizer");
	tap_is_u64(t.cut.n_pretokenizers, 2, "and one more to cut by");

	tap_works(
		train_spec_begin(&t, arena, &(struct train_spec_options){ .kind = TRAIN_UNIGRAM }),
		"unigram");
	check_ids(&t, spm, "unigram");
	tap_is_u64(t.n_first, 3, "without bytes");

	tap_works(train_spec_begin(&t, arena,
				   &(struct train_spec_options){ .kind = TRAIN_WORDPIECE }),
		  "wordpiece");
	check_ids(&t, bert, "wordpiece");
	tap_ok(t.n_roles == 3 && t.spec.n_posts == 1 && t.spec.posts[0].n_pair == 5 &&
		       t.spec.bos == TOKEN_NONE,
	       "[CLS] and [SEP] by the template");
}

static void test_order(void)
{
	static const char *const more[] = { "<a>", "<b>" };
	static const char *const ids[] = { "<u>", "<x>", "<p>", "<a>", "<b>", NULL };
	struct train_spec_options o = { .unk = "<u>",
					.bos = "<x>",
					.eos = "<x>",
					.pad = "<p>",
					.specials = more,
					.n_specials = 2 };
	struct train_spec t;

	tap_works(train_spec_begin(&t, arena, &o), "roles and more");
	check_ids(&t, ids, "roles, then the others as given");
	tap_ok(t.spec.bos == 1 && t.spec.eos == 1 && t.spec.pad == 2 && t.spec.unk == 0,
	       "two roles share a token");
	o.chat = CHAT_CHATML;
	tap_works(train_spec_begin(&t, arena, &o), "with a chat template");
	tap_ok(t.spec.n_added > 5 && t.spec.chat_template.size > 0, "its tokens come last");
}

static void refuse(const struct train_spec_options *o, const char *part)
{
	struct train_spec t;

	tap_fails(train_spec_begin(&t, arena, o), ERR_ARGUMENT, part, "%s", part);
}

static void test_refusals(void)
{
	static const char *const empty[] = { "<pad>", "" };
	static const char *const twice[] = { "<pad>", "<pad>" };
	static const char *const role[] = { "<|endoftext|>" };
	static const char *const bytes[] = { "\xff" };
	static const char *const norm[] = { "nfc", "nfx" };

	refuse(&(struct train_spec_options){ .specials = empty, .n_specials = 2 }, "is empty");
	refuse(&(struct train_spec_options){ .specials = twice, .n_specials = 2 }, "there twice");
	refuse(&(struct train_spec_options){ .specials = role, .n_specials = 1 }, "there twice");
	refuse(&(struct train_spec_options){ .specials = bytes, .n_specials = 1 }, "not UTF-8");
	refuse(&(struct train_spec_options){ .eos = "" }, "is empty");
	refuse(&(struct train_spec_options){ .normalizers = norm, .n_normalizers = 2 }, "'nfx'");
	refuse(&(struct train_spec_options){ .split = "gpt4" }, "'gpt4' is not one of");
	refuse(&(struct train_spec_options){ .split = "" }, "'' is not one of");
	refuse(&(struct train_spec_options){ .kind = TRAIN_WORDPIECE, .split = "gpt2" },
	       "splits as BERT does");
	refuse(&(struct train_spec_options){ .prefix_space = STATE_TRUE,
					     .digits = TRAIN_DIGITS_SINGLE },
	       "not with split digits");
	refuse(&(struct train_spec_options){ .byte_fallback = true }, "byte fallback");
}

/* --- how words are cut --- */

static struct buffer joined;

static int join(void *arg, struct bytes piece)
{
	(void)arg;
	if (joined.size)
		buffer_put_u8(&joined, '|');
	buffer_put(&joined, piece.data, piece.size);
	return buffer_check(&joined);
}

static void check_cut(const struct train_spec_options *o, const char *text, const char *want)
{
	struct words_scratch *s = NULL;
	struct words *w = NULL;
	struct train_spec t;

	buffer_clear(&joined);
	if (tap_works(train_spec_begin(&t, arena, o), "options for %s", want) &&
	    tap_works(words_new(&w, &t.cut), "steps") && words_scratch_new(&s, w) == 0)
		tap_works(words_cut(w, s, bytes_of(text), join, NULL), "cut");
	tap_is_bytes(buffer_bytes(&joined), bytes_of(want), "%s", want);
	words_scratch_free(s);
	words_free(w);
}

static void test_cuts(void)
{
	static const char *const lower[] = { "lowercase" };
	static const char *const nmt[] = { "nmt-nfkc" };

	check_cut(&(struct train_spec_options){ 0 }, "Ab c12 3", "Ab| c|12| 3");
	check_cut(&(struct train_spec_options){ .digits = TRAIN_DIGITS_SINGLE }, "c123", "c|1|2|3");
	check_cut(&(struct train_spec_options){ .digits = TRAIN_DIGITS_THREE }, "c1234", "c|123|4");
	check_cut(&(struct train_spec_options){ .split = "none" }, "Ab c12", "Ab c12");
	check_cut(&(struct train_spec_options){ .split = "[a-c]+|." }, "abxc", "ab|x|c");
	check_cut(&(struct train_spec_options){ .split = "llama3" }, "a1234", "a|123|4");
	check_cut(&(struct train_spec_options){ .normalizers = lower, .n_normalizers = 1 }, "Ab C",
		  "ab| c");
	check_cut(&(struct train_spec_options){ .prefix_space = STATE_TRUE }, "ab c", " ab| c");
	check_cut(&(struct train_spec_options){ .kind = TRAIN_SENTENCEPIECE }, "ab  c\n\nd",
		  "\u2581ab|\u2581|\u2581c|\n\n|d");
	check_cut(&(struct train_spec_options){ .kind = TRAIN_SENTENCEPIECE }, " ab",
		  "\u2581|\u2581ab");
	check_cut(&(struct train_spec_options){ .kind = TRAIN_UNIGRAM,
						.prefix_space = STATE_FALSE,
						.digits = TRAIN_DIGITS_SINGLE },
		  "ab 12", "ab|\u2581|1|2");
	check_cut(&(struct train_spec_options){ .kind = TRAIN_UNIGRAM,
						.normalizers = nmt,
						.n_normalizers = 1 },
		  "a\n  b", "\u2581a|\u2581b");
	check_cut(&(struct train_spec_options){ .kind = TRAIN_WORDPIECE }, "H\u00e9 is!",
		  "he|is|!");
}

/* --- words and special tokens --- */

static void check_parts(const struct train_words *w, const char *word, const char *want)
{
	struct bytes left = bytes_of(word);
	size_t size;

	buffer_clear(&joined);
	for (; left.size; left = (struct bytes){ left.data + size, left.size - size }) {
		if (!tap_works(train_words_part(w, left, &size), "a part"))
			return;
		join(NULL, (struct bytes){ left.data, size });
	}
	tap_is_bytes(buffer_bytes(&joined), bytes_of(want), "%s", want);
}

static void test_words(void)
{
	const struct bytes first[] = { { "<a>", 3 }, { "aba", 3 }, { "\u65e5\u672c", 6 } };
	const struct bytes one[] = { { "x", 1 } };
	struct train_words *w = NULL;
	size_t size;

	tap_works(train_words_new(&w, first, 3, false), "three texts");
	check_parts(w, "nothing", "nothing");
	check_parts(w, "x<a>y", "x<|a>y");
	check_parts(w, "ababa", "a|ba|ba");
	check_parts(w, "<a><a>", "<|a><|a>");
	check_parts(w, "\u65e5\u672c\u8a9e", "\u65e5|\u672c\u8a9e");
	train_words_free(w);
	tap_works(train_words_new(&w, first, 3, true), "as byte-level spells them");
	check_parts(w, "x<a>\u65e5\u672c", "x<|a>\u65e5\u672c");
	train_words_free(w);
	tap_works(train_words_new(&w, one, 1, false), "a single character");
	tap_fails(train_words_part(w, bytes_of("axb"), &size), ERR_ARGUMENT, "one character",
		  "in a word");
	check_parts(w, "ab", "ab");
	train_words_free(w);
	tap_fails(train_words_new(&w, one, 1, true), ERR_ARGUMENT, "one character",
		  "or a byte, in any");
}

/* --- merges --- */

static void test_merges(void)
{
	/* The first two take no part. */
	static const char *const texts[] = { "b\u00e9", "<0x41>", "a",	      "b",
					     "\u00e9",	"ab",	  "ab\u00e9", "<0x41>ab" };
	static const struct merge_spec want[] = { { 2, 3, 5 }, { 5, 4, 6 } };
	const struct added_spec added = { .id = 0, .text = { "b\u00e9", 3 } };
	struct piece_spec pieces[8];
	struct tokenizer_spec s = { .added = &added, .n_added = 1 };

	for (uint32_t i = 0; i < 8; i++)
		pieces[i] = (struct piece_spec){ bytes_of(texts[i]), i, 0 };
	s.model = (struct model_spec){ .pieces = pieces, .n_pieces = 8, .byte_fallback = true };
	tap_is_i64(train_merges_are_complete(&s), 0, "none are not all");
	tap_works(train_merges_complete(&s, arena), "all merges");
	tap_is_u64(s.model.n_merges, 2, "two of them");
	for (size_t i = 0; i < 2 && i < s.model.n_merges; i++)
		tap_ok(s.model.merges[i].left == want[i].left &&
			       s.model.merges[i].right == want[i].right &&
			       s.model.merges[i].result == want[i].result,
		       "merge %zu", i);
	tap_is_i64(train_merges_are_complete(&s), 1, "now they are");
	s.model.merges = (const struct merge_spec[]){ want[1], want[0] };
	tap_is_i64(train_merges_are_complete(&s), 0, "not in another order");
	s.n_added = 0;
	tap_works(train_merges_complete(&s, arena), "without added tokens");
	tap_is_u64(s.model.n_merges, 4, "there are more");
}

/* --- training --- */

static const char *const words[] = { "\u2581low",    "\u2581lower", "\u2581lowest", "\u2581newer",
				     "\u2581widest", "\u2581<s>",   "\n",	    "low",
				     "12",	     "\u2581<0x41>" };

static struct word_counts *count_words(void)
{
	struct word_counts_options o = { .parts = 1, .memory = 1 << 20 };
	struct word_counts *counts = NULL;

	tap_works(word_counts_new(&counts, &o), "counts");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		word_counts_add(counts, 0, bytes_of(words[i]), 1000 - i * 10);
	return counts;
}

static bool encode(const struct tokenizer_spec *spec, const char *text, struct encoding *out)
{
	const struct encode_options o = { .special = SPECIAL_PLAIN };
	struct tokenizer *t = NULL;
	struct encoder *e = NULL;
	bool good = tap_works(tokenizer_new(&t, spec), "a tokenizer") &&
		    tap_works(encoder_new(&e, t), "its encoder") &&
		    tap_works(encoder_run(e, bytes_of(text), &o, out), "encode %s", text);

	encoder_free(e);
	tokenizer_free(t);
	return good;
}

/* No special token and no byte piece comes of text, and the steps of training alone change nothing. */
static void check_encoding(const struct train_spec *t, const char *text)
{
	struct tokenizer_spec cut = t->spec;
	struct encoding a = { 0 }, b = { 0 };
	size_t specials = 0;

	cut.normalizers = t->cut.normalizers;
	cut.n_normalizers = t->cut.n_normalizers;
	cut.pretokenizers = t->cut.pretokenizers;
	cut.n_pretokenizers = t->cut.n_pretokenizers;
	if (encode(&t->spec, text, &a) && encode(&cut, text, &b))
		tap_ok(a.n == b.n && memcmp(a.ids, b.ids, a.n * sizeof(*a.ids)) == 0,
		       "'%s': the same ids with and without the cuts", text);
	for (size_t i = 0; i < a.n; i++)
		specials += a.ids[i] < t->n_first;
	tap_is_u64(specials, 0, "'%s': no special token, no byte piece", text);
	encoding_free(&a);
	encoding_free(&b);
}

static bool has_piece(const struct train_spec *t, const char *text)
{
	for (size_t i = 0; i < t->spec.model.n_pieces; i++)
		if (bytes_are(t->spec.model.pieces[i].text, text))
			return true;
	return false;
}

static void train(struct train_spec *t, enum train_kind kind, uint32_t size)
{
	struct train_model_options o = { .kind = kind, .vocab_size = size };
	struct word_counts *counts = count_words();
	struct train_model_report report;
	uint64_t tokens = 0;

	tap_works(train_model(t, arena, counts, &o, &report), "train");
	tap_is_u64(t->spec.model.n_pieces, size, "%u pieces", size);
	tap_is_u64(report.words, sizeof(words) / sizeof(*words), "distinct words");
	for (size_t i = 0; i < t->n_first && !t->old; i++)
		if (!bytes_equal(t->spec.model.pieces[i].text, t->first[i]) ||
		    t->spec.model.pieces[i].id != i)
			tap_ok(false, "piece %zu is the special token", i);
	tap_works(train_model_tokens(&t->spec.model, false, counts, &tokens), "tokens");
	tap_ok(tokens > 8000 && tokens < 60000, "%llu tokens", (unsigned long long)tokens);
	word_counts_free(counts);
}

static void test_sentencepiece(void)
{
	struct train_spec_options o = { .kind = TRAIN_SENTENCEPIECE };
	struct train_spec t;

	tap_works(train_spec_begin(&t, arena, &o), "sentencepiece");
	train(&t, o.kind, 300);
	tap_ok(has_piece(&t, "\u2581low"), "a whole word is a piece");
	tap_is_i64(train_merges_are_complete(&t.spec), 1, "every merge that makes a piece");
	tap_ok(!t.spec.model.continuing_prefix.data && !t.spec.model.end_of_word_suffix.data,
	       "no prefix, no suffix");
	check_encoding(&t, "low lowest\nlow 12");
	check_encoding(&t, "<s> <0x41>");
}

/* Multiples of 1/4096, and none above the one before it, but for the special tokens. */
static void check_scores(const struct train_spec *t)
{
	const struct piece_spec *p = t->spec.model.pieces;
	bool whole = true, falling = true;

	for (size_t i = 0; i < t->spec.model.n_pieces; i++) {
		whole &= p[i].score * 4096 == (double)(int64_t)(p[i].score * 4096);
		falling &= i <= t->n_first || p[i].score <= p[i - 1].score;
	}
	tap_ok(whole, "scores are whole 4096ths");
	tap_ok(falling, "and fall");
}

static void test_unigram(void)
{
	struct train_spec_options o = { .kind = TRAIN_UNIGRAM };
	struct train_spec t;

	for (int bytes = 0; bytes < 2; bytes++) {
		o.byte_fallback = bytes;
		tap_works(train_spec_begin(&t, arena, &o), "unigram");
		train(&t, o.kind, bytes ? 296 : 30);
		check_scores(&t);
		check_encoding(&t, "low lowest\nlow 12");
		check_encoding(&t, "<s> </s> low");
		if (bytes)
			check_encoding(&t, "<0x41> <0x0A>");
	}
}

static void test_wordpiece(void)
{
	struct train_spec_options o = { .kind = TRAIN_WORDPIECE };
	struct train_spec t;

	tap_works(train_spec_begin(&t, arena, &o), "wordpiece");
	train(&t, o.kind, 60);
	tap_ok(t.spec.model.kind == MODEL_WORDPIECE && t.spec.model.n_merges == 0, "no merges");
	tap_ok(has_piece(&t, "##w"), "pieces that continue a word");
}

static void test_sizes(void)
{
	struct train_spec_options o = { .kind = TRAIN_UNIGRAM };
	struct train_model_options m = { .kind = TRAIN_UNIGRAM, .vocab_size = 10 };
	struct word_counts *counts = count_words();
	struct train_model_report report;
	struct train_spec t;

	tap_works(train_spec_begin(&t, arena, &o), "unigram");
	tap_fails(train_model(&t, arena, counts, &m, &report), ERR_ARGUMENT, "need at least 2",
		  "too few pieces: the least is told");
	m.vocab_size = 5000;
	tap_works(train_model(&t, arena, counts, &m, &report), "too many");
	tap_ok(t.spec.model.n_pieces < 200, "there are only %zu", t.spec.model.n_pieces);
	m.vocab_size = 40;
	m.memory = 1000;
	/* 14 words of 64 bytes in all: those above, one cut in two, and u, k and / of the special tokens. */
	tap_fails(train_model(&t, arena, counts, &m, &report), ERR_LIMIT, "need about 5.06 kB",
		  "too little memory");
	word_counts_free(counts);
}

/* --- going on --- */

/* Whether M has all merges of OLD, in their order. */
static bool has_merges(const struct model_spec *m, const struct model_spec *old)
{
	size_t at = 0;

	for (size_t i = 0; i < m->n_merges && at < old->n_merges; i++)
		at += m->merges[i].left == old->merges[at].left &&
		      m->merges[i].right == old->merges[at].right;
	return old->n_merges > 0 && at == old->n_merges;
}

static void test_extend(void)
{
	static const char *const more[] = { "<x>" };
	struct train_spec_options o = { .kind = TRAIN_SENTENCEPIECE };
	struct train_spec old, t;
	struct tokenizer_spec unlike;

	tap_works(train_spec_begin(&old, arena, &o), "an old one");
	train(&old, o.kind, 285);
	o = (struct train_spec_options){ .specials = more, .n_specials = 1, .pad = "<pad>" };
	tap_works(train_spec_extend(&t, arena, &old.spec, &o), "extend");
	tap_is_u64(t.n_first, 2, "two new special tokens");
	tap_is_u64(t.spec.pad, 285, "the first new id is after the old ones");
	tap_is_u64(t.spec.n_added, 5, "old ones stay");
	tap_ok(t.spec.eos == old.spec.eos, "and roles");
	train(&t, TRAIN_BPE, 302);
	tap_is_i64(train_merges_are_complete(&t.spec), 1, "all merges, as before");
	tap_ok(has_merges(&t.spec.model, &old.spec.model), "the old ones in their order");
	o.specials = (const char *const[]){ "\u2581low" };
	tap_fails(train_spec_extend(&t, arena, &old.spec, &o), ERR_ARGUMENT, "is a piece already",
		  "a piece is no special token");
	unlike = old.spec;
	unlike.model.kind = MODEL_UNIGRAM;
	tap_fails(train_spec_extend(&t, arena, &unlike, &o), ERR_UNSUPPORTED, "only BPE",
		  "Unigram cannot go on");
}

int main(void)
{
	if (arena_new(&arena) < 0)
		return 1;
	tap_run(test_defaults);
	tap_run(test_order);
	tap_run(test_refusals);
	tap_run(test_cuts);
	tap_run(test_words);
	tap_run(test_merges);
	tap_run(test_sentencepiece);
	tap_run(test_unigram);
	tap_run(test_wordpiece);
	tap_run(test_sizes);
	tap_run(test_extend);
	buffer_free(&joined);
	arena_free(arena);
	return tap_done();
}
