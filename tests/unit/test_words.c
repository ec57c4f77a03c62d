/*
 * Pieces of whole documents, as `tokenizers` counts them in training: against golden pieces (scripts/gen-fixtures-words),
 * and bytes that are not UTF-8.
 */

#include <stdlib.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "formats/tokenizer_json.h"
#include "lib/base/err.h"
#include "lib/text/words.h"
#include "tests/tap.h"

/* --- golden pieces --- */

/* A tokenizer of the file, and a document cut by it: the pieces in hexadecimal, a space behind each. */
struct cut {
	struct arena *arena;
	struct words *words;
	struct words_scratch *scratch;
	struct buffer got, want;
};

static int take(void *arg, struct bytes piece)
{
	struct buffer *out = arg;

	for (size_t i = 0; i < piece.size; i++)
		buffer_format(out, "%02x", (unsigned)(unsigned char)piece.data[i]);
	buffer_put_u8(out, ' ');
	return 0;
}

static void free_cut(struct cut *c)
{
	words_scratch_free(c->scratch);
	words_free(c->words);
	arena_free(c->arena);
	buffer_free(&c->got);
	buffer_free(&c->want);
	*c = (struct cut){ 0 };
}

static int open_tokenizer(struct cut *c, struct json *j)
{
	struct tokenizer_spec spec;
	struct bytes raw;

	free_cut(c);
	if (json_skip(j, &raw) < 0 || arena_new(&c->arena) < 0 ||
	    tokenizer_json_parse(&spec, c->arena, raw, "golden") < 0 ||
	    words_new(&c->words, &spec) < 0)
		return -1;
	return words_scratch_new(&c->scratch, c->words);
}

static int cut_text(struct cut *c, struct json *j)
{
	struct bytes text;

	buffer_clear(&c->got);
	if (json_string(j, &text) < 0)
		return -1;
	return words_cut(c->words, c->scratch, text, take, &c->got);
}

static int read_pieces(struct cut *c, struct json *j)
{
	struct bytes piece;

	buffer_clear(&c->want);
	json_array(j);
	while (json_item(j) > 0) {
		if (json_string(j, &piece) < 0)
			return -1;
		buffer_put(&c->want, piece.data, piece.size);
		buffer_put_u8(&c->want, ' ');
	}
	return 0;
}

/* 1 when the line was a text, 0 when it was a tokenizer, -1. */
static int read_line(struct cut *c, struct json *j)
{
	struct bytes key;
	int result = 0, is_text = 0;

	json_object(j);
	while (result == 0 && json_key(j, &key) > 0) {
		if (bytes_are(key, "tokenizer")) {
			result = open_tokenizer(c, j);
		} else if (bytes_are(key, "text")) {
			result = cut_text(c, j);
			is_text = 1;
		} else {
			result = read_pieces(c, j);
		}
	}
	return result < 0 || json_end(j) < 0 ? -1 : is_text;
}

static void test_golden(void)
{
	struct jsonl *in;
	struct cut c = { 0 };
	struct bytes record;
	struct json *j;
	int kind;

	if (!tap_works(jsonl_open(&in, "fixtures/golden/words/words.jsonl", NULL), "open") ||
	    !tap_works(json_new(&j), "a reader"))
		return;
	while (jsonl_next(in, &record) > 0) {
		json_init(j, record.data, record.size, jsonl_name(in),
			  &(struct json_limits){ .line = jsonl_line(in) });
		kind = read_line(&c, j);
		if (!tap_works(kind, "line %d", (int)jsonl_line(in)))
			break;
		if (kind)
			tap_is_bytes(buffer_bytes(&c.got), buffer_bytes(&c.want),
				     "pieces of line %d", (int)jsonl_line(in));
	}
	free_cut(&c);
	json_free(j);
	jsonl_close(in);
}

/* --- not UTF-8, and whatever else the golden file cannot hold --- */

static const struct pretokenizer_spec byte_level = {
	.kind = PRETOKENIZER_BYTE_LEVEL,
	.byte_level = { .use_regex = true },
};
static const struct pretokenizer_spec prefixed = {
	.kind = PRETOKENIZER_BYTE_LEVEL,
	.byte_level = { .use_regex = true, .add_prefix_space = true },
};
static const struct pretokenizer_spec space_split = { .kind = PRETOKENIZER_WHITESPACE_SPLIT };

/* Only the document's first piece is marked. */
static const struct pretokenizer_spec marked[] = {
	{ .kind = PRETOKENIZER_METASPACE,
	  .metaspace = { .replacement = '_', .scheme = PREPEND_FIRST, .split = true } },
	{ .kind = PRETOKENIZER_BYTE_LEVEL },
};

static int cut(const struct pretokenizer_spec *p, struct bytes text, struct buffer *out)
{
	size_t n = p == marked ? 2 : p != NULL;
	struct tokenizer_spec spec = { .pretokenizers = p, .n_pretokenizers = n };
	struct words_scratch *s;
	struct words *w;
	int result;

	buffer_clear(out);
	if (words_new(&w, &spec) < 0 || words_scratch_new(&s, w) < 0)
		exit(1);
	tap_ok(words_is_byte_level(w) == (p && p != &space_split), "byte-level or not");
	result = words_cut(w, s, text, take, out);
	buffer_put_u8(out, 0);
	words_scratch_free(s);
	words_free(w);
	return result;
}

static void test_bytes(void)
{
	struct buffer out = { 0 };
	struct bytes text = { "a b\xff\xfe c\xe6\xad", 9 };

	if (tap_works(cut(&byte_level, text, &out), "byte-level"))
		tap_is_text(out.data, "61 2062 fffe 2063 e6ad ", "runs of bytes are pieces");
	if (tap_works(cut(&prefixed, text, &out), "with a prefix space"))
		tap_is_text(out.data, "2061 2062 fffe 2063 e6ad ", "each run of text has it");
	if (tap_works(cut(marked, text, &out), "with a mark before the first"))
		tap_is_text(out.data, "5f61 5f62 fffe 5f63 e6ad ", "only the first run has it");
	text.data = "b\xff"
		    "c";
	text.size = 3;
	if (tap_works(cut(marked, text, &out), "a run that begins without a space"))
		tap_is_text(out.data, "5f62 ff 63 ", "is not marked");
	text = (struct bytes){ "a b\xff\xfe c\xe6\xad", 9 };
	tap_fails(cut(&space_split, text, &out), ERR_FORMAT, "byte 3: not UTF-8", "not byte-level");
	tap_is_text(out.data, "61 62 ", "what came before was given");
	tap_fails(cut(NULL, text, &out), ERR_FORMAT, "byte 3: not UTF-8", "no steps at all");
	text.size = 3;
	if (tap_works(cut(NULL, text, &out), "no steps at all"))
		tap_is_text(out.data, "612062 ", "one piece");
	buffer_free(&out);
}

/* --- a taker that says no --- */

struct limited {
	int left;
};

static int take_some(void *arg, struct bytes piece)
{
	struct limited *l = arg;

	(void)piece;
	return l->left-- > 0 ? 0 : err_set(ERR_LIMIT, "enough");
}

static void test_stop(void)
{
	const struct pretokenizer_spec *both[] = { &byte_level, &space_split };

	for (int i = 0; i < 2; i++) {
		struct tokenizer_spec spec = { .pretokenizers = both[i], .n_pretokenizers = 1 };
		struct limited l = { 2 };
		struct words_scratch *s;
		struct words *w;

		if (words_new(&w, &spec) < 0 || words_scratch_new(&s, w) < 0)
			exit(1);
		tap_fails(words_cut(w, s, bytes_of("a b c d e"), take_some, &l), ERR_LIMIT,
			  "enough", "the taker's own error");
		tap_is_i64(l.left, -1, "it was asked once more, and no more");
		words_scratch_free(s);
		words_free(w);
	}
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_bytes);
	tap_run(test_stop);
	return tap_done();
}
