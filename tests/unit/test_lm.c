/*
 * tests/unit/test_lm.c - language models of each family beside transformers
 *
 * fixtures/good/lm has small models with random weights, saved by transformers; fixtures/golden/lm what its float64 run
 * makes of a short prompt and of one longer than the window (scripts/gen-fixtures-lm).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
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
	size_t want = strcmp(family, "bert-bare") == 0 ? 2 : 0, unread = 0;
	struct bench b;

	tap_is_u64(m->report.n_unknown, 0, "%s: no unknown tensor", family);
	run(&b, m, backend_ref(), &(struct rows){ .n = 1, .ids = &id });
	tap_is_u64(m->n_unused, want, "%s: unused ones", family);
	if (want)
		tap_is_text(m->unused[0], "bert.pooler.dense.bias", "the pooler is");
	for (size_t i = 0; i < store_n(m->store); i++)
		unread += !graph_find(b.graph, store_at(m->store, i)->name);
	tap_is_u64(unread, want, "%s: no node reads these alone", family);
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

/* C14: the rows of [1 2 3][4 5 6 7] with another first token: only the first document changes. */
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

/* --- keys and values of earlier tokens --- */

enum { SLOTS = 48, PAGE = 4, PAGES = SLOTS / PAGE };

/* Rows FROM to FROM + N of IDS, whose earlier rows are in the cache. The list of pages begins with none; they lie backwards. Logits of the last row to OUT. */
static bool cached_step(const struct lm *m, int level, const int32_t *ids, size_t from, size_t n,
			float *out)
{
	int32_t write[SLOTS], positions[SLOTS], key_positions[SLOTS], pages[PAGES],
		zeros[SLOTS] = { 0 };
	struct plan_options o = { .backend = backend_at(level) };
	struct lm_cache cache = { .slots = SLOTS, .page = PAGE, .dtype = DTYPE_F32 };
	struct lm_inputs in = { .context = SLOTS, .cache = &cache };
	struct graph *g;
	struct plan *p = NULL;
	struct tensor *y;
	bool done;

	for (int32_t i = 0; i < SLOTS; i++)
		key_positions[i] = i - PAGE < (int32_t)(from + n) ? i - PAGE : -1;
	for (int32_t i = 0; i < PAGES; i++)
		pages[i] = i ? PAGES - i : -1;
	for (size_t i = 0; i < n; i++) {
		positions[i] = (int32_t)(from + i);
		write[i] = pages[(from + i) / PAGE + 1] * PAGE + positions[i] % PAGE;
	}
	tap_works(graph_new(&g, m->store, NULL), "a graph");
	in.ids = column(g, ids + from, SHAPE(n), false);
	in.positions = column(g, positions, SHAPE(n, 1), false);
	in.documents = column(g, zeros, SHAPE(n), false);
	cache.write = column(g, write, SHAPE(n), false);
	cache.pages = column(g, pages, SHAPE(PAGES), false);
	cache.documents = column(g, zeros, SHAPE(SLOTS), false);
	cache.positions = column(g, key_positions, SHAPE(SLOTS), false);
	y = lm_hidden(g, m->config, &in);
	y = lm_logits(g, m->config, y ? op_slice(g, y, 0, n - 1, 1) : NULL);
	graph_output(g, y, "logits");
	done = tap_works(graph_check(g), "it builds") && tap_works(plan_new(&p, g, &o), "a plan") &&
	       tap_works(plan_run(p, 0, 0), "a run");
	if (done)
		memcpy(out, plan_data(p, y), m->config->vocab_size * sizeof(*out));
	plan_free(p);
	graph_free(g);
	return done;
}

/* A prompt at once, then token by token: the last row is that of one run. */
static void check_cache(const char *family, int level)
{
	const size_t length = 21, prompt = 9;
	struct safetensors *f = NULL;
	struct lm m;
	struct bench b = { 0 };
	float got[64];
	const float *want;
	double worst = 0;
	struct rows r = { .n = length };
	size_t n;
	bool works;

	if (!open_family(&m, &f, family, NULL))
		goto done;
	r.ids = (const int32_t *)(const void *)find(f, "long", "/ids")->data;
	works = cached_step(&m, level, r.ids, 0, prompt, got);
	for (size_t i = prompt; works && i < length; i++)
		works = cached_step(&m, level, r.ids, i, 1, got);
	want = works ? run(&b, &m, backend_at(level), &r) : NULL;
	n = m.config->vocab_size;
	for (size_t i = 0; want && i < n; i++) {
		double off = fabs((double)got[i] - (double)want[(length - 1) * n + i]);

		worst = off <= worst ? worst : off;
	}
	tap_ok(want && worst < 2e-5, "%s at level %d through the cache: off by %.2g", family, level,
	       worst);
	end(&b);
done:
	safetensors_close(f);
	lm_close(&m);
}

/* qwen2's rope depends on the context, which the two ways have unlike; bert has no order to keep. */
static void test_cache(void)
{
	static const char *const cached[] = { "llama", "mistral", "smollm3",
					      "qwen3", "gemma3",  "gpt2" };

	for (size_t i = 0; i < sizeof(cached) / sizeof(*cached); i++)
		for (int level = -1; level < LEVEL_COUNT; level++)
			if (backend_at(level))
				check_cache(cached[i], level);
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

/* --- names: declared, saved, in GGUF --- */

/* A configuration declares what its file holds (but for the pooler), as many weights as are counted. */
static void check_declared(const struct lm *m, const char *family)
{
	bool pooler = strcmp(family, "bert-bare") == 0;
	uint64_t counted = 0, elements = 0;
	struct store *s;

	tap_works(store_new(&s), "a store");
	tap_works(lm_declare(s, m->config), "%s is declared", family);
	tap_is_u64(store_n(s), store_n(m->store) - (pooler ? 2 : 0), "%s: entries", family);
	for (size_t i = 0; i < store_n(s); i++) {
		const struct store_entry *e = store_at(s, i),
					 *there = store_find(m->store, e->name);

		tap_ok(there && shape_equal(&there->shape, &e->shape), "%s: %s", family, e->name);
		elements += shape_elements(&e->shape);
	}
	tap_ok(hf_config_n_parameters(m->config, &counted), "they are counted");
	tap_is_u64(elements + (pooler ? 32 * 32 + 32 : 0), counted, "%s: weights", family);
	store_free(s);
}

/* Back by the rules of a folder: the same tensors to the byte. */
static void check_saved(const struct lm *m, const char *family)
{
	struct bind_saver *b = NULL;
	struct bind_rules rules;
	struct arena *arena;

	tap_works(arena_new(&arena), "an arena");
	tap_works(lm_rules(&rules, arena, m->config, MODEL_FOLDER, false), "rules");
	if (tap_works(bind_saver_new(&b, m->store, &rules), "%s is saved", family))
		tap_is_u64(bind_saver_n(b), model_n_tensors(m->model), "%s: tensors", family);
	for (size_t i = 0; b && i < bind_saver_n(b); i++) {
		const struct tensor_info *t = bind_saver_tensor(b, i);
		const struct tensor_info *was = model_find(m->model, t->name);
		char *values = malloc(t->n_bytes);

		tap_works(bind_saver_values(b, i, values, NULL), "values");
		tap_ok(was && was->n_bytes == t->n_bytes && was->n_dims == t->n_dims &&
			       memcmp(was->shape, t->shape, t->n_dims * sizeof(*t->shape)) == 0 &&
			       memcmp(was->data, values, t->n_bytes) == 0,
		       "%s: " BYTES_FMT " as it was", family, BYTES_ARG(t->name));
		free(values);
	}
	bind_saver_free(b);
	arena_free(arena);
}

static void test_names(void)
{
	for (size_t i = 0; i < FAMILIES; i++) {
		struct lm m;

		if (open_family(&m, NULL, families[i], NULL)) {
			check_declared(&m, families[i]);
			check_saved(&m, families[i]);
		}
		lm_close(&m);
	}
}

/* The rule for OURS; NULL: none, or several. */
static const struct bind_rule *rule_of(const struct bind_rules *rules, const char *ours,
				       uint32_t numbers[BIND_NUMBERS])
{
	const struct bind_rule *found = NULL;

	for (size_t i = 0; i < rules->n; i++) {
		if (!bind_match(rules->items[i].ours, bytes_of(ours), numbers))
			continue;
		if (found)
			return NULL;
		found = &rules->items[i];
	}
	if (found)
		bind_match(found->ours, bytes_of(ours), numbers);
	return found;
}

/* llama.cpp's converter turns q and k of the llama family, and adds 1 to what is called a norm in gemma. */
static void check_values(const struct bind_rule *r, const struct hf_config *c, const char *theirs)
{
	bool qk = strstr(theirs, ".attn_q.") || strstr(theirs, ".attn_k.");
	bool turned = c->architecture == HF_LLAMA || c->architecture == HF_SMOLLM3;
	bool shifted = c->architecture == HF_GEMMA3 && strstr(theirs, "norm.weight");

	tap_is_u64(r->paired, qk && turned ? c->head_dim : 0, "%s: pairs", theirs);
	tap_ok(r->added == (shifted ? 1 : 0), "%s: larger by %g", theirs, r->added);
	tap_ok(!r->transposed, "%s: not transposed", theirs);
}

/* One line: a family, a name, and what the gguf package calls it. */
static void check_gguf_name(char *line, struct lm *m, char open[32], struct arena *arena)
{
	char *ours = strchr(line, '\t'), *theirs = ours ? strchr(ours + 1, '\t') : NULL;
	uint32_t numbers[BIND_NUMBERS] = { 0 };
	const struct bind_rule *r;
	struct bind_rules rules;
	char name[128] = "";

	if (!tap_ok(theirs, "three columns"))
		return;
	*ours++ = *theirs++ = '\0';
	if (strcmp(line, open) != 0) {
		lm_close(m);
		snprintf(open, 32, "%s", line);
		open_family(m, NULL, line, NULL);
	}
	tap_works(lm_rules(&rules, arena, m->config, MODEL_GGUF, true), "rules");
	r = rule_of(&rules, ours, numbers);
	if (!tap_ok(r && bind_name(r->theirs, numbers, name, sizeof(name)), "%s: %s", line, ours))
		return;
	tap_is_text(name, theirs, "%s: %s", line, ours);
	check_values(r, m->config, theirs);
}

static void test_gguf_names(void)
{
	struct lm m = { 0 };
	size_t size;
	char *text = tap_fixture("fixtures/golden/lm/gguf-names.tsv", &size), *line = text, *end;
	char open[32] = "";
	struct arena *arena;
	int n = 0;

	tap_works(arena_new(&arena), "an arena");
	for (; (end = strchr(line, '\n')); line = end + 1, n++) {
		*end = '\0';
		check_gguf_name(line, &m, open, arena);
	}
	tap_ok(n > 150, "%d names", n);
	lm_close(&m);
	arena_free(arena);
	free(text);
}

/* --- other spellings, refusals --- */

static void write_text(const char *folder, const char *name, const char *text, size_t n)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	tap_ok(f && fwrite(text, 1, n, f) == n && fclose(f) == 0, "%s", path);
}

/* NAME with its start FROM changed to TO, and norms as they were once called. */
static void respell(struct bytes name, const char *from, const char *to, bool gamma, char out[256])
{
	size_t skip = bytes_start_with(name, from) ? strlen(from) : 0;
	bool weight = bytes_end_with(name, "LayerNorm.weight");
	int n = (int)(name.size - skip);

	if (gamma && (weight || bytes_end_with(name, "LayerNorm.bias")))
		n -= weight ? 6 : 4;
	else
		gamma = false;
	snprintf(out, 256, "%s%.*s%s", skip ? to : "", n, name.data + skip,
		 !gamma	  ? ""
		 : weight ? "gamma"
			  : "beta");
}

/* A folder with the tensors of FAMILY, called otherwise, and one that nobody knows. */
static const char *respelled(const char *folder, const char *family, const char *from,
			     const char *to, bool gamma)
{
	static const struct tensor_info odd = { .name = { "odd", 3 },
						.dtype = DTYPE_F32,
						.n_dims = 1,
						.shape = { 1 },
						.n_elements = 1,
						.n_bytes = 4 };
	const char *path = tap_path(folder);
	struct safetensors_writer *w;
	struct outfile *f;
	char names[64][256], config[128], weights[512], *text;
	size_t size, n;
	struct lm m;

	mkdir(path, 0777);
	snprintf(config, sizeof(config), "fixtures/good/lm/%s/config.json", family);
	text = tap_fixture(config, &size);
	write_text(path, "config.json", text, size);
	free(text);
	open_family(&m, NULL, family, NULL);
	n = model_n_tensors(m.model);
	snprintf(weights, sizeof(weights), "%s/model.safetensors", path);
	tap_works(outfile_new(&f, weights), "a file");
	tap_works(safetensors_writer_new(&w, true), "a writer");
	for (size_t i = 0; i < n && i < 64; i++) {
		struct tensor_info t = *model_tensor(m.model, i);

		respell(t.name, from, to, gamma, names[i]);
		t.name = bytes_of(names[i]);
		safetensors_put_tensor(w, &t);
	}
	safetensors_put_tensor(w, &odd);
	tap_works(safetensors_writer_begin(w, f), "its header");
	for (size_t i = 0; i < n; i++)
		safetensors_writer_data(w, model_tensor(m.model, i)->data,
					model_tensor(m.model, i)->n_bytes);
	safetensors_writer_data(w, "\0\0\0", 4);
	tap_works(safetensors_writer_end(w), "its end");
	tap_works(outfile_commit(f), "on disk");
	safetensors_writer_free(w);
	lm_close(&m);
	return path;
}

/* It opens, all but `odd` is used, and an entry's bytes are those of the plain folder. */
static void check_spelling(const char *path, const char *family, const char *entry)
{
	struct lm m, plain;

	open_family(&plain, NULL, family, NULL);
	if (tap_works(lm_open(&m, path, NULL), "%s", path)) {
		tap_is_u64(m.report.n_unknown, 1, "%s: one tensor is not known", path);
		tap_is_text(m.report.unknown ? m.report.unknown[0] : "", "odd", "it is named");
		tap_is_u64(store_n(m.store), store_n(plain.store), "%s: entries", path);
		tap_ok(store_find(m.store, entry) &&
			       memcmp(store_find(m.store, entry)->data,
				      store_find(plain.store, entry)->data,
				      store_find(plain.store, entry)->size) == 0,
		       "%s: %s", path, entry);
	}
	lm_close(&m);
	lm_close(&plain);
}

static void test_spellings(void)
{
	const char *path = respelled("gpt2", "gpt2", "transformer.", "", false);
	struct lm m;

	check_spelling(path, "gpt2", "transformer.h.1.attn.c_attn.weight");
	tap_fails(lm_open(&m, path, &(struct lm_open_options){ .strict = true }), ERR_MISMATCH,
		  "gpt2: 1 tensor that a model of the kind gpt2 does not have, the first odd",
		  "strict");
	tap_ok(!m.model && !m.store, "nothing is left open");
	check_spelling(respelled("bert", "bert", "bert.", "", true), "bert",
		       "bert.encoder.layer.1.output.LayerNorm.bias");
	check_spelling(respelled("seeing", "gemma3", "model.", "language_model.model.", false),
		       "gemma3", "model.layers.2.mlp.up_proj.weight");
	tap_fails(lm_open(&m, "fixtures/good/lm/qwen3/model.safetensors", NULL), ERR_MISSING,
		  "no configuration", "a file alone");
	tap_fails(lm_open(&m, tap_path("nothing"), NULL), ERR_IO, "nothing", "no such folder");
}

/* A tensor that is needed and missing is found when the graph is built, and named. */
static void test_missing(void)
{
	static const int32_t id = 0;
	const struct rows one = { .n = 1, .ids = &id };
	struct store *empty;
	struct graph *g;
	struct lm m;

	open_family(&m, NULL, "mistral", NULL);
	tap_works(store_new(&empty), "a store");
	tap_works(graph_new(&g, empty, NULL), "a graph");
	hidden_of(g, m.config, &one);
	tap_fails(graph_check(g), ERR_ARGUMENT, "no parameter model.embed_tokens.weight", "empty");
	graph_free(g);
	store_free(empty);
	lm_close(&m);
}

int main(void)
{
	tap_run(test_families);
	tap_run(test_documents);
	tap_run(test_cache);
	tap_run(test_gradients);
	tap_run(test_names);
	tap_run(test_gguf_names);
	tap_run(test_spellings);
	tap_run(test_missing);
	return tap_done();
}
