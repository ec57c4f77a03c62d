/* cmd/cmd_sample.c - a text goes on */

#include "cmd/cmd_sample.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/prompt.h"

struct cmd_sample {
	struct cmd_sample_options options;
	int32_t *prompt; /* owned */
	size_t n_prompt;
	struct session *session;
	struct sampler *sampler;
};

/* --- making --- */

static int make_session(struct cmd_sample *s)
{
	const struct cmd_sample_options *o = &s->options;
	struct session_options session = { .backend = o->backend,
					   .team = o->team,
					   .compute = o->compute,
					   .cache = DTYPE_F32,
					   .context = s->n_prompt + o->tokens };
	struct sampler_options sampler = { .temperature = o->temperature,
					   .top_p = CMD_SAMPLE_TOP_P,
					   .seed = o->seed };

	if (s->n_prompt >= o->config->context)
		return err_set(ERR_ARGUMENT,
			       "--sample: a text of %zu tokens, and the model has %zu", s->n_prompt,
			       (size_t)o->config->context);
	if (session.context > o->config->context)
		session.context = (size_t)o->config->context;
	if (session_new(&s->session, o->config, o->store, &session) < 0)
		return -1;
	return sampler_new(&s->sampler, &sampler, (size_t)o->config->vocab_size);
}

static int encode_prompt(struct cmd_sample *s)
{
	const struct cmd_sample_options *o = &s->options;

	return prompt_encode(&s->prompt, &s->n_prompt, o->tokenizer, o->config, bytes_of(o->prompt),
			     SPECIAL_PARSE);
}

int cmd_sample_new(struct cmd_sample **out, const struct cmd_sample_options *o)
{
	struct cmd_sample *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->options = *o;
	if (encode_prompt(s) < 0 || make_session(s) < 0) {
		cmd_sample_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void cmd_sample_free(struct cmd_sample *s)
{
	if (!s)
		return;
	session_free(s->session);
	sampler_free(s->sampler);
	free(s->prompt);
	free(s);
}

/* --- writing --- */

static int put_piece(void *to, struct bytes text)
{
	buffer_put(to, text.data, text.size);
	return 0;
}

int cmd_sample_write(struct cmd_sample *s, struct buffer *text)
{
	const struct hf_config *c = s->options.config;
	struct generate_result result;
	const struct generate_options o = { .tokens = s->options.tokens,
					    .stops = c->eos.ids,
					    .n_stops = c->eos.n,
					    .before = s->prompt,
					    .n_before = s->n_prompt,
					    .piece = put_piece,
					    .to = text };

	buffer_put_text(text, s->options.prompt);
	session_rewind(s->session, 0);
	if (session_append(s->session, s->prompt, s->n_prompt) < 0 ||
	    generate(s->session, s->sampler, s->options.tokenizer, &o, &result) < 0)
		return -1;
	return buffer_check(text);
}
