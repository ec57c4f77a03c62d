/* tests/unit/test_token_document.c - documents as tokens and as text: offsets, roles, limits, what is shown of a character */
#include "lib/data/token_document.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/token_pack.h"
#include "formats/token_stream.h"
#include "formats/tokenizer_open.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD	   "fixtures/good/tokenizers/"
#define BYTE_LEVEL GOOD "byte-level.json"

static struct arena *arena;
static struct tokenizer *tokenizer;
static struct token_documents *documents;
static struct token_document d;

static void use(const char *path)
{
	token_documents_close(documents);
	documents = NULL;
	tokenizer_free(tokenizer);
	arena_free(arena);
	if (arena_new(&arena) < 0 || tokenizer_open(&tokenizer, arena, path, NULL) < 0) {
		tap_works(-1, "open %s", path);
		exit(1);
	}
}

static void open_as(enum token_input input, const char *path, uint64_t first)
{
	struct token_document_options o = { .input = input,
					    .path = path,
					    .tokenizer_path = BYTE_LEVEL,
					    .encode = { .special = SPECIAL_PARSE },
					    .first = first };

	token_documents_close(documents);
	tap_works(token_documents_open(&documents, tokenizer, &o), "open %s", path);
}

static void open_text(const char *text)
{
	struct token_document_options o = { .input = TOKEN_INPUT_STRING, .text = bytes_of(text) };

	token_documents_close(documents);
	tap_works(token_documents_open(&documents, tokenizer, &o), "open a text");
}

/* `id[from-to] ...`, with the role's number behind a colon. */
static void is_document(size_t limit, const char *want, const char *text)
{
	char got[512] = "";
	size_t at = 0;

	tap_is_i64(token_documents_next(documents, limit, &d), 1, "a document: %s", want);
	for (size_t i = 0; i < d.n; i++) {
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%u[%zu-%zu]", i ? " " : "",
				       (unsigned)d.ids[i], d.spans[i].from, d.spans[i].to);
		if (d.roles)
			at += (size_t)snprintf(got + at, sizeof(got) - at, ":%u",
					       (unsigned)d.roles[i]);
	}
	tap_is_text(got, want, "ids, offsets, roles");
	tap_is_bytes(d.text, bytes_of(text), "its text");
}

static void is_end(void)
{
	tap_is_i64(token_documents_next(documents, 100, &d), 0, "the end");
	tap_is_i64(token_documents_next(documents, 100, &d), 0, "and again");
}

/* H e l l o of byte-level.json are 40 69 76 76 79; ö is C3 B6, 128 and 115. */
static void test_text(void)
{
	use(BYTE_LEVEL);
	open_text("Hel\xc3\xb6");
	is_document(100, "40[0-1] 69[1-2] 76[2-3] 128[3-5] 115[3-5]", "Hel\xc3\xb6");
	tap_ok(!d.cut, "is whole");
	is_end();
	open_text("Hello");
	is_document(2, "40[0-1] 69[1-2]", "He");
	tap_ok(d.cut, "cut after two");
	is_end();
	open_text("");
	is_document(100, "", "");
	is_end();
}

static void test_ids(void)
{
	use(BYTE_LEVEL);
	open_as(TOKEN_INPUT_IDS, tap_file("ids", "40 69\n\n128 115\n", 15), 0);
	is_document(100, "40[0-1] 69[1-2]", "He");
	is_document(100, "128[0-1] 115[1-2]", "\xc3\xb6");
	tap_is_u64(d.number, 1, "its number");
	is_end();
	open_as(TOKEN_INPUT_IDS, tap_path("ids"), 1);
	is_document(1, "128[0-1]", "\xc3");
	tap_ok(d.cut && d.number == 1, "number %d, cut", (int)d.number);
	open_as(TOKEN_INPUT_IDS, tap_path("ids"), 5);
	is_end();
}

static void test_records(void)
{
	static const char lines[] =
		"{\"text\":\"He\"}\n{\"n\":1,\"text_base64\":\"w7Y=\"}\n{\"no\":1}\n";

	use(BYTE_LEVEL);
	open_as(TOKEN_INPUT_RECORDS, tap_file("docs", lines, sizeof(lines) - 1), 0);
	is_document(100, "40[0-1] 69[1-2]", "He");
	is_document(100, "128[0-2] 115[0-2]", "\xc3\xb6");
	tap_fails(token_documents_next(documents, 100, &d), ERR_MISSING, "docs:3: has no field",
		  "a record without text");
}

/* Decoders that do not only join: a marked space goes at the start, `##` joins, a `</w>` becomes a space. */
static void test_decoders(void)
{
	use(GOOD "spm-bpe.model");
	open_as(TOKEN_INPUT_IDS, tap_file("spm", "341 344 343 276 243 162 155 131\n", 32), 0);
	is_document(100, "341[0-0] 344[0-1] 343[1-2] 276[2-4] 243[4-5] 162[5-6] 155[6-7] 131[7-8]",
		    "he w\xf0\x9f\x98\x80");
	use(GOOD "bert.json");
	open_as(TOKEN_INPUT_IDS, tap_file("bert", "37 73 37\n", 9), 0);
	is_document(100, "37[0-1] 73[1-2] 37[2-4]", "te t");
}

/* --- files of tokens ------------------------------------------------------------------------------- */

static struct buffer stream;

static int keep(void *arg, const void *data, size_t n)
{
	(void)arg;
	buffer_put(&stream, data, n);
	return 0;
}

static const uint32_t ids[] = { 40, 69, 76, 76, 79 };

static struct token_header header(void)
{
	struct token_header h = { .vocab = tokenizer_vocab_size(tokenizer),
				  .bos = TOKEN_NONE,
				  .eos = TOKEN_NONE,
				  .pad = TOKEN_NONE };

	tap_works(tokenizer_fingerprint(tokenizer, &h.plain, &h.whole), "fingerprint");
	return h;
}

/* Two documents; the first has roles. */
static const char *write_stream(void)
{
	struct token_run user = { 1, 2, ROLE_USER }, last = { 4, 1, ROLE_ASSISTANT };
	struct token_header h = header();
	struct token_writer *w;

	buffer_clear(&stream);
	tap_works(token_writer_new(&w, &h, keep, NULL), "a writer");
	tap_works(token_writer_add(w, ids, 5), "ids");
	tap_works(token_writer_run(w, &user), "a run");
	tap_works(token_writer_run(w, &last), "another");
	tap_works(token_writer_end_document(w), "an end");
	tap_works(token_writer_add(w, ids, 2), "ids");
	tap_works(token_writer_end_document(w), "an end");
	tap_works(token_writer_end(w), "the end");
	token_writer_free(w);
	return tap_file("tokens", stream.data, stream.size);
}

static const char *write_pack(void)
{
	struct token_run user = { 1, 2, ROLE_USER }, last = { 4, 1, ROLE_ASSISTANT };
	struct token_pack_options o = { .learnt = ROLES_LEARNT };
	struct token_header h = header();
	struct token_pack_writer *w;
	const char *path = tap_path("pack");
	struct outfile *f;

	tap_works(outfile_new(&f, path), "a file");
	tap_works(token_pack_new(&w, f, &h, &o, path), "a writer");
	tap_works(token_pack_add(w, ids, 2), "a document");
	tap_works(token_pack_end_document(w), "an end");
	tap_works(token_pack_add(w, ids, 5), "ids");
	tap_works(token_pack_add_run(w, &user), "a run");
	tap_works(token_pack_add_run(w, &last), "another");
	tap_works(token_pack_end_document(w), "an end");
	tap_works(token_pack_end(w), "the end");
	token_pack_free(w);
	tap_works(outfile_commit(f), "commit");
	return path;
}

#define WITH_ROLES "40[0-1]:0 69[1-2]:4 76[2-3]:4 76[3-4]:0 79[4-5]:5"

static void test_files(void)
{
	use(BYTE_LEVEL);
	tap_is_u64(ROLE_USER * 10 + ROLE_ASSISTANT, 45, "the roles' numbers");
	open_as(TOKEN_INPUT_TOKENS, write_stream(), 0);
	is_document(100, WITH_ROLES, "Hello");
	is_document(100, "40[0-1] 69[1-2]", "He");
	is_end();
	open_as(TOKEN_INPUT_TOKENS, tap_path("tokens"), 0);
	is_document(2, "40[0-1]:0 69[1-2]:4", "He");
	is_document(100, "40[0-1] 69[1-2]", "He");
	open_as(TOKEN_INPUT_TOKENS, write_pack(), 0);
	tap_ok(token_document_is_pack(tap_path("pack")), "a pack is one");
	tap_ok(!token_document_is_pack(tap_path("tokens")), "a stream is none");
	is_document(100, "40[0-1] 69[1-2]", "He");
	is_document(100, WITH_ROLES, "Hello");
	is_end();
	open_as(TOKEN_INPUT_TOKENS, tap_path("pack"), 1);
	is_document(2, "40[0-1]:0 69[1-2]:4", "He");
	tap_ok(d.cut && d.number == 1, "number %d, cut", (int)d.number);
}

static void test_others(void)
{
	struct token_document_options o = { .input = TOKEN_INPUT_TOKENS,
					    .path = tap_path("tokens"),
					    .tokenizer_path = "theirs.json" };
	struct token_documents *none;

	use(GOOD "llama3.json");
	tap_fails(token_documents_open(&none, tokenizer, &o), ERR_MISMATCH, "theirs.json",
		  "another's stream");
	o.path = tap_path("pack");
	tap_fails(token_documents_open(&none, tokenizer, &o), ERR_MISMATCH, "theirs.json",
		  "another's file");
	o.path = tap_file("cut", stream.data, stream.size - 9);
	use(BYTE_LEVEL);
	open_as(TOKEN_INPUT_TOKENS, o.path, 0);
	is_document(100, WITH_ROLES, "Hello");
	is_document(100, "40[0-1] 69[1-2]", "He");
	tap_fails(token_documents_next(documents, 100, &d), ERR_FORMAT, "cut", "a cut stream");
}

/* Packed files are not checked as a whole before they are shown. */
static int read_damaged(void *arg, const void *data, size_t size)
{
	struct token_document_options o = { .input = TOKEN_INPUT_TOKENS,
					    .path = tap_path("damaged"),
					    .tokenizer_path = BYTE_LEVEL };
	struct token_documents *all;
	int got, fd = *(int *)arg;

	/* One file, written over: making ten thousand takes long. */
	if (pwrite(fd, data, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) != 0)
		return err_system("damaged");
	if (token_documents_open(&all, tokenizer, &o) < 0)
		return -1;
	while ((got = token_documents_next(all, 1000, &d)) > 0)
		;
	token_documents_close(all);
	return got;
}

static void test_damaged(void)
{
	struct bytes pack, other = { stream.data, stream.size };
	char *data = tap_fixture(tap_path("pack"), &pack.size);
	int fd = open(tap_path("damaged"), O_RDWR | O_CREAT, 0600);

	tap_ok(fd >= 0, "a file to damage");
	use(BYTE_LEVEL);
	pack.data = data;
	corrupt_run("damaged packed tokens, shown", pack, other, read_damaged, &fd,
		    (size_t)64 << 20);
	close(fd);
	free(data);
}

/* --- what is shown ---------------------------------------------------------------------------------- */

static void is_part(struct bytes text, size_t *shown, size_t from, size_t to, size_t part_from,
		    size_t part_to)
{
	struct token_span part = token_shown_part(text, shown, (struct token_span){ from, to });

	tap_ok(part.from == part_from && part.to == part_to, "%zu-%zu shows %zu-%zu, not %zu-%zu",
	       from, to, part.from, part.to, part_from, part_to);
}

static void test_shown(void)
{
	struct bytes text = bytes_of("a\xf0\x9f\x98\x80 b\xe6\xad");
	size_t shown = 0;

	is_part(text, &shown, 0, 1, 0, 1);
	is_part(text, &shown, 1, 3, 1, 5);
	is_part(text, &shown, 3, 4, 5, 5);
	is_part(text, &shown, 4, 5, 5, 5);
	is_part(text, &shown, 6, 7, 6, 7);
	is_part(text, &shown, 7, 8, 7, 8);
	is_part(text, &shown, 8, 9, 8, 9);
	tap_is_u64(shown, 9, "all is shown");
	shown = 0;
	is_part(text, &shown, 1, 5, 1, 5);
	is_part(text, &shown, 1, 5, 5, 5);
	is_part(text, &shown, 0, 0, 5, 5);
}

int main(void)
{
	tap_run(test_text);
	tap_run(test_ids);
	tap_run(test_records);
	tap_run(test_decoders);
	tap_run(test_files);
	tap_run(test_others);
	tap_run(test_damaged);
	tap_run(test_shown);
	token_documents_close(documents);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&stream);
	return tap_done();
}
