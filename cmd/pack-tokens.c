/* pack-tokens - pack streams of token ids into files to train on */

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "formats/token_pack.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/data/mix.h"
#include "lib/data/token_contents.h"
#include "lib/data/token_output.h"
#include "lib/data/windows.h"

static const char *const from_words[] = { "stream", "packed", "ids", "llmc", "nanogpt", NULL };
static const char *const to_words[] = { "packed", "stream", "llmc", "nanogpt", NULL };
static const enum token_format to_formats[] = { TOKENS_PACKED, TOKENS_STREAM, TOKENS_LLMC,
						TOKENS_NANOGPT };
static const char *const fit_words[] = { "cut", "best", "one", NULL };

static const char *output, *like, *separator_text = "eos", *split_key = "";
static int from, to, fit = -1;
static struct cmd_list split, learn;
static bool shuffle, check, mix;
static uint64_t seed, vocab, window;

static const struct cmd_option options[] = {
	CMD_PATH('o', "output", &output, "PATH", "the file to write; DIR/ for a folder"),
	CMD_LIST(0, "split", &split, "NAME=SHARE", "parts that take a share of the documents"),
	CMD_TEXT(0, "split-key", &split_key, "TEXT", "what decides which documents these are"),
	CMD_FLAG(0, "shuffle", &shuffle, "put the documents in another order"),
	CMD_SIZE(0, "seed", &seed, 0, UINT64_MAX, "which order (default 0)"),
	CMD_TEXT(0, "separator", &separator_text, "ID",
		 "what ends a document: eos (default), none or an id"),
	CMD_LIST(0, "learn", &learn, "ROLES", "roles to learn (default text,completion,assistant)"),
	CMD_ENUM(0, "fit", &fit, fit_words, "FIT",
		 "with --window: how windows are filled, cut, best or one"),
	CMD_SIZE(0, "window", &window, 1, WINDOW_LENGTH_MAX,
		 "the length of windows that is meant; they are counted"),
	CMD_ENUM(0, "from", &from, from_words, "FORMAT",
		 "what to read: stream (default), packed, ids, llmc or nanogpt"),
	CMD_ENUM(0, "to", &to, to_words, "FORMAT",
		 "what to write: packed (default), stream, llmc or nanogpt"),
	CMD_PATH(0, "like", &like, "FILE",
		 "the packed file or stream that tells the tokenizer of ids, llmc and nanogpt"),
	CMD_SIZE(0, "vocab", &vocab, 1, TOKEN_VOCAB_MAX, "or only the size of its vocabulary"),
	CMD_FLAG(0, "mix", &mix, "write a mix of packed files; operands are WEIGHT=FILE"),
	CMD_FLAG(0, "check", &check, "write nothing; read the files whole and tell what they hold"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "pack-tokens",
	.operands = "[file ...]",
	.summary = "pack streams of token ids into files to train on",
	.options = options,
	.notes = "Without a file, or with -, stdin is read.",
	.max_operands = -1,
};

static struct token_output *packed;
static struct token_header header; /* of the first input */
static const char *header_name;
static uint32_t separator;
static struct token_counts in;

static uint32_t parse_learn(void)
{
	enum token_role role;
	uint32_t bits = 0;

	for (size_t i = 0; i < learn.n; i++) {
		if (token_role_find(learn.items[i], &role) < 0)
			cmd_die("--learn: %s", err_text());
		bits |= ROLE_BIT(role);
	}
	return learn.n ? bits : ROLES_LEARNT;
}

/* --- whose tokens these are ---------------------------------------------------------------- */

static void header_like(const char *path)
{
	struct token_reader *r;
	struct token_pack *p;

	if (token_pack_open(&p, path) == 0) {
		header = token_pack_info(p)->header;
		token_pack_close(p);
		return;
	}
	cmd_check(token_reader_open(&r, path));
	header = *token_reader_header(r);
	token_reader_close(r);
}

/* What files that do not say it belong to. */
static void find_header(void)
{
	bool says = from == TOKENS_STREAM || from == TOKENS_PACKED;

	if (says && (like || vocab))
		cmd_die("--%s: a %s says itself whose tokens it has", like ? "like" : "vocab",
			from_words[from]);
	if (!says && !like == !vocab)
		cmd_die("--from %s needs --like or --vocab", from_words[from]);
	if (like)
		header_like(like);
	else
		header = (struct token_header){ .vocab = (uint32_t)vocab,
						.bos = TOKEN_NONE,
						.eos = TOKEN_NONE,
						.pad = TOKEN_NONE };
}

/* The id that separates documents, or TOKEN_NONE. */
static uint32_t find_separator(const struct token_header *h)
{
	uint64_t id;

	if (strcmp(separator_text, "eos") == 0)
		return h->eos;
	if (strcmp(separator_text, "none") == 0)
		return TOKEN_NONE;
	if (number_u64(separator_text, 0, h->vocab - 1, &id) < 0)
		cmd_die("--separator: %s", err_text());
	return (uint32_t)id;
}

/* The first input decides; the others must be of the same tokenizer. */
static void meet(const struct token_source *s)
{
	const struct token_header *h = token_source_header(s);

	if (header_name) {
		cmd_check(token_header_match(&header, header_name, h, token_source_name(s)));
		if (memcmp(&header.whole, &h->whole, sizeof(h->whole)) != 0)
			cmd_warn("%s and %s have the same plain text ids, but their tokenizers "
				 "differ elsewhere",
				 header_name, token_source_name(s));
		return;
	}
	header = *h;
	separator = find_separator(h);
	if (header.eos == TOKEN_NONE)
		header.eos = separator;
	header_name = mem_copy(token_source_name(s), strlen(token_source_name(s)));
	cmd_check(header_name ? 0 : -1);
	cmd_check(token_output_open(packed, &(struct token_output_options){
						    .format = to_formats[to],
						    .header = header,
						    .pack = { .learnt = parse_learn(),
							      .fit = (enum token_fit)(fit + 1),
							      .window = window },
						    .shuffle = shuffle,
					    }));
}

/* --- documents ------------------------------------------------------------------------------ */

static void read_source(struct token_source *s, struct progress *progress)
{
	/* Documents of llm.c begin with their separator. */
	uint32_t end = from == TOKENS_LLMC ? TOKEN_NONE : separator;
	struct token_router *router = token_output_router(packed);
	struct token_event e;

	while (cmd_check(token_source_next(s, &e)) > 0) {
		if (e.kind == TOKEN_EVENT_IDS)
			cmd_check(token_router_add(router, e.ids, e.n));
		else if (e.kind == TOKEN_EVENT_RUN)
			cmd_check(token_router_add_run(router, &e.run));
		else
			cmd_check(token_router_end_document(router, end));
		if (e.kind == TOKEN_EVENT_IDS)
			progress_add(progress, e.n);
	}
	in.documents += token_source_counts(s).documents;
	in.tokens += token_source_counts(s).tokens;
}

static void read_inputs(const char *const *paths, size_t n)
{
	struct progress *progress = cmd_progress("pack", "tokens", 0);
	struct token_source_options o = { .format = (enum token_format)from };

	find_header();
	o.header = header;
	o.separator = like || vocab ? find_separator(&header) : TOKEN_NONE;
	for (size_t i = 0; i < n; i++) {
		struct token_source *s;

		cmd_check(token_source_open(&s, cmd_input(paths[i]), &o));
		meet(s);
		read_source(s, progress);
		token_source_close(s);
	}
	progress_end(progress);
}

/* --- what is told at the end --------------------------------------------------------------- */

static void note_windows(const char *path)
{
	struct windows_options o = { .length = (uint32_t)window,
				     .fit = (enum token_fit)(fit + 1),
				     .apart = true };
	char all[NUMBER_TEXT], targets[NUMBER_TEXT], cut[NUMBER_TEXT], lost[NUMBER_TEXT];
	struct windows_counts c;
	struct token_pack *pack;
	struct windows *w;
	struct stat s;

	if (!window || to_formats[to] != TOKENS_PACKED || !path || stat(path, &s) != 0 ||
	    !S_ISREG(s.st_mode))
		return;
	cmd_check(token_pack_open(&pack, path));
	cmd_check(windows_new(&w, pack, &o));
	cmd_check(windows_count(w, &c));
	cmd_note("%s: %s of %" PRIu64 " tokens, %s, %.2f %% full; %s cut, %s lost", path,
		 number_things(c.windows, "window", all), window,
		 number_things(c.targets, "target", targets),
		 c.windows ? 100 * (double)c.targets / ((double)c.windows * (double)window) : 0,
		 number_things(c.cut, "document", cut), number_things(c.lost, "token", lost));
	windows_free(w);
	token_pack_close(pack);
}

static bool marks_documents(void)
{
	return to_formats[to] == TOKENS_PACKED || to_formats[to] == TOKENS_STREAM;
}

static void note_file(struct token_output_file f)
{
	char documents[NUMBER_TEXT], tokens[NUMBER_TEXT], added[NUMBER_TEXT], all[NUMBER_TEXT];
	char runs[NUMBER_TEXT];
	const struct token_sink_counts *c = &f.counts;
	const char *name = f.path ? f.path : "stdout";

	cmd_note("%s: %s, %s in + %s = %s out", name,
		 number_things(c->documents, "document", documents),
		 number_things(c->tokens - c->separators, "token", tokens),
		 number_things(c->separators, "separator", added),
		 number_things(c->tokens, "token", all));
	if (c->runs_dropped)
		cmd_warn("%s: %s of roles have no place in this format, and are lost", name,
			 number_things(c->runs_dropped, "run", runs));
	if (c->documents > 1 && separator == TOKEN_NONE && !marks_documents() &&
	    strcmp(separator_text, "none") != 0)
		cmd_warn("%s: %s run together: this format marks them by separators alone "
			 "(--separator ID)",
			 name, number_things(c->documents, "document", documents));
	note_windows(f.path);
}

/* --- --mix ---------------------------------------------------------------------------------- */

static void write_mix(char **operands, size_t n)
{
	const char **names = mem_new(n, sizeof(*names));
	uint32_t *weights = mem_new(n, sizeof(*weights));
	struct outfile *f;

	if (!names || !weights)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < n; i++) {
		char *equals = strchr(operands[i], '=');
		uint64_t weight;

		if (!equals)
			cmd_die("--mix: '%s' is not WEIGHT=FILE", operands[i]);
		*equals = '\0';
		if (number_u64(operands[i], 1, MIX_WEIGHT_MAX, &weight) < 0)
			cmd_die("--mix: the weight of %s: %s", equals + 1, err_text());
		weights[i] = (uint32_t)weight;
		names[i] = equals + 1;
	}
	cmd_check(outfile_new(&f, output));
	cmd_check(mix_write(f, output, names, weights, n));
	cmd_check(outfile_commit(f));
	free(names);
	free(weights);
}

/* --- --check -------------------------------------------------------------------------------- */

static void check_file(const char *path)
{
	struct token_contents c;

	cmd_check(token_contents_read(&c, path, cmd_team()));
	cmd_print_name(bytes_of(path));
	cmd_printf("\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		   c.packed ? "packed" : "stream", c.documents, c.tokens, c.separators, c.runs);
}

int main(int argc, char **argv)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths;
	size_t n;

	cmd_begin(&spec, &argc, &argv);
	paths = argc ? (const char *const *)argv : standard_input;
	n = argc ? (size_t)argc : 1;
	if (!check && !output)
		cmd_misuse("-o PATH is needed, or --check");
	if (check && (output || mix))
		cmd_misuse("--check writes nothing: not with %s", mix ? "--mix" : "-o");
	if (mix) {
		write_mix(argv, (size_t)argc);
		return cmd_end();
	}
	if (check) {
		for (size_t i = 0; i < n; i++)
			check_file(cmd_input(paths[i]));
		return cmd_end();
	}
	if (fit >= 0 && !window)
		cmd_die("--fit needs --window");
	cmd_check(token_output_new(&packed, output, split.items, split.n, split_key));
	read_inputs(paths, n);
	cmd_check(token_output_commit(packed, seed, &in));
	for (size_t i = 0; i < token_output_files(packed); i++)
		note_file(token_output_file(packed, i));
	token_output_free(packed);
	return cmd_end();
}
