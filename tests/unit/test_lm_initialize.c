/* tests/unit/test_lm_initialize.c - first values: their deviations, by name and seed, whatever the order and the threads */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/model/lm.h"
#include "tests/tap.h"

static double mean_square(const struct store_entry *e)
{
	const float *x = e->data;
	size_t n = shape_elements(&e->shape);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum / (double)n;
}

/* N values of this deviation: their mean square is off by 5 of its own deviations at most. */
static void check_deviation(const struct store *s, const char *name, double want)
{
	const struct store_entry *e = store_find(s, name);
	double got = e ? mean_square(e) : NAN, n = e ? (double)shape_elements(&e->shape) : 1;

	tap_ok(fabs(got / (want * want) - 1) < 5 * sqrt(2 / n), "%s: %.4g is near %.4g", name,
	       sqrt(got), want);
}

static void check_all(const struct store *s, const char *name, float want)
{
	const struct store_entry *e = store_find(s, name);
	bool same = e;

	for (size_t i = 0; e && i < shape_elements(&e->shape); i++)
		same = same && ((const float *)e->data)[i] == want;
	tap_ok(same, "%s is %g", name, (double)want);
}

/* Declared and filled; in the opposite order with BACKWARDS. */
static struct store *filled(const struct hf_config *c, enum lm_init how, uint64_t seed,
			    bool backwards)
{
	struct store *s, *other;

	tap_works(store_new(&s), "a store");
	tap_works(lm_declare(s, c), "declared");
	if (backwards) {
		tap_works(store_new(&other), "a store");
		for (size_t i = store_n(s); i-- > 0;)
			store_add(other, store_at(s, i)->name, STORE_PARAMETER, DTYPE_F32,
				  &store_at(s, i)->shape);
		store_free(s);
		s = other;
	}
	tap_works(lm_initialize(s, c, how, seed, NULL), "filled");
	return s;
}

static bool same_values(const struct store *a, const struct store *b, const char *name)
{
	const struct store_entry *x = store_find(a, name), *y = store_find(b, name);

	return x && y && x->size == y->size && memcmp(x->data, y->data, x->size) == 0;
}

static void check_order(const struct hf_config *c)
{
	static const char layer0[] = "model.layers.0.mlp.up_proj.weight",
			  layer1[] = "model.layers.1.mlp.up_proj.weight";
	struct store *a = filled(c, LM_INIT_GPT2, 7, false), *b = filled(c, LM_INIT_GPT2, 7, true);
	struct store *other = filled(c, LM_INIT_GPT2, 8, false);
	size_t same = 0;

	for (size_t i = 0; i < store_n(a); i++)
		same += same_values(a, b, store_at(a, i)->name);
	tap_is_u64(same, store_n(a), "the order of entries does not matter");
	tap_ok(!same_values(a, other, layer0), "another seed gives other values");
	tap_ok(store_find(a, layer1) &&
		       memcmp(store_find(a, layer0)->data, store_find(a, layer1)->data,
			      store_find(a, layer0)->size) != 0,
	       "and another name does");
	store_free(a);
	store_free(b);
	store_free(other);
}

/* A matrix of several pieces of work, whose last is cut short: each value is that of its place. */
static void check_team(const struct hf_config *c)
{
	static const char name[] = "model.layers.0.mlp.up_proj.weight";
	struct random_stream r = random_at(7, 0, hash_short(name, strlen(name), 0));
	struct store *s[2];
	struct team *team;
	size_t wrong = 0;

	tap_works(team_new(&team, 3), "three threads");
	for (int i = 0; i < 2; i++) {
		tap_works(store_new(&s[i]), "a store");
		store_add(s[i], name, STORE_PARAMETER, DTYPE_F32, &SHAPE(301, 701));
		tap_works(lm_initialize(s[i], c, LM_INIT_GPT2, 7, i ? team : NULL), "filled");
	}
	tap_ok(same_values(s[0], s[1], name), "the same values by one thread and by three");
	for (size_t i = 0; i < 301 * 701; i++)
		wrong += ((const float *)store_at(s[1], 0)->data)[i] !=
			 (float)(c->initializer_range * (double)random_normal(&r, 0, i));
	tap_is_u64(wrong, 0, "each of its place");
	store_free(s[0]);
	store_free(s[1]);
	team_free(team);
}

static void test_initialize(void)
{
	struct lm llama, gemma, gpt2;
	struct hf_config wide;
	struct store *s;

	if (!tap_works(lm_open(&llama, "fixtures/good/lm/llama", NULL), "llama") ||
	    !tap_works(lm_open(&gemma, "fixtures/good/lm/gemma3", NULL), "gemma3") ||
	    !tap_works(lm_open(&gpt2, "fixtures/good/lm/gpt2", NULL), "gpt2"))
		return;
	wide = *llama.config; /* many values: deviations show */
	wide.hidden_size = 512;
	wide.ffn_size = 1000;
	s = filled(&wide, LM_INIT_GPT2, 1, false);
	check_deviation(s, "model.embed_tokens.weight", 0.02);
	check_deviation(s, "lm_head.weight", 0.02);
	check_deviation(s, "model.layers.1.self_attn.q_proj.weight", 0.02);
	check_deviation(s, "model.layers.1.self_attn.o_proj.weight", 0.01); /* two layers */
	check_deviation(s, "model.layers.0.mlp.down_proj.weight", 0.01);
	check_all(s, "model.layers.0.input_layernorm.weight", 1);
	check_all(s, "model.layers.0.mlp.up_proj.bias", 0);
	store_free(s);
	s = filled(&wide, LM_INIT_MUP, 1, false);
	check_deviation(s, "model.embed_tokens.weight", 0.02);
	check_deviation(s, "lm_head.weight", 1.0 / 512);
	check_deviation(s, "model.layers.1.self_attn.q_proj.weight", sqrt(1.0 / 512));
	check_deviation(s, "model.layers.1.self_attn.o_proj.weight", sqrt(1.0 / 40));
	check_deviation(s, "model.layers.0.mlp.down_proj.weight", sqrt(1.0 / 1000));
	store_free(s);
	s = filled(gemma.config, LM_INIT_GPT2, 1, false);
	check_all(s, "model.layers.0.post_feedforward_layernorm.weight", 0);
	check_all(s, "model.norm.weight", 0);
	store_free(s);
	s = filled(gpt2.config, LM_INIT_GPT2, 1, false);
	check_deviation(s, "transformer.wpe.weight", 0.02);
	check_deviation(s, "transformer.h.0.attn.c_attn.weight", 0.02);
	check_deviation(s, "transformer.h.0.attn.c_proj.weight", 0.01);
	check_all(s, "transformer.h.1.ln_2.weight", 1);
	check_all(s, "transformer.h.1.ln_2.bias", 0);
	store_free(s);
	check_order(llama.config);
	check_team(llama.config);
	lm_close(&llama);
	lm_close(&gemma);
	lm_close(&gpt2);
}

int main(void)
{
	tap_run(test_initialize);
	return tap_done();
}
