/* score-lm - how likely a language model holds given continuations to be */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_lm.h"
#include "formats/jsonl.h"
#include "lib/data/windows.h"
#include "lib/eval/score.h"

#define CONTEXT_MOST 2048 /* unless it is asked for */
#define AT_A_TIME    64	  /* records */

static const char *tokenizer_path, *split_name, *between = "";
static bool summary;
static uint64_t context, batch_tokens;
static int special = SPECIAL_PARSE, dtype, bos;

static const char *const bos_words[] = { "auto", "on", "off", NULL };

static const struct cmd_option options[] = {
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer (default: the model's)"),
	CMD_TEXT(0, "split", &split_name, "NAME", "how a rank file splits text, as for tokenize"),
	CMD_ENUM(0, "special", &special, cmd_special_words, "HOW",
		 "special tokens in text: plain, parse (default) or refuse"),
	CMD_ENUM(0, "bos", &bos, bos_words, "WHETHER",
		 "before each context: auto (as the tokenizer does it), on or off"),
	CMD_TEXT(0, "between", &between, "TEXT",
		 "what stands between a context and a choice (default nothing)"),
	CMD_SIZE('c', "ctx", &context, 1, WINDOW_LENGTH_MAX,
		 "tokens at most (default: the model's context, 2048 at most)"),
	CMD_SIZE(0, "batch-tokens", &batch_tokens, 1, WINDOW_LENGTH_MAX,
		 "tokens computed at a time (default 1024; at least the context)"),
	CMD_FLAG('s', "summary", &summary, "write the sums alone, as a JSON object"),
	CMD_ENUM(0, "dtype", &dtype, cmd_dtype_words, "TYPE",
		 "what is computed in: f32 (default) or bf16"),
	CMD_GRAPH,
	CMD_FLAG(0, "op-stats", &cmd_graph.op_stats,
		 "a table of what ran, on stderr: time, share of the roofline"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "score-lm",
	.operands = "model [file ...]",
	.summary = "tell how likely a language model holds given continuations to be",
	.options = options,
	.notes = "MODEL is a folder or a .gguf. Records are JSON lines with context and choices "
		 "(and gold),\nor prompt and completion; without a file they come from stdin.",
	.min_operands = 1,
	.max_operands = -1,
};

static struct cmd_lm lm;
static struct continuations *continuations;
static struct score *score;
static struct progress *progress;

/* --- opening --- */

static void open_continuations(void)
{
	struct plan_options plan = { 0 };

	if (!context)
		context = lm.model.config->context < CONTEXT_MOST ? lm.model.config->context
								  : CONTEXT_MOST;
	cmd_plan_options(&plan);
	cmd_check(continuations_new(
		&continuations, lm.model.config, lm.model.store,
		&(struct continuations_options){ .backend = plan.backend,
						 .team = plan.team,
						 .compute = cmd_dtype(dtype),
						 .context = (size_t)context,
						 .rows = (size_t)batch_tokens,
						 .rope_paired = lm.model.rope_paired,
						 .without = plan.without,
						 .strict = plan.strict,
						 .memory = plan.memory }));
	plan_measure(continuations_plan(continuations), cmd_graph.op_stats);
}

static uint32_t role(uint32_t of_tokenizer, const struct hf_ids *of_model)
{
	return of_tokenizer == TOKEN_NONE && of_model->n ? of_model->ids[0] : of_tokenizer;
}

/* Whether encoding a text puts BOS before it. */
static bool puts_bos(uint32_t id)
{
	const struct encode_options o = { .post_process = true };
	struct encoding e = { 0 };
	struct encoder *encoder;
	bool put;

	cmd_check(encoder_new(&encoder, lm.tokenizer));
	cmd_check(encoder_run(encoder, bytes_of(""), &o, &e));
	put = e.n && e.ids[0] == id;
	encoding_free(&e);
	encoder_free(encoder);
	return put;
}

static void open_score(void)
{
	const struct tokenizer_spec *s = tokenizer_spec(lm.tokenizer);
	uint32_t first = role(s->bos, &lm.model.config->bos);
	struct score_options o = { .tokenizer = lm.tokenizer,
				   .before = TOKEN_NONE,
				   .alone = first,
				   .context = (size_t)context,
				   .between = between,
				   .special = (enum special_mode)special };

	if (first == TOKEN_NONE)
		o.alone = role(s->eos, &lm.model.config->eos);
	if (bos == 1 && first == TOKEN_NONE)
		cmd_die("--bos=on: the tokenizer names no BOS token");
	if (bos == 1 || (bos == 0 && first != TOKEN_NONE && puts_bos(first)))
		o.before = first;
	cmd_check(score_new(&score, continuations, &o));
}

/* --- records --- */

static void flush(void)
{
	struct buffer b = { 0 };

	cmd_check(score_flush(score, &b));
	if (!summary)
		cmd_print_bytes(buffer_bytes(&b));
	buffer_free(&b);
}

static void read_file(const char *path)
{
	const char *name = path ? path : "-";
	struct jsonl *in;
	struct bytes line;

	cmd_check(jsonl_open(&in, cmd_input(path), NULL));
	while (cmd_check(jsonl_next(in, &line)) > 0) {
		cmd_check(score_add(score, line, name, jsonl_line(in)));
		progress_add(progress, 1);
		if (score_n(score) == AT_A_TIME)
			flush();
	}
	/* Names in errors are those of open files. */
	flush();
	jsonl_close(in);
}

static void tell(void)
{
	const struct score_sums *s = score_sums(score);
	struct buffer b = { 0 };

	if (s->records == 0)
		cmd_die("no records");
	score_put_sums(&b, s);
	cmd_check(buffer_check(&b));
	if (summary)
		cmd_print_bytes(buffer_bytes(&b));
	else
		cmd_note("%.*s", (int)(b.size - 1), b.data);
	buffer_free(&b);
	if (s->cut)
		cmd_warn("%" PRIu64 " of %" PRIu64
			 " continuations: the context lost its front to fit into %" PRIu64
			 " tokens",
			 s->cut, s->continuations, context);
}

int main(int argc, char **argv)
{
	cmd_begin(&spec, &argc, &argv);
	cmd_lm_open(&lm, argv[0], tokenizer_path, split_name);
	open_continuations();
	open_score();
	progress = cmd_progress("score-lm", "records", 0);
	if (argc == 1)
		read_file(NULL);
	for (int i = 1; i < argc; i++)
		read_file(argv[i]);
	progress_end(progress);
	tell();
	cmd_op_stats(continuations_plan(continuations), NULL);
	score_free(score);
	continuations_free(continuations);
	cmd_lm_close(&lm);
	return cmd_end();
}
