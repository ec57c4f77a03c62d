/*
 * Tokenizers written into GGUF and read back: rows A16, A19, A22 and A23 of the cases, the other way round.
 *
 * What is written is held against the tokenizer that it was written from, whose ids fixtures/golden/ids and
 * tests/cmd/tokenize.bats hold against the peer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_gguf_pre.h"
#include "lib/base/err.h"
#include "lib/text/tokenizer.h"
#include "tests/corrupt.h"
#include "tests/tap.h"
#include "tests/vocab_gguf.h"

#define GOOD "fixtures/good/tokenizers/"

/* --- a tokenizer and its texts --- */

struct subject {
	struct arena *arena;
	struct tokenizer_spec spec;
	struct tokenizer *tokenizer;
	struct hash128 plain, whole;
};

static void subject_free(struct subject *s)
{
	tokenizer_free(s->tokenizer);
	arena_free(s->arena);
	*s = (struct subject){ 0 };
}

static int compile(struct subject *s)
{
	return tokenizer_new(&s->tokenizer, &s->spec) < 0
		       ? -1
		       : tokenizer_fingerprint(s->tokenizer, &s->plain, &s->whole);
}

static bool subject_read(struct subject *s, const char *path)
{
	*s = (struct subject){ 0 };
	return tap_works(arena_new(&s->arena), "memory") &&
	       tap_works(tokenizer_file_read(&s->spec, s->arena, path, NULL), "%s is read", path) &&
	       tap_works(compile(s), "%s is compiled", path);
}

static bool same_hash(const struct hash128 *a, const struct hash128 *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static int encode(struct encoder *e, struct bytes text, enum special_mode mode,
		  struct encoding *out)
{
	struct encode_options options = { .special = mode, .post_process = true };

	if (encoder_run(e, text, &options, out) < 0)
		out->n = SIZE_MAX; /* refused: so must the other do */
	return 0;
}

static bool same_ids(const struct encoding *a, const struct encoding *b)
{
	if (a->n != b->n || a->n == SIZE_MAX)
		return a->n == b->n;
	return a->n == 0 || memcmp(a->ids, b->ids, a->n * sizeof(*a->ids)) == 0;
}

struct pair {
	struct encoder *a, *b;
	struct encoding x, y;
	size_t n, wrong;
};

/* Each text as data and as a prompt: special tokens are text there, and what they say here. */
static void compare_text(struct pair *p, struct bytes text)
{
	for (int mode = SPECIAL_PLAIN; mode <= SPECIAL_PARSE; mode++) {
		encode(p->a, text, (enum special_mode)mode, &p->x);
		encode(p->b, text, (enum special_mode)mode, &p->y);
		p->n++;
		if (same_ids(&p->x, &p->y))
			continue;
		if (p->wrong++ == 0)
			tap_note("differs, mode %d: " BYTES_FMT, mode, BYTES_ARG(text));
	}
}

static void compare_line(struct pair *p, struct json *j, struct bytes line)
{
	struct bytes key, text;

	json_init(j, line.data, line.size, "hard.jsonl", NULL);
	json_object(j);
	while (json_key(j, &key) > 0)
		if (!bytes_are(key, "text"))
			json_skip(j, NULL);
		else if (json_string(j, &text) == 0)
			compare_text(p, text);
}

/* How many of fixtures/good/text/hard.jsonl come out otherwise; *N texts in all. */
static size_t compare(const struct subject *a, const struct subject *b, size_t *n)
{
	struct pair p = { 0 };
	struct json *j;
	size_t size, at = 0;
	char *all = tap_fixture("fixtures/good/text/hard.jsonl", &size);

	if (json_new(&j) < 0 || encoder_new(&p.a, a->tokenizer) < 0 ||
	    encoder_new(&p.b, b->tokenizer) < 0)
		exit(1);
	while (at < size) {
		const char *end = memchr(all + at, '\n', size - at);
		size_t length = end ? (size_t)(end - all) - at : size - at;

		compare_line(&p, j, (struct bytes){ all + at, length });
		at += length + 1;
	}
	json_free(j);
	encoder_free(p.a);
	encoder_free(p.b);
	encoding_free(&p.x);
	encoding_free(&p.y);
	free(all);
	*n = p.n;
	return p.wrong;
}

/* --- every kind there and back --- */

enum outcome {
	EXACT,	  /* the keys say everything, and both fingerprints are equal */
	SAME_IDS, /* the same ids, and the same fingerprint of plain text; the whole is not stated */
	NEARLY,	  /* rare texts come out otherwise: no fingerprint is stated */
	REFUSED,
};

static const struct {
	const char *name;
	enum outcome keys;
	const char *part; /* of the refusal, or of the differences */
} kinds[] = {
	{ "gpt-2.gguf", EXACT, "" },
	{ "smollm.gguf", EXACT, "" },
	{ "llama-bpe.gguf", EXACT, "" },
	{ "qwen2.gguf", EXACT, "" },
	{ "byte-level.json", EXACT, "" },
	{ "spm-plain.gguf", EXACT, "" },
	{ "spm-unigram.gguf", EXACT, "" },
	{ "spm-bpe.model", EXACT, "" },
	{ "spm-user.model", EXACT, "" },
	{ "spm-plain.model", EXACT, "" },
	{ "spm-unigram.model", EXACT, "" },
	{ "bert.gguf", EXACT, "" },
	{ "bert.json", SAME_IDS, "" },
	{ "bert/vocab.txt", SAME_IDS, "" },
	{ "gpt2", EXACT, "" },
	/* Lists of merges where the keys have scores; of the last, texts that spell <s>. */
	{ "spm-bpe.model.want.json", NEARLY, "" },
	{ "spm-plain.model.want.json", NEARLY, "" },
	{ "spm-unigram.model.want.json", NEARLY, "" },
	{ "llama3.json", REFUSED, "single_word, lstrip or rstrip of the added token" },
	{ "bpe_simple_vocab.txt", REFUSED, "pre_tokenizer: no `pre` of llama.cpp means" },
	{ "words.json", REFUSED, "no kind of vocabulary is WordLevel" },
	{ "prefixes.json", REFUSED, "" },
	{ "old-merges", REFUSED, "is none of SentencePiece's" },
};

/* What comes from a GGUF or a .model is the same spec again, whatever the file states. */
static void check_unstated(const struct subject *a, struct subject *b, const char *name)
{
	const char *end = strrchr(name, '.');

	if (!end || (strcmp(end, ".gguf") != 0 && strcmp(end, ".model") != 0))
		return;
	b->spec.stated_plain = b->spec.stated_whole = NULL;
	tokenizer_fingerprint(b->tokenizer, &b->plain, &b->whole);
	tap_ok(same_hash(&a->plain, &b->plain) && same_hash(&a->whole, &b->whole),
	       "%s: the same, worked out anew", name);
}

static void test_keys_alone(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct subject a, b = { 0 };
		const char *path = tap_path("keys.gguf");
		char source[256];
		size_t n, wrong;

		snprintf(source, sizeof(source), GOOD "%s", kinds[i].name);
		if (!subject_read(&a, source))
			continue;
		if (kinds[i].keys == REFUSED) {
			tap_fails(vocab_gguf_write(path, &a.spec, NULL), ERR_UNSUPPORTED,
				  kinds[i].part, "%s is refused", kinds[i].name);
		} else if (tap_works(vocab_gguf_write(path, &a.spec, NULL), "%s is written",
				     kinds[i].name) &&
			   subject_read(&b, path)) {
			tap_ok(same_hash(&a.plain, &b.plain) == (kinds[i].keys != NEARLY),
			       "%s: the fingerprint of plain text", kinds[i].name);
			tap_ok(same_hash(&a.whole, &b.whole) == (kinds[i].keys == EXACT),
			       "%s: of the whole", kinds[i].name);
			wrong = compare(&a, &b, &n);
			tap_ok(wrong <= (kinds[i].keys == NEARLY ? n / 10 : 0),
			       "%s: ids, %zu of them others", kinds[i].name, wrong);
			tap_ok(!b.spec.stated_plain == (kinds[i].keys == NEARLY),
			       "%s: what the file states", kinds[i].name);
			tap_ok(n > 800, "%zu comparisons", n);
			check_unstated(&a, &b, source);
		}
		subject_free(&a);
		subject_free(&b);
	}
}

static void test_with_json(void)
{
	struct tokenizer_gguf_options options = { .with_json = true, .inexact = true };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct subject a, b = { 0 };
		const char *path = tap_path("json.gguf");
		char source[256];
		size_t n;

		/* Those of SentencePiece are more than a tokenizer.json says; WordLevel has no keys at all. */
		if (strncmp(kinds[i].name, "spm", 3) == 0 ||
		    strcmp(kinds[i].name, "words.json") == 0)
			continue;
		snprintf(source, sizeof(source), GOOD "%s", kinds[i].name);
		if (subject_read(&a, source) &&
		    tap_works(vocab_gguf_write(path, &a.spec, &options), "%s", kinds[i].name) &&
		    subject_read(&b, path)) {
			tap_ok(b.spec.stated_plain != NULL, "%s: is stated", kinds[i].name);
			b.spec.stated_plain = b.spec.stated_whole = NULL;
			tokenizer_fingerprint(b.tokenizer, &b.plain, &b.whole);
			tap_ok(same_hash(&a.plain, &b.plain), "%s: and so it is", kinds[i].name);
			tap_is_u64(compare(&a, &b, &n), 0, "%s: ids", kinds[i].name);
		}
		subject_free(&a);
		subject_free(&b);
	}
}

/* --- A16, A19: the names of patterns --- */

static void test_A16_each_pre(void)
{
	static const char *const names[] = {
		"gpt-2",      "smollm",	     "llama-bpe",     "dbrx",	"qwen2",    "qwen35",
		"ufakzeka",   "minicpm5",    "tekken",	      "gpt-4o", "tiny_aya", "youtu",
		"bailingmoe", "seed-coder",  "exaone-moe",    "jais-2", "laguna",   "bloom",
		"viking",     "deepseek-v3", "deepseek-coder"
	};
	struct tokenizer_spec spec = { 0 };
	struct gguf_pre flags, again;
	struct arena *arena;
	struct bytes got;

	if (arena_new(&arena) < 0)
		exit(1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!tap_works(gguf_pre_find(&spec.pretokenizers, &spec.n_pretokenizers, &flags,
					     arena, bytes_of(names[i]), "test"),
			       "%s", names[i]))
			continue;
		got = gguf_pre_name(&spec, flags.ignore_merges, &again);
		tap_is_bytes(got, bytes_of(names[i]), "A16: %s is found again by what it means",
			     names[i]);
		tap_ok(again.ignore_merges == flags.ignore_merges, "A19: with its flag");
	}
	arena_free(arena);
}

/* The merges of the fixture reach each piece, so that a flag more or less says nothing; one merge less, and it does. */
static void test_A19_ignore_merges(void)
{
	const char *path = tap_path("flag.gguf");
	struct subject s;

	if (!subject_read(&s, GOOD "qwen2.gguf"))
		return;
	s.spec.model.ignore_merges = true;
	tap_works(vocab_gguf_write(path, &s.spec, NULL), "A19: a flag that changes nothing");
	s.spec.model.n_merges--;
	tap_fails(vocab_gguf_write(path, &s.spec, NULL), ERR_UNSUPPORTED,
		  "ignore_merges: is true, and pre \"qwen2\" implies false",
		  "A19: a flag that changes ids");
	subject_free(&s);
}

static void test_given_pre(void)
{
	struct tokenizer_gguf_options options = { .pre = "gpt-2", .inexact = true };
	const char *path = tap_path("given.gguf");
	struct subject s, t;

	if (!subject_read(&s, GOOD "qwen2.gguf"))
		return;
	tap_works(vocab_gguf_write(path, &s.spec, &options), "another pre, as it was asked for");
	if (subject_read(&t, path)) {
		tap_ok(!t.spec.stated_plain, "states no fingerprint");
		tap_is_u64(t.spec.n_pretokenizers, 1, "and is what it says");
		subject_free(&t);
	}
	options.pre = "sideways";
	tap_fails(vocab_gguf_write(path, &s.spec, &options), ERR_ARGUMENT,
		  "no split pattern is known for pre \"sideways\"", "a name that means nothing");
	subject_free(&s);
}

/* --- what the keys cannot say --- */

static void test_refusals(void)
{
	struct normalizer_spec nfc = { .kind = NORMALIZER_NFC };
	struct tokenizer_gguf_options options = { 0 };
	struct buffer differences = { 0 };
	const char *path = tap_path("refused.gguf");
	struct subject s;

	if (!subject_read(&s, GOOD "qwen2.gguf"))
		return;
	s.spec.normalizers = &nfc;
	s.spec.n_normalizers = 1;
	tap_fails(vocab_gguf_write(path, &s.spec, &options), ERR_UNSUPPORTED,
		  "GGUF cannot say: normalizer", "a normalizer");
	options.inexact = true;
	options.differences = &differences;
	tap_works(vocab_gguf_write(path, &s.spec, &options), "is written where that is allowed");
	tap_is_bytes(buffer_bytes(&differences),
		     bytes_of("normalizer: llama.cpp's gpt2 has none\n"), "and told of");
	buffer_free(&differences);
	subject_free(&s);
}

/* --- ids without a piece --- */

static void test_gaps(void)
{
	const char *path = tap_path("gaps.gguf");
	struct added_spec added[2] = {
		{ .id = 400, .text = bytes_of("[unused330]"), .special = true },
		{ .id = 402, .text = bytes_of("<last>") }
	};
	struct gguf_value tokens, item;
	struct gguf_items it;
	struct subject s, t;
	struct gguf *g = NULL;
	size_t i = 0, n;

	if (!subject_read(&s, GOOD "byte-level.json"))
		return;
	s.spec.added = added;
	s.spec.n_added = 2;
	tokenizer_free(s.tokenizer);
	tap_works(compile(&s), "two added tokens far behind the vocabulary");
	tap_works(vocab_gguf_write(path, &s.spec, NULL), "are written");
	if (subject_read(&t, path)) {
		tap_ok(same_hash(&s.plain, &t.plain), "no piece more is read");
		t.spec.stated_plain = t.spec.stated_whole = NULL;
		tokenizer_fingerprint(t.tokenizer, &t.plain, &t.whole);
		tap_is_u64(tokenizer_vocab_size(t.tokenizer), 403, "every id has its place");
		tap_is_u64(tokenizer_piece(t.tokenizer, 350).size, 0, "of a gap there is no piece");
		tap_is_u64(compare(&s, &t, &n), 0, "ids");
		subject_free(&t);
	}
	tap_works(gguf_open(&g, path), "the file");
	tap_is_i64(gguf_get_array(g, "tokenizer.ggml.tokens", GGUF_STRING, &tokens), 1, "tokens");
	gguf_items(&it, &tokens);
	for (; gguf_items_next(&it, &item); i++) {
		if (i == 350)
			tap_is_bytes(gguf_value_string(&item), bytes_of("[unused350]"), "a gap");
		if (i == 330)
			tap_is_bytes(gguf_value_string(&item), bytes_of("[unused330_]"),
				     "a gap whose name another piece has");
	}
	tap_is_u64(i, 403, "pieces");
	gguf_close(g);
	added[1].id = 1u << 30;
	tap_fails(vocab_gguf_write(path, &s.spec, NULL), ERR_LIMIT, "ids up to 1073741824",
		  "an id that would need a billion of them");
	subject_free(&s);
}

/* --- fingerprints that a file states --- */

/* The same file with the key KEY renamed, so that no reader finds it. */
static void rename_key(char *data, size_t n, const char *key)
{
	size_t length = strlen(key);

	for (size_t i = 0; i + length < n; i++)
		if (memcmp(data + i, key, length) == 0) {
			data[i + length - 1]++;
			return;
		}
	exit(1);
}

static void check_changed(const char *path, const char *key, bool trusted)
{
	struct subject t;
	size_t n;
	char *data = tap_fixture(path, &n);

	rename_key(data, n, key);
	if (subject_read(&t, tap_file("changed.gguf", data, n))) {
		tap_ok(!t.spec.stated_plain == !trusted, "after a change of %s", key);
		subject_free(&t);
	}
	free(data);
}

static void test_stated(void)
{
	const char *path = tap_path("stated.gguf");
	struct subject s, t;

	if (!subject_read(&s, GOOD "smollm.gguf"))
		return;
	tap_works(vocab_gguf_write(path, &s.spec, NULL), "is written");
	if (subject_read(&t, path)) {
		tap_ok(t.spec.stated_plain && t.spec.stated_whole, "both are stated");
		subject_free(&t);
	}
	check_changed(path, "general.name", true);
	check_changed(path, "tokenizer.ggml.bos_token_id", false);
	check_changed(path, "tokenizer.chat_template", false);
	check_changed(path, "nnutils.tokenizer.pieces_hash", false);
	subject_free(&s);
}

/* --- damaged files --- */

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct tokenizer_spec out;
	struct arena *own;
	struct gguf *g;
	int result = -1;

	(void)arg;
	if (arena_new(&own) < 0)
		return -1;
	if (gguf_open_memory(&g, data, size, "damaged") == 0) {
		result = tokenizer_gguf_read(&out, own, g);
		gguf_close(g);
	}
	arena_free(own);
	return result;
}

static void test_damaged(void)
{
	const char *path = tap_path("whole.gguf");
	struct subject s;
	size_t n;
	char *good;

	if (!subject_read(&s, GOOD "spm-plain.model"))
		return;
	if (tap_works(vocab_gguf_write(path, &s.spec, NULL), "is written")) {
		good = tap_fixture(path, &n);
		corrupt_run("written.gguf", (struct bytes){ good, n }, (struct bytes){ NULL, 0 },
			    read_damaged, NULL, (size_t)64 << 20);
		free(good);
	}
	subject_free(&s);
}

int main(void)
{
	tap_run(test_keys_alone);
	tap_run(test_with_json);
	tap_run(test_A16_each_pre);
	tap_run(test_A19_ignore_merges);
	tap_run(test_given_pre);
	tap_run(test_refusals);
	tap_run(test_gaps);
	tap_run(test_stated);
	tap_run(test_damaged);
	return tap_done();
}
