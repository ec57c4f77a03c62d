/*
 * tests/unit/test_batch.c - records through a team: their order, their errors, and text that a model makes a special token of
 *
 * What the tokens are is held against the peer by tests/cmd/tokenize.bats.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/data/batch.h"
#include "tests/tap.h"

/* Words of a vocabulary in which a special token is a word like any other. */
static const struct piece_spec pieces[] = {
	{ { "a", 1 }, 0, 0 }, { { "b", 1 }, 1, 0 }, { { "<s>", 3 }, 2, 0 }, { { "</s>", 4 }, 3, 0 }
};
static const struct added_spec added[] = { { .id = 2, .text = { "<s>", 3 }, .special = true },
					   { .id = 3, .text = { "</s>", 4 }, .special = true } };
static const struct pretokenizer_spec steps[] = { { .kind = PRETOKENIZER_WHITESPACE_SPLIT } };
static const struct tokenizer_spec spec = {
	.model = { .kind = MODEL_WORDLEVEL, .pieces = pieces, .n_pieces = 4, .unk = TOKEN_NONE },
	.pretokenizers = steps,
	.n_pretokenizers = 1,
	.added = added,
	.n_added = 2,
	.bos = 2,
	.eos = 3,
	.pad = TOKEN_NONE,
	.unk = TOKEN_NONE,
};

static struct tokenizer *tokenizer;

/* --- a source and a sink --- */

/* Records 0, 1, ... up to N: `a` and as many `b` as its number says; one may be bad, and reading or writing may fail. */
struct io {
	uint64_t n, at;
	uint64_t bad, unreadable, unwritable; /* numbers; n or more: none */
	uint64_t written;
	bool in_order;
	char text[512];
};

static int read_number(void *arg, struct bytes *record, struct record_place *place)
{
	struct io *io = arg;
	size_t size = 1;

	if (io->at == io->n)
		return 0;
	if (io->at == io->unreadable)
		return err_set(ERR_IO, "reading failed");
	io->text[0] = io->at == io->bad ? 'c' : 'a';
	for (uint64_t i = 0; i < io->at % 100; i++) {
		io->text[size++] = ' ';
		io->text[size++] = 'b';
	}
	*record = (struct bytes){ io->text, size };
	*place = (struct record_place){ .name = "in", .line = ++io->at };
	return 1;
}

static int write_number(void *arg, const struct encoded_record *r, const struct record_place *place)
{
	struct io *io = arg;
	uint64_t i = io->written;

	if (i == io->unwritable)
		return err_set(ERR_IO, "writing failed");
	io->written++;
	io->in_order &= place->line == i + 1 && place->document == i &&
			r->encoding.n == i % 100 + 1 && r->encoding.ids[0] == 0 &&
			r->bytes == 1 + 2 * (i % 100);
	return 0;
}

/* Small batches, so that there are many. */
static int pump(struct io *io, int threads, size_t bytes)
{
	const struct record_options o = { .input = RECORD_TEXT };
	const struct batch_io calls = { .read = read_number, .write = write_number, .arg = io };
	struct batch *b = NULL;
	struct team *team;
	int result = -1;

	io->in_order = true;
	if (team_new(&team, threads) == 0 && batch_new(&b, tokenizer, team, &o, bytes) == 0)
		result = batch_pump(b, &calls);
	batch_free(b);
	team_free(team);
	return result;
}

#define NONE UINT64_MAX

static void test_order(void)
{
	for (int threads = 1; threads <= 4; threads++) {
		struct io io = { .n = 1000, .bad = NONE, .unreadable = NONE, .unwritable = NONE };
		struct io one = { .n = 1, .bad = NONE, .unreadable = NONE, .unwritable = NONE };
		struct io none = { .n = 0, .bad = NONE, .unreadable = NONE, .unwritable = NONE };

		tap_works(pump(&io, threads, 500), "%d threads", threads);
		tap_is_u64(io.written, 1000, "all are written");
		tap_ok(io.in_order, "each what it was, in order");
		tap_works(pump(&one, threads, 0), "one");
		tap_is_u64(one.written, 1, "one");
		tap_works(pump(&none, threads, 0), "none");
		tap_is_u64(none.written, 0, "none");
	}
}

/* Wherever it happens, all before it is written, and nothing behind it. */
static void test_failures(void)
{
	static const uint64_t places[] = { 0, 1, 50, 333, 999 };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		uint64_t at = places[i];
		struct io bad = { .n = 1000, .bad = at, .unreadable = NONE, .unwritable = NONE };
		struct io unread = { .n = 1000, .bad = NONE, .unreadable = at, .unwritable = NONE };
		struct io full = { .n = 1000, .bad = NONE, .unreadable = NONE, .unwritable = at };
		struct io both = { .n = 1000, .bad = at, .unreadable = at + 1, .unwritable = NONE };
		char place[32];

		snprintf(place, sizeof(place), "in:%d: byte 0: ", (int)at + 1);
		tap_fails(pump(&bad, 2, 300), ERR_FORMAT, place, "a bad record");
		tap_ok(bad.written == at && bad.in_order, "%d written", (int)bad.written);
		tap_fails(pump(&unread, 2, 300), ERR_IO, "reading failed", "reading fails");
		tap_ok(unread.written == at && unread.in_order, "%d written", (int)unread.written);
		tap_fails(pump(&full, 2, 300), ERR_IO, "writing failed", "writing fails");
		tap_ok(full.written == at && full.in_order, "%d written", (int)full.written);
		tap_fails(pump(&both, 2, 300), ERR_FORMAT, place, "the bad record comes first");
		tap_is_u64(both.written, at, "those before it");
	}
}

/* --- one record --- */

static int encode(const struct record_options *o, const char *record, struct encoded_record *out)
{
	const struct record_place place = { .name = "in", .line = 7 };
	struct record_encoder *e;
	int result = -1;

	if (record_encoder_new(&e, tokenizer, o) == 0)
		result = record_encode(e, bytes_of(record), &place, out);
	record_encoder_free(e);
	return result;
}

/* This model makes a special token of its text even where it is plain: in fields that is refused. */
static void test_specials_of_the_model(void)
{
	static const struct record_field fields[] = { { "prompt", ROLE_PROMPT },
						      { "completion", ROLE_COMPLETION } };
	struct record_options o = { .input = RECORD_FIELDS, .fields = fields, .n_fields = 2 };
	struct encoded_record r = { 0 };

	o.encode.special = SPECIAL_PLAIN;
	tap_works(encode(&o, "{\"prompt\":\"a\",\"completion\":\"b\"}", &r), "no special token");
	tap_fails(encode(&o, "{\"prompt\":\"a <s>\",\"completion\":\"b\"}", &r), ERR_FORMAT,
		  "in:7: \"prompt\": text becomes the special token <s>", "one");
	o.n_fields = 0;
	tap_fails(encode(&o, "{}", &r), ERR_ARGUMENT, "0 fields", "no fields");
	encoded_record_free(&r);
}

static void check_ends(const char *prompt, const char *completion, size_t n, const char *runs)
{
	static const struct record_field fields[] = { { "prompt", ROLE_PROMPT },
						      { "completion", ROLE_COMPLETION } };
	const struct record_options o = { .input = RECORD_FIELDS,
					  .fields = fields,
					  .n_fields = 2,
					  .encode.special = SPECIAL_PLAIN,
					  .bos = true,
					  .eos = true };
	struct encoded_record r = { 0 };
	char record[128], got[128] = "";

	snprintf(record, sizeof(record), "{\"prompt\":\"%s\",\"completion\":\"%s\"}", prompt,
		 completion);
	if (!tap_works(encode(&o, record, &r), "%s", record) ||
	    !tap_is_u64(r.encoding.n, n, "%s: tokens", record))
		return;
	tap_ok(r.encoding.ids[0] == 2 && r.encoding.ids[n - 1] == 3, "BOS and EOS");
	for (size_t i = 0; i < r.n_runs; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%d+%d:%d ",
			 (int)r.runs[i].start, (int)r.runs[i].length, (int)r.runs[i].role);
	tap_is_text(got, runs, "%s: runs", record);
	encoded_record_free(&r);
}

/* BOS is the first field's, EOS the last one's, also where that is empty. */
static void test_ends(void)
{
	check_ends("a", "b b", 5, "0+2:1 2+3:2 ");
	check_ends("", "b", 3, "0+1:1 1+2:2 ");
	check_ends("a", "", 3, "0+2:1 2+1:2 ");
	check_ends("", "", 2, "0+1:1 1+1:2 ");
}

int main(void)
{
	if (!tap_works(tokenizer_new(&tokenizer, &spec), "the tokenizer"))
		return tap_done();
	tap_run(test_order);
	tap_run(test_failures);
	tap_run(test_specials_of_the_model);
	tap_run(test_ends);
	tokenizer_free(tokenizer);
	return tap_done();
}
