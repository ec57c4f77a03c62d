/*
 * SentencePiece's rules: the ids and the places of sentencepiece 0.2.3 for small models that have every rule
 * (scripts/gen-fixtures-spm), and rows A01, A02, A04, A13, A14 and A26 of the cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_file.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_spm.h"
#include "lib/base/err.h"
#include "lib/text/decode.h"
#include "lib/text/tokenizer_parts.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define IDS	   "fixtures/golden/spm/ids.tsv"
#define INVALID	   "fixtures/golden/spm/invalid.tsv"
#define LONG_TEXTS "fixtures/golden/spm/long.tsv"
#define MARK	   "\xE2\x96\x81"

struct model {
	struct arena *arena;
	struct tokenizer_spec spec;
	struct tokenizer *tokenizer;
	struct encoder *encoder;
	struct encoding got;
};

static void model_close(struct model *m)
{
	encoder_free(m->encoder);
	tokenizer_free(m->tokenizer);
	encoding_free(&m->got);
	arena_free(m->arena);
	*m = (struct model){ 0 };
}

static int model_compile(struct model *m)
{
	return tokenizer_new(&m->tokenizer, &m->spec) < 0 ? -1
							  : encoder_new(&m->encoder, m->tokenizer);
}

/* NAME is below fixtures/good. */
static bool model_open(struct model *m, const char *name, bool replace_invalid)
{
	char path[256];

	*m = (struct model){ 0 };
	snprintf(path, sizeof(path), "fixtures/good/%s", name);
	if (arena_new(&m->arena) < 0 || tokenizer_file_read(&m->spec, m->arena, path, NULL) < 0) {
		tap_ok(false, "%s: %s", name, err_text());
		return false;
	}
	if (replace_invalid)
		((struct normalizer_spec *)(uintptr_t)m->spec.normalizers)
			->sentencepiece.replace_invalid = true;
	return tap_works(model_compile(m), "%s is read", name);
}

static int encode(struct model *m, struct bytes text, enum special_mode special)
{
	struct encode_options options = { .special = special, .offsets = true };

	return encoder_run(m->encoder, text, &options, &m->got);
}

/* So much text that the merges have a table from then on (bpe_spm.c); unknown characters may be refused. */
static void read_much(struct model *m)
{
	const size_t n = 300000;
	char *text = malloc(n);

	memset(text, 'a', n);
	encode(m, (struct bytes){ text, n }, SPECIAL_PLAIN);
	free(text);
}

/* --- the golden files --- */

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t unhex(const char *hex, size_t n, char *out)
{
	if (n == 1)
		return 0;
	for (size_t i = 0; i + 1 < n; i += 2)
		*out++ = (char)(digit(hex[i]) << 4 | digit(hex[i + 1]));
	return n / 2;
}

/* Whether what was encoded is WANT: id:from:to with spaces between, to the end of its line. */
static bool is_wanted(const struct encoding *e, const char *want)
{
	for (size_t i = 0; i < e->n; i++) {
		char *at;

		if (strtoul(want, &at, 10) != e->ids[i] || *at++ != ':' ||
		    strtoul(at, &at, 10) != e->offsets[i].from || *at++ != ':' ||
		    strtoul(at, &at, 10) != e->offsets[i].to)
			return false;
		want = at;
	}
	return *want == '\n';
}

static bool check_line(struct model *m, const char *hex, const char *want)
{
	char text[1024];
	size_t n = (size_t)(want - 1 - hex);

	if (n / 2 <= sizeof(text) &&
	    encode(m, (struct bytes){ text, unhex(hex, n, text) }, SPECIAL_PLAIN) == 0 &&
	    is_wanted(&m->got, want))
		return true;
	tap_note("text %.*s: not %.*s", (int)n, hex, (int)strcspn(want, "\n"), want);
	return false;
}

/* One check a model. Returns the number of texts. */
static size_t check_golden(const char *path, bool replace_invalid, bool after_much)
{
	size_t size, n = 0, wrong = 0;
	char *data = tap_fixture(path, &size), last[128] = "";
	struct model m = { 0 };

	for (const char *line = data; *line; line = strchr(line, '\n') + 1) {
		const char *hex = strchr(line, '\t') + 1;
		size_t length = (size_t)(hex - 1 - line);

		if (strncmp(line, last, length) != 0 || last[length]) {
			if (*last)
				tap_is_u64(wrong, 0, "%s: ids and places", last);
			model_close(&m);
			snprintf(last, sizeof(last), "%.*s", (int)length, line);
			wrong = 0;
			if (!model_open(&m, last, replace_invalid))
				exit(tap_done());
			if (after_much)
				read_much(&m);
		}
		wrong += !check_line(&m, hex, strchr(hex, '\t') + 1);
		n++;
	}
	tap_is_u64(wrong, 0, "%s: ids and places", last);
	model_close(&m);
	free(data);
	return n;
}

static void test_golden(void)
{
	size_t n = check_golden(IDS, false, false);

	tap_ok(n > 2000, "%zu texts", n);
}

static void test_golden_after_much_text(void)
{
	size_t n = check_golden(IDS, false, true);

	tap_ok(n > 2000, "%zu texts", n);
}

static void test_golden_invalid(void)
{
	size_t n = check_golden(INVALID, true, false) + check_golden(INVALID, true, true);

	tap_ok(n > 400, "%zu texts that are not UTF-8, each bad byte U+FFFD", n);
}

/* --- long texts: rounding decides, and sums begin anew --- */

static void long_text(char *out, uint32_t seed, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		seed = (seed * 1103515245u + 12345u) & 0x7FFFFFFF;
		out[i] = "abc"[(seed >> 16) % 3];
	}
}

static uint32_t checksum(const struct encoding *e)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < e->n; i++)
		sum = sum * 31 + e->ids[i];
	return sum;
}

static void check_long(const char *line)
{
	unsigned long field[4];
	char name[64], *at;
	struct model m;
	char *text;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "\t"), line);
	at = strchr(line, '\t');
	for (int i = 0; i < 4; i++)
		field[i] = strtoul(at, &at, 10);
	text = malloc(field[1]);
	if (!text || !model_open(&m, name, false))
		exit(tap_done());
	long_text(text, (uint32_t)field[0], field[1]);
	tap_works(encode(&m, (struct bytes){ text, field[1] }, SPECIAL_PLAIN), "%s: %lu bytes",
		  name, field[1]);
	tap_is_u64(m.got.n, field[2], "%s: %lu bytes: how many", name, field[1]);
	tap_is_u64(checksum(&m.got), field[3], "%s: %lu bytes: which", name, field[1]);
	model_close(&m);
	free(text);
}

static void test_long(void)
{
	size_t size, n = 0;
	char *data = tap_fixture(LONG_TEXTS, &size);

	for (const char *line = data; *line; line = strchr(line, '\n') + 1, n++)
		check_long(line);
	tap_is_u64(n, 8, "long texts");
	free(data);
}

/* A long text some tokens at a time: the same ones, with user-defined pieces and unknown characters at every place. */
static void some_at_a_time(const char *name)
{
	enum { N = 400000 };
	static const char *const parts[] = {
		"the", MARK, "a", "\xE2\x82\xAC", "<tag>", "\xF0\x9F\x98\x80", "b", "    "
	};
	struct model_tokens all = { 0 }, some = { 0 };
	struct buffer b = { 0 };
	size_t at = 0, calls = 0, seen = 0, wrong = 0, most = 0;
	struct model_scratch *scratch;
	const struct text_model *model;
	struct bytes text;
	struct model m;

	if (!model_open(&m, name, false))
		return;
	read_much(&m);
	model = m.tokenizer->model;
	tap_works(model_scratch_new(&scratch, model), "scratch");
	for (uint32_t x = 1; b.size < N; x = x * 1664525 + 1013904223)
		buffer_put_text(&b, parts[x >> 29]);
	text = buffer_bytes(&b);
	tap_works(text_model_encode(model, scratch, text, &all), "%s: at once", name);
	for (; at < text.size && calls < 100; calls++, seen += some.n) {
		some.n = 0;
		wrong += text_model_encode_from(model, scratch, text, &at, &some) < 0;
		most = some.n > most ? some.n : most;
		for (size_t i = 0; i < some.n; i++)
			wrong += seen + i >= all.n || memcmp(&some.items[i], &all.items[seen + i],
							     sizeof(*all.items)) != 0;
	}
	tap_is_u64(wrong, 0, "%s: the same tokens", name);
	tap_is_u64(seen, all.n, "%s: all of them", name);
	tap_ok(most < 70000 && calls > 1, "%s: %zu calls, at most %zu at once", name, calls, most);
	free(all.items);
	free(some.items);
	buffer_free(&b);
	model_scratch_free(scratch);
	model_close(&m);
}

static void test_some_at_a_time(void)
{
	some_at_a_time("spm/user.model");
	some_at_a_time("spm/parts.model");
}

/* --- the cases --- */

/* The pieces that TEXT becomes, with | between. */
static const char *pieces(struct model *m, const char *text, enum special_mode special)
{
	static char out[512];
	size_t n = 0;

	out[0] = '\0';
	if (encode(m, bytes_of(text), special) < 0)
		return err_text();
	for (size_t i = 0; i < m->got.n; i++) {
		struct bytes piece = tokenizer_piece(m->tokenizer, m->got.ids[i]);

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s" BYTES_FMT, i ? "|" : "",
				      BYTES_ARG(piece));
		if (n >= sizeof(out))
			return "too long";
	}
	return out;
}

static void decode(struct model *m, struct buffer *out)
{
	struct text_decoder *d;

	buffer_clear(out);
	if (!tap_works(text_decoder_new(&d, m->spec.decoders, m->spec.n_decoders, false, true),
		       "decoders"))
		return;
	for (size_t i = 0; i < m->got.n; i++) {
		uint32_t id = m->got.ids[i];

		text_decoder_add(d, tokenizer_piece(m->tokenizer, id),
				 tokenizer_added(m->tokenizer, id) != NULL, out);
	}
	text_decoder_end(d, out);
	text_decoder_free(d);
}

static void there_and_back(struct model *m, struct bytes text, struct bytes want, const char *what)
{
	struct buffer out = { 0 };

	if (tap_works(encode(m, text, SPECIAL_PLAIN), "%s: encoded", what)) {
		decode(m, &out);
		tap_is_bytes(buffer_bytes(&out), want, "%s: there and back", what);
	}
	buffer_free(&out);
}

static void back(struct model *m, const char *text, const char *want, const char *what)
{
	there_and_back(m, bytes_of(text), bytes_of(want), what);
}

static void test_A01_dummy_prefix(void)
{
	struct model m;

	if (!model_open(&m, "spm/prefix-spaces.model", false))
		return;
	tap_is_text(pieces(&m, "hi", SPECIAL_PLAIN), MARK "hi", "A01: the marked piece");
	tap_is_u64(m.got.ids[0], 9, "A01: its id, and not 8, the one of `hi`");
	model_close(&m);
}

static void test_A02_round_trip(void)
{
	struct model m;

	if (!model_open(&m, "spm/prefix-spaces.model", false))
		return;
	back(&m, "a", "a", "A02: a");
	back(&m, " a", " a", "A02: a space before it");
	back(&m, "", "", "A02: nothing");
	tap_is_u64(m.got.n, 0, "A02: nothing gives no token");
	back(&m, "\n", "\n", "A02: a line's end");
	model_close(&m);
}

static void test_A04_after_special(void)
{
	struct model m;

	if (!model_open(&m, "spm/prefix-spaces.model", false))
		return;
	tap_is_text(pieces(&m, "<s>a", SPECIAL_PARSE), "<s>|" MARK "a",
		    "A04: each text between special tokens has its own prefix");
	tap_is_text(pieces(&m, "<s> a", SPECIAL_PARSE), "<s>|" MARK MARK "|a",
		    "A04: a space stays beside it");
	tap_is_text(pieces(&m, "a</s>b", SPECIAL_PARSE), MARK "a|</s>|" MARK "|b", "A04: inside");
	tap_is_text(pieces(&m, "a</s> b", SPECIAL_PARSE), MARK "a|</s>|" MARK MARK "|b",
		    "A04: inside, with a space");
	tap_is_text(pieces(&m, "<s>a", SPECIAL_PLAIN), MARK "|<0x3C>|<0x73>|<0x3E>|a",
		    "A04: no text makes a control token");
	model_close(&m);
}

static void test_A13_normalizers(void)
{
	static const char *const texts[][2] = {
		{ "\xEF\xB8\xB0", ".." },
		{ "\xEF\xAC\x81nd", "find" },
		{ "\xEF\xBC\x92", "2" },
		{ "a\tb", "a b" },
		{ "a\xE2\x80\x8B"
		  "b",
		  "a b" },
		{ "a  b", "a b" },
	};
	struct model m;

	if (model_open(&m, "spm/nmt.model", false)) {
		for (size_t i = 0; i < 6; i++)
			back(&m, texts[i][0], texts[i][1], "A13: nmt_nfkc");
		model_close(&m);
	}
	if (model_open(&m, "spm/identity.model", false)) {
		for (size_t i = 0; i < 6; i++)
			back(&m, texts[i][0], texts[i][0], "A13: identity");
		model_close(&m);
	}
}

static void test_A14_mark_in_text(void)
{
	struct model m;

	if (!model_open(&m, "spm/identity.model", false))
		return;
	tap_is_text(pieces(&m, MARK "the", SPECIAL_PLAIN), MARK "|" MARK "the",
		    "A14: the mark is a space to it");
	back(&m, MARK "the", " the", "A14: and comes back as one");
	model_close(&m);
}

static void test_A26_invalid(void)
{
	static const struct {
		const char *bytes;
		size_t n;
	} texts[] = { { "\xE6\xAD", 2 },
		      { "\xFF", 1 },
		      { "\xC0\x80", 2 },
		      { "\xED\xA0\x80", 3 },
		      { "a\xE6\xAD"
			"b",
			4 },
		      { "a \x80 b\xFF", 6 } };
	struct model m;

	if (model_open(&m, "spm/prefix-spaces.model", false)) {
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			struct bytes text = { texts[i].bytes, texts[i].n };

			there_and_back(&m, text, text, "A26: byte pieces");
		}
		tap_is_text(pieces(&m,
				   "a\xE6\xAD"
				   "b",
				   SPECIAL_PLAIN),
			    MARK "a|<0xE6>|<0xAD>|b", "A26: the text around them is one");
		model_close(&m);
	}
	if (model_open(&m, "spm/identity.model", false)) {
		there_and_back(&m,
			       (struct bytes){ "a\xE6\xAD"
					       "b",
					       4 },
			       (struct bytes){ "a\xE6\xAD"
					       "b",
					       4 },
			       "A26: unigram");
		model_close(&m);
	}
	if (!model_open(&m, "spm/ties.model", false))
		return;
	tap_fails(encode(&m, (struct bytes){ "ab\xE6\xAD", 4 }, SPECIAL_PLAIN), ERR_FORMAT,
		  "byte 2: not UTF-8", "A26: without bytes, an error that names the place");
	model_close(&m);
}

/* --- what a tokenizer.json cannot say --- */

static void refuses_json(const char *name, const char *part)
{
	struct buffer b = { 0 };
	struct model m;

	if (!model_open(&m, name, false))
		return;
	tap_fails(tokenizer_json_put(&b, &m.spec), ERR_UNSUPPORTED, part, "%s", name);
	buffer_free(&b);
	model_close(&m);
}

static void test_json_refused(void)
{
	refuses_json("spm/suffix.model", "treat_whitespace_as_suffix");
	refuses_json("spm/plain-spaces.model", "add_dummy_prefix without escape_whitespaces");
	refuses_json("spm/ambiguous.model", "is unused, and two pieces make it");
}

/* A spec and the source that it was made of are the same thing. */
static void test_source(void)
{
	struct tokenizer_spec again;
	struct hash128 a, b, c, d;
	struct spm_source source;
	struct tokenizer *t;
	struct model m;

	if (!model_open(&m, "spm/user-spaces.model", false))
		return;
	if (tap_works(tokenizer_spm_source(&source, m.arena, &m.spec, "x"), "its source") &&
	    tap_works(tokenizer_spm_build(&again, m.arena, &source), "built again")) {
		again.bos = m.spec.bos;
		again.eos = m.spec.eos;
		again.unk = m.spec.unk;
		tokenizer_new(&t, &again);
		tokenizer_fingerprint(m.tokenizer, &a, &b);
		tokenizer_fingerprint(t, &c, &d);
		tap_ok(memcmp(&a, &c, sizeof(a)) == 0, "the same ids");
		tap_ok(memcmp(&b, &d, sizeof(b)) == 0, "the same whole");
		tokenizer_free(t);
	}
	model_close(&m);
}

/* What decides ids changes the fingerprint of plain text. */
static void test_fingerprints(void)
{
	struct hash128 first, other, whole;
	struct normalizer_spec n;
	uint8_t types[512];
	struct tokenizer *t;
	struct model m;

	if (!model_open(&m, "spm/user-spaces.model", false))
		return;
	tokenizer_fingerprint(m.tokenizer, &first, &whole);
	memcpy(types, m.spec.model.piece_types, m.spec.model.n_pieces);
	types[1] = PIECE_UNUSED;
	m.spec.model.piece_types = types;
	if (tap_works(tokenizer_new(&t, &m.spec), "another type")) {
		tokenizer_fingerprint(t, &other, &whole);
		tap_ok(memcmp(&first, &other, sizeof(first)) != 0, "a type changes it");
		tokenizer_free(t);
	}
	n = m.spec.normalizers[0];
	n.sentencepiece.add_dummy_prefix = false;
	m.spec.normalizers = &n;
	types[1] = PIECE_NORMAL;
	if (tap_works(tokenizer_new(&t, &m.spec), "no prefix")) {
		tokenizer_fingerprint(t, &other, &whole);
		tap_ok(memcmp(&first, &other, sizeof(first)) != 0, "a flag changes it");
		tokenizer_free(t);
	}
	model_close(&m);
}

/* --- damaged files: whatever of them is taken can be used --- */

static int use_damaged(void *arg, const void *data, size_t size)
{
	const struct bytes text = bytes_of(" abc ab\t\xEF\xAC\x81 <tag>ba b " MARK "aaab\n");
	struct model m = { 0 };
	int result = -1;

	(void)arg;
	if (arena_new(&m.arena) < 0)
		return -1;
	if (tokenizer_sentencepiece_parse(&m.spec, m.arena, (struct bytes){ data, size },
					  "damaged") == 0 &&
	    model_compile(&m) == 0)
		result = encode(&m, text, SPECIAL_PARSE);
	model_close(&m);
	return result;
}

static void test_damaged(void)
{
	static const char *const names[] = { "user", "unused", "ambiguous", "nmt", "unigram" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n;
		char *good;

		snprintf(path, sizeof(path), "fixtures/good/spm/%s.model", names[i]);
		good = tap_fixture(path, &n);
		corrupt_run(names[i], (struct bytes){ good, n }, (struct bytes){ NULL, 0 },
			    use_damaged, NULL, (size_t)64 << 20);
		free(good);
	}
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_golden_after_much_text);
	tap_run(test_golden_invalid);
	tap_run(test_long);
	tap_run(test_some_at_a_time);
	tap_run(test_A01_dummy_prefix);
	tap_run(test_A02_round_trip);
	tap_run(test_A04_after_special);
	tap_run(test_A13_normalizers);
	tap_run(test_A14_mark_in_text);
	tap_run(test_A26_invalid);
	tap_run(test_json_refused);
	tap_run(test_source);
	tap_run(test_fingerprints);
	tap_run(test_damaged);
	return tap_done();
}
