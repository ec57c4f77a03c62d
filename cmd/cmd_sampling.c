/* cmd/cmd_sampling.c - the options of a tool that draws tokens */

#include "cmd/cmd_sampling.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/number.h"

struct cmd_sampling cmd_sampling = { .penalty_last = 64,
				     .dry_allowed = 2,
				     .dry_base = 1.75,
				     .top_p = 1,
				     .typical = 1,
				     .repetition = 1 };

static struct logit_bias *bias; /* owned */
static size_t n_bias, bias_room;
static int32_t *breakers; /* owned */
static size_t n_breakers, breakers_room;

/* --- biases --- */

static void add_bias(int32_t id, float value)
{
	cmd_check(mem_grow(&bias, &bias_room, n_bias + 1, sizeof(*bias)));
	bias[n_bias++] = (struct logit_bias){ id, value };
}

static float bias_value(const char *option, const char *text)
{
	double value;

	if (strcmp(text, "-inf") == 0)
		return -INFINITY;
	if (number_real(text, -1e30, 1e30, &value) < 0)
		cmd_misuse("--logit-bias: '%s': %s; -inf is never", option, err_text());
	return (float)value;
}

/* The one token that TEXT is, as it would go on a text. */
static int32_t token_of(const char *option, struct bytes text, const struct tokenizer *t)
{
	const struct encode_options o = { .special = SPECIAL_PARSE, .start = START_INSIDE };
	struct encoding e = { 0 };
	struct encoder *encoder;
	int32_t id;

	cmd_check(encoder_new(&encoder, t));
	cmd_check(encoder_run(encoder, text, &o, &e));
	if (e.n != 1)
		cmd_misuse("--logit-bias: '%s': the text is %zu tokens, and not one: name an id",
			   option, e.n);
	id = (int32_t)e.ids[0];
	encoding_free(&e);
	encoder_free(encoder);
	return id;
}

/* Digits are an id; what stands in double quotes is a text in any case. */
static void read_bias(const char *option, const struct tokenizer *t, size_t vocabulary)
{
	const char *equals = strrchr(option, '=');
	size_t n = equals ? (size_t)(equals - option) : 0;
	char *left;
	uint64_t id;
	float value;

	if (n == 0)
		cmd_misuse("--logit-bias: '%s' is not ID=X or TEXT=X", option);
	value = bias_value(option, equals + 1);
	left = mem_copy(option, n);
	cmd_check(left ? 0 : -1);
	if (strspn(left, "0123456789") == n) {
		if (number_u64(left, 0, vocabulary - 1, &id) < 0)
			cmd_misuse("--logit-bias: '%s': %s", option, err_text());
		add_bias((int32_t)id, value);
	} else if (n > 2 && left[0] == '"' && left[n - 1] == '"') {
		add_bias(token_of(option, (struct bytes){ left + 1, n - 2 }, t), value);
	} else {
		add_bias(token_of(option, (struct bytes){ left, n }, t), value);
	}
	free(left);
}

/* --- breakers --- */

static bool contains(struct bytes piece, struct bytes text)
{
	for (size_t i = 0; i + text.size <= piece.size; i++)
		if (memcmp(piece.data + i, text.data, text.size) == 0)
			return true;
	return false;
}

/* Every token that has one of the texts in it, and every special one. */
static void find_breakers(const struct tokenizer *t)
{
	static const char *usual[] = { "\n", ":", "\"", "*" };
	struct cmd_list texts = cmd_sampling.breakers;

	if (texts.n == 0)
		texts = (struct cmd_list){ usual, 4 };
	for (uint32_t id = 0; id < tokenizer_vocab_size(t); id++) {
		const struct added_spec *a = tokenizer_added(t, id);
		bool is = a && a->special;

		for (size_t k = 0; k < texts.n && !is; k++)
			is = *texts.items[k] &&
			     contains(tokenizer_piece(t, id), bytes_of(texts.items[k]));
		if (!is)
			continue;
		cmd_check(mem_grow(&breakers, &breakers_room, n_breakers + 1, sizeof(*breakers)));
		breakers[n_breakers++] = (int32_t)id;
	}
}

/* --- all --- */

/* What is given and has no step would do nothing, without a word. */
static void check_steps(const struct sampler_options *o)
{
	for (int step = 0; step < SAMPLER_STEPS; step++) {
		bool listed = false;

		for (size_t i = 0; i < o->n_order; i++)
			listed |= o->order[i] == (enum sampler_step)step;
		if (listed || o->n_order == 0)
			continue;
		if (step == SAMPLER_TEMPERATURE ? o->temperature != 0 && o->temperature != 1
						: sampler_has(o, (enum sampler_step)step))
			cmd_misuse("--samplers leaves out %s, for which there is an option",
				   sampler_step_name((enum sampler_step)step));
	}
}

void cmd_sampling_options(struct sampler_options *out, const struct tokenizer *t, size_t vocabulary,
			  const struct text_ends *ends)
{
	const struct cmd_sampling *s = &cmd_sampling;

	*out = (struct sampler_options){ .temperature = s->temperature,
					 .top_k = (size_t)s->top_k,
					 .top_p = s->top_p,
					 .min_p = s->min_p,
					 .typical = s->typical,
					 .top_n_sigma = s->top_n_sigma,
					 .penalty_last = (size_t)s->penalty_last,
					 .repetition_penalty = s->repetition,
					 .frequency_penalty = s->frequency,
					 .presence_penalty = s->presence,
					 .dry_multiplier = s->dry_multiplier,
					 .dry_base = s->dry_base,
					 .dry_allowed = (size_t)s->dry_allowed,
					 .dry_last = (size_t)s->dry_last,
					 .seed = s->seed };
	if (s->samplers.n && sampler_set_order(out, s->samplers.items, s->samplers.n) < 0)
		cmd_misuse("--samplers: %s", err_text());
	check_steps(out);
	for (size_t i = 0; i < s->bias.n; i++)
		read_bias(s->bias.items[i], t, vocabulary);
	for (size_t i = 0; s->ignore_eos && i < ends->n; i++)
		if (ends->ids[i] < vocabulary)
			add_bias((int32_t)ends->ids[i], -INFINITY);
	if (s->dry_multiplier > 0)
		find_breakers(t);
	out->bias = bias;
	out->n_bias = n_bias;
	out->breakers = breakers;
	out->n_breakers = n_breakers;
}

void cmd_sampling_free(void)
{
	free(bias);
	free(breakers);
}
