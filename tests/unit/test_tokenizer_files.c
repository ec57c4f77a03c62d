/*
 * Tokenizers of every other kind of file: rows A16, A19, A22, A23 and A26 of the cases, as far as files go.
 *
 * For the file NAME of fixtures/good/tokenizers, NAME.want.json is what tokenizers saves for it, made by
 * transformers' converters (scripts/gen-fixtures-tokenizers): ours is the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_spm.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokenizers/"
#define BAD  "fixtures/bad/tokenizers/"

static struct arena *arena;
static struct tokenizer_spec spec;

static int read_as(const char *path, enum scanner split)
{
	struct tokenizer_file_options options = { split };

	arena_free(arena);
	if (arena_new(&arena) < 0)
		exit(1);
	return tokenizer_file_read(&spec, arena, path, &options);
}

static bool reads(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), GOOD "%s", name);
	return tap_works(read_as(path, SCANNER_NONE), "%s is read", name);
}

static void test_as_the_converters_do(void)
{
	static const char *const names[] = {
		"gpt-2.gguf",
		"smollm.gguf",
		"llama-bpe.gguf",
		"qwen2.gguf",
		"bert.gguf",
		"spm-plain.gguf",
		"spm-unigram.gguf",
		"spm-bpe.model",
		"spm-user.model",
		"spm-plain.model",
		"spm-unigram.model",
		"bert/vocab.txt",
		"bpe_simple_vocab.txt",
		"bpe_simple_vocab.txt.gz",
		"old-merges",
	};
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct buffer b = { 0 };
		size_t n;
		char *want;

		snprintf(path, sizeof(path), GOOD "%s.want.json", names[i]);
		want = tap_fixture(path, &n);
		if (reads(names[i]) && tap_works(tokenizer_json_put(&b, &spec), "is written"))
			tap_is_bytes(buffer_bytes(&b), ((struct bytes){ want, n }),
				     "%s: what the converter makes of it", names[i]);
		buffer_free(&b);
		free(want);
	}
}

/* --- A16 --- */

static void test_A16_pre_names(void)
{
	const struct pretokenizer_spec *s;

	if (reads("qwen2.gguf")) {
		s = spec.pretokenizers;
		tap_ok(s[0].kind == PRETOKENIZER_SPLIT &&
			       strstr(s[0].split.pattern.text.data, "|\\p{N}|") != NULL,
		       "A16: Qwen2 takes digits one by one");
	}
	if (reads("llama-bpe.gguf")) {
		s = spec.pretokenizers;
		tap_ok(strstr(s[0].split.pattern.text.data, "|\\p{N}{1,3}|") != NULL,
		       "A16: Llama 3 takes three digits");
	}
	if (reads("gpt-2.gguf")) {
		s = spec.pretokenizers;
		tap_ok(spec.n_pretokenizers == 1 && s[0].kind == PRETOKENIZER_BYTE_LEVEL &&
			       s[0].byte_level.use_regex,
		       "A16: GPT-2 splits by ByteLevel's own pattern");
	}
	tap_fails(read_as(BAD "pre-unknown.gguf", SCANNER_NONE), ERR_UNSUPPORTED,
		  "tokenizer.ggml.pre: no split pattern is known for \"sideways\"",
		  "A16: an unknown pre is named");
	tap_fails(read_as(BAD "pre-default.gguf", SCANNER_NONE), ERR_UNSUPPORTED, "\"default\"",
		  "A16: default is no name of a pattern");
	tap_fails(read_as(BAD "pre-missing.gguf", SCANNER_NONE), ERR_MISSING,
		  "tokenizer.ggml.pre is missing", "A16: no pre at all");
	tap_fails(read_as(BAD "kind.gguf", SCANNER_NONE), ERR_UNSUPPORTED, "unknown kind \"rwkv\"",
		  "A16: an unknown kind is named");
}

/* --- A19, A22, A23 --- */

static void test_A19_implied_by_pre(void)
{
	if (reads("llama-bpe.gguf"))
		tap_ok(spec.model.ignore_merges, "A19: llama-bpe implies ignore_merges");
	if (reads("qwen2.gguf"))
		tap_ok(!spec.model.ignore_merges, "A19: qwen2 does not");
}

static bool has_piece(const char *text)
{
	for (size_t i = 0; i < spec.model.n_pieces; i++)
		if (bytes_are(spec.model.pieces[i].text, text))
			return true;
	return false;
}

static const struct added_spec *added(const char *text)
{
	for (size_t i = 0; i < spec.n_added; i++)
		if (bytes_are(spec.added[i].text, text))
			return &spec.added[i];
	return NULL;
}

static void test_A22_control_tokens(void)
{
	const struct added_spec *a;

	if (reads("spm-unigram.model")) {
		a = added("<ctl>");
		tap_ok(a && a->special && !a->normalized, "A22: a control piece is special");
		tap_ok(!has_piece("<ctl>") && !has_piece("</s>"),
		       "A22: and no piece of the model, so that no text makes it");
	}
	if (reads("smollm.gguf")) {
		a = added("<|endoftext|>");
		tap_ok(a && a->special, "A22: CONTROL is special");
		a = added("<|user|>");
		tap_ok(a && !a->special, "A22: USER_DEFINED is not");
	}
	if (reads("spm-plain.model"))
		tap_ok(!added("\n\n") && has_piece("\n\n"),
		       "a user-defined piece is the model's to match");
}

static void test_A23_beginning_and_end(void)
{
	if (reads("llama-bpe.gguf"))
		tap_ok(spec.add_bos && spec.bos == 0, "A23: llama-bpe implies a BOS");
	if (reads("qwen2.gguf"))
		tap_ok(!spec.add_bos && !spec.add_eos, "A23: qwen2 implies none");
	if (reads("spm-plain.gguf"))
		tap_ok(spec.add_bos && spec.bos == 1 && spec.eos == 2 && !spec.add_eos,
		       "A23: llama adds one, the default piece where no key names it");
	if (reads("spm-unigram.gguf"))
		tap_ok(spec.add_eos && !spec.add_bos && spec.eos == 1, "A23: t5 adds an end");
	if (reads("bert.gguf"))
		tap_ok(!spec.add_bos && !spec.add_eos && spec.n_posts == 1,
		       "A23: a template adds its own");
	if (reads("spm-bpe.model"))
		tap_ok(!spec.add_bos && spec.bos == 1 && spec.eos == 2 && spec.unk == 0 &&
			       spec.pad == TOKEN_NONE,
		       "A23: a .model names roles and adds none");
	tap_ok(spec.model.byte_fallback, "byte fallback");
}

static void test_chat_template(void)
{
	if (reads("smollm.gguf"))
		tap_is_bytes(spec.chat_template, bytes_of("{{ messages }}"), "of a GGUF");
}

/* --- folders --- */

static void test_folder(void)
{
	if (!reads("gpt2"))
		return;
	tap_is_u64(spec.model.n_pieces, 320, "vocab.json");
	tap_is_u64(spec.pretokenizers[0].kind, PRETOKENIZER_BYTE_LEVEL, "the class says the split");
	tap_is_u64(spec.bos, 0, "bos by its text");
	tap_is_u64(spec.eos, 0, "eos by an object; generation_config comes after");
	tap_is_u64(spec.pad, 7, "pad by its id, from generation_config");
	tap_is_u64(spec.unk, TOKEN_NONE, "no unk");
	tap_ok(spec.add_bos && !spec.add_eos, "flags");
	tap_is_bytes(spec.chat_template, bytes_of("D"), "the template named default");
	tap_fails(read_as("tests/unit", SCANNER_NONE), ERR_MISSING, "holds no tokenizer.json",
		  "a folder without a tokenizer");
	tap_fails(read_as("fixtures/none", SCANNER_NONE), ERR_IO, "fixtures/none", "no such file");
}

/* --- ranks --- */

static uint32_t id_of(const char *text)
{
	for (size_t i = 0; i < spec.model.n_pieces; i++)
		if (bytes_are(spec.model.pieces[i].text, text))
			return spec.model.pieces[i].id;
	return TOKEN_NONE;
}

static void test_ranks(void)
{
	const struct merge_spec *m;

	tap_fails(read_as(GOOD "ranks.tiktoken", SCANNER_NONE), ERR_ARGUMENT, "--split",
		  "the split pattern must be said");
	tap_fails(read_as(BAD "ranks-bytes.tiktoken", SCANNER_GPT2), ERR_FORMAT,
		  "no piece is the byte 0x00", "a byte without a piece");
	tap_fails(read_as(BAD "ranks-base64.tiktoken", SCANNER_GPT2), ERR_FORMAT,
		  ":2: ", "what is no base64");
	if (!tap_works(read_as(GOOD "ranks.tiktoken", SCANNER_GPT2), "ranks"))
		return;
	tap_is_u64(spec.model.n_pieces, 267, "every rank is a piece");
	tap_ok(spec.model.ignore_merges, "a whole word is taken as it is");
	tap_is_u64(id_of("\xC4\xA0the"), 261, "in ByteLevel's alphabet");
	m = spec.model.merges;
	tap_ok(m[0].left == 't' && m[0].right == 'h' && m[0].result == 256,
	       "the lowest rank first");
	tap_ok(m[2].left == 't' && m[2].right == 257 && m[3].left == 256,
	       "of one piece, the lower left id first");
	tap_is_u64(spec.pretokenizers[0].split.pattern.dialect, REGEX_FANCY, "tiktoken's dialect");
}

/* --- SentencePiece --- */

static double score_of(uint32_t id)
{
	for (size_t i = 0; i < spec.model.n_pieces; i++)
		if (spec.model.pieces[i].id == id)
			return spec.model.pieces[i].score;
	return 1;
}

static void test_scores_become_merges(void)
{
	struct tokenizer_spec converted;
	const struct model_spec *m = &converted.model;
	bool ordered = true;

	if (!reads("spm-bpe.model") ||
	    !tap_works(tokenizer_spm_convert(&converted, arena, &spec), "as components"))
		return;
	for (size_t i = 1; i < m->n_merges; i++)
		ordered &= score_of(m->merges[i - 1].result) >= score_of(m->merges[i].result);
	tap_ok(m->n_merges > 50, "%zu merges", m->n_merges);
	tap_ok(ordered, "in the order of their scores");
}

static void test_refused_models(void)
{
	static const struct {
		const char *name;
		enum err_code code;
		const char *part;
	} cases[] = {
		{ "word.model", ERR_UNSUPPORTED, "model_type: WORD is not handled" },
		{ "denormalizer.model", ERR_UNSUPPORTED, "denormalizer_spec" },
		{ "no-unknown.model", ERR_FORMAT, "no piece is of the type UNKNOWN" },
		{ "cut.model", ERR_FORMAT, "byte " },
		{ "types.gguf", ERR_FORMAT, "token_type: 2 items for 3 pieces" },
	};
	char path[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), BAD "%s", cases[i].name);
		tap_fails(read_as(path, SCANNER_NONE), cases[i].code, cases[i].part, "%s",
			  cases[i].name);
	}
}

/* --- text of no kind, and A26 --- */

static void test_A26_bytes_that_are_no_tokenizer(void)
{
	tap_fails(read_as(tap_file("a", "\xE6\xAD", 2), SCANNER_NONE), ERR_UNSUPPORTED,
		  "no kind of tokenizer", "A26: half a character");
	tap_fails(read_as(tap_file("b", "", 0), SCANNER_NONE), ERR_UNSUPPORTED,
		  "no kind of tokenizer", "A26: an empty file");
	tap_fails(read_as(tap_file("vocab.txt", "[UNK]\n\xC0\x80\n", 9), SCANNER_NONE), ERR_FORMAT,
		  "is not UTF-8", "A26: an overlong piece");
	tap_fails(read_as(tap_file("c", "\x1F\x8B\x08junk", 7), SCANNER_NONE), ERR_FORMAT,
		  "c: ", "A26: no gzip file after all");
}

/* Every cut of a gzip file, and bytes behind it, are seen. */
static void test_damaged_gzip(void)
{
	size_t n;
	char *good = tap_fixture(GOOD "bpe_simple_vocab.txt.gz", &n);
	char *more = mem_new(n + 1, 1);
	int taken = 0;

	for (size_t i = 3; i < n; i++)
		taken += read_as(tap_file("cut.gz", good, i), SCANNER_NONE) == 0;
	tap_is_i64(taken, 0, "no cut of the file is taken");
	memcpy(more, good, n);
	tap_fails(read_as(tap_file("more.gz", more, n + 1), SCANNER_NONE), ERR_FORMAT,
		  "damaged gzip", "a byte behind the end");
	free(good);
	free(more);
}

/* --- damaged files --- */

enum kind {
	KIND_SENTENCEPIECE,
	KIND_TIKTOKEN,
	KIND_GGUF,
	KIND_CLIP,
};

static int read_gguf(struct tokenizer_spec *out, struct arena *own, const void *data, size_t size)
{
	struct gguf *g;
	int result;

	if (gguf_open_memory(&g, data, size, "damaged") < 0)
		return -1;
	result = tokenizer_gguf_read(out, own, g);
	gguf_close(g);
	return result;
}

static int read_kind(struct tokenizer_spec *out, struct arena *own, enum kind kind,
		     struct bytes data)
{
	switch (kind) {
	case KIND_SENTENCEPIECE: return tokenizer_sentencepiece_parse(out, own, data, "damaged");
	case KIND_TIKTOKEN:
		return tokenizer_tiktoken_parse(out, own, data, "damaged", SCANNER_GPT2);
	case KIND_GGUF: return read_gguf(out, own, data.data, data.size);
	case KIND_CLIP: return tokenizer_clip(out, own, data, "damaged");
	}
	return -2; /* no such kind: corrupt_run takes it for a failure */
}

static int read_damaged(void *arg, const void *data, size_t size)
{
	const enum kind *kind = arg;
	struct tokenizer_spec out;
	struct arena *own;
	int result;

	if (arena_new(&own) < 0)
		return -1;
	result = read_kind(&out, own, *kind, (struct bytes){ data, size });
	arena_free(own);
	return result;
}

static void test_damaged(void)
{
	static const struct {
		const char *name;
		enum kind kind;
	} cases[] = {
		{ "spm-user.model", KIND_SENTENCEPIECE },
		{ "ranks.tiktoken", KIND_TIKTOKEN },
		{ "smollm.gguf", KIND_GGUF },
		{ "spm-plain.gguf", KIND_GGUF },
		{ "bert.gguf", KIND_GGUF },
		{ "bpe_simple_vocab.txt", KIND_CLIP },
	};
	char path[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum kind kind = cases[i].kind;
		size_t n;
		char *good;

		snprintf(path, sizeof(path), GOOD "%s", cases[i].name);
		good = tap_fixture(path, &n);
		corrupt_run(cases[i].name, (struct bytes){ good, n }, (struct bytes){ NULL, 0 },
			    read_damaged, &kind, (size_t)64 << 20);
		free(good);
	}
}

int main(void)
{
	tap_run(test_as_the_converters_do);
	tap_run(test_A16_pre_names);
	tap_run(test_A19_implied_by_pre);
	tap_run(test_A22_control_tokens);
	tap_run(test_A23_beginning_and_end);
	tap_run(test_chat_template);
	tap_run(test_folder);
	tap_run(test_ranks);
	tap_run(test_scores_become_merges);
	tap_run(test_refused_models);
	tap_run(test_A26_bytes_that_are_no_tokenizer);
	tap_run(test_damaged_gzip);
	tap_run(test_damaged);
	arena_free(arena);
	return tap_done();
}
