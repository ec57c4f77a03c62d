/*
 * tests/unit/test_lm.c - language models of each family beside transformers
 *
 * fixtures/good/lm has small models with random weights, saved by transformers; fixtures/golden/lm what its float64 run
 * makes of a short prompt and of one longer than the window (scripts/gen-fixtures-lm). rope.tsv has frequencies.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/graph/op_table.h"
#include "lib/graph/plan.h"
#include "lib/model/lm.h"
#include "tests/tap.h"

static const char *const families[] = { "llama",  "mistral", "smollm3",	  "qwen2", "qwen3",
					"gemma3", "gpt2",    "gpt2-bare", "bert",  "bert-bare" };
#define FAMILIES (sizeof(families) / sizeof(*families))

/* --- a model at work --- */

struct rows {
	size_t n;
	const int32_t *ids, *types, *positions, *documents; /* the last three may be NULL */
};

struct bench {
	struct graph *graph;
	struct plan *plan;
	struct tensor *hidden, *result;
};

/* Values that are known now, or counting from 0, or nothing. */
static struct tensor *column(struct graph *g, const int32_t *values, struct shape shape, bool count)
{
	if (values)
		return graph_constant(g, DTYPE_I32, shape, values);
	return count ? op_reshape(g, op_arange(g, DTYPE_I32, shape.at[0], 0, 1), shape) : NULL;
}

static struct tensor *hidden_of(struct graph *g, const struct hf_config *c, const struct rows *r)
{
	struct lm_inputs in = { .ids = column(g, r->ids, SHAPE(r->n), false),
				.positions = column(g, r->positions, SHAPE(r->n, 1), true),
				.documents = column(g, r->documents, SHAPE(r->n), false),
				.types = column(g, r->types, SHAPE(r->n), false),
				.context = r->n };

	return lm_hidden(g, c, &in);
}

/* Logits, or what comes before them where there is no head. NULL when it failed. */
static const float *run(struct bench *b, const struct lm *m, const struct backend *backend,
			const struct rows *r)
{
	struct plan_options o = { .backend = backend };

	*b = (struct bench){ 0 };
	if (!tap_works(graph_new(&b->graph, m->store, NULL), "a graph"))
		return NULL;
	b->hidden = hidden_of(b->graph, m->config, r);
	b->result = lm_has_head(m->config) ? lm_logits(b->graph, m->config, b->hidden) : b->hidden;
	graph_output(b->graph, b->result, "result");
	if (!tap_works(graph_check(b->graph), "it builds") ||
	    !tap_works(plan_new(&b->plan, b->graph, &o), "a plan") ||
	    !tap_works(plan_run(b->plan, 0, 0), "a run"))
		return NULL;
	return plan_data(b->plan, b->result);
}

static void end(struct bench *b)
{
	plan_free(b->plan);
	graph_free(b->graph);
}

static const struct backend *backend_at(int level)
{
	if (level < 0)
		return backend_ref();
	return level_available((enum level)level) ? backend_level((enum level)level) : NULL;
}

/* --- golden files --- */

static const struct tensor_info *find(struct safetensors *f, const char *what, const char *part)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", what, part);
	return safetensors_find(f, bytes_of(name));
}

static double golden(const struct tensor_info *t, size_t i)
{
	double d;
	float f;

	if (t->dtype == DTYPE_F64) {
		memcpy(&d, t->data + i * sizeof(d), sizeof(d));
		return d;
	}
	memcpy(&f, t->data + i * sizeof(f), sizeof(f));
	return f;
}

static bool open_family(struct lm *m, struct safetensors **f, const char *family,
			const struct lm_open_options *o)
{
	char path[128];

	*m = (struct lm){ 0 };
	snprintf(path, sizeof(path), "fixtures/good/lm/%s", family);
	if (!tap_works(lm_open(m, path, o), "%s", family))
		return false;
	snprintf(path, sizeof(path), "fixtures/golden/lm/%s.safetensors", family);
	return !f || tap_works(safetensors_open(f, path), "%s", path);
}

/* --- the same as transformers --- */

static void check_run(const struct lm *m, struct safetensors *f, const char *family,
		      const char *prompt, int level)
{
	const struct tensor_info *ids = find(f, prompt, "/ids"), *types = find(f, prompt, "/types");
	const struct tensor_info *want = find(f, prompt, "/result");
	struct rows r = { .n = ids->n_elements,
			  .ids = (const int32_t *)(const void *)ids->data,
			  .types = types ? (const int32_t *)(const void *)types->data : NULL };
	struct bench b;
	const float *got = run(&b, m, backend_at(level), &r);
	double worst = 0;

	for (size_t i = 0; got && i < want->n_elements; i++) {
		double off = fabs(got[i] - golden(want, i));

		worst = off <= worst ? worst : off; /* NaN stays */
	}
	tap_ok(got && shape_elements(&b.result->shape) == want->n_elements && worst <= 5e-5,
	       "%s, %s prompt on %s: off by %.2g", family, prompt,
	       level < 0 ? "ref" : level_name((enum level)level), worst);
	end(&b);
}

/* Every tensor of the file is known, and every one is used but the pooler. */
static void check_used(const struct lm *m, const char *family)
{
	static const int32_t id = 0;
	const char *names[2] = { NULL, NULL };
	size_t want = strcmp(family, "bert-bare") == 0 ? 2 : 0;
	struct bench b;

	tap_is_u64(m->report.n_unknown, 0, "%s: no unknown tensor", family);
	run(&b, m, backend_ref(), &(struct rows){ .n = 1, .ids = &id });
	tap_is_u64(lm_unused(m, b.graph, names, 2), want, "%s: unused ones", family);
	if (want)
		tap_is_text(names[0], "bert.pooler.dense.bias", "the pooler is");
	end(&b);
}

static void test_families(void)
{
	for (size_t i = 0; i < FAMILIES; i++) {
		struct safetensors *f = NULL;
		struct lm m;

		if (open_family(&m, &f, families[i], NULL)) {
			check_used(&m, families[i]);
			for (int level = -1; level < LEVEL_COUNT; level++) {
				if (!backend_at(level))
					continue;
				check_run(&m, f, families[i], "short", level);
				check_run(&m, f, families[i], "long", level);
			}
		}
		safetensors_close(f);
		lm_close(&m);
	}
}

/* --- documents --- */

/* The rows of [1 2 3][4 5 6 7] with another first token: only the first document changes. */
static void check_documents(const struct lm *m, const char *family, int level)
{
	static const int32_t ids[] = { 1, 2, 3, 4, 5, 6, 7 }, others[] = { 9, 2, 3, 4, 5, 6, 7 };
	static const int32_t documents[] = { 0, 0, 0, 1, 1, 1, 1 },
			     positions[] = { 0, 1, 2, 0, 1, 2, 3 };
	const struct rows one = { 7, ids, NULL, positions, documents },
			  two = { 7, others, NULL, positions, documents },
			  alone = { 4, ids + 3, NULL, NULL, NULL };
	struct bench a, b, c;
	const float *x = run(&a, m, backend_at(level), &one),
		    *y = run(&b, m, backend_at(level), &two);
	const float *z = run(&c, m, backend_at(level), &alone);
	double worst = 0;
	size_t n;

	if (x && y && z) {
		n = a.result->shape.at[1];
		tap_ok(memcmp(x + 3 * n, y + 3 * n, 4 * n * sizeof(*x)) == 0,
		       "%s at level %d: the second document keeps its bits", family, level);
		tap_ok(memcmp(x + 2 * n, y + 2 * n, n * sizeof(*x)) != 0,
		       "%s at level %d: the first one changes to its end", family, level);
		for (size_t i = 0; i < 4 * n; i++)
			worst = fmax(worst, fabs((double)x[3 * n + i] - (double)z[i]));
		tap_ok(worst < 2e-5, "%s at level %d: as it is alone, but for %.2g", family, level,
		       worst);
	}
	end(&a);
	end(&b);
	end(&c);
}

static void test_documents(void)
{
	for (size_t i = 0; i < FAMILIES; i++) {
		struct lm m;

		if (open_family(&m, NULL, families[i], NULL))
			for (int level = -1; level < LEVEL_COUNT; level++)
				if (backend_at(level))
					check_documents(&m, families[i], level);
		lm_close(&m);
	}
}

/* --- gradients --- */

static struct tensor *mean_loss(struct graph *g, const struct lm *m, const struct tensor_info *ids)
{
	const int32_t *all = (const int32_t *)(const void *)ids->data;
	struct rows r = { .n = ids->n_elements - 1, .ids = all };
	struct tensor *targets = graph_constant(g, DTYPE_I32, SHAPE(r.n), all + 1);
	struct cross_entropy o = { .ignore = -1 };
	struct tensor *loss;

	loss = lm_loss(g, m->config, hidden_of(g, m->config, &r), targets, &o);
	return op_mean(g, loss, 0, false);
}

static void check_gradient(const struct store_entry *e, struct safetensors *f, const char *what)
{
	const struct tensor_info *want = find(f, "gradient/", e->name);
	double off = 0, norm = 0;

	if (!tap_ok(want && e->sum && e->sum->data, "%s has a gradient", e->name))
		return;
	for (size_t i = 0; i < want->n_elements; i++) {
		double w = golden(want, i), got = ((const float *)e->sum->data)[i];

		off += (got - w) * (got - w);
		norm += w * w;
	}
	tap_ok(norm > 0 && sqrt(off) <= 1e-5 * sqrt(norm), "%s, %s: off by %.2g of its norm", what,
	       e->name, sqrt(off / norm));
}

static void check_gradients(int level)
{
	struct safetensors *f = NULL;
	struct plan_options o = { .backend = backend_at(level) };
	const char *what = level < 0 ? "ref" : level_name((enum level)level);
	struct graph *g = NULL;
	struct plan *p = NULL;
	struct tensor *loss;
	struct lm m;
	float value;

	if (!open_family(&m, &f, "qwen3", NULL) || graph_new(&g, m.store, NULL) < 0)
		goto done;
	loss = mean_loss(g, &m, find(f, "long", "/ids"));
	graph_output(g, loss, "loss");
	if (!tap_works(graph_grad_accumulate(g, loss), "gradients") ||
	    !tap_works(plan_new(&p, g, &o), "a plan") || !tap_works(plan_run(p, 0, 0), "a run"))
		goto done;
	memcpy(&value, plan_data(p, loss), sizeof(value));
	tap_ok(fabs(value - golden(find(f, "loss", ""), 0)) < 1e-5, "%s: the loss is %g", what,
	       (double)value);
	for (size_t i = 0; i < store_n(m.store); i++)
		if (store_at(m.store, i)->kind == STORE_PARAMETER)
			check_gradient(store_at(m.store, i), f, what);
done:
	plan_free(p);
	graph_free(g);
	safetensors_close(f);
	lm_close(&m);
}

static void test_gradients(void)
{
	for (int level = -1; level < LEVEL_COUNT; level++)
		if (backend_at(level))
			check_gradients(level);
}

/* --- rope --- */

/* One line: a configuration, a context, the scale, the frequencies. */
static void check_rope(char *line, int number)
{
	char *context = strchr(line, '\t'), *rest = context + 1;
	struct hf_config c;
	struct arena *arena;
	float got[LM_PAIRS_MAX];
	double scale, off = 0;
	size_t n = 0, pairs;

	*context = '\0';
	tap_works(arena_new(&arena), "an arena");
	if (tap_works(hf_config_parse(&c, arena, bytes_of(line), "rope.tsv"), "line %d", number)) {
		uint64_t length = strtoull(rest, &rest, 10);
		double want_scale = strtod(rest, &rest);

		pairs = lm_rope(&c.rope[HF_FULL], c.head_dim, c.context, length, got, &scale);
		for (; n < pairs && *rest && *rest != '\n'; n++) {
			double want = strtod(rest, &rest);

			off = fmax(off, fabs(got[n] - want) / want);
		}
		tap_ok(n == pairs && *rest == '\n' && off < 7e-8,
		       "line %d, %s: %zu frequencies, off by %.2g", number,
		       hf_rope_type_name(c.rope[HF_FULL].type), pairs, off);
		tap_ok(fabs(scale - want_scale) < 1e-15 * want_scale * 4,
		       "line %d: the scale %.17g", number, scale);
	}
	arena_free(arena);
}

static void test_rope(void)
{
	size_t size;
	char *text = tap_fixture("fixtures/golden/lm/rope.tsv", &size), *next = text;
	int n = 0;

	while (next && (size_t)(next - text) < size) {
		char *line = next;

		next = strchr(line, '\n');
		if (next)
			next++;
		check_rope(line, ++n);
	}
	tap_is_i64(n, 17, "lines of rope.tsv");
	free(text);
}

int main(void)
{
	tap_run(test_rope);
	tap_run(test_families);
	tap_run(test_documents);
	tap_run(test_gradients);
	return tap_done();
}
