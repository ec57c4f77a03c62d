/* lib/infer/requests.c - a request: its tokens, its options; and its answer as a line */

#include "lib/infer/requests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/encode_record.h"
#include "lib/infer/prompt.h"
#include "lib/infer/requests_parts.h"

struct request_reader {
	struct request_reader_options o;
	struct json *json;		/* owned */
	struct record_encoder *encoder; /* owned: of messages; NULL without a template */
	struct encoded_record encoded;
};

/* --- readers --- */

int request_reader_new(struct request_reader **out, const struct request_reader_options *o)
{
	struct request_reader *r = mem_new(1, sizeof(*r));
	int result;

	*out = NULL;
	if (!r)
		return -1;
	r->o = *o;
	result = json_new(&r->json);
	if (result == 0 && o->chat != CHAT_NONE)
		result = record_encoder_new(
			&r->encoder, o->tokenizer,
			&(struct record_options){ .input = RECORD_MESSAGES,
						  .field = "messages",
						  .chat = o->chat,
						  .generation_prompt = true,
						  .encode = { .special = SPECIAL_PLAIN } });
	if (result < 0) {
		struct err_saved saved;

		err_save(&saved);
		request_reader_free(r);
		return err_restore(&saved);
	}
	*out = r;
	return 0;
}

void request_reader_free(struct request_reader *r)
{
	if (!r)
		return;
	json_free(r->json);
	record_encoder_free(r->encoder);
	encoded_record_free(&r->encoded);
	free(r);
}

/* --- requests --- */

void request_free(struct request *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->answers && i < r->options.samples; i++) {
		buffer_free(&r->answers[i].text);
		buffer_free(&r->answers[i].logprobs);
	}
	free(r->answers);
	free(r->ids);
	free(r->error);
	arena_free(r->arena);
	free(r);
}

int request_fail(struct request *r)
{
	if (r->error || err_last() == ERR_MEMORY)
		return r->error ? 0 : -1;
	r->error = mem_format("%s", err_text());
	return r->error ? 0 : -1;
}

static int encode_messages(struct request_reader *rd, struct request *r, struct bytes record,
			   const char *name, uint64_t line)
{
	const struct encoding *e = &rd->encoded.encoding;

	if (!rd->encoder)
		return err_set(ERR_MISSING, "%s:%" PRIu64 ": messages, and no chat template", name,
			       line);
	if (record_encode(rd->encoder, record, &(struct record_place){ .name = name, .line = line },
			  &rd->encoded) < 0)
		return -1;
	r->ids = mem_new(e->n, sizeof(*r->ids));
	if (!r->ids)
		return -1;
	for (size_t i = 0; i < e->n; i++)
		r->ids[i] = (int32_t)e->ids[i];
	r->n_ids = e->n;
	return 0;
}

static int encode(struct request_reader *rd, struct request *r, const struct request_text *text,
		  struct bytes record, const char *name, uint64_t line)
{
	int result = text->has_messages ? encode_messages(rd, r, record, name, line)
					: prompt_encode(&r->ids, &r->n_ids, rd->o.tokenizer,
							rd->o.config, text->prompt, rd->o.special);

	if (result < 0)
		return -1;
	if (r->n_ids > rd->o.context)
		return err_set(ERR_LIMIT,
			       "%s:%" PRIu64 ": a prompt of %zu tokens: the context holds %zu",
			       name, line, r->n_ids, rd->o.context);
	return 0;
}

/* Values that no sampler takes are the request's error, not one of a later step. */
static int check_sampler(const struct request_reader *rd, const struct request *r)
{
	struct sampler *s;

	if (sampler_new(&s, &r->options.sampler, (size_t)rd->o.config->vocab_size) < 0)
		return -1;
	sampler_free(s);
	return 0;
}

static int read_all(struct request_reader *rd, struct request *r, struct bytes record,
		    const char *name, uint64_t line)
{
	struct request_text text = { 0 };

	if (request_read_fields(rd->json, r, record, name, line) < 0 ||
	    request_read_options(rd->json, r, &text, record, name, line) < 0 ||
	    encode(rd, r, &text, record, name, line) < 0)
		return -1;
	return check_sampler(rd, r) < 0 ? err_prefix("%s:%" PRIu64, name, line) : 0;
}

int request_read(struct request_reader *rd, struct bytes record, const char *name, uint64_t line,
		 struct request **out)
{
	struct request *r = mem_new(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return -1;
	r->options = rd->o.defaults;
	if (r->options.samples == 0)
		r->options.samples = 1;
	if (arena_new(&r->arena) < 0 ||
	    (read_all(rd, r, record, name, line) < 0 && request_fail(r) < 0))
		goto failed;
	r->answers = mem_new(r->options.samples, sizeof(*r->answers));
	if (!r->answers)
		goto failed;
	*out = r;
	return 0;
failed:
	request_free(r);
	return -1;
}

/* --- answers --- */

static void put_answer(struct buffer *b, const struct answer *a, bool logprobs)
{
	json_put_text_member(b, "text", buffer_bytes(&a->text));
	json_put_text_member(b, "finish_reason",
			     bytes_of(a->reason == ANSWER_STOP ? "stop" : "length"));
	if (!logprobs)
		return;
	json_put_key(b, "logprobs");
	buffer_put_u8(b, '[');
	buffer_put(b, a->logprobs.data, a->logprobs.size);
	buffer_put_u8(b, ']');
}

static void put_choices(struct buffer *b, const struct request *r, bool logprobs)
{
	json_put_key(b, "choices");
	buffer_put_u8(b, '[');
	for (size_t i = 0; i < r->options.samples; i++) {
		json_put_comma(b);
		buffer_put_u8(b, '{');
		put_answer(b, &r->answers[i], logprobs);
		buffer_put_u8(b, '}');
	}
	buffer_put_u8(b, ']');
}

static void put_usage(struct buffer *b, const struct request *r)
{
	uint64_t tokens = 0;

	for (size_t i = 0; i < r->options.samples; i++)
		tokens += r->answers[i].tokens;
	json_put_key(b, "usage");
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "prompt_tokens", r->n_ids);
	json_put_u64_member(b, "completion_tokens", tokens);
	buffer_put_u8(b, '}');
}

void request_put(struct buffer *b, const struct request *r)
{
	bool logprobs = r->options.logprobs != REQUEST_NO_LOGPROBS;

	buffer_put_u8(b, '{');
	buffer_put(b, r->fields.data, r->fields.size);
	if (r->error) {
		json_put_text_member(b, "finish_reason", bytes_of("error"));
		json_put_text_member(b, "error", bytes_of(r->error));
	} else {
		if (r->options.samples > 1)
			put_choices(b, r, logprobs);
		else
			put_answer(b, &r->answers[0], logprobs);
		put_usage(b, r);
	}
	buffer_put_text(b, "}\n");
}
