/*
 * tests/unit/test_pretokenize.c - pieces and their offsets as `tokenizers` 0.23.3 gives them
 *
 * fixtures/golden/pieces has the peer's answers (scripts/gen-fixtures-pieces); tests named for a case
 * state the wanted pieces here.
 */
#include "lib/text/pretokenize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/printable.h"
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"
#include "lib/text/literal.h"
#include "lib/text/unicode_class.h"
#include "tests/steps.h"
#include "tests/tap.h"

/* --- a chain of steps from a line ----------------------------------------------------------------- */

struct chain {
	struct arena *arena;
	struct pretokenizer *pretokenizer;
	struct pretokenizer_scratch *scratch;
	struct pretokenizer_spec specs[8];
	struct text text;
	struct pieces pieces;
};

static int chain_new(struct chain *c, const char *line)
{
	char copy[4096];
	int n;

	*c = (struct chain){ 0 };
	snprintf(copy, sizeof(copy), "%s", line);
	if (arena_new(&c->arena) || pretokenizer_scratch_new(&c->scratch))
		return -1;
	n = steps_pretokenizers(c->specs, c->arena, copy);
	if (n < 0)
		return err_set(ERR_ARGUMENT, "steps: %s", line);
	return pretokenizer_new(&c->pretokenizer, c->specs, (size_t)n);
}

static void chain_free(struct chain *c)
{
	pretokenizer_free(c->pretokenizer);
	pretokenizer_scratch_free(c->scratch);
	text_free(&c->text);
	free(c->pieces.items);
	arena_free(c->arena);
}

static int chain_run(struct chain *c, struct bytes text, size_t at, bool tracked, bool first)
{
	if (text_set(&c->text, text.data, text.size, at, tracked))
		return -1;
	return pretokenizer_run(c->pretokenizer, c->scratch, &c->text, first, &c->pieces);
}

/* The pieces in one line: `from-to text`, with commas between; without offsets when not tracked. */
static struct bytes chain_shown(const struct chain *c, struct buffer *b)
{
	buffer_clear(b);
	for (size_t i = 0; i < c->pieces.n; i++) {
		struct piece p = c->pieces.items[i];

		buffer_put_text(b, i ? "," : "");
		if (c->text.tracked) {
			struct text_span s = text_original(&c->text, p.from, p.to);

			buffer_format(b, "%" PRIu32 "-%" PRIu32 " ", s.from, s.to);
		}
		quote_text(b, (struct bytes){ c->text.data + p.from, p.to - p.from });
	}
	buffer_put_u8(b, 0);
	return buffer_bytes(b);
}

/* LINE cuts TEXT, the start of a document, into pieces that chain_shown shows as WANT. */
static void check(const char *line, const char *text, const char *want)
{
	struct buffer b = { 0 };
	struct chain c;

	if (tap_works(chain_new(&c, line), "%s", line))
		tap_works(chain_run(&c, bytes_of(text), 0, true, true), "%s", line);
	tap_is_text(chain_shown(&c, &b).data, want, "%s", line);
	chain_free(&c);
	buffer_free(&b);
}

/* --- the golden file ------------------------------------------------------------------------------ */

struct golden {
	struct chain chain;
	char line[4096];
	struct arena *arena;
	struct bytes text;
	unsigned long at;
	int first;
	struct buffer tracked, plain, got; /* wanted, with offsets and without; what came */
	size_t pieces, texts, wrong;
};

static void golden_compare(struct golden *g, bool tracked)
{
	struct buffer *want = tracked ? &g->tracked : &g->plain;
	int result = -1;

	if (g->chain.pretokenizer)
		result = chain_run(&g->chain, g->text, g->at, tracked, g->first);
	chain_shown(&g->chain, &g->got);
	if (!result && bytes_equal(buffer_bytes(&g->got), buffer_bytes(want)))
		return;
	tap_note("%s: got %s, want %s", g->line, g->got.data, want->data);
	g->wrong++;
}

/* All pieces of the last text have been read. */
static void golden_text_end(struct golden *g)
{
	if (!g->text.data)
		return;
	buffer_put_u8(&g->tracked, 0);
	buffer_put_u8(&g->plain, 0);
	golden_compare(g, true);
	if (g->chain.pretokenizer && !pretokenizer_wants_spans(g->chain.pretokenizer))
		golden_compare(g, false);
	g->texts++;
	g->text.data = NULL;
}

static void golden_steps_end(struct golden *g)
{
	golden_text_end(g);
	if (g->line[0])
		tap_is_u64(g->wrong, 0, "%s: wrong of %zu texts", g->line, g->texts);
	if (g->line[0])
		chain_free(&g->chain);
	g->texts = g->wrong = 0;
}

static void golden_steps(struct golden *g, const char *line)
{
	golden_steps_end(g);
	snprintf(g->line, sizeof(g->line), "%s", line);
	tap_works(chain_new(&g->chain, line), "%s", line);
}

static void golden_text(struct golden *g, const char *rest)
{
	char hex[4096];

	golden_text_end(g);
	buffer_clear(&g->tracked);
	buffer_clear(&g->plain);
	g->pieces = 0;
	if (sscanf(rest, "%lu %d %4095s", &g->at, &g->first, hex) != 3 ||
	    !steps_hex(&g->text, g->arena, hex))
		tap_ok(false, "bad line: text %s", rest);
}

static void golden_piece(struct golden *g, const char *rest)
{
	unsigned long from, to;
	struct bytes piece;
	char hex[4096];

	if (sscanf(rest, "%lu %lu %4095s", &from, &to, hex) != 3 ||
	    !steps_hex(&piece, g->arena, hex)) {
		tap_ok(false, "bad line: piece %s", rest);
		return;
	}
	buffer_format(&g->tracked, "%s%lu-%lu ", g->pieces ? "," : "", from, to);
	buffer_put_text(&g->plain, g->pieces++ ? "," : "");
	quote_text(&g->tracked, piece);
	quote_text(&g->plain, piece);
}

static void test_golden(void)
{
	struct golden g = { 0 };
	size_t n;
	char *data = tap_fixture("fixtures/golden/pieces/pretokenize.txt", &n);

	tap_works(arena_new(&g.arena), "an arena");
	for (char *line = data, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!strncmp(line, "steps ", 6))
			golden_steps(&g, line + 6);
		else if (!strncmp(line, "text ", 5))
			golden_text(&g, line + 5);
		else if (!strncmp(line, "piece ", 6))
			golden_piece(&g, line + 6);
	}
	golden_steps_end(&g);
	arena_free(g.arena);
	buffer_free(&g.tracked);
	buffer_free(&g.plain);
	buffer_free(&g.got);
	free(data);
}

/* --- the classes of every code point ---------------------------------------------------------------- */

static void check_class(const char *name, unsigned class, unsigned long count, uint64_t hash)
{
	uint64_t got = 0xcbf29ce484222325;
	unsigned long n = 0;

	for (uint32_t c = 0; c < 0x110000; c++) {
		if (!(unicode_class(c) & class))
			continue;
		n++;
		for (int shift = 0; shift < 32; shift += 8)
			got = (got ^ (c >> shift & 0xFF)) * 0x100000001b3;
	}
	tap_is_u64(n, count, "%s: how many", name);
	tap_is_u64(got, hash, "%s: which", name);
}

static void test_classes(void)
{
	static const struct {
		const char *name;
		unsigned class;
	} classes[] = { { "space", UNICODE_SPACE },
			{ "punctuation", UNICODE_PUNCTUATION },
			{ "numeric", UNICODE_NUMERIC },
			{ "word", UNICODE_WORD } };
	size_t size;
	char *data = tap_fixture("fixtures/golden/pieces/classes.txt", &size), *line = data;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		char name[32];
		unsigned long count = 0;
		uint64_t hash = 0;
		int read = 0;

		tap_ok(sscanf(line, "%31s %lu %" SCNx64 "\n%n", name, &count, &hash, &read) == 3,
		       "a line for %s", classes[i].name);
		tap_is_text(name, classes[i].name, "the line's class");
		check_class(name, classes[i].class, count, hash);
		line += read;
	}
	free(data);
}

/* --- cases ------------------------------------------------------------------------------------------ */

static void check_segment(const char *line, const char *text, size_t at, const char *want)
{
	struct buffer b = { 0 };
	struct chain c;

	if (tap_works(chain_new(&c, line), "%s", line))
		tap_works(chain_run(&c, bytes_of(text), at, true, at == 0), "%s at %zu", text, at);
	tap_is_text(chain_shown(&c, &b).data, want, "%s: `%s` at %zu", line, text, at);
	chain_free(&c);
	buffer_free(&b);
}

/* Text after an added token; the golden file has more of these. */
static void test_A04_text_after_an_added_token(void)
{
	check_segment("metaspace 5f always 1", "G", 3, "3-4 \"_G\"");
	check_segment("metaspace 5f always 1", " G", 3, "3-5 \"_G\"");
	check_segment("metaspace 5f first 1", "G", 3, "3-4 \"G\"");
	check_segment("metaspace 5f first 1", " G", 3, "3-5 \"_G\"");
	check_segment("metaspace 5f first 1", "A", 0, "0-1 \"_A\"");
	check_segment("metaspace 5f never 1", "A", 0, "0-1 \"A\"");
	check_segment("metaspace 5f never 1", " b", 6, "6-8 \"_b\"");
	check_segment("byte_level 1 1", "b", 6, "6-7 \" b\"");
}

static void test_A17_split_by_a_string(void)
{
	/* The characters \s+ themselves, not white space. */
	check("split string 5c732b isolated 0", "a b", "0-3 \"a b\"");
	check("split string 5c732b isolated 0", "a\\s+b", "0-1 \"a\",1-4 \"\\\\s+\",4-5 \"b\"");
	check("split onig 5c732b isolated 0", "a b", "0-1 \"a\",1-2 \" \",2-3 \"b\"");
}

static void test_A25_the_alphabet_is_reversible(void)
{
	struct buffer text = { 0 }, raw = { 0 };

	bytelevel_encode(&text, bytes_of("\xD0\xBE"));
	tap_is_bytes(buffer_bytes(&text), bytes_of("Ð¾"), "D0 BE as it is listed");
	buffer_clear(&text);
	bytelevel_encode(&text, bytes_of("\xE6\xAD"));
	tap_is_bytes(buffer_bytes(&text), bytes_of("æ\xC5\x83"), "E6 AD as it is listed");
	tap_ok(bytelevel_decode(&raw, buffer_bytes(&text)), "E6 AD can be read back");
	tap_is_bytes(buffer_bytes(&raw), bytes_of("\xE6\xAD"), "E6 AD read back");
	tap_ok(!bytelevel_decode(&raw, bytes_of("a日")), "what is not in the alphabet");
	tap_is_u64(raw.size, 2, "nothing is added then");
	for (unsigned byte = 0; byte < 256; byte++) {
		int back = bytelevel_byte(bytelevel_code_point((uint8_t)byte));

		if (back != (int)byte)
			tap_ok(false, "byte %u comes back as %d", byte, back);
	}
	tap_ok(bytelevel_byte(' ') < 0 && bytelevel_byte(0xAD) < 0 && bytelevel_byte(0x144) < 0,
	       "a space, U+00AD, U+0144 stand for no byte");
	buffer_free(&text);
	buffer_free(&raw);
}

/* ByteLevel without a pattern is one piece, and keeps every byte. */
static void test_A28_byte_level_without_a_splitter(void)
{
	check("byte_level 0 0", "a b\nc", "0-5 \"a b\\nc\"");
	check("byte_level 0 1", "a b\nc", "0-1 \"a\",1-3 \" b\",3-4 \"\\n\",4-5 \"c\"");
}

/* --- refusals ----------------------------------------------------------------------------------------- */

static void test_refused(void)
{
	static const struct {
		const char *line, *what;
		enum err_code code;
	} rows[] = {
		{ "byte_level 0 1 | digits 1", "ByteLevel", ERR_UNSUPPORTED },
		{ "fixed 0", "FixedLength", ERR_ARGUMENT },
		{ "metaspace d800 always 1", "U+D800", ERR_ARGUMENT },
		{ "metaspace 110000 always 1", "U+110000", ERR_ARGUMENT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chain c;

		tap_fails(chain_new(&c, rows[i].line), rows[i].code, rows[i].what, "%s",
			  rows[i].line);
		chain_free(&c);
	}
}

/* Time is linear whatever the string: a long one that nearly matches everywhere. */
static void test_literal(void)
{
	enum { PATTERN = 50000, TEXT = 400000 };
	char *pattern = malloc(PATTERN), *text = malloc(TEXT);
	struct literal l;

	memset(pattern, 'a', PATTERN);
	memset(text, 'a', TEXT);
	pattern[PATTERN / 2] = 'b';
	tap_works(literal_new(&l, (struct bytes){ pattern, PATTERN }), "a long string");
	tap_is_u64(literal_find(&l, (struct bytes){ text, TEXT }, 0), TEXT, "is nowhere");
	text[TEXT - PATTERN / 2] = 'b';
	tap_is_u64(literal_find(&l, (struct bytes){ text, TEXT }, 5), TEXT - PATTERN, "at the end");
	literal_free(&l);
	free(pattern);
	free(text);
}

int main(void)
{
	tap_run(test_classes);
	tap_run(test_golden);
	tap_run(test_A04_text_after_an_added_token);
	tap_run(test_A17_split_by_a_string);
	tap_run(test_A25_the_alphabet_is_reversible);
	tap_run(test_A28_byte_level_without_a_splitter);
	tap_run(test_refused);
	tap_run(test_literal);
	return tap_done();
}
