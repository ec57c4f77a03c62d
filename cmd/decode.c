/* decode - let a language model go on with a text */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_chat.h"
#include "cmd/cmd_decode.h"
#include "cmd/cmd_decode_jsonl.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_sampling.h"
#include "formats/jsonl.h"
#include "lib/base/clock.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/data/encode_record.h"
#include "lib/infer/conversation.h"
#include "lib/infer/prompt.h"

#define PROMPT_MOST   (1u << 30)
#define CONTEXT_MOST  (1u << 30)
#define SAMPLES_MOST  (1u << 20)
#define LOGPROBS_MOST 1000
#define TOKENS	      128  /* of a text, unless it is said */
#define TALK	      4096 /* tokens of a conversation, unless it is said */
#define NOT_GIVEN     UINT64_MAX

static const char *prompt_text, *prompt_path, *tokenizer_path, *messages_path;
static const char *step, *template_name, *system_text, *cache_path;
static bool jsonl, batch_invariant;
static uint64_t parallel;
static struct cmd_list stop_list;
static bool chat;
static int special = SPECIAL_PLAIN, compute, cache = 1, repack;

static const char *const cache_words[] = { "f32", "f16", "bf16", "q8_0", NULL };
static const char *const compute_words[] = { "rounded", "f32", "bf16", NULL };
static const char *const repack_words[] = { "auto", "none", "all", NULL };
enum { COMPUTE_ROUNDED, COMPUTE_F32, COMPUTE_BF16 };
#define REPACK_TOKENS 256 /* from so many on a copy that is read faster is worth its making */
static const enum dtype cache_dtypes[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0 };

static struct cmd_decode d = {
	.tokens = NOT_GIVEN, .samples = 1, .keep = 1, .logprobs = DECODE_NO_LOGPROBS
};

static const struct cmd_option options[] = {
	CMD_TEXT('p', "prompt", &prompt_text, "TEXT", "the text to go on with (default: stdin)"),
	CMD_PATH('f', "file", &prompt_path, "FILE", "a file that holds it"),
	CMD_PATH(0, "messages", &messages_path, "FILE",
		 "a conversation to answer: JSON, as tokenize --messages reads it"),
	CMD_FLAG(0, "chat", &chat, "a conversation: a message a line, an answer after each"),
	CMD_TEXT(0, "system", &system_text, "TEXT", "of --chat: the system's message"),
	CMD_TEXT(0, "chat-template", &template_name, "NAME",
		 "of messages: chatml, smollm2, llama3, gemma, mistral or qwen (default: the "
		 "model's)"),
	CMD_OPTIONAL(
		0, "step", &step, "HOW",
		"logits out, the id of the next token in: N largest (default 20; 0: all) or npy"),
	CMD_FLAG(0, "jsonl", &jsonl, "requests as JSON lines, from -f or stdin; an answer a line"),
	CMD_SIZE(0, "parallel", &parallel, 1, ENGINE_SEQUENCES_MAX / 2,
		 "of --jsonl: texts at a time (default 16)"),
	CMD_FLAG(0, "batch-invariant", &batch_invariant,
		 "of --jsonl: a request alone gives the very text that it gives among others"),
	CMD_PATH(0, "prompt-cache", &cache_path, "FILE",
		 "keep what the prompt left in the cache, and take it from there the next time"),
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer (default: the model's)"),
	CMD_ENUM(0, "special", &special, cmd_special_words, "HOW",
		 "special tokens in the prompt: plain (default), parse or refuse"),
	CMD_SIZE('n', "tokens", &d.tokens, 0, CONTEXT_MOST,
		 "new tokens at most (default 128; of answers 0); 0: to the end of the context"),
	CMD_SIZE('c', "ctx", &d.context, 1, CONTEXT_MOST,
		 "tokens of prompt and text together (default: as many as are asked for)"),
	CMD_FLAG(0, "context-shift", &d.shift,
		 "in a full context go on after --keep tokens and half of the others"),
	CMD_SIZE(0, "keep", &d.keep, 0, CONTEXT_MOST,
		 "the first tokens, which --context-shift leaves (default 1)"),
	CMD_TEXTS('s', "stop", &stop_list, "TEXT", "end before this text; may be given again"),
	CMD_SIZE(0, "samples", &d.samples, 1, SAMPLES_MOST,
		 "go on so often, each anew (default 1)"),
	CMD_SAMPLING,
	CMD_FLAG(0, "echo", &d.echo, "the prompt before the text"),
	CMD_SIZE(0, "logprobs", &d.logprobs, 0, LOGPROBS_MOST,
		 "a row for each token, with the N most probable, in the place of the text"),
	CMD_ENUM(0, "compute", &compute, compute_words, "TYPE",
		 "rounded (default: f32, what quantized weights multiply to 8 bits), f32, bf16"),
	CMD_ENUM(0, "repack", &repack, repack_words, "WHEN",
		 "copy quantized weights to a form that is read faster: auto (default), none, all"),
	CMD_ENUM(0, "cache-dtype", &cache, cache_words, "TYPE",
		 "what keys and values are kept in: f32, f16 (default), bf16 or q8_0"),
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
	.notes =
		"MODEL is a folder or a .gguf. Steps: penalties, dry, top-n-sigma, top-k, typical, "
		"top-p, min-p, temperature; then the draw.",
	.min_operands = 1,
	.max_operands = 1,
};

static char *text; /* the prompt: owned */
static size_t text_size;
static int32_t *prompt; /* its tokens: owned */
static size_t n_prompt;

/* --- what was asked for --- */

static void check_jsonl(void)
{
	if ((parallel || batch_invariant) && !jsonl)
		cmd_misuse("--parallel and --batch-invariant go with --jsonl");
	if (jsonl &&
	    (prompt_text || messages_path || chat || step || d.echo || d.shift || cache_path))
		cmd_misuse("--jsonl takes requests from -f or stdin, and does not go with -p, "
			   "--messages, --chat, --step, --echo, --context-shift or --prompt-cache");
	if (cache_path && (chat || step))
		cmd_misuse("--prompt-cache does not go with --chat or --step");
}

static void check_options(void)
{
	const int sources =
		(prompt_text != NULL) + (prompt_path != NULL) + (messages_path != NULL) + chat;
	const bool has_logprobs = d.logprobs != DECODE_NO_LOGPROBS;

	if (sources > 1)
		cmd_misuse("-p, -f, --messages and --chat: only one of them");
	check_jsonl();
	if (step && !prompt_text && !prompt_path && !messages_path)
		cmd_misuse(
			"--step: the prompt comes by -p, -f or --messages; stdin is the chooser's");
	if (d.echo && (has_logprobs || step || messages_path || chat))
		cmd_misuse("--echo goes with a text alone: not with --logprobs, --step, --messages "
			   "or --chat");
	if (has_logprobs && (step || chat))
		cmd_misuse("--logprobs does not go with --step or --chat");
	if (d.samples > 1 && (step || chat))
		cmd_misuse("--samples does not go with --step or --chat");
	if (template_name && !messages_path && !chat && !jsonl)
		cmd_misuse("--chat-template goes with --messages, --chat or --jsonl");
	if (system_text && !chat)
		cmd_misuse("--system goes with --chat");
	if (step && (d.shift || stop_list.n || d.tokens != NOT_GIVEN))
		cmd_misuse("--step: the chooser says what ends: not with -n, --stop or "
			   "--context-shift");
}

static void make_stops(void)
{
	struct stop_text *trial;

	d.stops = mem_new(stop_list.n, sizeof(*d.stops));
	cmd_check(d.stops ? 0 : -1);
	d.n_stops = stop_list.n;
	for (size_t i = 0; i < stop_list.n; i++)
		d.stops[i] = bytes_of(stop_list.items[i]);
	if (stop_text_new(&trial, d.stops, d.n_stops) < 0)
		cmd_misuse("--stop: %s", err_text());
	stop_text_free(trial);
}

/* --- the prompt --- */

static void read_text(void)
{
	if (prompt_text) {
		text_size = strlen(prompt_text);
		text = mem_copy(prompt_text, text_size);
		cmd_check(text ? 0 : -1);
	} else {
		cmd_check(file_read(cmd_input(prompt_path), PROMPT_MOST, &text, &text_size));
	}
	cmd_check(prompt_encode(&prompt, &n_prompt, d.lm.tokenizer, d.lm.model.config,
				(struct bytes){ text, text_size }, (enum special_mode)special));
}

static enum chat which_chat(void)
{
	return cmd_chat(tokenizer_spec(d.lm.tokenizer), d.lm.tokenizer_path, "--chat-template",
			template_name);
}

/* Of requests with messages, which need one. */
static bool has_template(void)
{
	struct bytes known = tokenizer_spec(d.lm.tokenizer)->chat_template;

	return jsonl && (template_name || (known.size && chat_recognise(known) != CHAT_NONE));
}

/* The template's end of a turn ends an answer, whatever the model says of ends. */
static void add_end(enum chat c)
{
	struct conversation *one;

	cmd_check(conversation_new(&one, d.lm.tokenizer, c));
	cmd_check(text_ends_add(&d.ends, conversation_end(one)));
	conversation_free(one);
}

static void encode_messages(struct bytes record, const char *name, uint64_t line)
{
	const struct record_options o = { .input = RECORD_MESSAGES,
					  .field = "messages",
					  .chat = which_chat(),
					  .generation_prompt = true };
	struct encoded_record out = { 0 };
	struct record_encoder *e;

	cmd_check(record_encoder_new(&e, d.lm.tokenizer, &o));
	cmd_check(record_encode(e, record, &(struct record_place){ .name = name, .line = line },
				&out));
	prompt = mem_new(out.encoding.n, sizeof(*prompt));
	cmd_check(prompt ? 0 : -1);
	for (size_t i = 0; i < out.encoding.n; i++)
		prompt[i] = (int32_t)out.encoding.ids[i];
	n_prompt = out.encoding.n;
	encoded_record_free(&out);
	record_encoder_free(e);
	add_end(o.chat);
}

static void read_messages(void)
{
	struct jsonl *in;
	struct bytes record;

	cmd_check(jsonl_open(&in, cmd_input(messages_path), NULL));
	if (cmd_check(jsonl_next(in, &record)) == 0)
		cmd_die("%s: no conversation", jsonl_name(in));
	encode_messages(record, jsonl_name(in), jsonl_line(in));
	if (cmd_check(jsonl_next(in, &record)) > 0)
		cmd_die("%s:%" PRIu64 ": a second conversation, and one is answered",
			jsonl_name(in), jsonl_line(in));
	jsonl_close(in);
}

/* --- the context --- */

/* What a person can do about it: L11 of the cases. */
static void refuse_prompt(uint64_t most)
{
	if (d.context)
		cmd_die("a prompt of %zu tokens; --ctx allows %" PRIu64
			": a longer --ctx, up to the model's %" PRIu64 ", or a shorter prompt",
			n_prompt, most, d.lm.model.config->context);
	cmd_die("a prompt of %zu tokens; the model's context is %" PRIu64
		": a shorter prompt, or --ctx %zu where the model is to go on past what it learned",
		n_prompt, most, n_prompt + 1);
}

/* What there is to be room for, unless --ctx says it. */
static uint64_t wanted_context(void)
{
	uint64_t wanted = n_prompt + d.tokens;

	if (!chat && !step)
		return d.tokens ? wanted : UINT64_MAX;
	return wanted > TALK ? wanted : TALK;
}

/* As many as --ctx says; else what is wanted, as far as the model goes. */
static size_t choose_context(void)
{
	uint64_t model = d.lm.model.config->context, most = d.context ? d.context : model;
	uint64_t wanted = wanted_context();

	if (n_prompt > most)
		refuse_prompt(most);
	if (!d.context && wanted < most)
		most = wanted;
	if (d.shift && d.keep + 1 >= most)
		cmd_misuse("--keep %" PRIu64 ": the context of %" PRIu64
			   " tokens has to have room for two more",
			   d.keep, most);
	return (size_t)most;
}

/* --- all --- */

static size_t failed; /* requests */

static void open_model(const char *path)
{
	const struct tokenizer_spec *s;

	cmd_lm_open(&d.lm, path, tokenizer_path, NULL);
	s = tokenizer_spec(d.lm.tokenizer);
	cmd_check(text_ends_find(&d.ends, d.lm.model.config, s, path));
	if (messages_path)
		read_messages();
	else if (chat || has_template())
		add_end(which_chat());
	if (!messages_path && !chat && !jsonl)
		read_text();
	d.ends_count = !cmd_sampling.ignore_eos;
	cmd_sampling_options(&d.sampling, d.lm.tokenizer, (size_t)d.lm.model.config->vocab_size,
			     &d.ends);
	if (step &&
	    (d.sampling.temperature != 0 || d.sampling.n_bias ||
	     sampler_has(&d.sampling, SAMPLER_PENALTIES) || sampler_has(&d.sampling, SAMPLER_DRY)))
		cmd_misuse("--step: the chooser chooses, and no option of sampling does");
}

/* How many requests could not be answered. */
static size_t answer_requests(void)
{
	const struct cmd_decode_jsonl_options o = {
		.lm = &d.lm,
		.input = prompt_path,
		.parallel = (size_t)parallel,
		.context = (size_t)d.context,
		.batch_invariant = batch_invariant,
		.compute = d.compute,
		.round = d.round,
		.repack = d.repack,
		.cache = d.cache,
		.special = (enum special_mode)special,
		.chat = has_template() ? which_chat() : CHAT_NONE,
		.ends = d.ends.ids,
		.n_ends = d.ends.n,
		.defaults = { .tokens = (size_t)d.tokens,
			      .sampler = d.sampling,
			      .samples = (size_t)d.samples,
			      .logprobs = d.logprobs == DECODE_NO_LOGPROBS ? REQUEST_NO_LOGPROBS
									   : (size_t)d.logprobs,
			      .ignore_eos = cmd_sampling.ignore_eos,
			      .stops = d.stops,
			      .n_stops = d.n_stops },
	};

	if (d.samples > REQUEST_SAMPLES_MAX)
		cmd_misuse("--samples: of --jsonl at most %d", REQUEST_SAMPLES_MAX);
	return cmd_decode_jsonl(&o);
}

/* What is long: a conversation, many requests, or a text of many tokens. */
static enum cmd_repack choose_repack(void)
{
	bool is_long = chat || jsonl || d.tokens == 0 || d.tokens >= REPACK_TOKENS;

	if (repack)
		return repack == 1 ? REPACK_NONE : REPACK_ALL;
	return is_long ? REPACK_IF_IT_FITS : REPACK_NONE;
}

static void run(void)
{
	const struct bytes whole = { text, text_size };

	if (jsonl) {
		failed = answer_requests();
		return;
	}
	cmd_decode_open(&d, choose_context(), d.samples > 1);
	if (chat)
		cmd_decode_chat(&d, which_chat(), system_text);
	else if (step)
		cmd_decode_step(&d, prompt, n_prompt, step);
	else
		cmd_decode_text(&d, prompt, n_prompt, whole);
}

int main(int argc, char **argv)
{
	d.started = clock_ns();
	cmd_begin(&spec, &argc, &argv);
	check_options();
	make_stops();
	if (d.tokens == NOT_GIVEN)
		d.tokens = chat || messages_path || step ? 0 : TOKENS;
	d.compute = compute == COMPUTE_BF16 ? DTYPE_BF16 : DTYPE_F32;
	d.round = compute == COMPUTE_ROUNDED;
	d.repack = choose_repack();
	d.cache = cache_dtypes[cache];
	d.prompt_cache = cache_path;
	open_model(argv[0]);
	run();
	session_free(d.session);
	sampler_free(d.sampler);
	cmd_sampling_free();
	text_ends_free(&d.ends);
	free(d.stops);
	free(prompt);
	free(text);
	cmd_lm_close(&d.lm);
	return cmd_end() || failed ? 2 : 0;
}
