/* lib/infer/generate.c - text goes on: tokenizer, session and sampler together */

#include "lib/infer/generate.h"

#include "lib/base/buffer.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/text/decode.h"

struct writer {
	const struct tokenizer *tokenizer;
	struct text_decoder *decoder;
	struct buffer text;
};

static int add(struct writer *w, int32_t id)
{
	const struct added_spec *added = tokenizer_added(w->tokenizer, (uint32_t)id);

	if (added && added->special)
		return 0;
	return text_decoder_add(w->decoder, tokenizer_piece(w->tokenizer, (uint32_t)id),
				added != NULL, &w->text);
}

static int begin(struct writer *w, const struct tokenizer *t, const struct generate_options *o)
{
	const struct tokenizer_spec *s = tokenizer_spec(t);

	*w = (struct writer){ .tokenizer = t };
	if (text_decoder_new(&w->decoder, s->decoders, s->n_decoders, tokenizer_is_byte_level(t),
			     false) < 0)
		return -1;
	for (size_t i = 0; i < o->n_before; i++)
		if (add(w, o->before[i]) < 0)
			return -1;
	buffer_clear(&w->text);
	return 0;
}

static void end(struct writer *w)
{
	text_decoder_free(w->decoder);
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

/* The next token, into the session if there is one before it. 1: a token, 0: the end, -1 with the error set. */
static int next(struct session *session, struct sampler *sampler, const struct generate_options *o,
		struct generate_result *out)
{
	int32_t id;

	out->reason = GENERATE_LENGTH;
	if (o->tokens && out->tokens == o->tokens)
		return 0;
	if (out->tokens) {
		if (session_length(session) == session_context(session))
			return 0;
		if (session_append(session, &out->last, 1) < 0)
			return -1;
	}
	id = sampler_pick(sampler, session_logits(session), session_length(session));
	if (id < 0)
		return -1;
	if (is_stop(o, id)) {
		out->reason = GENERATE_STOP;
		return 0;
	}
	out->last = id;
	out->tokens++;
	return 1;
}

static int go_on(struct session *session, struct sampler *sampler, struct writer *w,
		 const struct generate_options *o, struct generate_result *out)
{
	int more;

	while ((more = next(session, sampler, o, out)) > 0) {
		bool enough = o->token && o->token(o->to, out->last, session_logits(session));

		if (add(w, out->last) < 0)
			return -1;
		if (pass_on(w, o) || enough) {
			out->reason = GENERATE_CANCEL;
			return 0;
		}
	}
	if (more < 0 || text_decoder_end(w->decoder, &w->text) < 0)
		return -1;
	if (pass_on(w, o))
		out->reason = GENERATE_CANCEL;
	return 0;
}

int generate(struct session *session, struct sampler *sampler, const struct tokenizer *tokenizer,
	     const struct generate_options *o, struct generate_result *out)
{
	uint64_t start = clock_ns();
	struct writer w;
	int result;

	*out = (struct generate_result){ .last = -1 };
	if (!session_logits(session))
		return err_set(ERR_ARGUMENT, "a text cannot go on before its first token");
	result = begin(&w, tokenizer, o);
	if (result == 0)
		result = go_on(session, sampler, &w, o, out);
	end(&w);
	out->seconds = clock_seconds(start, clock_ns());
	return result;
}
