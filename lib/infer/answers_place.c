/* lib/infer/answers_place.c - one text of a batch: its draws, its text, its end */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/answers_parts.h"

/* --- begin and end --- */

/* With ignore_eos the ends of a text are never drawn, all of them. */
static int make_sampler(struct answers *b, struct place *p, const struct request_options *o)
{
	struct sampler_options s = o->sampler;
	struct logit_bias *bias = mem_new(s.n_bias + b->o.n_ends, sizeof(*bias));
	int result;

	if (!bias)
		return -1;
	if (s.n_bias)
		memcpy(bias, s.bias, s.n_bias * sizeof(*bias));
	for (size_t i = 0; o->ignore_eos && i < b->o.n_ends; i++)
		if (b->o.ends[i] < b->o.config->vocab_size)
			bias[s.n_bias++] = (struct logit_bias){ (int32_t)b->o.ends[i], -INFINITY };
	s.bias = bias;
	s.sample = p->answer;
	s.room = b->room;
	result = sampler_new(&p->sampler, &s, (size_t)b->o.config->vocab_size);
	free(bias);
	return result;
}

int place_begin(struct answers *b, struct place *p, struct entry *e)
{
	const struct request *r = e->request;
	const struct request_options *o = &r->options;
	size_t most = engine_context(b->o.engine) - r->n_ids + 1;

	p->entry = e;
	p->answer = e->begun;
	p->tokens = o->tokens && o->tokens < most ? o->tokens : most;
	if (mem_grow(&p->ids, &p->capacity, r->n_ids + 1, sizeof(*p->ids)) < 0)
		return -1;
	memcpy(p->ids, r->ids, r->n_ids * sizeof(*p->ids));
	p->n_ids = r->n_ids;
	if (p->trunk)
		return 0;
	if (o->logprobs != REQUEST_NO_LOGPROBS) {
		p->top = mem_new(o->logprobs + 1, sizeof(*p->top));
		if (!p->top)
			return -1;
	}
	return make_sampler(b, p, o) < 0 ||
			       token_text_new(&p->text, b->o.tokenizer, r->ids, r->n_ids) < 0 ||
			       stop_text_new(&p->stops, o->stops, o->n_stops) < 0
		       ? -1
		       : 0;
}

void place_end(struct place *p)
{
	sampler_free(p->sampler);
	token_text_free(p->text);
	stop_text_free(p->stops);
	free(p->top);
	free(p->ids);
	*p = (struct place){ .sequence = -1 };
}

/* The last token is drawn, and not read. */
size_t place_most(const struct place *p)
{
	return p->entry->request->n_ids + (p->trunk ? 0 : p->tokens - 1);
}

/* --- a token --- */

static struct answer *answer_of(const struct place *p)
{
	return &p->entry->request->answers[p->answer];
}

static void put_logprob(struct buffer *out, const struct answers *b, int32_t id, double value)
{
	json_put_u64_member(out, "id", (uint64_t)id);
	json_put_text_member(out, "token", tokenizer_piece(b->o.tokenizer, (uint32_t)id));
	json_put_f64_member(out, "logprob", value);
}

static void put_logprobs(const struct answers *b, const struct place *p, int32_t id,
			 const float *logits)
{
	struct buffer *out = &answer_of(p)->logprobs;
	size_t n = (size_t)b->o.config->vocab_size, k = p->entry->request->options.logprobs;
	double own;

	k = k < n ? k : n;
	logprobs(logits, n, k, p->top, id, &own);
	if (out->size)
		buffer_put_u8(out, ',');
	buffer_put_u8(out, '{');
	put_logprob(out, b, id, own);
	json_put_key(out, "top");
	buffer_put_u8(out, '[');
	for (size_t i = 0; i < k; i++) {
		buffer_put_text(out, i ? ",{" : "{");
		put_logprob(out, b, p->top[i].id, p->top[i].value);
		buffer_put_u8(out, '}');
	}
	buffer_put_text(out, "]}");
}

static bool ends_text(const struct answers *b, const struct place *p, int32_t id)
{
	for (size_t i = 0; i < b->o.n_ends && !p->entry->request->options.ignore_eos; i++)
		if (b->o.ends[i] == (uint32_t)id)
			return true;
	return false;
}

/* What is certain of the text by now, or all of it. 1: a stop was found. */
static int add_text(struct place *p, int32_t id, bool last)
{
	struct buffer *text = &answer_of(p)->text, piece = { 0 };
	int found = last ? token_text_end(p->text, &piece) : token_text_add(p->text, id, &piece);

	if (found == 0)
		found = buffer_check(&piece);
	if (found == 0)
		found = stop_text_add(p->stops, buffer_bytes(&piece), text);
	if (last && found == 0)
		stop_text_end(p->stops, text);
	buffer_free(&piece);
	return found < 0 ? -1 : found;
}

static int end_text(struct place *p, enum answer_reason reason)
{
	int found = add_text(p, 0, true);

	answer_of(p)->reason = found > 0 ? ANSWER_STOP : reason;
	return found < 0 ? -1 : buffer_check(&answer_of(p)->text);
}

static int keep_token(struct answers *b, struct place *p, int32_t id, const float *logits)
{
	if (mem_grow(&p->ids, &p->capacity, p->n_ids + 1, sizeof(*p->ids)) < 0)
		return -1;
	p->ids[p->n_ids++] = id;
	answer_of(p)->tokens++;
	b->counts.tokens++;
	if (p->top)
		put_logprobs(b, p, id, logits);
	return buffer_check(&answer_of(p)->logprobs);
}

int place_draw(struct answers *b, struct place *p, const float *logits)
{
	int32_t id = sampler_pick(p->sampler, logits, p->ids, p->n_ids, p->n_ids);
	int found;

	if (id < 0) {
		err_prefix("at the place %zu", p->n_ids);
		return request_fail(p->entry->request);
	}
	if (ends_text(b, p, id))
		return end_text(p, ANSWER_STOP);
	if (keep_token(b, p, id, logits) < 0)
		return -1;
	found = add_text(p, id, false);
	if (found < 0)
		return -1;
	if (found) {
		answer_of(p)->reason = ANSWER_STOP;
		return 0;
	}
	return answer_of(p)->tokens == p->tokens ? end_text(p, ANSWER_LENGTH) : 1;
}
