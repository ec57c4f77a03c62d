/* tokenize - turn documents into a stream of token ids */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "formats/json.h"
#include "formats/jsonl.h"
#include "formats/token_stream.h"
#include "formats/tokenizer_file.h"
#include "lib/base/clock.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/outfile.h"
#include "lib/data/batch.h"

static const char *tokenizer_path, *output_path = "-", *field = "text", *split_name;
static bool raw, as_ids, offsets, bos, eos, post_process;
static int special = SPECIAL_PLAIN;
static int unknown;
static uint64_t max_bytes = (uint64_t)1 << 30;

static const char *const unknown_words[] = { "refuse", "drop", NULL };
static const char *const special_words[] = { "parse", "plain", "refuse", NULL };

static const struct cmd_option options[] = {
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE",
		 "the tokenizer: a folder, tokenizer.json, GGUF, .model, rank or vocabulary file"),
	CMD_TEXT(0, "split", &split_name, "NAME",
		 "how a rank file splits text: gpt2, cl100k, o200k, llama3, qwen2 or tekken"),
	CMD_FLAG(0, "raw", &raw, "each input is one document of plain text"),
	CMD_TEXT(0, "field", &field, "NAME", "the field that holds the text (default text)"),
	CMD_ENUM(0, "special", &special, special_words, "HOW",
		 "special tokens in text: parse, plain (default) or refuse"),
	CMD_ENUM(0, "unknown", &unknown, unknown_words, "HOW",
		 "text with no piece and no unknown token: refuse (default) or drop"),
	CMD_FLAG(0, "bos", &bos, "begin each document with the BOS token"),
	CMD_FLAG(0, "eos", &eos, "end each document with the EOS token"),
	CMD_FLAG(0, "post-process", &post_process,
		 "add what the tokenizer's own post-processor adds"),
	CMD_FLAG(0, "ids", &as_ids, "text: the ids of a document a line"),
	CMD_FLAG(0, "offsets", &offsets, "JSON lines: ids and the bytes that each stands for"),
	CMD_SIZE(0, "max-bytes", &max_bytes, 1, (uint64_t)1 << 40,
		 "the longest document (default 1Gi)"),
	CMD_PATH('o', "output", &output_path, "FILE", "write there, not to stdout"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "tokenize",
	.operands = "[file ...]",
	.summary = "turn documents into a stream of token ids",
	.options = options,
	.notes = "Documents are JSON lines with a field `text`, as cat-docs writes them.",
	.max_operands = -1,
};

static struct tokenizer *tokenizer;
static struct outfile *output;
static struct token_writer *stream; /* NULL: --ids or --offsets */
static struct buffer line;
static uint64_t n_documents, n_tokens, n_bytes, n_dropped;

/* --- the tokenizer --- */

static void open_tokenizer(struct tokenizer_spec *s, struct arena *arena)
{
	struct tokenizer_file_options o = { .split = SCANNER_NONE };

	if (split_name) {
		o.split = scanner_by_name(split_name);
		if (o.split == SCANNER_NONE)
			cmd_die("--split: '%s' is not a known pattern", split_name);
	}
	cmd_check(tokenizer_file_read(s, arena, tokenizer_path, &o));
	s->model.drop_unknown = unknown == 1;
	cmd_check(tokenizer_new(&tokenizer, s));
	if (bos && s->bos == TOKEN_NONE)
		cmd_die("--bos: %s names no BOS token", tokenizer_path);
	if (eos && s->eos == TOKEN_NONE)
		cmd_die("--eos: %s names no EOS token", tokenizer_path);
}

/* --- writing --- */

static int write_out(void *arg, const void *data, size_t n)
{
	return outfile_write(arg, data, n);
}

static void open_output(const struct tokenizer_spec *s)
{
	struct token_header h = {
		.vocab = tokenizer_vocab_size(tokenizer),
		.bos = s->bos,
		.eos = s->eos,
		.pad = s->pad,
	};

	cmd_check(outfile_new(&output, output_path));
	if (as_ids || offsets)
		return;
	if (strcmp(output_path, "-") == 0 && isatty(STDOUT_FILENO))
		cmd_die("a token stream is not for a terminal: use --ids, -o or a pipe");
	cmd_check(tokenizer_fingerprint(tokenizer, &h.plain, &h.whole));
	cmd_check(token_writer_new(&stream, &h, write_out, output));
}

static void write_stream(const struct encoding *e, bool add_bos, bool add_eos)
{
	const struct tokenizer_spec *s = tokenizer_spec(tokenizer);

	if (add_bos)
		cmd_check(token_writer_add(stream, &s->bos, 1));
	cmd_check(token_writer_add(stream, e->ids, e->n));
	if (add_eos)
		cmd_check(token_writer_add(stream, &s->eos, 1));
	cmd_check(token_writer_end_document(stream));
}

static void put_id(uint32_t id)
{
	if (line.size)
		buffer_put_u8(&line, ' ');
	buffer_format(&line, "%" PRIu32, id);
}

static void put_ids(const struct encoding *e, bool add_bos, bool add_eos)
{
	const struct tokenizer_spec *s = tokenizer_spec(tokenizer);

	if (add_bos)
		put_id(s->bos);
	for (size_t i = 0; i < e->n; i++)
		put_id(e->ids[i]);
	if (add_eos)
		put_id(s->eos);
}

static void put_offsets(const struct encoding *e)
{
	buffer_put_u8(&line, '{');
	json_put_key(&line, "ids");
	buffer_put_u8(&line, '[');
	for (size_t i = 0; i < e->n; i++)
		buffer_format(&line, "%s%" PRIu32, i ? "," : "", e->ids[i]);
	buffer_put_u8(&line, ']');
	json_put_key(&line, "offsets");
	buffer_put_u8(&line, '[');
	for (size_t i = 0; i < e->n; i++)
		buffer_format(&line, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "",
			      e->offsets[i].from, e->offsets[i].to);
	buffer_put_text(&line, "]}");
}

/* A role's token is not added where the document has it already: never two in a row (A23). */
static void write_document(const struct encoding *e)
{
	const struct tokenizer_spec *s = tokenizer_spec(tokenizer);
	bool add_bos = bos && (e->n == 0 || e->ids[0] != s->bos);
	bool add_eos = eos && (e->n == 0 || e->ids[e->n - 1] != s->eos);

	n_documents++;
	n_tokens += e->n + add_bos + add_eos;
	if (stream) {
		write_stream(e, add_bos, add_eos);
		return;
	}
	buffer_clear(&line);
	if (offsets)
		put_offsets(e);
	else
		put_ids(e, add_bos, add_eos);
	buffer_put_u8(&line, '\n');
	cmd_check(buffer_check(&line));
	cmd_check(outfile_write(output, line.data, line.size));
}

/* A file does not appear then; a pipe's reader has what came before, and no end record. */
static _Noreturn void give_up(const char *why)
{
	if (strcmp(output_path, "-") == 0) {
		if (stream)
			cmd_check(token_writer_flush(stream));
		cmd_check(outfile_commit(output));
	}
	cmd_die("%s", why ? why : "out of memory");
}

/* What was encoded before the first record that failed is written, then the failure is told. */
static void run_batch(struct batch *b, struct progress *p)
{
	int result = batch_run(b);
	char *why = result < 0 ? mem_copy(err_text(), strlen(err_text())) : NULL;

	for (size_t i = 0; i < batch_n(b); i++) {
		write_document(batch_encoding(b, i));
		n_bytes += batch_document_bytes(b, i);
		progress_add(p, batch_document_bytes(b, i));
	}
	if (result < 0)
		give_up(why);
	batch_clear(b);
}

/* --- reading --- */

static struct batch_options batch_options(const char *name)
{
	return (struct batch_options){
		.input = raw ? BATCH_TEXT : BATCH_JSON,
		.field = field,
		.name = name,
		.encode = {
			.special = (enum special_mode)special,
			.offsets = offsets,
			.post_process = post_process,
		},
	};
}

static void read_lines(const char *path, struct progress *p)
{
	struct jsonl_options limits = { .line_max = max_bytes };
	struct batch_options o = batch_options(path);
	struct bytes record;
	struct batch *b;
	struct jsonl *in;

	cmd_check(jsonl_open(&in, cmd_input(path), &limits));
	cmd_check(batch_new(&b, tokenizer, cmd_team(), &o));
	while (cmd_check(jsonl_next(in, &record)) > 0)
		if (cmd_check(batch_add(b, record, jsonl_line(in))) > 0)
			run_batch(b, p);
	run_batch(b, p);
	n_dropped += batch_dropped(b);
	batch_free(b);
	jsonl_close(in);
}

static void read_raw(const char *path, struct progress *p)
{
	struct batch_options o = batch_options(path);
	struct batch *b;
	size_t size;
	char *text;

	cmd_check(file_read(cmd_input(path), max_bytes, &text, &size));
	cmd_check(batch_new(&b, tokenizer, cmd_team(), &o));
	cmd_check(batch_add(b, (struct bytes){ text, size }, 1));
	run_batch(b, p);
	n_dropped += batch_dropped(b);
	batch_free(b);
	free(text);
}

int main(int argc, char **argv)
{
	static char *const standard_input[] = { (char *)"-" };
	struct tokenizer_spec s;
	struct progress *p;
	struct arena *arena;

	cmd_begin(&spec, &argc, &argv);
	if (!tokenizer_path)
		cmd_misuse("-t FILE is needed: the tokenizer");
	if (offsets && (bos || eos))
		cmd_misuse("--offsets is of the text alone: not with --bos or --eos");
	cmd_check(arena_new(&arena));
	open_tokenizer(&s, arena);
	open_output(&s);
	p = cmd_progress("tokenize", "B", 0);
	for (int i = 0; i < (argc ? argc : 1); i++) {
		const char *path = argc ? argv[i] : standard_input[0];

		if (raw)
			read_raw(path, p);
		else
			read_lines(path, p);
	}
	progress_end(p);
	if (stream)
		cmd_check(token_writer_end(stream));
	cmd_check(outfile_commit(output));
	if (n_dropped)
		cmd_warn("%" PRIu64 " %s that the tokenizer has no piece for were dropped",
			 n_dropped, tokenizer_is_byte_level(tokenizer) ? "bytes" : "characters");
	cmd_note("%" PRIu64 " documents, %" PRIu64 " bytes, %" PRIu64 " tokens", n_documents,
		 n_bytes, n_tokens);
	token_writer_free(stream);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&line);
	return cmd_end();
}
