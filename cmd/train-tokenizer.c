/* train-tokenizer - learn a vocabulary from documents, and write it as a tokenizer */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_write.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/data/count_words.h"
#include "lib/text/tokenizer.h"
#include "lib/text/train_model.h"

#define VOCAB_MAX  ((uint64_t)1 << 24)
#define MEMORY_MIN ((uint64_t)1 << 20)

static const char *const digit_words[] = { "any", "single", "three", NULL };
static uint64_t vocab_size, min_frequency, max_piece, memory;
static uint64_t max_word = 4096, max_bytes = (uint64_t)1 << 30;
static uint64_t seed_size, iterations;
static double character_coverage = -1, shrink;
static int kind = -1, digits = -1;
static struct cmd_list specials, normalizers;
static const char *split, *unk, *bos, *eos, *pad, *chat;
static const char *output_path = "-", *extend, *field = "text";
static bool prefix_space, no_prefix_space, byte_fallback, allow_fewer, raw, counted, dry_run;

static const struct cmd_option options[] = {
	CMD_ENUM('m', "model", &kind, train_kind_names, "KIND",
		 "bpe (of bytes, the default), sentencepiece, unigram or wordpiece"),
	CMD_SIZE('v', "vocab-size", &vocab_size, 1, VOCAB_MAX,
		 "pieces in all, special tokens too (needed)"),
	CMD_PATH('o', "output", &output_path, "PATH",
		 "a folder with / at its end, or one tokenizer.json (default stdout)"),
	CMD_TEXTS(0, "special", &specials, "TEXT", "one more special token; may be given again"),
	CMD_TEXT(0, "unk", &unk, "TEXT", "the token of what is unknown"),
	CMD_TEXT(0, "bos", &bos, "TEXT", "the token that begins a text"),
	CMD_TEXT(0, "eos", &eos, "TEXT", "the token that ends a text"),
	CMD_TEXT(0, "pad", &pad, "TEXT", "the token that fills up"),
	CMD_TEXT(0, "chat-template", &chat, "NAME",
		 "with this chat template and its tokens: chatml, llama3, ..."),
	CMD_TEXT(0, "split", &split, "PATTERN",
		 "how text is cut: gpt2 (default of bpe), cl100k, o200k, llama3, qwen2, tekken, "
		 "deepseek, none, or a regular expression"),
	CMD_ENUM(0, "digits", &digits, digit_words, "HOW",
		 "digits are cut apart: any (not, the default), single, three"),
	CMD_LIST(
		0, "normalizer", &normalizers, "NAMES",
		"nfc, nfd, nfkc, nfkd, lowercase, strip-accents, nmt, nmt-nfkc, bert, strip, none"),
	CMD_FLAG(0, "prefix-space", &prefix_space, "put a space before the text"),
	CMD_FLAG(0, "no-prefix-space", &no_prefix_space,
		 "put none (sentencepiece and unigram do by themselves)"),
	CMD_FLAG(0, "byte-fallback", &byte_fallback,
		 "unigram: bytes for characters that are no pieces"),
	CMD_RATIO(0, "character-coverage", &character_coverage,
		  "the share of characters that are to be pieces"),
	CMD_SIZE(0, "min-frequency", &min_frequency, 0, UINT64_MAX,
		 "how often a pair must occur to become a piece"),
	CMD_SIZE(0, "max-piece", &max_piece, 1, UINT32_MAX, "the longest piece in characters"),
	CMD_SIZE(0, "max-word", &max_word, 4, UINT32_MAX,
		 "cut longer words into several (bytes, default 4096)"),
	CMD_FLAG(0, "allow-fewer", &allow_fewer,
		 "write what there is where the text has no more pieces"),
	CMD_PATH(0, "extend", &extend, "FILE",
		 "go on from this tokenizer: new pieces after its own"),
	CMD_SIZE(0, "seed-size", &seed_size, 1, UINT32_MAX / 4,
		 "unigram: pieces to begin with (default 1M)"),
	CMD_REAL(0, "shrink", &shrink, 0.01, 0.99,
		 "unigram: the share kept at each pruning (default 0.75)"),
	CMD_SIZE(0, "iterations", &iterations, 1, 100,
		 "unigram: rounds of estimation between prunings (default 2)"),
	CMD_FLAG(0, "raw", &raw, "each input is one document of plain text"),
	CMD_FLAG(0, "counts", &counted, "inputs are words with their counts, a line each"),
	CMD_TEXT(0, "field", &field, "NAME", "the field that holds the text (default text)"),
	CMD_SIZE(0, "max-bytes", &max_bytes, 1, (uint64_t)1 << 40,
		 "the longest document (default 1Gi)"),
	CMD_SIZE(0, "memory", &memory, MEMORY_MIN, UINT64_MAX,
		 "bytes to use at most (default half of the machine's)"),
	CMD_FLAG(0, "dry-run", &dry_run, "read nothing; print what would be made"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "train-tokenizer",
	.operands = "[file ...]",
	.summary = "learn a vocabulary from documents, and write it as a tokenizer",
	.options = options,
	.notes = "Documents are JSON lines with a field `text`, as cat-docs writes them; without a "
		 "file they\ncome from stdin.",
	.max_operands = -1,
};

static struct arena *arena;
static struct train_spec trained;
static struct tokenizer_spec old;
static struct words *cutter;
static struct word_counts *counts;
static struct count_words_totals totals;
static struct train_model_report report;

static struct outdir *folder;
static struct outfile *json_file;

/* --- what is asked for --- */

/* What the user asked for that cannot be is misuse. */
static void check_choice(int result)
{
	if (result < 0 && err_last() == ERR_ARGUMENT)
		cmd_misuse("%s", err_text());
	cmd_check(result);
}

static enum tristate space_wanted(void)
{
	if (prefix_space && no_prefix_space)
		cmd_misuse("--prefix-space and --no-prefix-space");
	return prefix_space ? STATE_TRUE : no_prefix_space ? STATE_FALSE : STATE_NULL;
}

static enum chat chat_wanted(void)
{
	enum chat c = chat ? chat_by_name(chat) : CHAT_NONE;
	struct buffer names = { 0 };

	if (!chat || c != CHAT_NONE)
		return c;
	for (int i = CHAT_NONE + 1; i < CHAT_COUNT; i++)
		buffer_format(&names, "%s%s", i > CHAT_NONE + 1 ? ", " : "",
			      chat_name((enum chat)i));
	cmd_check(buffer_check(&names));
	cmd_misuse("--chat-template: '%s' is not one of " BYTES_FMT, chat,
		   BYTES_ARG(buffer_bytes(&names)));
}

/* What goes on from an old tokenizer keeps its steps. */
static void check_extend(void)
{
	if (kind >= 0 || split || digits >= 0 || normalizers.n || prefix_space || no_prefix_space ||
	    byte_fallback || character_coverage >= 0)
		cmd_misuse("--extend keeps the old tokenizer's model and steps: it goes with none "
			   "of --model, --split, --digits, --normalizer, --prefix-space, "
			   "--no-prefix-space, --byte-fallback, --character-coverage");
}

static void check_options(void)
{
	if (!vocab_size)
		cmd_misuse("-v N is needed: the size of the vocabulary");
	if (raw && counted)
		cmd_misuse("--raw and --counts");
	if (kind == TRAIN_UNIGRAM && min_frequency)
		cmd_misuse("--min-frequency is of pairs, and unigram has none");
	if (kind != TRAIN_UNIGRAM && (seed_size || iterations || shrink != 0))
		cmd_misuse("--seed-size, --shrink and --iterations are of unigram");
	if (kind != TRAIN_UNIGRAM && byte_fallback)
		cmd_misuse("--byte-fallback is of unigram; sentencepiece has it always");
	if ((kind < 0 || kind == TRAIN_BPE) && character_coverage >= 0)
		cmd_misuse("--character-coverage: bpe is of bytes, which are all pieces");
}

static void assemble(void)
{
	struct train_spec_options o = {
		.kind = (enum train_kind)(kind < 0 ? TRAIN_BPE : kind),
		.split = split,
		.digits = (enum train_digits)(digits < 0 ? 0 : digits),
		.normalizers = normalizers.items,
		.n_normalizers = normalizers.n,
		.prefix_space = space_wanted(),
		.byte_fallback = byte_fallback,
		.unk = unk,
		.bos = bos,
		.eos = eos,
		.pad = pad,
		.specials = specials.items,
		.n_specials = specials.n,
		.chat = chat_wanted(),
	};

	if (!extend) {
		check_choice(train_spec_begin(&trained, arena, &o));
		return;
	}
	check_extend();
	cmd_check(tokenizer_file_read(&old, arena, extend, NULL));
	if (train_spec_extend(&trained, arena, &old, &o) < 0)
		check_choice(err_last() == ERR_UNSUPPORTED ? err_prefix("%s", extend) : -1);
}

/* Of byte-level vocabularies the smallest size is known before anything is read. */
static void check_smallest(void)
{
	size_t least = trained.n_first;

	if (trained.old)
		least += trained.old->n_pieces;
	else if (words_is_byte_level(cutter))
		least += 256;
	if (vocab_size < least)
		cmd_die("-v %" PRIu64 ": the smallest possible size is %zu: %s and special tokens",
			vocab_size, least,
			trained.old			   ? "the old pieces"
			: words_is_byte_level(cutter)	   ? "256 bytes"
			: trained.spec.model.byte_fallback ? "256 bytes, characters"
							   : "characters");
}

/* Half of the machine's memory, or 4 GiB where it is not told. */
static uint64_t default_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : (uint64_t)4 << 30;
}

/* --- --dry-run --- */

/* The file as it would be, but for the pieces. */
static void print_plan(void)
{
	struct buffer b = { 0 };

	cmd_check(tokenizer_json_put(&b, &trained.spec));
	cmd_print_bytes(buffer_bytes(&b));
	cmd_print_char('\n');
	buffer_free(&b);
}

/* --- output --- */

static bool is_folder(const char *path)
{
	struct stat s;
	size_t n = strlen(path);

	return n && (path[n - 1] == '/' || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)));
}

/* Before anything is read, so that a place that cannot be written is told at once. */
static void open_output(void)
{
	if (is_folder(output_path))
		cmd_check(outdir_new(&folder, output_path));
	else
		cmd_check(outfile_new(&json_file, output_path));
}

static void write_folder(void)
{
	struct tokenizer_config_role roles[TRAIN_ROLES];

	for (size_t i = 0; i < trained.n_roles; i++)
		roles[i] = (struct tokenizer_config_role){ trained.roles[i].name,
							   trained.roles[i].text };
	cmd_check(tokenizer_write(folder, &trained.spec, roles, trained.n_roles));
	cmd_check(outdir_commit(folder));
}

/* What is written must open: it is compiled first. */
static void write_json(void)
{
	struct tokenizer *t;
	struct buffer b = { 0 };

	cmd_check(tokenizer_new(&t, &trained.spec));
	tokenizer_free(t);
	cmd_check(tokenizer_json_put(&b, &trained.spec));
	buffer_put_text(&b, "\n");
	cmd_check(buffer_check(&b));
	cmd_check(outfile_write(json_file, b.data, b.size));
	cmd_check(outfile_commit(json_file));
	buffer_free(&b);
}

/* --- reading and training --- */

static void read_words(char **paths, size_t n)
{
	struct word_counts_options table = { .parts = team_size(cmd_team()), .memory = memory / 4 };
	struct count_words_options o = {
		.kind = raw	  ? COUNT_WORDS_TEXT
			: counted ? COUNT_WORDS_COUNTED
				  : COUNT_WORDS_JSON,
		.field = field,
		.max_document = max_bytes,
		.max_word = max_word,
		.team = cmd_team(),
		.progress = cmd_progress("read", "B", 0),
	};
	const char **inputs = mem_new(n + 1, sizeof(*inputs));

	if (!inputs)
		cmd_die("%s", err_text());
	inputs[0] = cmd_input(NULL);
	for (size_t i = 0; i < n; i++)
		inputs[i] = cmd_input(paths[i]);
	cmd_check(word_counts_new(&counts, &table));
	cmd_check(count_words(counts, cutter, inputs, n ? n : 1, &o, &totals));
	progress_end(o.progress);
	if (!totals.occurrences)
		cmd_die("there is no text to learn from");
	free(inputs);
}

/* SentencePiece leaves out the rarest characters unless told otherwise, and has bytes for them. */
static double coverage(void)
{
	if (character_coverage >= 0)
		return character_coverage < 1 ? character_coverage : 0;
	return trained.spec.model.byte_fallback && !extend ? 0.9995 : 0;
}

static void train(void)
{
	bool unigram = kind == TRAIN_UNIGRAM;
	struct train_model_options o = {
		.kind = (enum train_kind)(kind < 0 ? TRAIN_BPE : kind),
		.byte_level = words_is_byte_level(cutter),
		.vocab_size = (uint32_t)vocab_size,
		.min_frequency = min_frequency,
		.max_piece = (uint32_t)max_piece,
		.character_coverage = coverage(),
		.seed_size = (uint32_t)seed_size,
		.iterations = (uint32_t)iterations,
		.shrinking_factor = shrink,
		.memory = memory - memory / 4,
		.team = cmd_team(),
		.progress = unigram ? cmd_progress("estimate", "rounds", 0)
				    : cmd_progress("merge", "pieces", vocab_size),
	};

	cmd_check(train_model(&trained, arena, counts, &o, &report));
	progress_end(o.progress);
}

/* Fewer pieces than were asked for are not taken for what was asked for. */
static void check_result(void)
{
	size_t n = trained.spec.model.n_pieces;

	if (n < vocab_size && !allow_fewer)
		cmd_die("-v %" PRIu64
			": the largest possible size is %zu: the text has no more pieces "
			"(--allow-fewer writes them)",
			vocab_size, n);
}

/* --- the closing lines --- */

static void note_tokens(void)
{
	char text[NUMBER_TEXT];
	uint64_t tokens;

	cmd_check(train_model_tokens(&trained.spec.model, words_is_byte_level(cutter), counts,
				     &tokens));
	if (counted || !tokens)
		return;
	cmd_note("%s for the text, %.3f bytes each", number_things(tokens, "token", text),
		 (double)totals.bytes / (double)tokens);
}

static void note_reading(void)
{
	char documents[NUMBER_TEXT], size[NUMBER_TEXT], words[NUMBER_TEXT], some[NUMBER_TEXT];

	cmd_note("%s, %s, %s, %" PRIu64 " of them distinct",
		 number_things(totals.documents, counted ? "line" : "document", documents),
		 number_bytes(totals.bytes, size), number_things(totals.occurrences, "word", words),
		 report.words);
	if (totals.cut)
		cmd_note("%s of more than %" PRIu64 " bytes %s cut",
			 number_things(totals.cut, "word", some), max_word,
			 totals.cut == 1 ? "was" : "were");
	if (report.left_out)
		cmd_note("%s of characters left to %s",
			 number_things(report.left_out, "occurrence", some),
			 trained.spec.model.byte_fallback ? "bytes" : "the unknown token");
}

static void note_result(void)
{
	const struct model_spec *m = &trained.spec.model;

	if (m->kind == MODEL_BPE)
		cmd_note("%zu pieces, %zu merges", m->n_pieces, m->n_merges);
	else
		cmd_note("%zu pieces", m->n_pieces);
	if (!cmd_quiet)
		note_tokens();
}

int main(int argc, char **argv)
{
	cmd_begin(&spec, &argc, &argv);
	check_options();
	if (!memory)
		memory = default_memory();
	cmd_check(arena_new(&arena));
	assemble();
	if (words_new(&cutter, &trained.cut) < 0)
		cmd_die("%s%s", split ? "--split: " : "", err_text());
	check_smallest();
	if (dry_run) {
		print_plan();
		return cmd_end();
	}
	open_output();
	read_words(argv, (size_t)argc);
	train();
	check_result();
	if (folder)
		write_folder();
	else
		write_json();
	note_reading();
	note_result();
	word_counts_free(counts);
	words_free(cutter);
	arena_free(arena);
	return cmd_end();
}
