/* tests/unit/test_token_lines.c - tokens as lines, and the vocabulary read back from its listing (row A25 of the cases) */
#include "lib/data/token_lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/token_header.h"
#include "formats/tokenizer_open.h"
#include "lib/data/token_bytes.h"
#include "lib/text/bytelevel.h"
#include "lib/text/token_kind.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokenizers/"

static struct arena *arena;
static struct tokenizer *tokenizer;
static struct buffer b;

static void use(const char *path)
{
	tokenizer_free(tokenizer);
	arena_free(arena);
	if (arena_new(&arena) < 0 || tokenizer_open(&tokenizer, arena, path, NULL) < 0) {
		tap_works(-1, "open %s", path);
		exit(1);
	}
	buffer_clear(&b);
}

/* --- lines ----------------------------------------------------------------------------------------- */

/* `e<|endoftext|>` and an o with dots, of byte-level.json; then a line end. */
static const uint32_t ids[] = { 69, 0, 128, 115, 199, 40 };
static const struct token_span spans[] = { { 0, 1 },   { 1, 14 },  { 14, 16 },
					   { 14, 16 }, { 16, 17 }, { 17, 18 } };
static const uint8_t roles[] = { ROLE_TEXT, ROLE_USER, ROLE_USER, ROLE_USER, ROLE_USER, ROLE_TEXT };

static struct token_document document(void)
{
	return (struct token_document){
		.number = 7,
		.n = 6,
		.ids = ids,
		.spans = spans,
		.text = bytes_of("e<|endoftext|>\xc3\xb6\nH"),
	};
}

static void is_line(void (*line)(struct buffer *, const struct tokenizer *,
				 const struct token_document *, size_t,
				 const struct token_line_style *),
		    const struct token_document *d, size_t i, bool hex, bool color,
		    const char *want)
{
	struct token_line_style style = { .bytes = hex, .color = color };

	buffer_clear(&b);
	line(&b, tokenizer, d, i, &style);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "a line of token %zu", i);
}

static void test_lines(void)
{
	struct token_document d = document();

	use(GOOD "byte-level.json");
	is_line(token_line, &d, 0, false, false, "7\t0\t69\t\"e\"\t0\t1\tnormal\t-\n");
	is_line(token_line, &d, 2, true, false, "7\t2\t128\t\"\\xc3\"\t14\t16\tnormal\t-\tc3\n");
	is_line(token_line_json, &d, 0, false, false,
		"{\"document\":7,\"position\":0,\"id\":69,\"piece\":\"e\",\"from\":0,\"to\":1,"
		"\"kind\":\"normal\"}\n");
	is_line(token_line_aligned, &d, 4, false, false,
		"       4      199       16       17  normal  \"\\n\"\n");
	d.roles = roles;
	is_line(token_line, &d, 1, false, false,
		"7\t1\t0\t\"<|endoftext|>\"\t1\t14\tspecial\tuser\n");
	is_line(token_line_json, &d, 2, true, false,
		"{\"document\":7,\"position\":2,\"id\":128,\"piece_base64\":\"ww==\",\"from\":14,"
		"\"to\":16,\"kind\":\"normal\",\"role\":\"user\",\"bytes\":\"c3\"}\n");
	is_line(token_line_aligned, &d, 0, true, true,
		"       0       69        0        1  normal  -          "
		"\033[38;5;16;48;5;153m\"e\"\033[0m  65\n");
	buffer_clear(&b);
	d.cut = true;
	token_line_title(&b, &d);
	tap_is_bytes(buffer_bytes(&b), bytes_of("document 7: its first 6 tokens, 18 bytes\n"),
		     "title");
}

static void is_inline(struct token_document d, size_t from, size_t to, bool color, const char *want)
{
	buffer_clear(&b);
	token_inline(&b, tokenizer, &d, from, to, color);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "tokens %zu to %zu", from, to);
}

static void test_inline(void)
{
	struct token_document d = document();

	use(GOOD "byte-level.json");
	is_inline(d, 0, 6, false, "e|<|endoftext|>|\xc3\xb6|\\xb6|\xe2\x8f\x8e\n|H\n");
	is_inline(d, 3, 5, false, "\\xb6|\xe2\x8f\x8e\n");
	is_inline(d, 4, 6, true,
		  "\033[38;5;16;48;5;229m\xe2\x8f\x8e\033[0m\n\033[38;5;16;48;5;153mH\033[0m\n");
	is_inline(d, 1, 2, true, "\033[1;4;38;5;16;48;5;157m<|endoftext|>\033[0m\n");
	/* What drives terminals is escaped: escape, a right-to-left override. */
	d.text = bytes_of("\033<|e\xe2\x80\xaexx|>\xc3\xb6\nH");
	is_inline(d, 0, 2, false, "\\x1b|<|e\\xe2\\x80\\xaexx|>\xc3\xb6\xe2\x8f\x8e\n");
}

/* --- the vocabulary --------------------------------------------------------------------------------- */

/* The next field of a line; *LINE moves past its tab or line end. */
static struct bytes field(struct bytes *line)
{
	struct bytes f = { line->data, 0 };

	while (f.size < line->size && f.data[f.size] != '\t' && f.data[f.size] != '\n')
		f.size++;
	line->data += f.size + 1;
	line->size -= f.size + 1;
	return f;
}

static unsigned hex_byte(const char *s)
{
	char digits[3] = { s[0], s[1], '\0' };

	return (unsigned)strtoul(digits, NULL, 16);
}

/* Bytes of `e6ad`, or of a C string in quotes. */
static void read_back(struct buffer *out, struct bytes f)
{
	static const char letters[] = "ntr\"\\", meant[] = "\n\t\r\"\\";

	buffer_clear(out);
	if (f.data[0] != '"') {
		for (size_t i = 0; i + 1 < f.size; i += 2)
			buffer_put_u8(out, (uint8_t)hex_byte(f.data + i));
		return;
	}
	for (size_t i = 1; i + 1 < f.size; i++) {
		if (f.data[i] != '\\') {
			buffer_put_u8(out, (uint8_t)f.data[i]);
		} else if (f.data[++i] == 'x') {
			buffer_put_u8(out, (uint8_t)hex_byte(f.data + i + 1));
			i += 2;
		} else {
			buffer_put_u8(out, (uint8_t)meant[strchr(letters, f.data[i]) - letters]);
		}
	}
}

/* A line gives back id, bytes (twice), and the spelling. */
static bool is_reversible(struct vocab_lines *v, uint32_t id, const struct piece_spec *piece)
{
	struct buffer line = { 0 }, back = { 0 };
	struct bytes rest, want;
	char number[16], byte;
	bool ok;

	vocab_line(&line, v, id);
	rest = buffer_bytes(&line);
	want = token_bytes(tokenizer, id, &byte);
	snprintf(number, sizeof(number), "%u", (unsigned)id);
	ok = bytes_are(field(&rest), number) &&
	     bytes_are(field(&rest), token_kind_name(token_kind(tokenizer, id)));
	field(&rest);
	read_back(&back, field(&rest));
	ok = ok && bytes_equal(buffer_bytes(&back), want);
	read_back(&back, field(&rest));
	ok = ok && bytes_equal(buffer_bytes(&back), want);
	read_back(&back, field(&rest));
	if (!tokenizer_added(tokenizer, id))
		ok = ok && bytes_equal(buffer_bytes(&back), piece->text);
	ok = ok && rest.size == 0;
	buffer_free(&line);
	buffer_free(&back);
	return ok;
}

static void check_vocabulary(const char *path)
{
	const struct model_spec *m;
	struct vocab_lines *v;
	size_t bad = 0;

	use(path);
	m = &tokenizer_spec(tokenizer)->model;
	tap_works(vocab_lines_new(&v, tokenizer), "the vocabulary of %s", path);
	for (size_t i = 0; i < m->n_pieces; i++)
		bad += !is_reversible(v, m->pieces[i].id, &m->pieces[i]);
	tap_is_u64(bad, 0, "lines of %s that cannot be read back, of %zu", path, m->n_pieces);
	tap_ok(!vocab_line(&b, v, tokenizer_vocab_size(tokenizer)), "none past the last");
	vocab_lines_free(v);
}

static void test_vocabulary(void)
{
	check_vocabulary(GOOD "byte-level.json");
	check_vocabulary(GOOD "smollm.gguf");
	check_vocabulary(GOOD "spm-bpe.model");
	check_vocabulary(GOOD "spm-unigram.model");
	check_vocabulary(GOOD "bert.json");
	check_vocabulary(GOOD "bpe_simple_vocab.txt");
	check_vocabulary(GOOD "ranks.tiktoken.model.json");
}

/* Pieces of a byte-level model: D0 BE is a Cyrillic o, which its file spells as two letters; E6 AD is no character. */
static void test_a25(void)
{
	static const char file[] =
		"{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
		"\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\","
		"\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
		"\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\","
		"\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
		"\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
		"\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
		"\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,"
		"\"vocab\":{\"\xc3\x90\":0,\"\xc2\xbe\":1,\"\xc3\xa6\":2,\"\xc5\x83\":3,"
		"\"\xc3\x90\xc2\xbe\":4,\"\xc3\xa6\xc5\x83\":5},"
		"\"merges\":[[\"\xc3\x90\",\"\xc2\xbe\"],[\"\xc3\xa6\",\"\xc5\x83\"]]}}";
	struct vocab_lines *v;

	use(tap_file("a25.json", file, sizeof(file) - 1));
	tap_works(vocab_lines_new(&v, tokenizer), "a vocabulary");
	vocab_line(&b, v, 4);
	vocab_line(&b, v, 5);
	tap_is_bytes(buffer_bytes(&b),
		     bytes_of("4\tnormal\t-\td0be\t\"\xd0\xbe\"\t\"\xc3\x90\xc2\xbe\"\n"
			      "5\tnormal\t-\te6ad\t\"\\xe6\\xad\"\t\"\xc3\xa6\xc5\x83\"\n"),
		     "bytes, text, spelling");
	buffer_clear(&b);
	vocab_line_json(&b, v, 5);
	tap_is_bytes(buffer_bytes(&b),
		     bytes_of("{\"id\":5,\"kind\":\"normal\",\"bytes\":\"e6ad\","
			      "\"text_base64\":\"5q0=\",\"spelled\":\"\xc3\xa6\xc5\x83\"}\n"),
		     "as JSON");
	vocab_lines_free(v);
}

static void is_kind(uint32_t id, const char *want)
{
	tap_is_text(token_kind_name(token_kind(tokenizer, id)), want, "the kind of %u",
		    (unsigned)id);
}

static void test_kinds(void)
{
	char byte;

	use(GOOD "spm-user.model");
	is_kind(0, "unknown");
	is_kind(1, "special");
	is_kind(100000, "none");
	use(GOOD "spm-bpe.model");
	is_kind(243, "byte");
	is_kind(344, "normal");
	tap_is_bytes(token_bytes(tokenizer, 243, &byte), bytes_of("\xf0"),
		     "what <0xF0> stands for");
	tap_is_bytes(tokenizer_piece(tokenizer, 243), bytes_of("<0xF0>"), "how it is spelled");
	/* CLIP's unknown token is also its end of text, and byte-level text is never unknown. */
	use(GOOD "bpe_simple_vocab.txt");
	is_kind(tokenizer_spec(tokenizer)->eos, "special");
}

int main(void)
{
	tap_run(test_lines);
	tap_run(test_inline);
	tap_run(test_vocabulary);
	tap_run(test_a25);
	tap_run(test_kinds);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&b);
	return tap_done();
}
