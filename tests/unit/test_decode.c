/*
 * tests/unit/test_decode.c - tokens back into text as `tokenizers` 0.23.3 does it, token by token
 *
 * fixtures/golden/pieces/decode.txt has the peer's answers for whole lists (scripts/gen-fixtures-pieces).
 */
#include "lib/text/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/steps.h"
#include "tests/tap.h"

struct chain {
	struct arena *arena;
	struct text_decoder *decoder;
	struct decoder_spec specs[8];
	struct buffer out;
};

static int chain_new(struct chain *c, const char *line, bool byte_level, bool raw)
{
	char copy[1024];
	int n;

	*c = (struct chain){ 0 };
	snprintf(copy, sizeof(copy), "%s", line);
	if (arena_new(&c->arena))
		return -1;
	n = steps_decoders(c->specs, c->arena, copy);
	if (n < 0)
		return err_set(ERR_ARGUMENT, "steps: %s", line);
	return text_decoder_new(&c->decoder, c->specs, (size_t)n, byte_level, raw);
}

static void chain_free(struct chain *c)
{
	text_decoder_free(c->decoder);
	buffer_free(&c->out);
	arena_free(c->arena);
}

/* Adds the token and checks what is certain then: all of the text so far. */
static void add(struct chain *c, const char *token, const char *so_far)
{
	tap_works(text_decoder_add(c->decoder, bytes_of(token), false, &c->out), "add `%s`", token);
	tap_is_bytes(buffer_bytes(&c->out), bytes_of(so_far), "after `%s`", token);
}

static void end(struct chain *c, const char *text)
{
	tap_works(text_decoder_end(c->decoder, &c->out), "the end");
	tap_is_bytes(buffer_bytes(&c->out), bytes_of(text), "at the end");
	buffer_clear(&c->out);
}

/* --- the golden file -------------------------------------------------------------------------------- */

struct golden {
	struct chain chain;
	char line[1024];
	struct arena *arena;
	size_t lists, wrong;
};

static void golden_end(struct golden *g)
{
	if (g->line[0])
		tap_is_u64(g->wrong, 0, "%s: wrong of %zu lists", g->line, g->lists);
	if (g->line[0])
		chain_free(&g->chain);
	g->lists = g->wrong = 0;
}

static void golden_steps(struct golden *g, const char *line)
{
	golden_end(g);
	snprintf(g->line, sizeof(g->line), "%s", line + 2);
	tap_works(chain_new(&g->chain, g->line, line[0] == '1', false), "%s", g->line);
}

/* Each token goes in on its own, and what comes out is taken away at once. */
static void golden_tokens(struct golden *g, char *rest, struct buffer *whole)
{
	for (char *save = NULL, *word; (word = strtok_r(rest, " ", &save)); rest = NULL) {
		struct bytes token;

		if (!g->chain.decoder || !steps_hex(&token, g->arena, word) ||
		    text_decoder_add(g->chain.decoder, token, false, &g->chain.out))
			g->wrong++;
		buffer_put(whole, g->chain.out.data, g->chain.out.size);
		buffer_clear(&g->chain.out);
	}
	if (!g->chain.decoder || text_decoder_end(g->chain.decoder, whole))
		g->wrong++;
}

static void golden_decoded(struct golden *g, const char *hex, struct buffer *whole)
{
	struct bytes want = { 0 };

	g->lists++;
	if (!steps_hex(&want, g->arena, hex) || !bytes_equal(buffer_bytes(whole), want)) {
		tap_note("%s: got `%.*s`, want `%.*s`", g->line, (int)whole->size,
			 whole->data ? whole->data : "", (int)want.size, want.data);
		g->wrong++;
	}
	buffer_clear(whole);
}

static void test_golden(void)
{
	struct golden g = { 0 };
	struct buffer whole = { 0 };
	size_t n;
	char *data = tap_fixture("fixtures/golden/pieces/decode.txt", &n);

	tap_works(arena_new(&g.arena), "an arena");
	for (char *line = data, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!strncmp(line, "steps ", 6))
			golden_steps(&g, line + 6);
		else if (!strncmp(line, "tokens", 6))
			golden_tokens(&g, line + 6, &whole);
		else if (!strncmp(line, "decoded ", 8))
			golden_decoded(&g, line + 8, &whole);
	}
	golden_end(&g);
	arena_free(g.arena);
	buffer_free(&whole);
	free(data);
}

/* --- cases ------------------------------------------------------------------------------------------ */

/* SentencePiece's chain: U+2581 is a space, and one space goes at the start. */
#define LLAMA "replace string e29681 20 | byte_fallback | fuse | strip 20 1 0"

static void test_A02_one_space_at_the_start_only(void)
{
	struct chain c;

	tap_works(chain_new(&c, LLAMA, false, false), "the chain");
	end(&c, "");
	add(&c, "▁a", "a");
	add(&c, "▁b", "a b");
	end(&c, "a b");
	add(&c, "▁", "");
	add(&c, "▁a", " a");
	end(&c, " a");
	add(&c, "▁", "");
	add(&c, "<0x0A>", "");
	add(&c, "▁b", "\n b");
	end(&c, "\n b");
	add(&c, "a", "a");
	add(&c, "▁", "a ");
	end(&c, "a ");
	chain_free(&c);
}

/* No space between added tokens that the vocabulary does not hold; without a decoder the peer puts one. */
static void test_A07_added_tokens(void)
{
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "byte-level");
	tap_ok(text_decoder_is_exact(c.decoder), "byte-level is exact");
	tap_works(text_decoder_add(c.decoder, bytes_of("[A]"), true, &c.out), "an added token");
	add(&c, " ", "[A] ");
	tap_works(text_decoder_add(c.decoder, bytes_of("[B]"), true, &c.out), "an added token");
	end(&c, "[A] [B]");
	chain_free(&c);

	tap_works(chain_new(&c, "metaspace 2581 always", false, false), "T5's");
	tap_ok(!text_decoder_is_exact(c.decoder), "Metaspace is lossy, and says so");
	add(&c, "[A]", "[A]");
	add(&c, "[B]", "[A][B]");
	end(&c, "[A][B]");
	chain_free(&c);

	tap_works(chain_new(&c, "", false, false), "no decoder");
	tap_ok(!text_decoder_is_exact(c.decoder), "spaces between all tokens are lossy");
	add(&c, "[A]", "[A]");
	add(&c, "[B]", "[A] [B]");
	end(&c, "[A] [B]");
	chain_free(&c);
}

static void test_A08_no_clean_up(void)
{
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "byte-level");
	add(&c, "hi", "hi");
	add(&c, " !", "hi !");
	end(&c, "hi !");
	add(&c, "a", "a");
	add(&c, " ,", "a ,");
	add(&c, " b", "a , b");
	end(&c, "a , b");
	add(&c, "it", "it");
	add(&c, " 's", "it 's");
	end(&c, "it 's");
	chain_free(&c);
	/* WordPiece cleans up where its file says so, and only there. */
	tap_works(chain_new(&c, "wordpiece 2323 0", false, false), "without clean-up");
	add(&c, "hi", "hi");
	add(&c, "!", "hi !");
	end(&c, "hi !");
	chain_free(&c);
	tap_works(chain_new(&c, "wordpiece 2323 1", false, false), "with clean-up");
	add(&c, "hi", "hi");
	add(&c, "!", "hi!");
	end(&c, "hi!");
	chain_free(&c);
}

static void test_A10_a_character_over_tokens(void)
{
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "text");
	add(&c, "\xF0\x9F", "");
	add(&c, "\x98\x80", "😀");
	add(&c, "\xE2", "😀");
	add(&c, "\x82", "😀");
	add(&c, "\xAC", "😀€");
	end(&c, "😀€");
	chain_free(&c);
	tap_works(chain_new(&c, "byte_level", true, true), "raw bytes");
	add(&c, "\xF0\x9F", "\xF0\x9F");
	add(&c, "\x98\x80", "😀");
	add(&c, "\xFF", "😀\xFF");
	end(&c, "😀\xFF");
	chain_free(&c);
	tap_works(chain_new(&c, LLAMA, false, false), "byte fallback");
	add(&c, "<0xE2>", "");
	add(&c, "<0x82>", "");
	/* Held until the run ends: a byte that fits nowhere would make all of it U+FFFD, as in the peer. */
	add(&c, "<0xAC>", "");
	add(&c, "x", "€x");
	add(&c, "<0xE2>", "€x");
	add(&c, "<0x41>", "€x��");
	add(&c, "<0x41>", "€x���");
	end(&c, "€x���");
	chain_free(&c);
	tap_works(chain_new(&c, LLAMA, false, true), "byte fallback, raw");
	add(&c, "<0xE2>", "\xE2");
	add(&c, "<0x82>", "\xE2\x82");
	end(&c, "\xE2\x82");
	chain_free(&c);
}

static void test_A11_what_is_held_is_flushed(void)
{
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "text");
	add(&c, "\xF0\x9F", "");
	end(&c, "�");
	add(&c, "\x80", "�");
	add(&c, "ok", "�ok");
	add(&c, "\xE2\x82", "�ok");
	add(&c, "\xE2", "�ok�");
	end(&c, "�ok��");
	add(&c, "again", "again");
	end(&c, "again");
	chain_free(&c);
	tap_works(chain_new(&c, "byte_level", true, true), "raw bytes");
	add(&c, "\xF0\x9F", "\xF0\x9F");
	end(&c, "\xF0\x9F");
	chain_free(&c);
	tap_works(chain_new(&c, "byte_fallback", false, false), "byte fallback");
	add(&c, "<0xF0>", "");
	add(&c, "<0x9F>", "");
	end(&c, "��");
	add(&c, "<0x80>", "�");
	add(&c, "ok", "�ok");
	end(&c, "�ok");
	chain_free(&c);
}

/* One U+FFFD for each maximal part of a sequence (Unicode, section 3.9, table 3-7), whole and byte by byte. */
static void test_bytes_that_are_no_characters(void)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{ "\xE0\x80\x80", "���" },	{ "\xE0\xA0", "�" },
		{ "\xED\xA0\x80", "���" },	{ "\xED\x9F", "�" },
		{ "\xF0\x80\x80", "���" },	{ "\xF0\x90\x80", "�" },
		{ "\xF4\x90\x80\x80", "����" }, { "\xF4\x8F\xBF", "�" },
		{ "\xC0\xAF", "��" },		{ "\xF5\x80", "��" },
		{ "\xE2\x82x", "�x" },		{ "\xF0\x9F\xC3\xA9", "�é" },
		{ "\xC2\xC2\xA9", "�©" },	{ "a\xFF\x80z", "a��z" },
		{ "\xE1\x80\xC1", "��" },
	};
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "byte-level");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes all = bytes_of(rows[i].bytes);

		tap_works(text_decoder_add(c.decoder, all, false, &c.out), "row %zu", i);
		end(&c, rows[i].text);
		for (size_t at = 0; at < all.size; at++)
			text_decoder_add(c.decoder, (struct bytes){ all.data + at, 1 }, false,
					 &c.out);
		end(&c, rows[i].text);
	}
	chain_free(&c);
}

/* --- added tokens, refusals ---------------------------------------------------------------------------- */

/* In text the peer's ByteLevel reads an added token's é as the byte E9; raw, it stays what it is. */
static void test_added_in_byte_level(void)
{
	struct chain c;

	tap_works(chain_new(&c, "byte_level", true, false), "text");
	tap_works(text_decoder_add(c.decoder, bytes_of("é"), true, &c.out), "an added é");
	tap_works(text_decoder_add(c.decoder, bytes_of("日"), true, &c.out), "an added 日");
	end(&c, "�日");
	chain_free(&c);
	tap_works(chain_new(&c, "byte_level", true, true), "raw bytes");
	tap_works(text_decoder_add(c.decoder, bytes_of("é"), true, &c.out), "an added é");
	end(&c, "é");
	chain_free(&c);
}

/* What could still be stripped at the end waits, and no more than that. */
static void test_strip_at_the_end(void)
{
	struct chain c;

	tap_works(chain_new(&c, "fuse | strip 20 1 2", false, false), "the chain");
	add(&c, "  a", " a");
	add(&c, "   ", " a ");
	add(&c, "b  ", " a   b");
	end(&c, " a   b");
	add(&c, "   ", "");
	end(&c, "");
	chain_free(&c);
}

static void test_refused(void)
{
	struct chain c;

	tap_fails(chain_new(&c, "metaspace d800 always", false, false), ERR_ARGUMENT, "U+D800",
		  "a surrogate");
	chain_free(&c);
	tap_fails(chain_new(&c, "strip 110000 1 0", false, false), ERR_ARGUMENT, "U+110000",
		  "past Unicode");
	chain_free(&c);
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_A02_one_space_at_the_start_only);
	tap_run(test_A07_added_tokens);
	tap_run(test_A08_no_clean_up);
	tap_run(test_A10_a_character_over_tokens);
	tap_run(test_A11_what_is_held_is_flushed);
	tap_run(test_bytes_that_are_no_characters);
	tap_run(test_added_in_byte_level);
	tap_run(test_strip_at_the_end);
	tap_run(test_refused);
	return tap_done();
}
