/* show-tokens - show tokens beside the text that they stand for */

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "formats/tokenizer_open.h"
#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/data/token_bytes.h"
#include "lib/data/token_lines.h"
#include "lib/data/token_page.h"
#include "lib/data/token_report.h"
#include "lib/data/token_source.h"

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static const char *tokenizer_path, *split_name, *field = "text", *text, *find;
static bool ids_input, raw, docs, inline_text, json, bytes, stats, vocab, html, post_process;
static int special = SPECIAL_PARSE, color;
static uint64_t limit = UINT64_MAX, document = UINT64_MAX, from, to = UINT64_MAX, top = 20;

static const char *const special_words[] = { "plain", "parse", "refuse", NULL };
static const char *const color_words[] = { "auto", "always", "never", NULL };

static const struct cmd_option options[] = {
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer, as for tokenize"),
	CMD_TEXT(0, "split", &split_name, "NAME", "how a rank file splits text, as for tokenize"),
	CMD_FLAG(0, "ids", &ids_input, "the input is text: the ids of a document a line"),
	CMD_FLAG(0, "raw", &raw, "the input is one document of plain text"),
	CMD_FLAG(0, "docs", &docs, "the input is documents: JSON lines"),
	CMD_TEXT(0, "text", &text, "TEXT", "no input: this text"),
	CMD_TEXT(0, "field", &field, "NAME", "with --docs: the field that holds the text"),
	CMD_ENUM(0, "special", &special, special_words, "HOW",
		 "special tokens in text: parse (default), plain or refuse"),
	CMD_FLAG(0, "post-process", &post_process,
		 "add to text what the tokenizer's post-processor adds"),
	CMD_FLAG(0, "inline", &inline_text, "the running text, each token in a color"),
	CMD_FLAG(0, "json", &json, "JSON lines"),
	CMD_FLAG(0, "html", &html, "a page for a browser"),
	CMD_FLAG(0, "stats", &stats, "no tokens: what all of them are like"),
	CMD_FLAG(0, "vocab", &vocab, "no input: every token that there is"),
	CMD_TEXT(0, "find", &find, "TEXT", "with --vocab: only tokens that hold this"),
	CMD_FLAG(0, "bytes", &bytes, "the bytes of each token too, in hexadecimal"),
	CMD_SIZE('n', "limit", &limit, 1, UINT64_MAX,
		 "stop after N tokens (with --html 20,000 if not given)"),
	CMD_SIZE(0, "document", &document, 0, UINT64_MAX - 1, "only document N, counted from 0"),
	CMD_SIZE(0, "from", &from, 0, UINT64_MAX, "from token N of a document on"),
	CMD_SIZE(0, "to", &to, 0, UINT64_MAX, "up to token N of a document, without it"),
	CMD_SIZE(0, "top", &top, 0, 1000000, "how many of the most used tokens (default 20)"),
	CMD_ENUM(0, "color", &color, color_words, "WHEN", "auto (default), always or never"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "show-tokens",
	.operands = "[file]",
	.summary = "show tokens beside the text that they stand for",
	.options = options,
	.notes = "The file is a token stream or a packed token file, unless --ids, --raw or --docs "
		 "say\n"
		 "what else.",
	.max_operands = 1,
};

static struct tokenizer *tokenizer;
static struct buffer out;
static bool terminal, colored;

/* --- the options ----------------------------------------------------------------------------------- */

static void check_inputs(int operands)
{
	int n = ids_input + raw + docs + (text != NULL);

	if (!tokenizer_path)
		cmd_misuse("-t FILE is needed: the tokenizer");
	if (n > 1)
		cmd_misuse("--ids, --raw, --docs and --text: only one of them");
	if (operands && (text || vocab))
		cmd_misuse("%s takes no file", text ? "--text" : "--vocab");
	if (n && vocab)
		cmd_misuse("--vocab takes no input");
	if (find && !vocab)
		cmd_misuse("--find is of --vocab");
}

static void check_outputs(void)
{
	if (inline_text + html + stats + vocab > 1)
		cmd_misuse("--inline, --html, --stats and --vocab: only one of them");
	if (json && (inline_text || html))
		cmd_misuse("--json does not go with %s", html ? "--html" : "--inline");
	if ((stats || vocab) &&
	    (limit != UINT64_MAX || document != UINT64_MAX || from || to != UINT64_MAX))
		cmd_misuse("%s is of all: not with --limit, --document, --from or --to",
			   stats ? "--stats" : "--vocab");
	if (from > to)
		cmd_misuse("--from is past --to");
}

/* https://no-color.org: any value but the empty one. */
static bool wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return terminal && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void flush(void)
{
	cmd_check(buffer_check(&out));
	cmd_print_bytes(buffer_bytes(&out));
	buffer_clear(&out);
}

/* --- the input ------------------------------------------------------------------------------------- */

static _Noreturn void fail_open(bool tokens)
{
	cmd_die("%s%s", err_text(),
		tokens && err_last() == ERR_FORMAT ? "; text needs --raw or --docs" : "");
}

static struct token_documents *open_input(const char *path)
{
	struct token_document_options o = {
		.path = cmd_input(path),
		.field = field,
		.tokenizer_path = tokenizer_path,
		.encode = { .special = (enum special_mode)special, .post_process = post_process },
		.first = document == UINT64_MAX ? 0 : document,
	};
	struct token_documents *d;

	if (text) {
		o.input = TOKEN_INPUT_STRING;
		o.text = bytes_of(text);
		o.path = NULL;
	} else if (ids_input || raw || docs) {
		o.input = ids_input ? TOKEN_INPUT_IDS
			  : raw	    ? TOKEN_INPUT_TEXT
				    : TOKEN_INPUT_RECORDS;
	}
	if (token_documents_open(&d, tokenizer, &o) < 0)
		fail_open(o.input == TOKEN_INPUT_TOKENS);
	return d;
}

/* What came before the trouble is shown, and then the trouble told. */
static int check_read(int result)
{
	char *why;

	if (result >= 0)
		return result;
	why = mem_copy(err_text(), strlen(err_text()));
	flush();
	cmd_flush();
	cmd_die("%s", why ? why : "out of memory");
}

static bool more; /* the input goes on after what was shown */

/* Whether anything follows the last document that was shown costs a look at it. */
static void look_further(struct token_documents *d)
{
	struct token_document next;

	if (!more && document == UINT64_MAX)
		more = check_read(token_documents_next(d, 0, &next)) > 0;
}

/* Calls SHOW with the tokens of each document that are asked for. */
static void each_document(const char *path,
			  void (*show)(const struct token_document *d, size_t from, size_t to))
{
	struct token_documents *d = open_input(path);
	struct token_document doc;
	uint64_t left = limit, empty = limit; /* documents without a token make a page long too */

	while (left && empty) {
		uint64_t most = left < to - from ? from + left : to;
		size_t first;

		if (check_read(token_documents_next(d, (size_t)most, &doc)) == 0) {
			if (document != UINT64_MAX)
				cmd_die("%s: has no document %" PRIu64, path, document);
			break;
		}
		first = from < doc.n ? (size_t)from : doc.n;
		show(&doc, first, doc.n);
		left -= doc.n - first;
		empty -= html && first == doc.n;
		more |= doc.cut;
		if (left == 0 || empty == 0 || document != UINT64_MAX) {
			look_further(d);
			break;
		}
	}
	token_documents_close(d);
}

/* --- tokens as lines --------------------------------------------------------------------------------- */

static void show_lines(const struct token_document *d, size_t first, size_t last)
{
	struct token_line_style style = { .bytes = bytes, .color = colored };
	void (*line)(struct buffer *, const struct tokenizer *, const struct token_document *,
		     size_t, const struct token_line_style *) = token_line;

	if (json)
		line = token_line_json;
	else if (terminal)
		line = token_line_aligned;
	if (terminal && !json)
		token_line_title(&out, d);
	for (size_t i = first; i < last; i++) {
		line(&out, tokenizer, d, i, &style);
		if (out.size > 1 << 16)
			flush();
	}
	flush();
}

static void show_inline(const struct token_document *d, size_t first, size_t last)
{
	if (!raw && !text)
		token_line_title(&out, d);
	token_inline(&out, tokenizer, d, first, last, colored);
	flush();
}

static void list(const char *path)
{
	struct token_line_style style = { .bytes = bytes };

	if (!json && !terminal && !inline_text)
		token_line_headings(&out, &style);
	each_document(path, inline_text ? show_inline : show_lines);
	flush();
}

/* --- the page --------------------------------------------------------------------------------------- */

static struct token_page *page;

static void add_to_page(const struct token_document *d, size_t first, size_t last)
{
	cmd_check(token_page_add(page, d, first, last));
}

/* Of a path: where it lies is nobody's business on a page. */
static struct bytes last_part(const char *path)
{
	struct bytes b = bytes_of(strcmp(path, "-") == 0 ? "stdin" : path);
	size_t at;

	while (b.size > 1 && b.data[b.size - 1] == '/')
		b.size--;
	for (at = b.size; at && b.data[at - 1] != '/'; at--)
		;
	return at < b.size ? (struct bytes){ b.data + at, b.size - at } : b;
}

static void make_page(const char *path)
{
	struct token_page_options o = {
		.source = text ? bytes_of("a text") : last_part(path),
		.tokenizer = last_part(tokenizer_path),
		.top = top,
	};

	if (limit == UINT64_MAX)
		limit = 20000;
	cmd_check(token_page_new(&page, tokenizer, &o));
	each_document(path, add_to_page);
	cmd_check(token_page_end(page, more, &out));
	flush();
	token_page_free(page);
}

/* --- statistics ------------------------------------------------------------------------------------- */

static void count_tokens(struct token_stats *s, const char *path)
{
	struct token_source_options o = {
		.format = ids_input ? TOKENS_IDS : TOKENS_STREAM,
		.header = { .vocab = tokenizer_vocab_size(tokenizer),
			    .bos = TOKEN_NONE,
			    .eos = TOKEN_NONE,
			    .pad = TOKEN_NONE },
	};
	struct token_source *in;
	struct token_event e;

	path = cmd_input(path);
	if (!ids_input && token_document_is_pack(path))
		o.format = TOKENS_PACKED;
	if (token_source_open(&in, path, &o) < 0)
		fail_open(!ids_input);
	cmd_check(tokenizer_match(tokenizer, tokenizer_path, token_source_header(in), path));
	while (cmd_check(token_source_next(in, &e)) > 0) {
		if (e.kind == TOKEN_EVENT_IDS)
			cmd_check(token_stats_add(s, e.ids, e.n));
		else if (e.kind == TOKEN_EVENT_RUN)
			token_stats_role(s, &e.run);
		else
			cmd_check(token_stats_end_document(s));
	}
	token_source_close(in);
}

static void count_text(struct token_stats *s, const char *path)
{
	struct token_documents *d = open_input(path);
	struct token_document doc;

	while (cmd_check(token_documents_next(d, SIZE_MAX, &doc)) > 0) {
		cmd_check(token_stats_add(s, doc.ids, doc.n));
		cmd_check(token_stats_text(s, doc.text));
		cmd_check(token_stats_end_document(s));
	}
	token_documents_close(d);
}

static void show_stats(const char *path)
{
	bool is_text = raw || docs || text;
	struct token_stats *s;

	cmd_check(token_stats_new(&s, tokenizer, is_text));
	if (is_text)
		count_text(s, path);
	else
		count_tokens(s, path);
	cmd_check(json ? token_report_json(&out, s, tokenizer, (size_t)top)
		       : token_report_text(&out, s, tokenizer, (size_t)top));
	flush();
	token_stats_free(s);
}

/* --- the vocabulary ----------------------------------------------------------------------------------- */

static bool is_found(uint32_t id)
{
	struct bytes wanted = bytes_of(find), b;
	char byte;

	b = token_bytes(tokenizer, id, &byte);
	for (size_t i = 0; i + wanted.size <= b.size; i++)
		if (memcmp(b.data + i, wanted.data, wanted.size) == 0)
			return true;
	return false;
}

static void list_vocabulary(void)
{
	struct vocab_lines *v;

	cmd_check(vocab_lines_new(&v, tokenizer));
	if (!json)
		vocab_line_headings(&out);
	for (uint32_t id = 0; id < tokenizer_vocab_size(tokenizer); id++) {
		if (find && !is_found(id))
			continue;
		if (json)
			vocab_line_json(&out, v, id);
		else
			vocab_line(&out, v, id);
		flush();
	}
	flush();
	vocab_lines_free(v);
}

int main(int argc, char **argv)
{
	const char *path;
	struct arena *arena;

	cmd_begin(&spec, &argc, &argv);
	check_inputs(argc);
	check_outputs();
	path = argc ? argv[0] : "-";
	terminal = isatty(STDOUT_FILENO) == 1;
	colored = wants_color();
	cmd_check(arena_new(&arena));
	cmd_check(tokenizer_open(&tokenizer, arena, tokenizer_path, split_name));
	if (vocab)
		list_vocabulary();
	else if (stats)
		show_stats(path);
	else if (html)
		make_page(path);
	else
		list(path);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&out);
	return cmd_end();
}
