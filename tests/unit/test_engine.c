/*
 * tests/unit/test_engine.c - several sequences at once, to the bit as each of them alone
 *
 * What a sequence alone gives is held to transformers by tests/unit/test_session.c; here its logits are the reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blocks.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/infer/engine.h"
#include "tests/tap.h"

#define STEPS	5  /* single tokens after a prompt */
#define MOST	16 /* sequences */
#define LONGEST 230
#define CONTEXT (LONGEST + STEPS)

static const char config_text[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"96, "
	"\"hidden_size\": 64, \"intermediate_size\": 96, \"num_hidden_layers\": 2, "
	"\"num_attention_heads\": 6, \"num_key_value_heads\": 2, \"head_dim\": 32, "
	"\"max_position_embeddings\": 1024}";

struct model {
	struct arena *arena;
	struct hf_config config;
	struct store *store;
};

/* --- models --- */

/* A block of 32 values, as ggml's reference: the scale is the largest over 127. */
static void put_block(struct block_q8_0 *b, const float *x)
{
	float most = 0, scale;

	for (int i = 0; i < 32; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	scale = most / 127;
	dtype_from_f32(DTYPE_F16, &scale, &b->d, 1);
	for (int i = 0; i < 32; i++)
		b->qs[i] = (int8_t)lrintf(scale > 0 ? x[i] / scale : 0);
}

/* Matrices of blocks, as in a .gguf; all else as it is. */
static bool quantize(struct model *m)
{
	struct store *to;

	if (store_new(&to) < 0)
		return false;
	for (size_t i = 0; i < store_n(m->store); i++) {
		const struct store_entry *e = store_at(m->store, i);
		bool blocks = e->shape.n == 2;
		struct store_entry *made = store_add(to, e->name, STORE_PARAMETER,
						     blocks ? DTYPE_Q8_0 : e->dtype, &e->shape);

		if (!made || store_allocate(to, made) < 0)
			return false;
		if (!blocks)
			memcpy(made->data, e->data, e->size);
		for (size_t k = 0; blocks && k < shape_elements(&e->shape) / 32; k++)
			put_block((struct block_q8_0 *)made->data + k, (float *)e->data + 32 * k);
	}
	store_free(m->store);
	m->store = to;
	return true;
}

static bool model_new(struct model *m, bool quantized)
{
	*m = (struct model){ 0 };
	if (arena_new(&m->arena) < 0 || store_new(&m->store) < 0 ||
	    hf_config_parse(&m->config, m->arena, bytes_of(config_text), "config") < 0)
		return tap_works(-1, "a model");
	store_declaring(m->store, true);
	if (!tap_works(lm_declare(m->store, &m->config), "parameters"))
		return false;
	store_declaring(m->store, false);
	m->config.initializer_range = 0.3;
	return tap_works(lm_initialize(m->store, &m->config, LM_INIT_GPT2, 5, NULL), "values") &&
	       (!quantized || tap_ok(quantize(m), "in blocks"));
}

static void model_free(struct model *m)
{
	store_free(m->store);
	arena_free(m->arena);
}

static struct engine *engine(struct model *m, struct engine_options o)
{
	struct engine *e = NULL;

	tap_works(engine_new(&e, &m->config, m->store, &o), "an engine of %zu sequences",
		  o.sequences);
	return e;
}

/* --- what sequences are given, and what they give --- */

struct script {
	size_t prompt; /* tokens */
	size_t start;  /* the round in which it begins */
	int32_t ids[CONTEXT];
	float logits[STEPS + 1][96]; /* after the prompt, and after each token behind it */
};

static struct script *scripts_new(size_t n, const size_t *lengths, size_t n_lengths)
{
	struct script *s = calloc(n, sizeof(*s));

	for (size_t i = 0; i < n; i++) {
		s[i].prompt = lengths[i % n_lengths] + i / n_lengths;
		s[i].start = i % 3;
		for (size_t k = 0; k < CONTEXT; k++)
			s[i].ids[k] = (int32_t)((k * (7 + i) + k * k % 11 + 13 * i) % 96);
	}
	return s;
}

/* Rounds in which every sequence gets what is next for it, until all have had everything. GOT: struct script's logits, compared or kept. */
static bool run_scripts(struct engine *e, struct script *s, size_t n, bool compare)
{
	struct engine_item items[MOST];
	int sequences[MOST];
	size_t owner[MOST], off = 0;

	for (size_t i = 0; i < n; i++)
		sequences[i] = -1;
	for (size_t round = 0; round < STEPS + 3; round++) {
		size_t k = 0;

		for (size_t i = 0; i < n; i++) {
			size_t step = round - s[i].start;
			size_t at = step ? s[i].prompt + step - 1 : 0;

			if (round < s[i].start || step > STEPS)
				continue;
			if (step == 0)
				sequences[i] = engine_begin(e);
			owner[k] = i;
			items[k++] = (struct engine_item){ .sequence = sequences[i],
							   .ids = s[i].ids + at,
							   .n = step ? 1 : s[i].prompt,
							   .logits = true };
		}
		if (k == 0)
			continue;
		if (engine_run(e, items, k) < 0)
			return tap_works(-1, "round %zu", round);
		for (size_t j = 0; j < k; j++) {
			struct script *one = &s[owner[j]];
			const float *got = engine_logits(e, items[j].sequence);
			float *want = one->logits[round - one->start];

			if (!got)
				return tap_ok(false, "logits of sequence %zu", owner[j]);
			if (!compare)
				memcpy(want, got, sizeof(one->logits[0]));
			else if (memcmp(want, got, sizeof(one->logits[0])) != 0 && off++ == 0)
				tap_note("sequence %zu differs first in round %zu: %g, alone %g",
					 owner[j], round, (double)got[0], (double)want[0]);
		}
	}
	for (size_t i = 0; i < n; i++)
		engine_end(e, sequences[i]);
	return off == 0;
}

static void run_alone(struct model *m, struct engine_options o, struct script *s, size_t n)
{
	struct engine *e;

	o.sequences = 1;
	e = engine(m, o);
	for (size_t i = 0; e && i < n; i++) {
		size_t start = s[i].start;

		s[i].start = 0;
		run_scripts(e, s + i, 1, false);
		s[i].start = start;
	}
	engine_free(e);
}

/* --- beside the whole sequence at once, without a cache --- */

/* The logits after N tokens. */
static bool run_whole(struct model *m, const int32_t *ids, size_t n, float *logits)
{
	struct graph *g = NULL;
	struct plan *plan = NULL;
	struct lm_inputs in = { 0 };
	const struct tensor *all;
	bool ok = graph_new(&g, m->store, NULL) == 0;

	if (ok) {
		in.ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
		in.positions = graph_input(g, "positions", DTYPE_I32, SHAPE(n, 1));
		all = lm_logits(g, &m->config, lm_hidden(g, &m->config, &in));
		graph_output(g, (struct tensor *)all, "logits");
		ok = plan_new(&plan, g, &(struct plan_options){ 0 }) == 0;
	}
	if (ok) {
		int32_t *positions = plan_data(plan, in.positions);

		for (size_t i = 0; i < n; i++)
			positions[i] = (int32_t)i;
		ok = plan_give(plan, in.ids, ids, n * sizeof(*ids)) == 0 &&
		     plan_run(plan, 0, 0) == 0;
	}
	if (ok)
		memcpy(logits, (const float *)plan_data(plan, all) + (n - 1) * 96,
		       96 * sizeof(*logits));
	plan_free(plan);
	graph_free(g);
	return tap_ok(ok, "%zu tokens at once", n);
}

/* Over several pages, in pieces of many rows and of few, and one by one. */
static void test_whole(void)
{
	struct script *s = scripts_new(2, (const size_t[]){ LONGEST, 101 }, 2);
	struct engine_options o = { .cache = DTYPE_F32, .context = CONTEXT, .sequences = 2 };
	const size_t rows[] = { 64, 5, 512 };
	struct model m;
	float want[96];

	if (!model_new(&m, false))
		return;
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		o.rows = rows[k];
		run_alone(&m, o, s, 2);
		for (size_t i = 0; i < 2; i++)
			for (size_t step = 0; step <= STEPS; step += STEPS) {
				double most = 0;

				if (!run_whole(&m, s[i].ids, s[i].prompt + step, want))
					break;
				for (int j = 0; j < 96; j++)
					most = fmax(most,
						    fabs((double)(want[j] - s[i].logits[step][j])));
				tap_ok(most < 1e-4, "pieces of %zu, %zu tokens: off by %.2g",
				       rows[k], s[i].prompt + step, most);
			}
	}
	free(s);
	model_free(&m);
}

/* --- the same bits, whatever is beside --- */

static const size_t uneven[] = { 3, 9, 1, 40, 12, 200, 13, 95, 96, 97 };

static void check_together(struct model *m, struct engine_options o, struct script *s, size_t n,
			   const char *what)
{
	struct engine *e;

	o.sequences = n;
	e = engine(m, o);
	tap_ok(e && run_scripts(e, s, n, true), "%s: %zu at once are as each alone", what, n);
	engine_free(e);
}

static void check_model(struct model *m, const char *name, bool round, bool repack)
{
	static const enum dtype caches[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0 };

	for (size_t c = 0; c < sizeof(caches) / sizeof(*caches); c++) {
		struct engine_options o = { .cache = caches[c],
					    .context = CONTEXT,
					    .rows = 64,
					    .round = round,
					    .repack = repack };
		struct script *s = scripts_new(MOST, uneven, sizeof(uneven) / sizeof(*uneven));
		char what[64];

		run_alone(m, o, s, MOST);
		for (int threads = 1; threads <= 3; threads++) {
			if (!tap_works(team_new(&o.team, threads), "%d threads", threads))
				break;
			snprintf(what, sizeof(what), "%s, %s, %d threads", name,
				 dtype_name(caches[c]), threads);
			check_together(m, o, s, 2, what);
			check_together(m, o, s, 4, what);
			check_together(m, o, s, MOST, what);
			team_free(o.team);
		}
		free(s);
	}
}

static void test_together(void)
{
	struct model m;

	if (model_new(&m, false))
		check_model(&m, "f32", false, false);
	model_free(&m);
	if (model_new(&m, true)) {
		check_model(&m, "q8_0", false, false);
		check_model(&m, "q8_0, rounded", true, false);
		check_model(&m, "q8_0, rounded and packed", true, true);
	}
	model_free(&m);
}

/* A cache in fewer bits is another cache; its logits are near. */
static void test_dtypes_differ(void)
{
	struct engine_options o = { .cache = DTYPE_F32, .context = CONTEXT };
	struct script *s = scripts_new(1, &(size_t){ 120 }, 1);
	const enum dtype others[] = { DTYPE_F16, DTYPE_BF16 };
	const double near[] = { 0.02, 0.2 };
	struct model m;

	if (!model_new(&m, false))
		return;
	run_alone(&m, o, s, 1);
	for (int i = 0; i < 2; i++) {
		struct script *t = scripts_new(1, &(size_t){ 120 }, 1);
		double most = 0;

		o.cache = others[i];
		run_alone(&m, o, t, 1);
		for (int k = 0; k < 96; k++)
			most = fmax(most,
				    fabs((double)(s->logits[STEPS][k] - t->logits[STEPS][k])));
		tap_ok(most > 0 && most < near[i], "%s: off by %g", dtype_name(others[i]), most);
		free(t);
	}
	free(s);
	model_free(&m);
}

/* --- families: windows, learned positions, norms of q and k --- */

/* Three tokens of one sequence and nine of another: together as alone. */
static void check_pair(struct engine *e, const struct engine_item *both, size_t size,
		       const char *name)
{
	float alone[2][96];

	for (int i = 0; i < 2; i++) {
		struct engine_item one = both[i];

		one.sequence = engine_begin(e);
		tap_works(engine_run(e, &one, 1), "%zu tokens alone", one.n);
		memcpy(alone[i], engine_logits(e, one.sequence), size);
		engine_end(e, one.sequence);
	}
	tap_works(engine_run(e, both, 2), "3 and 9 tokens together");
	for (int i = 0; i < 2; i++)
		tap_ok(memcmp(engine_logits(e, both[i].sequence), alone[i], size) == 0,
		       "%s: %zu tokens as alone", name, both[i].n);
}

static void check_family(const char *name)
{
	const int32_t first[] = { 5, 3, 9 }, second[] = { 2, 7, 1, 8, 2, 8, 1, 8, 2 };
	struct engine *e;
	char path[64];
	struct lm lm;

	snprintf(path, sizeof(path), "fixtures/good/lm/%s", name);
	if (!tap_works(lm_open(&lm, path, NULL), "%s", path))
		return;
	if (tap_ok(lm.config->vocab_size <= 96, "a small vocabulary") &&
	    tap_works(engine_new(&e, lm.config, lm.store,
				 &(struct engine_options){ .cache = DTYPE_F32,
							   .context = 15,
							   .sequences = 4,
							   .rope_paired = lm.rope_paired }),
		      "an engine")) {
		const struct engine_item both[] = {
			{ engine_begin(e), first, 3, 0, true },
			{ engine_begin(e), second, 9, 0, true },
		};

		check_pair(e, both, (size_t)lm.config->vocab_size * sizeof(float), name);
		engine_free(e);
	}
	lm_close(&lm);
}

static void test_families(void)
{
	static const char *const families[] = { "llama", "mistral", "smollm3", "qwen2",
						"qwen3", "gemma3",  "gpt2" };

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		check_family(families[i]);
}

/* --- sequences that were other ones, or begin alike --- */

static const struct engine_options usual = {
	.cache = DTYPE_F16, .context = CONTEXT, .sequences = 3, .rows = 64
};

/* N tokens of S from place FROM on; the logits after them are those after the prompt. */
static void append(struct engine *e, int sequence, const struct script *s, size_t from, size_t n,
		   const char *what)
{
	struct engine_item item = { sequence, s->ids + from, n, s->prompt, true };

	if (!tap_works(engine_run(e, &item, 1), "%s: %zu tokens", what, n))
		return;
	if (from + n == s->prompt)
		tap_ok(memcmp(engine_logits(e, sequence), s->logits[0], sizeof(s->logits[0])) == 0,
		       "%s: as a fresh one", what);
}

static void test_reuse(void)
{
	const size_t lengths[] = { 200, 150 };
	struct script *s = scripts_new(2, lengths, 2);
	struct model m;
	struct engine *e;
	int one;

	if (!model_new(&m, false))
		return;
	run_alone(&m, usual, s, 2);
	e = engine(&m, usual);
	one = engine_begin(e);
	append(e, one, &s[0], 0, s[0].prompt, "A");
	engine_rewind(e, one, 0);
	tap_ok(engine_logits(e, one) == NULL, "no logits of nothing");
	append(e, one, &s[1], 0, s[1].prompt, "B after A");
	engine_end(e, one);
	tap_is_u64(engine_pages_left(e), 9, "every page is given back");
	one = engine_begin(e);
	append(e, one, &s[0], 0, s[0].prompt, "A in B's pages");
	tap_is_u64(engine_common(e, one, s[0].ids, s[0].prompt), 192, "whole pages of it");
	tap_is_u64(engine_common(e, one, s[0].ids, 192), 96, "but not its last token");
	tap_is_u64(engine_common(e, one, s[1].ids, s[1].prompt), 0, "nothing of B");
	engine_rewind(e, one, 192);
	append(e, one, &s[0], 192, s[0].prompt - 192, "the last eight of it");
	engine_free(e);
	free(s);
	model_free(&m);
}

/* Forks at N tokens, in the middle of a page or not: both go on, each its own way, and back again. */
static void check_fork(struct model *m, struct script *s, size_t n)
{
	struct engine *e = engine(m, usual);
	int trunk = engine_begin(e), branch;
	struct script other = s[1];

	memcpy(other.ids, s[0].ids, n * sizeof(other.ids[0]));
	run_alone(m, usual, &other, 1);
	append(e, trunk, &s[0], 0, n, "the trunk");
	branch = engine_fork(e, trunk, n);
	tap_ok(branch >= 0, "a fork at %zu", n);
	tap_ok(engine_logits(e, branch) == engine_logits(e, trunk), "has its logits");
	tap_is_u64(engine_pages_left(e), 9 - (n + ENGINE_PAGE - 1) / ENGINE_PAGE,
		   "and no page of its own");
	append(e, branch, &other, n, 64, "the fork");
	append(e, trunk, &s[0], n, 64, "the trunk beside it");
	append(e, branch, &other, n + 64, other.prompt - n - 64, "the fork on");
	append(e, trunk, &s[0], n + 64, s[0].prompt - n - 64, "the trunk on");
	engine_rewind(e, branch, n);
	append(e, branch, &other, n, other.prompt - n, "the fork again");
	engine_end(e, trunk);
	engine_rewind(e, branch, n);
	append(e, branch, &s[0], n, s[0].prompt - n, "the fork, the trunk's way");
	engine_end(e, branch);
	tap_is_u64(engine_pages_left(e), 9, "every page is given back");
	engine_free(e);
}

static void test_forks(void)
{
	const size_t lengths[] = { 210, 200 };
	struct script *s = scripts_new(2, lengths, 2);
	struct model m;

	if (!model_new(&m, false))
		return;
	run_alone(&m, usual, s, 2);
	check_fork(&m, s, 64);
	check_fork(&m, s, 96);
	check_fork(&m, s, 128);
	free(s);
	model_free(&m);
}

/* --- what is refused --- */

static void test_refused(void)
{
	struct engine_options o = usual;
	struct script *s = scripts_new(1, &(size_t){ 100 }, 1);
	struct engine_item items[2];
	struct engine *e;
	struct model m;

	if (!model_new(&m, false))
		return;
	o.tokens = 2 * ENGINE_PAGE;
	o.sequences = 2;
	e = engine(&m, o);
	items[0] = (struct engine_item){ engine_begin(e), s->ids, 100, 0, true };
	items[1] = (struct engine_item){ engine_begin(e), s->ids, 10, 0, true };
	tap_fails(engine_begin(e), ERR_LIMIT, "more than 2 sequences at once", "a third");
	tap_fails(engine_run(e, items, 2), ERR_LIMIT, "2 of 2 pages are left, and 3 are needed",
		  "more than the pool holds");
	tap_is_u64(engine_length(e, items[0].sequence), 0, "nothing was appended");
	tap_works(engine_run(e, items, 1), "as much as it holds");
	tap_ok(!engine_logits(e, items[1].sequence), "no logits of what was not run");
	items[1].ids = &(int32_t){ 96 };
	items[1].n = 1;
	tap_fails(engine_run(e, items + 1, 1), ERR_ARGUMENT, "the id 96", "an id past the end");
	engine_free(e);
	o.memory = 1;
	tap_fails(engine_new(&e, &m.config, m.store, &o), ERR_LIMIT,
		  "a cache of 192 tokens for 2 sequences needs", "no memory for it");
	free(s);
	model_free(&m);
}

int main(void)
{
	tap_run(test_whole);
	tap_run(test_together);
	tap_run(test_dtypes_differ);
	tap_run(test_families);
	tap_run(test_reuse);
	tap_run(test_forks);
	tap_run(test_refused);
	return tap_done();
}
