/* formats/token_pack: written, opened, checked, refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/token_pack.h"
#include "formats/token_spool.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
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

static void is_document(const struct token_pack *p, uint64_t i, uint64_t want_from,
			uint64_t want_to)
{
	uint64_t from = 99, to = 99;

	tap_works(token_pack_document(p, i, &from, &to), "document %u", (unsigned)i);
	tap_is_u64(from, want_from, "its first token");
	tap_is_u64(to, want_to, "the one after its last");
}

/* Written by scripts/gen-fixtures-tokens, from the page alone. */
static void test_plain(void)
{
	const uint32_t want[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint32_t ids[8] = { 0 };
	struct token_pack *p;
	uint64_t d;

	tap_works(token_pack_open(&p, GOOD "plain.tok"), "open");
	tap_works(token_pack_check(p, NULL), "check");
	tap_is_u64(token_pack_info(p)->n_tokens, 8, "tokens");
	tap_is_u64(token_pack_info(p)->n_documents, 4, "documents");
	tap_is_u64(token_pack_info(p)->learnt, ROLES_LEARNT, "roles");
	is_document(p, 0, 0, 3);
	is_document(p, 1, 3, 7);
	is_document(p, 2, 7, 7);
	is_document(p, 3, 7, 8);
	tap_works(token_pack_read(p, 0, 8, ids), "read");
	tap_ok(memcmp(ids, want, sizeof(ids)) == 0, "the ids");
	tap_works(token_pack_read(p, 8, 0, ids), "nothing at the end");
	tap_fails(token_pack_read(p, 8, 1, ids), ERR_ARGUMENT, "1 tokens from 8 on",
		  "past the end");
	tap_fails(token_pack_read(p, 1, SIZE_MAX, ids), ERR_ARGUMENT, "there are 8", "far past it");
	for (uint64_t t = 0; t < 8; t++) {
		tap_works(token_pack_find(p, t, &d), "token %u", (unsigned)t);
		tap_is_u64(d, t < 3 ? 0 : t < 7 ? 1 : 3, "its document, not the empty one");
	}
	tap_fails(token_pack_find(p, 8, &d), ERR_ARGUMENT, "token 8 of 8", "no document");
	token_pack_close(p);
}

static void test_roles(void)
{
	const char want[] = { 7, 4, 4, 0, 5, 5, 5, 1, 1, 2 };
	uint8_t roles[10];
	struct token_pack *p;
	uint64_t wrong = 0;

	tap_works(token_pack_open(&p, GOOD "chat.tok"), "open");
	tap_works(token_pack_check(p, NULL), "check");
	for (size_t from = 0; from <= 10; from++) {
		for (size_t to = from; to <= 10; to++) {
			memset(roles, 99, sizeof(roles));
			wrong += token_pack_roles(p, from, to - from, roles) != 0 ||
				 memcmp(roles, want + from, to - from) != 0;
		}
	}
	tap_is_u64(wrong, 0, "the roles of every stretch");
	token_pack_close(p);
}

static void test_C13_wide(void)
{
	struct token_pack *p;
	uint32_t ids[4];

	tap_works(token_pack_open(&p, GOOD "wide.tok"), "open");
	tap_works(token_pack_read(p, 0, 4, ids), "read");
	tap_is_u64(ids[0], 151643, "an id of a vocabulary of 151,936 is whole");
	tap_is_u64(ids[3], 151935, "the last one too");
	token_pack_close(p);
	tap_works(token_pack_open(&p, BAD "C13-id.tok"), "its table and sizes are right");
	tap_fails(token_pack_read(p, 0, 1, ids), ERR_FORMAT,
		  "token id 10 among the 1 from token 0 on",
		  "an id past the vocabulary is not given out");
	tap_fails(token_pack_check(p, NULL), ERR_FORMAT, "token id 10", "and the check finds it");
	token_pack_close(p);
}

static void fails_to_open(const char *name, const char *part)
{
	char *path = mem_format(BAD "%s.tok", name);
	struct token_pack *p;

	tap_fails(token_pack_open(&p, path), ERR_FORMAT, part, "%s", name);
	free(path);
}

static void fails_the_check(const char *name, const char *part)
{
	char *path = mem_format(BAD "%s.tok", name);
	struct token_pack *p;

	tap_works(token_pack_open(&p, path), "%s opens", name);
	tap_fails(token_pack_check(p, NULL), ERR_FORMAT, part, "%s", name);
	token_pack_close(p);
	free(path);
}

static void test_bad(void)
{
	struct token_pack *p;

	fails_to_open("C07-cut", "does not end in an end record");
	fails_to_open("C07-cut-8", "is no packed token file");
	fails_to_open("C07-trailing", "does not end in an end record");
	fails_to_open("magic", "does not end in an end record");
	fails_to_open("fit", "a filling of windows");
	fails_to_open("roles", "roles that are not known");
	fails_to_open("separators", "9 separators among 8 tokens");
	fails_to_open("huge-tokens", "above 2^56");
	fails_to_open("huge-documents", "above 2^56");
	fails_to_open("huge-runs", "has 224 bytes, but");
	fails_the_check("hash", "is damaged");
	fails_the_check("damaged", "is damaged");
	fails_the_check("documents-descend", "document 1 from 8 to 7 of 8 tokens");
	fails_the_check("run-role", "run 0: a role");
	fails_the_check("run-crosses", "run 0: passes into another document");
	fails_the_check("run-order", "run 1: runs do not ascend");
	fails_the_check("gap", "byte 101: a gap");
	tap_fails(token_pack_open(&p, GOOD "plain.tokens"), ERR_FORMAT,
		  "is a token stream, not a packed token file", "the other kind is named");
}

/* The bytes that the script wrote come out of our writer too. */
static void test_writes_the_same_bytes(void)
{
	const uint32_t a[] = { 9, 1, 2, 9, 3, 4, 0 }, b[] = { 5, 6, 7 };
	const struct token_run runs[] = { { 0, 1, ROLE_SCAFFOLD },
					  { 1, 2, ROLE_USER },
					  { 4, 3, ROLE_ASSISTANT } };
	struct token_pack_options o = { .learnt = ROLES_LEARNT };
	struct token_header h = header_of(10);
	const char *path = tap_path("chat.tok");
	struct token_pack_writer *w;
	struct outfile *f;
	struct bytes want, got;
	char *fixture = tap_fixture(GOOD "chat.tok", &want.size), *ours;

	want.data = fixture;
	tap_works(outfile_new(&f, path), "file");
	tap_works(token_pack_new(&w, f, &h, &o, path), "begin");
	tap_works(token_pack_add(w, a, 7), "ids");
	tap_fails(token_pack_end(w), ERR_ARGUMENT, "within a document", "not yet");
	for (int i = 0; i < 3; i++)
		tap_works(token_pack_add_run(w, &runs[i]), "run %d", i);
	tap_fails(token_pack_add_run(w, &runs[0]), ERR_ARGUMENT, "does not follow", "not again");
	tap_works(token_pack_end_document(w), "end of 1");
	tap_works(token_pack_add(w, b, 3), "ids");
	tap_works(token_pack_add_run(w, &(struct token_run){ 0, 2, ROLE_PROMPT }), "run");
	tap_works(token_pack_add_run(w, &(struct token_run){ 2, 1, ROLE_COMPLETION }), "run");
	tap_works(token_pack_end_document(w), "end of 2");
	tap_works(token_pack_end(w), "end");
	token_pack_free(w);
	tap_works(outfile_commit(f), "commit");
	tap_works(file_read(path, 1 << 20, &ours, &got.size), "read");
	got.data = ours;
	tap_is_bytes(got, want, "the bytes of chat.tok");
	free(ours);
	free(fixture);
}

/* So many documents that their table does not stay in memory. */
static void test_many_documents(void)
{
	struct token_pack_options o = { .learnt = ROLES_ALL, .fit = FIT_BEST, .window = 64 };
	struct token_header h = header_of(70000);
	const char *path = tap_path("many.tok");
	uint64_t n = 300000, failed = 0, from, to;
	struct token_pack_writer *w;
	struct token_pack *p;
	struct outfile *f;

	tap_works(outfile_new(&f, path), "file");
	tap_works(token_pack_new(&w, f, &h, &o, path), "begin");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t ids[2] = { i % 70000, 1 };

		failed += token_pack_add(w, ids, i % 3 > 0) != 0 ||
			  token_pack_add_separator(w, 0) != 0 ||
			  token_pack_add_run(w, &(struct token_run){ 0, 1, ROLE_TOOL }) != 0 ||
			  token_pack_end_document(w) != 0;
	}
	tap_is_u64(failed, 0, "written");
	tap_works(token_pack_end(w), "end");
	token_pack_free(w);
	tap_works(outfile_commit(f), "commit");
	tap_works(token_pack_open(&p, path), "open");
	tap_works(token_pack_check(p, NULL), "check");
	tap_is_u64(token_pack_info(p)->n_documents, n, "documents");
	tap_is_u64(token_pack_info(p)->n_separators, n, "separators");
	tap_is_u64(token_pack_info(p)->n_runs, n, "runs");
	tap_is_u64(token_pack_info(p)->window, 64, "window");
	tap_is_u64(token_pack_info(p)->fit, FIT_BEST, "fit");
	tap_works(token_pack_document(p, n - 1, &from, &to), "the last document");
	tap_is_u64(to - from, 2, "its tokens");
	token_pack_close(p);
}

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct token_pack *p;
	struct token_run run;
	uint64_t from, to;
	uint8_t role;
	uint32_t id;
	int result;

	if (token_pack_open_memory(&p, data, size, "damaged") != 0)
		return -1;
	result = token_pack_check(p, NULL);
	for (uint64_t i = 0; i < token_pack_info(p)->n_tokens; i++)
		if (token_pack_read(p, i, 1, &id) != 0 || token_pack_roles(p, i, 1, &role) != 0 ||
		    token_pack_find(p, i, &from) != 0)
			result = -1;
	for (uint64_t i = 0; i < token_pack_info(p)->n_documents; i++)
		result |= token_pack_document(p, i, &from, &to);
	for (uint64_t i = 0; i < token_pack_info(p)->n_runs; i++)
		result |= token_pack_run(p, i, &run);
	token_pack_close(p);
	return result;
}

static void test_damaged(void)
{
	struct bytes good, second;
	char *a = tap_fixture(GOOD "chat.tok", &good.size);
	char *b = tap_fixture(GOOD "plain.tok", &second.size);

	good.data = a;
	second.data = b;
	corrupt_run("damaged packed tokens", good, second, read_damaged, NULL, (size_t)64 << 20);
	free(a);
	free(b);
}

int main(void)
{
	tap_run(test_plain);
	tap_run(test_roles);
	tap_run(test_C13_wide);
	tap_run(test_bad);
	tap_run(test_writes_the_same_bytes);
	tap_run(test_many_documents);
	tap_run(test_damaged);
	return tap_done();
}
