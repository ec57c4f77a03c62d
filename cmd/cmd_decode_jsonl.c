/* cmd/cmd_decode_jsonl.c - decode --jsonl: requests of a file, several at once */

#include "cmd/cmd_decode_jsonl.h"

#include <inttypes.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "formats/jsonl.h"
#include "lib/base/clock.h"
#include "lib/infer/answers.h"

#define PARALLEL 16 /* unless it is said */
#define USUAL \
 2048 /* tokens: where --ctx does not say, room for one as long as can be, and for others of so many */

struct work {
	const struct cmd_decode_jsonl_options *o;
	size_t parallel, context;
	struct engine *engine;
	struct answers *answers;
	struct request_reader *reader;
	struct progress *progress;
	struct buffer line;
};

/* --- opening --- */

static size_t room(const struct work *w)
{
	size_t each = !w->o->context && w->context > USUAL ? USUAL : w->context;

	return answers_tokens(1, w->context) + answers_tokens(w->parallel - 1, each);
}

static void open_engine(struct work *w)
{
	const struct cmd_decode_jsonl_options *o = w->o;
	struct plan_options plan = { 0 };
	struct engine_options e = {
		.compute = o->compute,
		.round = o->round,
		.repack = o->round && o->repack != REPACK_NONE,
		.cache = o->cache,
		.context = w->context,
		.sequences = answers_sequences(w->parallel),
		.tokens = room(w),
		.rope_paired = o->lm->model.rope_paired,
	};

	cmd_plan_options(&plan);
	e.backend = plan.backend;
	e.team = plan.team;
	e.memory = plan.memory;
	e.without = plan.without;
	e.strict = plan.strict;
	if (o->batch_invariant && plan.backend && plan.backend->device)
		cmd_die("--batch-invariant: the device %s does not keep it", plan.backend->name);
	if (engine_new(&w->engine, o->lm->model.config, o->lm->model.store, &e) == 0)
		return;
	if (e.repack && o->repack == REPACK_IF_IT_FITS && err_last() == ERR_LIMIT) {
		e.repack = false;
		if (engine_new(&w->engine, o->lm->model.config, o->lm->model.store, &e) == 0)
			return;
	}
	cmd_die("%s%s", err_text(),
		err_last() == ERR_LIMIT ? "; --parallel and --ctx make it smaller" : "");
}

static void open_all(struct work *w)
{
	const struct cmd_decode_jsonl_options *o = w->o;

	w->parallel = o->parallel ? o->parallel : PARALLEL;
	w->context = o->context ? o->context : (size_t)o->lm->model.config->context;
	open_engine(w);
	cmd_check(answers_new(&w->answers, &(struct answers_options){ .engine = w->engine,
								      .config = o->lm->model.config,
								      .tokenizer = o->lm->tokenizer,
								      .ends = o->ends,
								      .n_ends = o->n_ends,
								      .parallel = w->parallel }));
	cmd_check(request_reader_new(
		&w->reader, &(struct request_reader_options){ .tokenizer = o->lm->tokenizer,
							      .config = o->lm->model.config,
							      .context = w->context,
							      .special = o->special,
							      .chat = o->chat,
							      .defaults = o->defaults }));
	w->progress = cmd_progress("decode", "requests", 0);
}

static void close_all(struct work *w)
{
	progress_end(w->progress);
	request_reader_free(w->reader);
	answers_free(w->answers);
	engine_free(w->engine);
	buffer_free(&w->line);
}

/* --- requests --- */

/* Answers that are ready, in their order. */
static void write_ready(struct work *w)
{
	struct request *r;
	bool any = false;

	while ((r = answers_next(w->answers))) {
		buffer_clear(&w->line);
		request_put(&w->line, r);
		cmd_check(buffer_check(&w->line));
		cmd_print_bytes(buffer_bytes(&w->line));
		request_free(r);
		progress_add(w->progress, 1);
		any = true;
	}
	if (any)
		cmd_flush();
}

/* As many requests as are waited for. False: there are no more. */
static bool read_some(struct work *w, struct jsonl *in, const char *name)
{
	while (answers_wants(w->answers)) {
		struct request *r;
		struct bytes line;

		if (cmd_check(jsonl_next(in, &line)) == 0)
			return false;
		cmd_check(request_read(w->reader, line, name, jsonl_line(in), &r));
		cmd_check(answers_add(w->answers, r));
	}
	return true;
}

static void answer_all(struct work *w)
{
	const char *name = w->o->input ? w->o->input : "-";
	bool more = true, busy = true;
	struct jsonl *in;

	cmd_check(jsonl_open(&in, cmd_input(w->o->input), NULL));
	while (more || busy) {
		if (more)
			more = read_some(w, in, name);
		busy = cmd_check(answers_step(w->answers)) > 0;
		write_ready(w);
	}
	jsonl_close(in);
}

static void report(const struct work *w, double seconds)
{
	const struct answers_counts *c = answers_counts(w->answers);

	cmd_note("%" PRIu64 " requests, %" PRIu64 " without an answer; %" PRIu64
		 " tokens of prompts, %" PRIu64 " of them shared",
		 c->requests, c->failed, c->prompt_tokens, c->shared_tokens);
	cmd_note("%" PRIu64 " new tokens in %.3f s, %.1f tokens/s, %.1f a step", c->tokens, seconds,
		 (double)c->tokens / seconds, c->steps ? (double)c->tokens / (double)c->steps : 0);
}

size_t cmd_decode_jsonl(const struct cmd_decode_jsonl_options *o)
{
	struct work w = { .o = o };
	uint64_t start;
	size_t failed;

	open_all(&w);
	if (engine_plan_of_few(w.engine))
		plan_measure(engine_plan_of_few(w.engine), cmd_graph.op_stats);
	start = clock_ns();
	answer_all(&w);
	report(&w, clock_seconds(start, clock_ns()));
	failed = (size_t)answers_counts(w.answers)->failed;
	cmd_op_stats(engine_plan_of_few(w.engine), NULL);
	close_all(&w);
	return failed;
}
