/* lib/infer/requests_fields.c - the members of a request: which are passed on, and what they say */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/infer/requests_parts.h"

/* --- what is passed on --- */

static const char *const results[] = { "text",	   "finish_reason", "usage",
				       "logprobs", "choices",	    "error" };

static bool is_result(struct bytes key)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (bytes_are(key, results[i]))
			return true;
	return false;
}

static int read_fields(struct json *j, struct buffer *fields)
{
	struct bytes key, raw;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		bool kept = !is_result(key);

		if (kept) {
			if (fields->size)
				buffer_put_u8(fields, ',');
			json_put_string(fields, key);
			buffer_put_u8(fields, ':');
		}
		if (json_skip(j, &raw) < 0)
			return -1;
		if (kept)
			buffer_put(fields, raw.data, raw.size);
	}
	return got < 0 || json_end(j) < 0 ? -1 : buffer_check(fields);
}

int request_read_fields(struct json *j, struct request *r, struct bytes record, const char *name,
			uint64_t line)
{
	struct buffer fields = { 0 };
	const char *kept = NULL;

	json_init(j, record.data, record.size, name, &(struct json_limits){ .line = line });
	if (read_fields(j, &fields) == 0)
		kept = arena_copy(r->arena, buffer_bytes(&fields));
	r->fields = (struct bytes){ kept, kept ? fields.size : 0 };
	buffer_free(&fields);
	return kept ? 0 : -1;
}

/* --- numbers --- */

struct parse {
	struct json *j;
	struct request *r;
	struct request_text *text;
};

static int read_size(struct parse *p, const char *name, uint64_t low, uint64_t high, size_t *out)
{
	uint64_t value;

	if (json_u64(p->j, &value) < 0)
		return -1;
	if (value < low || value > high)
		return json_fail(p->j, "%s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64, name,
				 value, low, high);
	*out = (size_t)value;
	return 0;
}

/* What values may be is the sampler's to say. */
static int read_seed(struct parse *p)
{
	return json_u64(p->j, &p->r->options.sampler.seed);
}

static int read_logprobs(struct parse *p)
{
	bool on;

	if (json_peek(p->j) == JSON_NUMBER)
		return read_size(p, "logprobs", 0, REQUEST_LOGPROBS_MAX, &p->r->options.logprobs);
	if (json_bool(p->j, &on) < 0)
		return -1;
	p->r->options.logprobs = on ? 0 : REQUEST_NO_LOGPROBS;
	return 0;
}

/* --- texts --- */

static int keep_text(struct parse *p, struct bytes *to)
{
	struct bytes text;
	char *copy;

	if (json_string(p->j, &text) < 0)
		return -1;
	copy = arena_copy(p->r->arena, text);
	*to = (struct bytes){ copy, text.size };
	return copy ? 0 : -1;
}

static int read_stop(struct parse *p, struct bytes *to)
{
	if (keep_text(p, to) < 0)
		return -1;
	return to->size ? 0 : json_fail(p->j, "a stop that is empty");
}

static int read_stops(struct parse *p)
{
	struct bytes *stops = arena_alloc(p->r->arena, REQUEST_STOPS_MAX, sizeof(*stops));
	size_t n = 0;
	int got = 0;

	if (!stops)
		return -1;
	if (json_peek(p->j) == JSON_STRING) {
		n = 1;
		got = read_stop(p, stops);
	} else if (json_array(p->j) < 0) {
		return -1;
	} else {
		while ((got = json_item(p->j)) > 0) {
			if (n == REQUEST_STOPS_MAX)
				return json_fail(p->j, "more than %d stops", REQUEST_STOPS_MAX);
			if (read_stop(p, &stops[n++]) < 0)
				return -1;
		}
	}
	p->r->options.stops = stops;
	p->r->options.n_stops = n;
	return got;
}

/* --- biases --- */

static int read_bias(struct parse *p, struct bytes key, struct logit_bias *out)
{
	const char *text = arena_copy(p->r->arena, key);
	double value;
	int64_t id;

	if (!text)
		return -1;
	if (number_i64(text, 0, INT32_MAX, &id) < 0)
		return json_fail(p->j, "logit_bias: '%.*s' is not an id", (int)key.size, key.data);
	if (json_f64(p->j, &value) < 0)
		return -1;
	*out = (struct logit_bias){ .id = (int32_t)id, .value = (float)value };
	return 0;
}

static int read_biases(struct parse *p)
{
	struct logit_bias *found = NULL, *kept = NULL;
	size_t n = 0, capacity = 0;
	struct bytes key;
	int got;

	if (json_object(p->j) < 0)
		return -1;
	while ((got = json_key(p->j, &key)) > 0)
		if (mem_grow(&found, &capacity, n + 1, sizeof(*found)) < 0 ||
		    read_bias(p, key, &found[n++]) < 0) {
			got = -1;
			break;
		}
	if (got == 0)
		kept = arena_alloc(p->r->arena, n + 1, sizeof(*kept));
	if (kept && n)
		memcpy(kept, found, n * sizeof(*kept));
	free(found);
	p->r->options.sampler.bias = kept;
	p->r->options.sampler.n_bias = n;
	return kept ? 0 : -1;
}

/* --- members --- */

static int read_real(struct parse *p, struct bytes key, bool *known)
{
	struct sampler_options *s = &p->r->options.sampler;
	const struct {
		const char *name;
		double *value;
	} reals[] = {
		{ "temperature", &s->temperature },
		{ "top_p", &s->top_p },
		{ "min_p", &s->min_p },
		{ "typical_p", &s->typical },
		{ "top_n_sigma", &s->top_n_sigma },
		{ "repetition_penalty", &s->repetition_penalty },
		{ "frequency_penalty", &s->frequency_penalty },
		{ "presence_penalty", &s->presence_penalty },
	};

	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		if (bytes_are(key, reals[i].name)) {
			*known = true;
			return json_f64(p->j, reals[i].value);
		}
	*known = false;
	return 0;
}

static int read_other(struct parse *p, struct bytes key)
{
	struct request_options *o = &p->r->options;

	if (bytes_are(key, "max_tokens"))
		return read_size(p, "max_tokens", 0, INT32_MAX, &o->tokens);
	if (bytes_are(key, "top_k"))
		return read_size(p, "top_k", 0, INT32_MAX, &o->sampler.top_k);
	if (bytes_are(key, "n"))
		return read_size(p, "n", 1, REQUEST_SAMPLES_MAX, &o->samples);
	if (bytes_are(key, "seed"))
		return read_seed(p);
	if (bytes_are(key, "logprobs"))
		return read_logprobs(p);
	if (bytes_are(key, "ignore_eos"))
		return json_bool(p->j, &o->ignore_eos);
	if (bytes_are(key, "stop"))
		return read_stops(p);
	if (bytes_are(key, "logit_bias"))
		return read_biases(p);
	return json_skip(p->j, NULL);
}

static int read_member(struct parse *p, struct bytes key)
{
	bool known;

	if (bytes_are(key, "prompt")) {
		p->text->has_prompt = true;
		return keep_text(p, &p->text->prompt);
	}
	if (bytes_are(key, "messages")) {
		p->text->has_messages = true;
		return json_skip(p->j, NULL);
	}
	if (json_peek(p->j) == JSON_NULL)
		return json_skip(p->j, NULL);
	if (read_real(p, key, &known) < 0)
		return -1;
	return known ? 0 : read_other(p, key);
}

int request_read_options(struct json *j, struct request *r, struct request_text *text,
			 struct bytes record, const char *name, uint64_t line)
{
	struct parse p = { .j = j, .r = r, .text = text };
	struct bytes key;
	int got;

	json_init(j, record.data, record.size, name, &(struct json_limits){ .line = line });
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0)
		if (read_member(&p, key) < 0)
			return -1;
	if (got < 0)
		return -1;
	if (text->has_prompt == text->has_messages)
		return json_fail(j, text->has_prompt ? "prompt and messages: one of them"
						     : "neither prompt nor messages");
	return 0;
}
