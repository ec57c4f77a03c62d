/* decode - let a language model go on with a text */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_lm.h"
#include "lib/base/clock.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/infer/generate.h"
#include "lib/infer/logprobs.h"
#include "lib/infer/prompt.h"
#include "lib/infer/stop_text.h"

#define PROMPT_MOST   (1u << 30)
#define CONTEXT_MOST  (1u << 30)
#define LOGPROBS_MOST 1000
#define NOT_GIVEN     UINT64_MAX

static const char *prompt_text, *prompt_path, *tokenizer_path;
static uint64_t tokens = 128, context, top_k, k_logprobs = NOT_GIVEN;
static double temperature, top_p = 1, min_p;
static struct cmd_list stop_list;
static bool ignore_eos, echo;
static int special = SPECIAL_PLAIN, dtype;

static const struct cmd_option options[] = {
	CMD_TEXT('p', "prompt", &prompt_text, "TEXT", "the text to go on with (default: stdin)"),
	CMD_PATH('f', "file", &prompt_path, "FILE", "a file that holds it"),
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer (default: the model's)"),
	CMD_ENUM(0, "special", &special, cmd_special_words, "HOW",
		 "special tokens in the prompt: plain (default), parse or refuse"),
	CMD_SIZE('n', "tokens", &tokens, 0, CONTEXT_MOST,
		 "new tokens at most (default 128); 0: to the end of the context"),
	CMD_SIZE('c', "ctx", &context, 1, CONTEXT_MOST,
		 "tokens of prompt and text together (default: as many as are asked for)"),
	CMD_FLAG(0, "ignore-eos", &ignore_eos, "an end of text does not end it"),
	CMD_TEXTS('s', "stop", &stop_list, "TEXT", "end before this text; may be given again"),
	CMD_REAL(0, "temperature", &temperature, 0, 1e6,
		 "what logits are divided by; 0: the most probable token (default)"),
	CMD_SIZE(0, "top-k", &top_k, 0, INT32_MAX, "draw from the N most probable; 0: all"),
	CMD_REAL(0, "top-p", &top_p, 1e-9, 1,
		 "draw from the fewest that have this probability together (default 1)"),
	CMD_REAL(0, "min-p", &min_p, 0, 1,
		 "draw from those with this share of the largest probability (default 0)"),
	CMD_SIZE(0, "seed", &cmd_graph.seed, 0, UINT64_MAX, "what draws are made of (default 0)"),
	CMD_FLAG(0, "echo", &echo, "the prompt before the text"),
	CMD_SIZE(0, "logprobs", &k_logprobs, 0, LOGPROBS_MOST,
		 "a row for each token, with the N most probable, in the place of the text"),
	CMD_ENUM(0, "dtype", &dtype, cmd_dtype_words, "TYPE",
		 "what is computed in: f32 (default) or bf16"),
	CMD_GRAPH,
	CMD_FLAG(0, "op-stats", &cmd_graph.op_stats,
		 "a table of what ran for each new token, on stderr"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "decode",
	.operands = "model",
	.summary = "let a language model go on with a text",
	.options = options,
	.notes = "MODEL is a folder or a .gguf. Order: temperature, top-k, top-p, min-p, the draw.",
	.min_operands = 1,
	.max_operands = 1,
};

static struct cmd_lm lm;
static char *text; /* the prompt: owned */
static size_t text_size;
static int32_t *prompt; /* its tokens: owned */
static size_t n_prompt;
static struct session *session;
static struct sampler *sampler;
static struct stop_text *stops;
static struct bytes *stop_strings; /* owned */
static struct buffer certain;	   /* text that no stop can take back */
static struct logprob *best;	   /* owned: room for --logprobs */
static bool with_logprobs;
static uint64_t started, first_token;

/* --- opening --- */

static void read_prompt(void)
{
	if (prompt_text) {
		text_size = strlen(prompt_text);
		text = mem_copy(prompt_text, text_size);
		cmd_check(text ? 0 : -1);
		return;
	}
	cmd_check(file_read(cmd_input(prompt_path), PROMPT_MOST, &text, &text_size));
}

static void encode_prompt(void)
{
	cmd_check(prompt_encode(&prompt, &n_prompt, lm.tokenizer, lm.model.config,
				(struct bytes){ text, text_size }, (enum special_mode)special));
}

/* As many as --ctx says; else what was asked for, as far as the model goes. */
static size_t choose_context(void)
{
	uint64_t most = context ? context : lm.model.config->context;

	if (n_prompt > most)
		cmd_die("a prompt of %zu tokens; %s %" PRIu64, n_prompt,
			context ? "--ctx allows" : "the model's context is", most);
	if (!context && tokens && n_prompt + tokens < most)
		return n_prompt + (size_t)tokens;
	return (size_t)most;
}

static void make_session(void)
{
	struct plan_options plan = { 0 };

	cmd_plan_options(&plan);
	cmd_check(session_new(&session, lm.model.config, lm.model.store,
			      &(struct session_options){
				      .backend = plan.backend,
				      .team = plan.team,
				      .compute = cmd_dtype(dtype),
				      .cache = DTYPE_F32,
				      .context = choose_context(),
				      .rope_paired = lm.model.rope_paired,
				      .memory = plan.memory,
				      .without = plan.without,
				      .strict = plan.strict,
			      }));
	plan_measure(session_plan(session), cmd_graph.op_stats);
	cmd_check(sampler_new(&sampler,
			      &(struct sampler_options){ .temperature = temperature,
							 .top_k = (size_t)top_k,
							 .top_p = top_p,
							 .min_p = min_p,
							 .seed = cmd_graph.seed },
			      (size_t)lm.model.config->vocab_size));
}

static void make_stops(void)
{
	stop_strings = mem_new(stop_list.n, sizeof(*stop_strings));
	cmd_check(stop_strings ? 0 : -1);
	for (size_t i = 0; i < stop_list.n; i++)
		stop_strings[i] = bytes_of(stop_list.items[i]);
	if (stop_text_new(&stops, stop_strings, stop_list.n) < 0)
		cmd_misuse("--stop: %s", err_text());
}

/* --- output --- */

static void print_certain(void)
{
	cmd_check(buffer_check(&certain));
	if (certain.size == 0)
		return;
	if (!with_logprobs) {
		cmd_print_bytes(buffer_bytes(&certain));
		cmd_flush();
	}
	buffer_clear(&certain);
}

static int take_piece(void *to, struct bytes piece)
{
	int found = cmd_check(stop_text_add(stops, piece, &certain));

	print_certain();
	return found;
}

static void print_token(int32_t id, double logprob)
{
	cmd_printf("%" PRId32 "\t", id);
	cmd_print_quoted(tokenizer_piece(lm.tokenizer, (uint32_t)id));
	cmd_printf("\t%.6f", logprob);
}

/* Place, id, text and logarithm, and three columns for each of the most probable. */
static void print_row(int32_t id, const float *logits)
{
	size_t n = (size_t)lm.model.config->vocab_size, k = k_logprobs < n ? (size_t)k_logprobs : n;
	double own;

	logprobs(logits, n, k, best, id, &own);
	cmd_printf("%zu\t", session_length(session));
	print_token(id, own);
	for (size_t i = 0; i < k; i++) {
		cmd_print_char('\t');
		print_token(best[i].id, best[i].value);
	}
	cmd_print_char('\n');
	cmd_flush();
}

static int take_token(void *to, int32_t id, const float *logits)
{
	if (!first_token)
		first_token = clock_ns();
	if (with_logprobs)
		print_row(id, logits);
	return 0;
}

/* --- the work --- */

static const char *reason_of(const struct generate_result *r)
{
	if (r->reason == GENERATE_STOP)
		return "an end of text";
	if (r->reason == GENERATE_CANCEL)
		return "a stop";
	return tokens && r->tokens == tokens ? "as many as asked for" : "the context is full";
}

static void report(const struct generate_result *r, uint64_t read, uint64_t prompted, uint64_t now)
{
	double prompt_time = clock_seconds(read, prompted);

	cmd_note("prompt: %zu tokens in %.3f s, %.1f tokens/s", n_prompt, prompt_time,
		 (double)n_prompt / prompt_time);
	if (r->tokens > 1)
		cmd_note("first token after %.3f s, then %.1f tokens/s",
			 clock_seconds(started, first_token),
			 (double)(r->tokens - 1) / clock_seconds(first_token, now));
	cmd_note("%zu tokens: %s", r->tokens, reason_of(r));
}

static void go_on(void)
{
	struct generate_options o = { .tokens = (size_t)tokens,
				      .stops = lm.model.config->eos.ids,
				      .n_stops = ignore_eos ? 0 : lm.model.config->eos.n,
				      .before = prompt,
				      .n_before = n_prompt,
				      .piece = take_piece,
				      .token = take_token };
	struct generate_result r;
	uint64_t read = clock_ns(), prompted;

	if (echo) {
		cmd_write(text, text_size);
		cmd_flush();
	}
	cmd_check(session_append(session, prompt, n_prompt));
	prompted = clock_ns();
	cmd_check(generate(session, sampler, lm.tokenizer, &o, &r));
	report(&r, read, prompted, clock_ns());
	stop_text_end(stops, &certain);
	print_certain();
	if (!with_logprobs)
		cmd_print_char('\n');
}

int main(int argc, char **argv)
{
	started = clock_ns();
	cmd_begin(&spec, &argc, &argv);
	with_logprobs = k_logprobs != NOT_GIVEN;
	if (prompt_text && prompt_path)
		cmd_misuse("-p and -f: only one of them");
	if (echo && with_logprobs)
		cmd_misuse("--echo and --logprobs: only one of them");
	make_stops();
	cmd_lm_open(&lm, argv[0], tokenizer_path, NULL);
	read_prompt();
	encode_prompt();
	make_session();
	best = mem_new(with_logprobs ? (size_t)k_logprobs + 1 : 1, sizeof(*best));
	cmd_check(best ? 0 : -1);
	go_on();
	cmd_op_stats(session_plan(session), NULL);
	session_free(session);
	sampler_free(sampler);
	stop_text_free(stops);
	buffer_free(&certain);
	free(best);
	free(stop_strings);
	free(prompt);
	free(text);
	cmd_lm_close(&lm);
	return cmd_end();
}
