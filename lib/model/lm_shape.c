/* lib/model/lm_shape.c - the sizes of a language model that is to be made */

#include "lib/model/lm_shape.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"

#define HEAD_DIM  64
#define IN_64S(n) (((n) + 63) / 64 * 64)

/* clang-format off */
const struct lm_preset lm_presets[] = {
	{ "nano",    2,  128,  256,  1024, "tests: seconds to train" },
	{ "tiny",    4,  256,  512,  4096, "a demonstration: minutes on two cores" },
	{ "small",   6,  384, 1024,  8192, "one kind of text: hours on a laptop" },
	{ "medium",  8,  512, 1024, 16384, "stories, documentation" },
	{ "base",   12,  768, 2048, 32000, "the class of GPT-2 small" },
	{ "large",  24, 1024, 2048, 32000, "the class of GPT-2 medium" },
	{ "xl",     24, 2048, 4096, 32000, "a thousand million" },
	{ 0 },
};
/* clang-format on */

const struct lm_preset *lm_preset(const char *name)
{
	for (const struct lm_preset *p = lm_presets; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

/* --- what follows --- */

static bool is_plain(enum hf_architecture a)
{
	return a == HF_GPT2 || a == HF_BERT;
}

/* Heads of 64; where they do not divide the width, the next fewer that do. */
static uint32_t heads_of(uint64_t width)
{
	uint64_t heads = width / HEAD_DIM < UINT32_MAX ? width / HEAD_DIM : UINT32_MAX;

	while (heads > 1 && width % heads)
		heads--;
	return heads ? (uint32_t)heads : 1;
}

/* The fewest that divide HEADS and are a third of them at least. */
static uint32_t kv_heads_of(uint32_t heads)
{
	uint32_t kv = (heads - 1) / 3 + 1;

	while (heads % kv)
		kv++;
	return kv;
}

void lm_shape_complete(struct lm_shape *s, enum hf_architecture a)
{
	if (!s->heads)
		s->heads = s->head_dim ? (uint32_t)(s->width / s->head_dim) : heads_of(s->width);
	if (!s->heads)
		s->heads = 1;
	if (!s->kv_heads)
		s->kv_heads = is_plain(a) ? s->heads : kv_heads_of(s->heads);
	if (!s->head_dim)
		s->head_dim = (uint32_t)(s->width / s->heads);
	if (!s->ffn)
		s->ffn = is_plain(a) ? 4 * s->width : IN_64S(s->width * 8 / 3);
}

struct lm_shape lm_shape_of(const struct hf_config *c)
{
	return (struct lm_shape){ .layers = c->n_layers,
				  .heads = c->n_heads,
				  .kv_heads = c->n_kv_heads,
				  .head_dim = c->head_dim,
				  .width = c->hidden_size,
				  .ffn = c->ffn_size };
}

static bool same_layer(const struct hf_config *c, uint32_t i, uint32_t k)
{
	return c->layer_attention[i] == c->layer_attention[k] &&
	       c->layer_rope[i] == c->layer_rope[k];
}

/* The least P for which each layer is as the one P before it, by Knuth, Morris and Pratt's borders; 0 with the error set. */
static uint32_t period_of(const struct hf_config *c, struct arena *arena)
{
	uint32_t *border = arena_alloc(arena, (size_t)c->n_layers + 1, sizeof(*border)), b = 0;

	if (!border)
		return 0;
	for (uint32_t i = 1; i < c->n_layers; i++) {
		while (b && !same_layer(c, i, b))
			b = border[b];
		if (same_layer(c, i, b))
			b++;
		border[i + 1] = b;
	}
	return c->n_layers - b;
}

static bool slides(const struct hf_config *c)
{
	for (uint32_t i = 0; i < c->n_layers; i++)
		if (c->layer_attention[i] == HF_SLIDING)
			return true;
	return false;
}

static int set_layers(struct hf_config *c, struct arena *arena, uint32_t layers)
{
	uint8_t *kinds = arena_alloc(arena, layers ? layers : 1, sizeof(*kinds));
	bool *rope = arena_alloc(arena, layers ? layers : 1, sizeof(*rope));
	uint32_t period = period_of(c, arena);

	if (!kinds || !rope || !period)
		return -1;
	for (uint32_t i = 0; i < layers; i++) {
		kinds[i] = c->layer_attention[i % period];
		rope[i] = c->layer_rope[i % period];
	}
	c->layer_attention = kinds;
	c->layer_rope = rope;
	c->n_layers = layers;
	if (!slides(c))
		c->window = 0;
	return 0;
}

int lm_shape_apply(const struct lm_shape *s, struct hf_config *c, struct arena *arena)
{
	if (s->layers > HF_LAYERS_MAX)
		return err_set(ERR_ARGUMENT, "%" PRIu32 " layers: at most %d", s->layers,
			       HF_LAYERS_MAX);
	if (s->layers != c->n_layers && set_layers(c, arena, s->layers) < 0)
		return -1;
	c->n_heads = s->heads;
	c->n_kv_heads = s->kv_heads;
	c->head_dim = s->head_dim;
	c->hidden_size = s->width;
	c->ffn_size = s->ffn;
	return hf_config_check(c, "the model");
}

/* --- by parameters --- */

#define FACTOR_MAX 1.25
#define WIDTH_MAX  65536
#define LAYERS_MAX 1024

struct candidate {
	struct lm_shape shape;
	uint64_t parameters;
	double cost;
};

/* S complete as C's sizes; only what counting looks at. 0: it cannot be. */
static uint64_t count_with(const struct hf_config *c, struct lm_shape *s)
{
	struct hf_config trial = *c;
	uint64_t n;

	lm_shape_complete(s, c->architecture);
	trial.n_layers = s->layers;
	trial.n_heads = s->heads;
	trial.n_kv_heads = s->kv_heads;
	trial.head_dim = s->head_dim;
	trial.hidden_size = s->width;
	trial.ffn_size = s->ffn;
	if (s->heads % s->kv_heads || s->head_dim % 2)
		return 0;
	return hf_config_n_parameters(&trial, &n) ? n : 0;
}

/* Many heads whose number nothing divides would all have keys and values of their own. */
static bool groups(const struct lm_shape *s, const struct hf_config *c)
{
	return is_plain(c->architecture) || s->heads < 4 || s->kv_heads < s->heads;
}

static void try_shape(struct candidate *best, const struct hf_config *c, struct lm_shape s,
		      uint64_t wanted)
{
	bool chosen = s.kv_heads == 0;
	double ratio = (double)s.width / (HEAD_DIM * (double)s.layers), cost;
	uint64_t n = count_with(c, &s);

	if (!n || (chosen && !groups(&s, c)))
		return;
	cost = fabs(log((double)n / (double)wanted)) + fabs(log(ratio)) / 10;
	if (cost < best->cost)
		*best = (struct candidate){ s, n, cost };
}

/* Parameters grow with the layers by the same number each: the layers on both sides of what is wanted. */
static void try_width(struct candidate *best, const struct hf_config *c, struct lm_shape s,
		      uint64_t wanted)
{
	struct lm_shape one = s, two = s;
	uint64_t n1, n2, layers;

	if (s.layers) {
		try_shape(best, c, s, wanted);
		return;
	}
	one.layers = 1;
	two.layers = 2;
	n1 = count_with(c, &one);
	n2 = count_with(c, &two);
	if (!n1 || n2 <= n1)
		return;
	layers = wanted > n1 ? 1 + (wanted - n1) / (n2 - n1) : 1;
	for (uint64_t l = layers; l <= layers + 1 && l <= LAYERS_MAX; l++) {
		s.layers = (uint32_t)l;
		try_shape(best, c, s, wanted);
	}
}

int lm_shape_solve(struct lm_shape *s, const struct hf_config *c, uint64_t parameters)
{
	struct candidate best = { .cost = INFINITY };
	double factor;

	if (s->width)
		try_width(&best, c, *s, parameters);
	for (uint64_t width = HEAD_DIM; !s->width && width <= WIDTH_MAX; width += HEAD_DIM) {
		struct lm_shape trial = *s;

		trial.width = width;
		try_width(&best, c, trial, parameters);
	}
	if (best.cost == INFINITY)
		return err_set(ERR_ARGUMENT, "no shape has %" PRIu64 " parameters", parameters);
	factor = fabs(log((double)best.parameters / (double)parameters));
	if (factor > log(FACTOR_MAX))
		return err_set(ERR_ARGUMENT,
			       "no shape has %" PRIu64 " parameters with a vocabulary of %" PRIu64
			       ": the nearest, %" PRIu32 " x %" PRIu64
			       " (layers, width), has %" PRIu64,
			       parameters, c->vocab_size, best.shape.layers, best.shape.width,
			       best.parameters);
	*s = best.shape;
	return 0;
}

/* --- what it costs --- */

/* Keys that a token of CONTEXT sees on average, of the last WINDOW (0: all). */
static double keys_seen(const struct hf_config *c, uint32_t layer, uint64_t context)
{
	bool sliding = c->layer_attention[layer] == HF_SLIDING;
	double n = (double)context, w = (double)c->window;

	if (sliding && c->bidirectional)
		return 2 * w - 1 < n ? 2 * w - 1 : n;
	if (c->bidirectional)
		return n;
	/* The first w see 1, 2, ... w, all others w. */
	if (sliding && w < n)
		return (w * (w + 1) / 2 + (n - w) * w) / n;
	return (n + 1) / 2;
}

int lm_cost_of(struct lm_cost *out, const struct hf_config *c, uint64_t context)
{
	uint64_t table = c->vocab_size * c->hidden_size;
	double keys = 0;

	*out = (struct lm_cost){ .embedding = table };
	if (!hf_config_n_parameters(c, &out->parameters))
		return err_set(ERR_UNSUPPORTED, "the parameters of a " BYTES_FMT " are not counted",
			       BYTES_ARG(c->class_name));
	if (c->position != HF_POSITION_ROPE)
		out->embedding += (c->context + c->type_vocab_size) * c->hidden_size;
	if (!c->tie_word_embeddings)
		out->head = table;
	for (uint32_t i = 0; i < c->n_layers; i++)
		keys += keys_seen(c, i, context);
	out->weights = 6 * ((double)(out->parameters - out->embedding) +
			    (c->tie_word_embeddings ? (double)table : 0));
	out->attention = 12 * keys * c->n_heads * c->head_dim;
	return 0;
}
