/* formats/token_stream: what is written is read again, and what is not whole is refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/token_stream.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/tokens/"
#define BAD  "fixtures/bad/tokens/"

static struct token_header header_of(uint32_t vocab)
{
	struct token_header h = { .vocab = vocab, .bos = TOKEN_NONE, .eos = 0, .pad = TOKEN_NONE };

	for (int i = 0; i < 16; i++) {
		h.plain.digest[i] = (unsigned char)i;
		h.whole.digest[i] = (unsigned char)(16 + i);
	}
	return h;
}

static int to_buffer(void *arg, const void *data, size_t n)
{
	buffer_put(arg, data, n);
	return buffer_check(arg);
}

/* Reads all of PATH: 0 or -1. In OUT: ids with spaces, runs as [start+length:role], | after a document. */
static int read_all(struct buffer *out, const char *path)
{
	struct token_reader *r;
	struct token_event e;
	int got;

	if (token_reader_open(&r, path) != 0)
		return -1;
	while ((got = token_reader_next(r, &e)) > 0) {
		if (e.kind == TOKEN_EVENT_END)
			buffer_put_text(out, "|");
		else if (e.kind == TOKEN_EVENT_RUN)
			buffer_format(out, "[%u+%u:%s]", (unsigned)e.run.start,
				      (unsigned)e.run.length, token_role_name(e.run.role));
		else
			for (size_t i = 0; i < e.n; i++)
				buffer_format(out, "%u ", (unsigned)e.ids[i]);
	}
	token_reader_close(r);
	return got;
}

static void is_read(const char *path, const char *want)
{
	struct buffer b = { 0 };

	tap_works(read_all(&b, path), "%s", path);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "%s", path);
	buffer_free(&b);
}

/* Written by scripts/gen-fixtures-tokens, from the page alone. */
static void test_good(void)
{
	is_read(GOOD "plain.tokens", "1 2 3 |4 5 6 7 ||8 |");
	is_read(GOOD "chat.tokens", "9 1 2 9 3 4 0 [0+1:scaffold][1+2:user][4+3:assistant]|5 6 7 "
				    "[0+2:prompt][2+1:completion]|");
	is_read(GOOD "wide.tokens", "151643 65536 1 |151935 |");
	is_read(GOOD "nothing.tokens", "");
}

static enum err_code code_of(const char *name)
{
	return strcmp(name, "version") == 0 ? ERR_UNSUPPORTED : ERR_FORMAT;
}

static void is_refused(const char *name, const char *part)
{
	struct buffer b = { 0 };
	char *path = mem_format(BAD "%s.tokens", name);

	tap_fails(read_all(&b, path), code_of(name), part, "%s", name);
	buffer_free(&b);
	free(path);
}

static void test_C07_cut_and_trailing(void)
{
	is_refused("C07-cut",
		   "byte 160: the stream is cut: the end record needs 32 bytes, 27 left");
	is_refused("C07-cut-in-ids", "byte 88: the stream is cut: a record of ids needs 6 bytes");
	is_refused("C07-cut-header", "the stream is cut: the header needs 80 bytes, 40 left");
	is_refused("C07-no-end", "byte 152: the stream is cut: a record needs 8 bytes, 0 left");
	is_refused("C07-trailing", "byte 192: bytes after the end of the stream");
	is_refused("C07-twice", "byte 192: bytes after the end of the stream");
	is_refused("within", "ends within a document");
	is_refused("huge-count", "the stream is cut");
}

static void test_C13_ids_fit_the_width(void)
{
	is_refused("C13-id",
		   "byte 88: token id 10 among the next 1 is not below the vocabulary size 10");
	is_refused("C13-width-2", "byte 12: 2 bytes an id, but a vocabulary of 151936 has 4");
	is_refused("C13-width-4", "byte 12: 4 bytes an id");
	tap_is_u64(token_width(65536), 2, "ids to 65,535 fit 2 bytes");
	tap_is_u64(token_width(65537), 4, "an id of 65,536 does not");
}

static void test_bad(void)
{
	is_refused("hash", "byte 176: the hash disagrees");
	is_refused("count", "4 documents and 9 tokens; 4 and 8 came");
	is_refused("documents", "5 documents and 8 tokens; 4 and 8 came");
	is_refused("kind", "byte 80: a record of kind 5");
	is_refused("kind-0", "byte 80: a record of kind 0");
	is_refused("end-count", "byte 80: an end with a count of 1");
	is_refused("version", "byte 8: version 2");
	is_refused("vocab-0", "vocabulary size 0");
	is_refused("eos", "end id 10 is not below the vocabulary size 10");
	is_refused("run-before", "a run to 1, and 0 tokens of the document came");
	is_refused("run-past", "a run to 3, and 2 tokens");
	is_refused("run-empty", "a run of no tokens");
	is_refused("run-role", "a role that is not known");
	is_refused("run-order", "a run from 0 on, after one that ends at 2");
	is_refused("run-wraps", "a run past the end");
}

static void test_other_kinds(void)
{
	struct buffer b = { 0 };

	tap_fails(read_all(&b, GOOD "plain.tok"), ERR_FORMAT,
		  "is a packed token file, not a token stream", "the other kind is named");
	tap_fails(read_all(&b, "fixtures/good/gguf/empty.gguf"), ERR_FORMAT, "is no token stream",
		  "something else");
	tap_fails(read_all(&b, tap_file("none", "", 0)), ERR_FORMAT, "cut", "nothing");
	tap_fails(read_all(&b, tap_path("not-there")), ERR_IO, "not-there: No such", "no file");
	buffer_free(&b);
}

/* The bytes that the script wrote come out of our writer too. */
static void test_writes_the_same_bytes(void)
{
	const uint32_t a[] = { 1, 2, 3 }, b[] = { 4, 5, 6, 7 }, c[] = { 8 };
	struct token_header h = header_of(10);
	struct buffer out = { 0 };
	struct token_writer *w;
	struct bytes want;
	char *fixture = tap_fixture(GOOD "plain.tokens", &want.size);

	want.data = fixture;
	tap_works(token_writer_new(&w, &h, to_buffer, &out), "begin");
	tap_works(token_writer_add(w, a, 1), "an id");
	tap_works(token_writer_add(w, a + 1, 2), "two more join its record");
	tap_works(token_writer_end_document(w), "end of 1");
	tap_works(token_writer_add(w, b, 4), "ids");
	tap_works(token_writer_end_document(w), "end of 2");
	tap_works(token_writer_end_document(w), "end of an empty one");
	tap_works(token_writer_add(w, c, 1), "an id");
	tap_fails(token_writer_end(w), ERR_ARGUMENT, "within a document", "not yet ended");
	tap_works(token_writer_end_document(w), "end of 4");
	tap_works(token_writer_end(w), "end");
	tap_is_bytes(buffer_bytes(&out), want, "the bytes of plain.tokens");
	tap_is_u64(token_writer_counts(w).documents, 4, "documents");
	tap_is_u64(token_writer_counts(w).tokens, 8, "tokens");
	token_writer_free(w);
	buffer_free(&out);
	free(fixture);
}

static void test_writer_refuses(void)
{
	const uint32_t ids[] = { 1, 9, 10, 3 };
	struct token_header h = header_of(10);
	struct buffer out = { 0 };
	struct token_writer *w;

	tap_works(token_writer_new(&w, &h, to_buffer, &out), "begin");
	tap_fails(token_writer_add(w, ids, 4), ERR_ARGUMENT, "token id 10", "C13: an id too large");
	tap_works(token_writer_add(w, ids, 2), "those that fit");
	tap_fails(token_writer_run(w, &(struct token_run){ 1, 2, ROLE_USER }), ERR_ARGUMENT,
		  "in a document of 2", "a run past what was sent");
	tap_fails(token_writer_run(w, &(struct token_run){ 0, 0, ROLE_USER }), ERR_ARGUMENT,
		  "0 tokens", "an empty run");
	tap_works(token_writer_run(w, &(struct token_run){ 1, 1, ROLE_USER }), "a run");
	tap_fails(token_writer_run(w, &(struct token_run){ 0, 1, ROLE_USER }), ERR_ARGUMENT,
		  "does not follow", "one before it");
	token_writer_free(w);
	h.eos = 10;
	tap_fails(token_writer_new(&w, &h, to_buffer, &out), ERR_FORMAT, "end id 10",
		  "eos too large");
	buffer_free(&out);
}

/* Documents of many sizes, longer than any buffer; the ids are a rule. */
static uint32_t rule(uint64_t i)
{
	return (uint32_t)(i * 2654435761u % 70000);
}

static uint64_t write_long(struct buffer *out, uint32_t vocab)
{
	static const size_t sizes[] = { 0, 1, 100000, 3, 0, 8192, 8193, 16384, 500000 };
	struct token_header h = header_of(vocab);
	struct token_writer *w;
	uint64_t at = 0;
	bool fine = token_writer_new(&w, &h, to_buffer, out) == 0;

	for (size_t d = 0; d < sizeof(sizes) / sizeof(*sizes); d++) {
		uint32_t *ids = mem_new(sizes[d], sizeof(*ids));

		for (size_t i = 0; i < sizes[d]; i++)
			ids[i] = rule(at++) % vocab;
		fine = fine && token_writer_add(w, ids, sizes[d]) == 0 &&
		       token_writer_end_document(w) == 0;
		free(ids);
	}
	tap_ok(fine && token_writer_end(w) == 0, "written");
	token_writer_free(w);
	return at;
}

static void test_long(uint32_t vocab)
{
	struct buffer out = { 0 };
	struct token_reader *r;
	struct token_event e;
	uint64_t n = write_long(&out, vocab), at = 0, wrong = 0;
	int got;

	tap_works(token_reader_open(&r, tap_file("long", out.data, out.size)), "open");
	while ((got = token_reader_next(r, &e)) > 0)
		for (size_t i = 0; e.kind == TOKEN_EVENT_IDS && i < e.n; i++)
			wrong += e.ids[i] != rule(at++) % vocab;
	tap_is_i64(got, 0, "read to its end");
	tap_is_u64(at, n, "all ids");
	tap_is_u64(wrong, 0, "and each is the one that was written");
	tap_is_u64(token_reader_counts(r).documents, 9, "documents");
	token_reader_close(r);
	buffer_free(&out);
}

static void test_long_documents(void)
{
	test_long(50000);
	test_long(70000);
}

/* Every cut of a good stream is refused. */
static void test_C07_every_cut(void)
{
	struct buffer b = { 0 };
	size_t n, read = 0;
	char *data = tap_fixture(GOOD "chat.tokens", &n);

	for (size_t i = 0; i < n; i++)
		read += read_all(&b, tap_file("cut", data, i)) == 0;
	tap_is_u64(read, 0, "none of %zu cuts passes for a stream", n);
	buffer_free(&b);
	free(data);
}

static void test_match(void)
{
	struct token_header a = header_of(10), b = header_of(10);

	tap_works(token_header_match(&a, "a", &b, "b"), "the same");
	b.whole.digest[0] ^= 1;
	tap_works(token_header_match(&a, "a", &b, "b"), "the whole may differ");
	b.plain.digest[0] = 255;
	tap_fails(token_header_match(&a, "a.tok", &b, "b.tok"), ERR_MISMATCH,
		  "b.tok: tokens of tokenizer ff0102030405060708090a0b0c0d0e0f, but a.tok has "
		  "those of "
		  "000102030405060708090a0b0c0d0e0f",
		  "another tokenizer: both sides are named");
	b = header_of(11);
	tap_fails(token_header_match(&a, "a.tok", &b, "b.tok"), ERR_MISMATCH,
		  "b.tok: vocabulary size 11, but a.tok has 10", "another size");
}

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct token_reader *r;
	struct token_event e;
	int fds[2], got = -1;

	if (pipe(fds) != 0)
		abort();
	if (size > 60000 || write(fds[1], data, size) != (ssize_t)size)
		abort();
	close(fds[1]);
	if (token_reader_open_fd(&r, fds[0], "damaged") == 0) {
		while ((got = token_reader_next(r, &e)) > 0)
			*(uint64_t *)arg += e.n;
		token_reader_close(r);
	}
	close(fds[0]);
	return got;
}

static void test_damaged(void)
{
	struct bytes good, second;
	char *a = tap_fixture(GOOD "chat.tokens", &good.size);
	char *b = tap_fixture(GOOD "wide.tokens", &second.size);
	uint64_t sum = 0;

	good.data = a;
	second.data = b;
	corrupt_run("damaged token streams", good, second, read_damaged, &sum, (size_t)64 << 20);
	free(a);
	free(b);
}

int main(void)
{
	tap_run(test_good);
	tap_run(test_C07_cut_and_trailing);
	tap_run(test_C07_every_cut);
	tap_run(test_C13_ids_fit_the_width);
	tap_run(test_bad);
	tap_run(test_other_kinds);
	tap_run(test_writes_the_same_bytes);
	tap_run(test_writer_refuses);
	tap_run(test_long_documents);
	tap_run(test_match);
	tap_run(test_damaged);
	return tap_done();
}
