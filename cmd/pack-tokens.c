/* pack-tokens - pack streams of token ids into files to train on */

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "formats/token_pack.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/data/mix.h"
#include "lib/data/token_router.h"
#include "lib/data/windows.h"

#define PARTS_MAX 9

static const char *const from_words[] = { "stream", "packed", "ids", "llmc", "nanogpt", NULL };
static const char *const to_words[] = { "packed", "stream", "llmc", "nanogpt", NULL };
static const enum token_format to_formats[] = { TOKENS_PACKED, TOKENS_STREAM, TOKENS_LLMC,
						TOKENS_NANOGPT };
static const char *const suffixes[] = { "tok", "tokens", "bin", "bin" };
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

/* --- the parts that are written ----------------------------------------------------------- */

struct part {
	const char *name; /* of the part */
	double share;
	struct outfile *file;
	struct token_sink *sink;
	struct token_shuffle *shuffle; /* or NULL */
	char *path;		       /* where it is in the end; NULL for stdout */
	struct token_sink_counts counts;
};

static struct part parts[PARTS_MAX]; /* the last one takes what is left */
static uint32_t n_parts;
static struct outdir *folder;
static char *near; /* where things may be put aside */

static struct token_router *router;
static struct token_header header; /* of the first input */
static const char *header_name;
static uint32_t separator;
static struct token_counts in;

static char *check_copy(char *text)
{
	if (!text)
		cmd_die("%s", err_text());
	return text;
}

static void add_part(const char *name, double share)
{
	for (uint32_t i = 0; i < n_parts; i++)
		if (strcmp(parts[i].name, name) == 0)
			cmd_die("--split: two parts are called %s", name);
	parts[n_parts++] = (struct part){ .name = name, .share = share };
}

static bool is_part_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '-')
			return false;
	return n > 0;
}

static void parse_split(void)
{
	double sum = 0;

	for (size_t i = 0; i < split.n; i++) {
		const char *item = split.items[i], *equals = strchr(item, '=');
		double share;

		if (n_parts + 1 == PARTS_MAX)
			cmd_die("--split: more than %d parts", PARTS_MAX - 1);
		if (!equals || !is_part_name(item, (size_t)(equals - item)))
			cmd_die("--split: '%s' is not NAME=SHARE", item);
		if (number_ratio(equals + 1, &share) < 0)
			cmd_die("--split: %s: %s", item, err_text());
		sum += share;
		add_part(check_copy(mem_copy(item, (size_t)(equals - item))), share);
	}
	if (sum > 1)
		cmd_die("--split: the shares are more than 1");
	add_part("train", 1 - sum);
}

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

static bool is_folder(const char *path)
{
	struct stat s;
	size_t n = strlen(path);

	return n && (path[n - 1] == '/' || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)));
}

/* Things are put aside beside the output, or in the folder for temporary files. */
static char *place_aside(void)
{
	const char *tmp = getenv("TMPDIR");
	size_t n = strlen(output);

	if (strcmp(output, "-") == 0 || strncmp(output, "/dev/", 5) == 0)
		return check_copy(mem_format("%s/pack-tokens", tmp && *tmp ? tmp : "/tmp"));
	while (n > 1 && output[n - 1] == '/')
		n--;
	return check_copy(mem_copy(output, n));
}

static void open_file(struct part *p)
{
	char *name;

	if (!folder) {
		cmd_check(outfile_new(&p->file, output));
		p->path = strcmp(output, "-") == 0 ? NULL
						   : check_copy(mem_copy(output, strlen(output)));
		return;
	}
	name = check_copy(mem_format("%s.%s", p->name, suffixes[to]));
	p->path = check_copy(mem_format("%.*s/%s", (int)strlen(near), near, name));
	cmd_check(outdir_file(folder, name, &p->file));
	free(name);
}

static void open_output(void)
{
	struct token_sink_options o = {
		.format = to_formats[to],
		.header = header,
		.pack = { .learnt = parse_learn(),
			  .fit = (enum token_fit)(fit + 1),
			  .window = window },
		.near = near,
	};

	struct token_part routes[PARTS_MAX];

	if (is_folder(output))
		cmd_check(outdir_new(&folder, output));
	for (uint32_t i = 0; i < n_parts; i++) {
		open_file(&parts[i]);
		cmd_check(token_sink_new(&parts[i].sink, parts[i].file, &o));
		if (shuffle)
			cmd_check(token_shuffle_new(&parts[i].shuffle, header.vocab, near));
		routes[i] = (struct token_part){ parts[i].share, parts[i].sink, parts[i].shuffle };
	}
	cmd_check(token_router_new(&router, routes, n_parts, split_key));
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
	header_name = check_copy(mem_copy(token_source_name(s), strlen(token_source_name(s))));
	open_output();
}

/* --- documents ------------------------------------------------------------------------------ */

static void read_source(struct token_source *s, struct progress *progress)
{
	/* Documents of llm.c begin with their separator. */
	uint32_t end = from == TOKENS_LLMC ? TOKEN_NONE : separator;
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

/* --- the end -------------------------------------------------------------------------------- */

static void finish_part(struct part *p)
{
	if (p->shuffle)
		cmd_check(token_shuffle_give(p->shuffle, p->sink, seed, p->name));
	cmd_check(token_sink_end(p->sink));
	p->counts = token_sink_counts(p->sink);
	token_sink_free(p->sink);
	token_shuffle_free(p->shuffle);
}

/* Every token that came in is in one of the parts, and nothing else but separators. */
static void check_counts(void)
{
	uint64_t documents = 0, tokens = 0, separators = 0;

	for (uint32_t i = 0; i < n_parts; i++) {
		documents += parts[i].counts.documents;
		tokens += parts[i].counts.tokens;
		separators += parts[i].counts.separators;
	}
	if (documents != in.documents || tokens != in.tokens + separators)
		cmd_die("%" PRIu64 " documents and %" PRIu64 " tokens came in, but %" PRIu64
			" and %" PRIu64 " went out, %" PRIu64 " separators among them",
			in.documents, in.tokens, documents, tokens, separators);
}

static void commit(void)
{
	token_router_free(router);
	for (uint32_t i = 0; i < n_parts; i++)
		finish_part(&parts[i]);
	check_counts();
	for (uint32_t i = 0; i < n_parts; i++)
		cmd_check(outfile_commit(parts[i].file));
	if (folder)
		cmd_check(outdir_commit(folder));
}

static void note_windows(const struct part *p)
{
	struct windows_options o = { .length = (uint32_t)window,
				     .fit = (enum token_fit)(fit + 1),
				     .apart = true };
	struct windows_counts c;
	struct token_pack *pack;
	struct windows *w;
	struct stat s;

	if (!window || to_formats[to] != TOKENS_PACKED || !p->path || stat(p->path, &s) != 0 ||
	    !S_ISREG(s.st_mode))
		return;
	cmd_check(token_pack_open(&pack, p->path));
	cmd_check(windows_new(&w, pack, &o));
	cmd_check(windows_count(w, &c));
	cmd_note("%s: %" PRIu64 " windows of %" PRIu64 " tokens, %" PRIu64
		 " targets, %.2f %% full; %" PRIu64 " documents cut, %" PRIu64 " tokens lost",
		 p->path, c.windows, window, c.targets,
		 c.windows ? 100 * (double)c.targets / ((double)c.windows * (double)window) : 0,
		 c.cut, c.lost);
	windows_free(w);
	token_pack_close(pack);
}

static void note_part(const struct part *p)
{
	const struct token_sink_counts *c = &p->counts;

	cmd_note("%s: %" PRIu64 " documents, %" PRIu64 " tokens in + %" PRIu64
		 " separators = %" PRIu64 " tokens out",
		 p->path ? p->path : "stdout", c->documents, c->tokens - c->separators,
		 c->separators, c->tokens);
	if (c->runs_dropped)
		cmd_warn("%s: %" PRIu64 " runs of roles have no place in this format, and are lost",
			 p->path ? p->path : "stdout", c->runs_dropped);
	note_windows(p);
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

static void check_stream(const char *path)
{
	struct token_reader *r;
	struct token_event e;
	uint64_t runs = 0;

	cmd_check(token_reader_open(&r, path));
	while (cmd_check(token_reader_next(r, &e)) > 0)
		runs += e.kind == TOKEN_EVENT_RUN;
	cmd_print_name(bytes_of(path));
	cmd_printf("\tstream\t%" PRIu64 "\t%" PRIu64 "\t0\t%" PRIu64 "\n",
		   token_reader_counts(r).documents, token_reader_counts(r).tokens, runs);
	token_reader_close(r);
}

static void check_packed(const char *path)
{
	const struct token_pack_info *i;
	struct token_pack *p;

	cmd_check(token_pack_open(&p, path));
	cmd_check(token_pack_check(p, cmd_team()));
	i = token_pack_info(p);
	cmd_print_name(bytes_of(path));
	cmd_printf("\tpacked\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", i->n_documents,
		   i->n_tokens, i->n_separators, i->n_runs);
	token_pack_close(p);
}

/* A packed file must be a regular one; the first bytes tell it from a stream. */
static void check_file(const char *path)
{
	char magic[8] = { 0 };
	struct stat s;
	FILE *f;

	if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) {
		check_stream(path);
		return;
	}
	f = fopen(path, "rb");
	if (f) {
		if (fread(magic, 1, sizeof(magic), f) < sizeof(magic))
			magic[0] = 0;
		fclose(f);
	}
	if (memcmp(magic, TOKEN_PACK_MAGIC, 8) == 0)
		check_packed(path);
	else
		check_stream(path);
}

int main(int argc, char **argv)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths;
	size_t n;

	cmd_begin(&spec, &argc, &argv);
	paths = argc ? (const char *const *)argv : standard_input;
	n = argc ? (size_t)argc : 1;
	if (!check == !output || (check && mix))
		cmd_usage();
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
	near = place_aside();
	parse_split();
	if (n_parts > 1 && !is_folder(output))
		cmd_die("--split writes several files: --output must be a folder, with / at its "
			"end");
	read_inputs(paths, n);
	commit();
	for (uint32_t i = 0; i < n_parts; i++)
		note_part(&parts[i]);
	return cmd_end();
}
