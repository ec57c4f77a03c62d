/* cmd/cmd_decode_text.c - decode: one text goes on, once or several times */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_decode.h"
#include "cmd/cmd_graph.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/infer/logprobs.h"
#include "lib/infer/prompt_cache.h"

struct going_on {
	struct cmd_decode *d;
	const int32_t *prompt;
	size_t n_prompt;
	struct cmd_decode_writer writer;
	struct logprob *best; /* owned: room for --logprobs; NULL: none */
	size_t made;	      /* of this sample */
	uint64_t first;	      /* when the first token came */
};

/* --- output --- */

static int take_piece(void *to, struct bytes piece)
{
	struct going_on *t = to;

	return cmd_decode_write(&t->writer, piece);
}

static void print_token(const struct going_on *t, int32_t id, double logprob)
{
	cmd_printf("%" PRId32 "\t", id);
	cmd_print_quoted(tokenizer_piece(t->d->lm.tokenizer, (uint32_t)id));
	cmd_printf("\t%.6f", logprob);
}

/* Place, id, text and logarithm, and three columns for each of the most probable. */
static void print_row(const struct going_on *t, int32_t id, const float *logits)
{
	size_t n = (size_t)t->d->lm.model.config->vocab_size;
	size_t k = t->d->logprobs < n ? (size_t)t->d->logprobs : n;
	double own;

	logprobs(logits, n, k, t->best, id, &own);
	cmd_printf("%zu\t", t->n_prompt + t->made);
	print_token(t, id, own);
	for (size_t i = 0; i < k; i++) {
		cmd_print_char('\t');
		print_token(t, t->best[i].id, t->best[i].value);
	}
	cmd_print_char('\n');
	cmd_flush();
}

static int take_token(void *to, int32_t id, const float *logits)
{
	struct going_on *t = to;

	if (!t->first)
		t->first = clock_ns();
	if (t->best)
		print_row(t, id, logits);
	t->made++;
	return cmd_stop_asked();
}

/* --- the work --- */

static void report_prompt(const struct going_on *t, uint64_t from, uint64_t to, size_t kept)
{
	double seconds = clock_seconds(from, to);

	cmd_note("prompt: %zu tokens in %.3f s, %.1f tokens/s", t->n_prompt - kept, seconds,
		 (double)(t->n_prompt - kept) / seconds);
	if (t->d->prompt_cache)
		cmd_note("%s: had %zu tokens of the prompt", t->d->prompt_cache, kept);
}

/* With a file of what an earlier run read, and for later ones. How many tokens came from it. */
static size_t read_with_cache(const struct going_on *t)
{
	struct cmd_decode *d = t->d;
	struct prompt_cache_of of = { .config = d->lm.model.config,
				      .compute = d->compute == DTYPE_BF16 ? "bf16"
						 : d->round		  ? "rounded"
									  : "f32",
				      .cache = d->cache,
				      .context = session_context(d->session) };
	size_t kept;
	bool whole;

	of.level = prompt_cache_level(cmd_device());
	cmd_check(lm_hash(&d->lm.model, cmd_team(), &of.model));
	cmd_check(prompt_cache_load(d->prompt_cache, d->session, &of, t->prompt, t->n_prompt, &kept,
				    &whole));
	cmd_check(session_read(d->session, t->prompt, t->n_prompt));
	if (!whole)
		cmd_check(prompt_cache_save(d->prompt_cache, d->session, &of, t->n_prompt));
	return kept;
}

static size_t read_prompt(const struct going_on *t)
{
	if (t->d->prompt_cache)
		return read_with_cache(t);
	cmd_check(session_append(t->d->session, t->prompt, t->n_prompt));
	return 0;
}

static void report_text(const struct going_on *t, const struct generate_result *r, uint64_t now)
{
	if (r->tokens > 1)
		cmd_note("first token after %.3f s, then %.1f tokens/s",
			 clock_seconds(t->d->started, t->first),
			 (double)(r->tokens - 1) / clock_seconds(t->first, now));
	cmd_note("%zu tokens: %s", r->tokens, cmd_decode_reason(t->d, r));
	if (r->shifts)
		cmd_note("the context was shifted %zu times", r->shifts);
}

/* LOGITS: those after the prompt. */
static void go_on(struct going_on *t, struct session *s, const float *logits)
{
	struct cmd_decode *d = t->d;
	const struct generate_options o = { .tokens = (size_t)d->tokens,
					    .stops = d->ends.ids,
					    .n_stops = d->ends_count ? d->ends.n : 0,
					    .before = t->prompt,
					    .n_before = t->n_prompt,
					    .logits = logits,
					    .shift = d->shift,
					    .keep = (size_t)d->keep,
					    .piece = take_piece,
					    .token = take_token,
					    .to = t };
	struct generate_result r;

	t->first = 0;
	t->made = 0;
	t->writer = (struct cmd_decode_writer){ .silent = t->best != NULL };
	cmd_decode_writer_begin(&t->writer, d);
	cmd_check(generate(s, d->sampler, d->lm.tokenizer, &o, &r));
	report_text(t, &r, clock_ns());
	cmd_decode_writer_end(&t->writer);
	if (!t->best)
		cmd_print_char('\n');
	cmd_flush();
}

/* Each on a fork of the session, which holds the prompt. */
static void go_on_often(struct going_on *t, const float *logits)
{
	for (uint64_t i = 0; i < t->d->samples && !cmd_stop_asked(); i++) {
		struct session *s;

		cmd_printf("== sample %" PRIu64 " of %" PRIu64 " ==\n", i + 1, t->d->samples);
		cmd_check(session_fork(&s, t->d->session, t->n_prompt));
		sampler_set_sample(t->d->sampler, i);
		go_on(t, s, logits);
		session_free(s);
	}
}

void cmd_decode_text(struct cmd_decode *d, const int32_t *prompt, size_t n, struct bytes text)
{
	struct going_on t = { .d = d, .prompt = prompt, .n_prompt = n };
	size_t size = (size_t)d->lm.model.config->vocab_size * sizeof(float);
	uint64_t from = clock_ns();
	float *logits;
	size_t kept;

	if (d->logprobs != DECODE_NO_LOGPROBS) {
		t.best = mem_new((size_t)d->logprobs + 1, sizeof(*t.best));
		cmd_check(t.best ? 0 : -1);
	}
	cmd_decode_say_sampling(d);
	if (d->echo) {
		cmd_print_bytes(text);
		cmd_flush();
	}
	kept = read_prompt(&t);
	report_prompt(&t, from, clock_ns(), kept);
	/* Before this there is nothing that could be lost. */
	cmd_stop_gracefully();
	if (d->samples == 1) {
		go_on(&t, d->session, NULL);
	} else {
		/* A session's logits are gone when a fork of it runs. */
		logits = (float *)mem_copy(session_logits(d->session), size);
		cmd_check(logits ? 0 : -1);
		go_on_often(&t, logits);
		free(logits);
	}
	cmd_op_stats(session_plan(d->session), NULL);
	free(t.best);
}
