/* tokenize - turn documents into a stream of token ids */

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmd_chat.h"
#include "formats/jsonl.h"
#include "formats/tokenizer_file.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/outfile.h"
#include "lib/data/batch.h"
#include "lib/data/record_writer.h"
#include "lib/text/decode.h"

static const char *tokenizer_path, *output_path = "-", *field = "text", *split_name;
static const char *messages, *template_name, *offsets;
static struct cmd_list fields;
static bool raw, as_ids, bos, eos, post_process, generation_prompt, check;
static int special = SPECIAL_PLAIN;
static int unknown;
static uint64_t max_bytes = (uint64_t)1 << 30;
static uint64_t seed, n_best;
static double dropout, alpha;

static const char *const unknown_words[] = { "refuse", "drop", NULL };
static const char *const special_words[] = { "plain", "parse", "refuse", NULL };

static const struct cmd_option options[] = {
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE",
		 "the tokenizer: a folder, tokenizer.json, GGUF, .model, rank or vocabulary file"),
	CMD_TEXT(0, "split", &split_name, "NAME",
		 "how a rank file splits text: gpt2, cl100k, o200k, llama3, qwen2 or tekken"),
	CMD_FLAG(0, "raw", &raw, "each input is one document of plain text"),
	CMD_TEXT(0, "field", &field, "NAME", "the field that holds the text (default text)"),
	CMD_LIST(0, "fields", &fields, "NAMES",
		 "fields that are encoded one after the other, NAME or NAME=ROLE"),
	CMD_OPTIONAL(0, "messages", &messages, "FIELD",
		     "records are conversations (default field messages)"),
	CMD_TEXT(0, "template", &template_name, "NAME",
		 "of messages: chatml, smollm2, llama3, gemma, mistral or qwen"),
	CMD_FLAG(0, "generation-prompt", &generation_prompt,
		 "end messages with what opens the assistant's turn"),
	CMD_ENUM(0, "special", &special, special_words, "HOW",
		 "special tokens in text: parse, plain (default) or refuse"),
	CMD_ENUM(0, "unknown", &unknown, unknown_words, "HOW",
		 "text with no piece and no unknown token: refuse (default) or drop"),
	CMD_FLAG(0, "bos", &bos, "begin each document with the BOS token"),
	CMD_FLAG(0, "eos", &eos, "end each document with the EOS token"),
	CMD_FLAG(0, "post-process", &post_process,
		 "add what the tokenizer's own post-processor adds"),
	CMD_RATIO(0, "dropout", &dropout, "BPE: skip this share of the merges, by chance"),
	CMD_REAL(0, "alpha", &alpha, 0, 1e6, "Unigram: draw the pieces, with this smoothing"),
	CMD_SIZE(0, "n-best", &n_best, 1, 1024, "Unigram: draw among the N best ways only"),
	CMD_SIZE(0, "seed", &seed, 0, UINT64_MAX, "of what is drawn (default 0)"),
	CMD_FLAG(0, "roundtrip-check", &check,
		 "decode each document again; exit 1 if one does not come back"),
	CMD_FLAG(0, "ids", &as_ids, "text: the ids of a document a line"),
	CMD_OPTIONAL(0, "offsets", &offsets, "UNIT",
		     "JSON lines: ids and the bytes, or chars, that each stands for"),
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
static struct record_writer *writer;
static struct progress *progress;
static struct record_field record_fields[64];
static uint64_t n_documents, n_tokens, n_bytes, n_different;
static char *first_difference;

/* --- what was asked for --- */

static void check_options(void)
{
	if (!tokenizer_path)
		cmd_misuse("-t FILE is needed: the tokenizer");
	if ((raw != 0) + (messages != NULL) + (fields.n > 0) > 1)
		cmd_misuse("--raw, --fields and --messages do not go together");
	if (offsets && (bos || eos))
		cmd_misuse("--offsets is of the text alone: not with --bos or --eos");
	if (offsets && *offsets && strcmp(offsets, "bytes") != 0 && strcmp(offsets, "chars") != 0)
		cmd_misuse("--offsets: '%s' is not one of bytes or chars", offsets);
	if (!messages && (template_name || generation_prompt))
		cmd_misuse("--template and --generation-prompt go with --messages");
	if ((messages || fields.n) && special == SPECIAL_PARSE)
		cmd_misuse("--special=parse: in %s special tokens are never parsed",
			   messages ? "messages" : "fields");
	if (post_process && (messages || fields.n || check))
		cmd_misuse("--post-process does not go with --messages, --fields or "
			   "--roundtrip-check");
	if (n_best && alpha == 0)
		cmd_misuse("--n-best goes with --alpha");
}

static void set_field(size_t i, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name = mem_copy(text, equals ? (size_t)(equals - text) : strlen(text));

	if (!name)
		cmd_die("%s", err_text());
	for (size_t k = 0; k < i; k++)
		if (strcmp(record_fields[k].name, name) == 0)
			cmd_misuse("--fields: '%s' comes twice", name);
	record_fields[i].name = name;
	if (token_role_find(equals ? equals + 1 : name, &record_fields[i].role) < 0)
		cmd_misuse("--fields: %s: %s", text, err_text());
}

static void set_sampling(struct record_options *o, const struct tokenizer_spec *s)
{
	static struct model_sampling sampling;

	if (dropout == 0 && alpha == 0)
		return;
	if (dropout > 0 && s->model.kind != MODEL_BPE)
		cmd_die("--dropout is for BPE, and %s is another model", tokenizer_path);
	if (alpha > 0 && s->model.kind != MODEL_UNIGRAM)
		cmd_die("--alpha is for Unigram, and %s is another model", tokenizer_path);
	sampling = (struct model_sampling){
		.seed = seed, .dropout = dropout, .alpha = alpha, .n_best = (uint32_t)n_best
	};
	o->encode.sampling = &sampling;
}

static struct record_options record_options(const struct tokenizer_spec *s)
{
	struct record_options o = {
		.input = raw ? RECORD_TEXT : messages ? RECORD_MESSAGES : RECORD_JSON,
		.field = messages ? (*messages ? messages : "messages") : field,
		.generation_prompt = generation_prompt,
		.encode = {
			.special = (enum special_mode)special,
			.offsets = offsets != NULL,
			.post_process = post_process,
		},
		.bos = bos,
		.eos = eos,
		.characters = offsets && strcmp(offsets, "chars") == 0,
		.check = check,
	};

	if (messages)
		o.chat = cmd_chat(s, tokenizer_path, "--template", template_name);
	if (fields.n > sizeof(record_fields) / sizeof(*record_fields))
		cmd_misuse("--fields: at most %zu", sizeof(record_fields) / sizeof(*record_fields));
	for (size_t i = 0; i < fields.n; i++)
		set_field(i, fields.items[i]);
	if (fields.n) {
		o.input = RECORD_FIELDS;
		o.fields = record_fields;
		o.n_fields = fields.n;
	}
	set_sampling(&o, s);
	return o;
}

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
}

/* --- writing --- */

static void open_output(void)
{
	enum record_output kind = offsets ? WRITE_OFFSETS : as_ids ? WRITE_IDS : WRITE_STREAM;

	cmd_check(outfile_new(&output, output_path));
	if (kind == WRITE_STREAM && strcmp(output_path, "-") == 0 && isatty(STDOUT_FILENO))
		cmd_die("a token stream is not for a terminal: use --ids, -o or a pipe");
	cmd_check(record_writer_new(&writer, tokenizer, output, kind, messages || fields.n));
}

static void note_difference(const struct encoded_record *r, const struct record_place *place)
{
	if (r->difference && n_different++ == 0)
		first_difference =
			mem_format("%s:%" PRIu64 ": %s", place->name, place->line, r->difference);
}

static int write_record(void *arg, const struct encoded_record *r, const struct record_place *place)
{
	n_documents++;
	n_tokens += r->encoding.n;
	n_bytes += r->bytes;
	progress_add(progress, r->bytes);
	note_difference(r, place);
	return record_writer_put(writer, r);
}

/* A file does not appear then; a pipe's reader has what came before, and no end record. */
static _Noreturn void give_up(void)
{
	char *why = mem_copy(err_text(), strlen(err_text()));

	if (strcmp(output_path, "-") == 0) {
		cmd_check(record_writer_flush(writer));
		cmd_check(outfile_commit(output));
	}
	cmd_die("%s", why ? why : "out of memory");
}

/* --- reading --- */

static struct {
	char *const *paths;
	int n, at;
	struct jsonl *lines; /* of path `at`, once it was opened */
	char *text;	     /* --raw: of the last one */
} input;

static int read_text(struct bytes *record, struct record_place *place)
{
	free(input.text);
	input.text = NULL;
	if (input.at == input.n)
		return 0;
	place->name = cmd_input(input.paths[input.at]);
	place->line = 1;
	if (file_read(place->name, max_bytes, &input.text, &record->size) < 0)
		return -1;
	record->data = input.text;
	input.at++;
	return 1;
}

static int read_line(struct bytes *record, struct record_place *place)
{
	struct jsonl_options limits = { .line_max = max_bytes };
	int got;

	for (; input.at < input.n; input.at++) {
		place->name = cmd_input(input.paths[input.at]);
		if (!input.lines && jsonl_open(&input.lines, place->name, &limits) < 0)
			return -1;
		got = jsonl_next(input.lines, record);
		if (got != 0) {
			place->line = jsonl_line(input.lines);
			return got;
		}
		jsonl_close(input.lines);
		input.lines = NULL;
	}
	return 0;
}

static int read_record(void *arg, struct bytes *record, struct record_place *place)
{
	return raw ? read_text(record, place) : read_line(record, place);
}

/* A long record is not held twice while it is encoded. */
static void rest(void *arg)
{
	free(input.text);
	input.text = NULL;
	if (input.lines)
		jsonl_shrink(input.lines);
}

/* --- the end --- */

static void tell_differences(void)
{
	const struct tokenizer_spec *s = tokenizer_spec(tokenizer);
	struct text_decoder *d;
	char all[NUMBER_TEXT];

	if (!check)
		return;
	if (n_different) {
		cmd_warn("%s", first_difference ? first_difference : "out of memory");
		cmd_warn("%" PRIu64 " of %s %s not come back as %s", n_different,
			 number_things(n_documents, "document", all),
			 n_different == 1 ? "does" : "do",
			 n_different == 1 ? "it was" : "they were");
		cmd_answer_no();
	}
	cmd_check(text_decoder_new(&d, s->decoders, s->n_decoders,
				   tokenizer_is_byte_level(tokenizer), true));
	if (!text_decoder_is_exact(d))
		cmd_warn("this tokenizer is lossy: its decoder cannot give every text back");
	text_decoder_free(d);
}

static void tell_counts(uint64_t n_dropped)
{
	char documents[NUMBER_TEXT], bytes[NUMBER_TEXT], tokens[NUMBER_TEXT], dropped[NUMBER_TEXT];

	if (n_dropped)
		cmd_warn("%s that the tokenizer has no piece for %s dropped",
			 number_things(n_dropped,
				       tokenizer_is_byte_level(tokenizer) ? "byte" : "character",
				       dropped),
			 n_dropped == 1 ? "was" : "were");
	cmd_note("%s, %s, %s", number_things(n_documents, "document", documents),
		 number_things(n_bytes, "byte", bytes), number_things(n_tokens, "token", tokens));
}

int main(int argc, char **argv)
{
	static char *const standard_input[] = { (char *)"-" };
	const struct batch_io io = { .read = read_record, .rest = rest, .write = write_record };
	struct record_options o;
	struct tokenizer_spec s;
	struct arena *arena;
	struct batch *batch;

	cmd_begin(&spec, &argc, &argv);
	check_options();
	cmd_check(arena_new(&arena));
	open_tokenizer(&s, arena);
	o = record_options(&s);
	if (batch_new(&batch, tokenizer, cmd_team(), &o, 0) < 0)
		cmd_die("%s: %s", tokenizer_path, err_text());
	open_output();
	progress = cmd_progress("tokenize", "B", 0);
	input.paths = argc ? argv : standard_input;
	input.n = argc ? argc : 1;
	if (batch_pump(batch, &io) < 0)
		give_up();
	progress_end(progress);
	cmd_check(record_writer_end(writer));
	cmd_check(outfile_commit(output));
	tell_differences();
	tell_counts(batch_dropped(batch));
	batch_free(batch);
	record_writer_free(writer);
	tokenizer_free(tokenizer);
	arena_free(arena);
	jsonl_close(input.lines);
	free(input.text);
	free(first_difference);
	return cmd_end();
}
