/* lib/infer/generate.c - text goes on: tokenizer, session and sampler together */

#include "lib/infer/generate.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/token_text.h"

struct writer {
	struct token_text *tokens; /* owned */
	struct buffer text;
};

static void end(struct writer *w)
{
	token_text_free(w->tokens);
	buffer_free(&w->text);
}

/* What is certain by now goes to the caller; other than 0: it has had enough. */
static int pass_on(struct writer *w, const struct generate_options *o)
{
	int enough = 0;

	if (w->text.size && o->piece)
		enough = o->piece(o->to, buffer_bytes(&w->text));
	buffer_clear(&w->text);
	return enough;
}

static bool is_stop(const struct generate_options *o, int32_t id)
{
	for (size_t i = 0; i < o->n_stops; i++)
		if (o->stops[i] == (uint32_t)id)
			return true;
	return false;
}

/* --- the next token --- */

struct run {
	struct session *session;
	struct sampler *sampler;
	const struct generate_options *o;
	int32_t *history; /* owned */
	size_t n, capacity;
	const float *logits; /* after it */
};

static int begin_run(struct run *r, struct session *session, struct sampler *sampler,
		     const struct generate_options *o)
{
	*r = (struct run){ .session = session, .sampler = sampler, .o = o };
	r->logits = o->logits ? o->logits : session_logits(session);
	if (!r->logits)
		return err_set(ERR_ARGUMENT, "a text cannot go on before its first token");
	if (mem_grow(&r->history, &r->capacity, o->n_before + 1, sizeof(*r->history)) < 0)
		return -1;
	if (o->n_before)
		memcpy(r->history, o->before, o->n_before * sizeof(*r->history));
	r->n = o->n_before;
	return 0;
}

/* The session holds the first tokens and the last ones of the history from now on. */
static int shift(struct run *r)
{
	size_t context = session_context(r->session), keep = r->o->keep;
	size_t last = (context - keep) / 2;

	session_rewind(r->session, keep);
	return session_append(r->session, r->history + (r->n - last), last);
}

/* The last token into the session. 1: it is there, 0: the context is full. */
static int read_last(struct run *r, struct generate_result *out)
{
	if (session_length(r->session) == session_context(r->session)) {
		if (!r->o->shift)
			return 0;
		out->shifts++;
		if (shift(r) < 0)
			return -1;
	} else if (session_append(r->session, &out->last, 1) < 0) {
		return -1;
	}
	r->logits = session_logits(r->session);
	return 1;
}

static int add_history(struct run *r, int32_t id)
{
	if (mem_grow(&r->history, &r->capacity, r->n + 1, sizeof(*r->history)) < 0)
		return -1;
	r->history[r->n++] = id;
	return 0;
}

/* 1: a token, 0: the end, -1 with the error set. */
static int next(struct run *r, struct generate_result *out)
{
	int32_t id;
	int got;

	out->reason = GENERATE_LENGTH;
	if (r->o->tokens && out->tokens == r->o->tokens)
		return 0;
	if (out->tokens && (got = read_last(r, out)) <= 0)
		return got;
	id = sampler_pick(r->sampler, r->logits, r->history, r->n, r->n);
	if (id < 0)
		return err_prefix("at the place %zu", r->n);
	if (is_stop(r->o, id)) {
		out->reason = GENERATE_STOP;
		return 0;
	}
	out->last = id;
	out->tokens++;
	return add_history(r, id) < 0 ? -1 : 1;
}

static int go_on(struct run *r, struct writer *w, struct generate_result *out)
{
	const struct generate_options *o = r->o;
	int more;

	while ((more = next(r, out)) > 0) {
		bool enough = o->token && o->token(o->to, out->last, r->logits);

		if (token_text_add(w->tokens, out->last, &w->text) < 0)
			return -1;
		if (pass_on(w, o) || enough) {
			out->reason = GENERATE_CANCEL;
			return 0;
		}
	}
	if (more < 0 || token_text_end(w->tokens, &w->text) < 0)
		return -1;
	if (pass_on(w, o))
		out->reason = GENERATE_CANCEL;
	return 0;
}

int generate(struct session *session, struct sampler *sampler, const struct tokenizer *tokenizer,
	     const struct generate_options *o, struct generate_result *out)
{
	uint64_t start = clock_ns();
	struct writer w = { 0 };
	struct run r;
	int result;

	*out = (struct generate_result){ .last = -1 };
	result = begin_run(&r, session, sampler, o);
	if (result == 0)
		result = token_text_new(&w.tokens, tokenizer, o->before, o->n_before);
	if (result == 0)
		result = go_on(&r, &w, out);
	end(&w);
	free(r.history);
	out->seconds = clock_seconds(start, clock_ns());
	return result;
}
