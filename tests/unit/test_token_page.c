/*
 * tests/unit/test_token_page.c - the page of tokens: nothing of a text reaches it as markup, and all of it can be read
 *
 * How it looks is for scripts/check-html, which asks a browser.
 */
#include "lib/data/token_page_parts.h"

#include <stdlib.h>

#include "formats/tokenizer_open.h"
#include "lib/base/utf8.h"
#include "tests/tap.h"

static struct arena *arena;
static struct tokenizer *tokenizer;
static struct buffer b;

static void is_html(const char *text, size_t n, const char *want)
{
	buffer_clear(&b);
	html_text(&b, (struct bytes){ text, n });
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "%s", want);
}

#define IS_HTML(text, want) is_html(text, sizeof(text) - 1, want)

static void test_text(void)
{
	IS_HTML("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
	IS_HTML("a \n\t", "a<s> </s><s class=n>\n</s><s class=h>\t</s>");
	IS_HTML("\0\r\033\x7f",
		"<s class=c>NUL</s><s class=c>CR</s><s class=c>ESC</s><s class=c>DEL</s>");
	IS_HTML("\xe2\x80\xae", "<s class=c>U+202E</s>");
	IS_HTML("\xe2\x80\xa8", "<s class=c>U+2028</s>");
	IS_HTML("\xe2\x80\x8b\xef\xbb\xbf", "<s class=c>U+200B</s><s class=c>U+FEFF</s>");
	IS_HTML("\xf3\xa0\x81\x81", "<s class=c>U+E0041</s>");
	/* Joiners and the like by themselves; in a word or an emoji they do what they are for. */
	IS_HTML("\xe2\x80\x8d", "<s class=c>U+200D</s>");
	IS_HTML("\xef\xb8\x8f", "<s class=c>U+FE0F</s>");
	IS_HTML("\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f");
	IS_HTML("\xc2\x80", "<s class=c>U+0080</s>");
	IS_HTML("\xe6\xad<", "<s class=c>E6</s><s class=c>AD</s>&lt;");
	IS_HTML("\xc3\xb6\xf0\x9f\x98\x80", "\xc3\xb6\xf0\x9f\x98\x80");
}

static void test_numbers(void)
{
	static const uint64_t numbers[] = { 0, 12, 999, 1000, 123456, 1234567 };

	buffer_clear(&b);
	for (size_t i = 0; i < 6; i++) {
		html_number(&b, numbers[i]);
		buffer_put_u8(&b, ' ');
	}
	tap_is_bytes(buffer_bytes(&b), bytes_of("0 12 999 1,000 123,456 1,234,567 "), "numbers");
}

/* --- a whole page ------------------------------------------------------------------------------------ */

static bool holds(const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= b.size; i++)
		if (memcmp(b.data + i, what, n) == 0)
			return true;
	return false;
}

static size_t count(const char *what)
{
	size_t n = strlen(what), found = 0;

	for (size_t i = 0; i + n <= b.size; i++)
		found += memcmp(b.data + i, what, n) == 0;
	return found;
}

/* TEXT as a page, whose name is hostile too. */
static void make_page(const char *text, size_t n, const uint8_t *roles, bool more)
{
	struct token_document_options o = { .input = TOKEN_INPUT_STRING, .text = { text, n } };
	struct token_page_options page_options = { .source = bytes_of("<i>\"x\"</i>"),
						   .tokenizer = bytes_of("t&<.json"),
						   .top = 5 };
	struct token_documents *documents;
	struct token_document d;
	struct token_page *page;

	buffer_clear(&b);
	tap_works(token_documents_open(&documents, tokenizer, &o), "a text");
	tap_works(token_page_new(&page, tokenizer, &page_options), "a page");
	while (token_documents_next(documents, 1000, &d) > 0) {
		d.roles = roles;
		tap_works(token_page_add(page, &d, 0, d.n), "a document");
	}
	tap_works(token_page_end(page, more, &b), "the page");
	token_page_free(page);
	token_documents_close(documents);
}

static void test_hostile(void)
{
	static const char text[] = "<script>alert(1)</script>\" onfocus='x' \xe2\x80\xae\xff&lt;"
				   "</style></b>-->";

	make_page(text, sizeof(text) - 1, NULL, false);
	tap_ok(!holds("<script") && !holds("</script"), "no script");
	tap_is_u64(count("<style>"), 1, "one style");
	tap_is_u64(count("</style>"), 1, "which ends once");
	tap_ok(!holds("<i>"), "no markup of the name");
	tap_ok(holds("&lt;i&gt;\\&quot;x\\&quot;&lt;/i&gt;"), "the name, escaped and quoted");
	tap_ok(holds("t&amp;&lt;.json"), "the tokenizer's name, escaped");
	tap_ok(!holds("\xe2\x80\xae") && holds("U+202E"), "an override by its number");
	tap_ok(!holds("\" on"), "an attribute is not left");
	tap_ok(!holds("http:") && !holds("https:") && !holds("url(") && !holds("@import"),
	       "nothing from elsewhere");
	tap_ok(utf8_valid_prefix(b.data, b.size) == b.size, "well-formed UTF-8");
	tap_is_u64(count("<b "), count("</b>"), "tokens are closed");
	tap_is_u64(count("<s") - count("<section>") - count("<small>") - count("<span>") -
			   count("<style>"),
		   count("</s>"), "marks are closed");
}

static void test_content(void)
{
	static const uint8_t roles[] = { ROLE_SYSTEM, ROLE_USER, ROLE_USER };

	make_page("He\n", 3, roles, true);
	tap_ok(holds("<b tabindex=0 class=\"a\" data-n=40 data-i=\"&quot;H&quot;   id 40   normal  "
		     " "
		     "system&#10;token 0   text 0\xe2\x80\x93"
		     "1   bytes 48\">H</b>"),
	       "what hover and focus show");
	tap_ok(holds("<em>system</em><b ") && holds("<em>user</em><b "), "roles where they begin");
	tap_is_u64(count("<em>"), 2, "and nowhere else");
	tap_ok(holds("<dt>tokens</dt><dd>3</dd>"), "how many");
	tap_ok(holds("The input goes on: its first 3 tokens"), "that it is cut");
	tap_ok(holds("prefers-color-scheme: dark"), "a style for dark");
	make_page("He\n", 3, NULL, false);
	tap_ok(!holds("<em>"), "no roles");
	tap_ok(!holds("goes on"), "it is whole");
}

int main(void)
{
	if (arena_new(&arena) < 0 ||
	    tokenizer_open(&tokenizer, arena, "fixtures/good/tokenizers/byte-level.json", NULL) <
		    0) {
		tap_works(-1, "the tokenizer");
		return 1;
	}
	tap_run(test_text);
	tap_run(test_numbers);
	tap_run(test_hostile);
	tap_run(test_content);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&b);
	return tap_done();
}
