/*
 * tests/kernel/test_random_graphs.c - small graphs drawn by seed, planned in every way
 *
 * A graph is a chain of cases of the registry (ops.def), whose operands are cut out of what was made before: views, gaps,
 * epilogues that may be fused, equal nodes, constants, draws, updates in place with readers of the old value, and gradients
 * through what has one. On one level all plans of it give the same bits: without passes, without one, with one alone, with all, with blocks
 * computed again, between closed pages, in an arena that others used, on 1, 2, 3 and 7 threads, and when it is run again. What is
 * smooth also lies near ref.
 *
 * NNUTILS_SEED and NNUTILS_COUNT (0 and 200 when not set) say which graphs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/op_cases.h"
#include "tests/mock_device.h"
#include "tests/tap.h"

#define POOL  128
#define GIVEN 128
#define LARGE 700 /* elements of an operand at most */

/* --- the registry's cases --- */

static struct op_cases cases_of[OP_COUNT];
static enum op usable[OP_COUNT];
static size_t n_usable;

static bool is_small(const struct op_case *c)
{
	for (int i = 0; i < c->n_in; i++)
		if (c->in[i].there && shape_elements(&c->in[i].shape) > LARGE)
			return false;
	return c->n_in > 0;
}

static void find_cases(void)
{
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_cases *c = &cases_of[op];
		size_t n = 0;

		op_cases_make(c, (enum op)op);
		for (size_t i = 0; i < c->n; i++)
			if (is_small(&c->items[i]))
				c->items[n++] = c->items[i];
		c->n = n;
		if (n)
			usable[n_usable++] = (enum op)op;
	}
}

/* --- a graph of a seed --- */

/* What a run is given: operand I of C. */
struct given {
	struct tensor *tensor;
	const struct op_case *c;
	int i;
};

struct maker {
	struct graph *g;
	struct store *s;
	struct random_stream r;
	uint64_t n_draws;
	enum dtype floats;
	struct tensor *pool[POOL];
	size_t n_pool;
	struct given given[GIVEN];
	size_t n_given;
	bool smooth; /* a small error of an operand is a small one of the results */
};

static size_t draw(struct maker *m, size_t n)
{
	return (size_t)random_below(&m->r, 1, m->n_draws++, n);
}

static void put_values(const struct op_case *c, int i, enum dtype dtype, void *data)
{
	struct kernel_tensor whole = { .data = data, .dtype = dtype };
	size_t n = shape_elements(&c->in[i].shape);
	double *values = malloc((n + 1) * sizeof(*values));

	if (!values)
		abort();
	op_case_values(c, i, values);
	for (size_t j = 0; j < n; j++)
		ref_put(&whole, (ptrdiff_t)j, values[j]);
	free(values);
}

static struct tensor *constant(struct maker *m, const struct op_case *c, int i, enum dtype dtype)
{
	double *data = calloc(shape_elements(&c->in[i].shape) + 1, sizeof(*data));
	struct tensor *t;

	if (!data)
		abort();
	put_values(c, i, dtype, data);
	t = graph_constant(m->g, dtype, c->in[i].shape, data);
	free(data);
	return t;
}

static struct tensor *parameter(struct maker *m, const struct op_case *c, int i)
{
	struct store_entry *e;
	char name[32];

	snprintf(name, sizeof(name), "p%zu", store_n(m->s));
	e = store_add(m->s, name, STORE_PARAMETER, DTYPE_F32, &c->in[i].shape);
	if (!e || store_allocate(m->s, e) < 0)
		abort();
	put_values(c, i, DTYPE_F32, e->data);
	return m->floats == DTYPE_F32 ? graph_entry(m->g, e)
				      : op_cast(m->g, graph_entry(m->g, e), m->floats);
}

/* The case's own values: an input, a constant, or a parameter. */
static struct tensor *fresh(struct maker *m, const struct op_case *c, int i)
{
	enum dtype dtype = c->in[i].exact ? c->in[i].dtype : m->floats;
	size_t kind = draw(m, c->in[i].exact ? 2 : 4);
	char name[32];
	struct tensor *t;

	if (kind == 0 || m->n_given == GIVEN)
		return constant(m, c, i, dtype);
	if (kind > 1)
		return parameter(m, c, i);
	snprintf(name, sizeof(name), "in%zu", m->n_given);
	t = graph_input(m->g, name, dtype, c->in[i].shape);
	m->given[m->n_given++] = (struct given){ t, c, i };
	return t;
}

/* N elements side by side, cut out of T, which is repeated or padded where it is shorter. */
static struct tensor *cut(struct maker *m, struct tensor *t, size_t n)
{
	size_t have = shape_elements(&t->shape);

	t = op_reshape(m->g, op_cast(m->g, t, m->floats), SHAPE(have));
	if (have < n && 2 * have >= n) {
		t = op_pad(m->g, t, (size_t[]){ 0 }, (size_t[]){ n - have }, 0.5);
		have = n;
	} else if (have < n) {
		t = op_repeat(m->g, t, 0, (n + have - 1) / have);
		have *= (n + have - 1) / have;
	}
	return have == n ? t : op_slice(m->g, t, 0, draw(m, have - n + 1), n);
}

static struct tensor *made_before(struct maker *m, const struct shape *shape)
{
	struct tensor *t = cut(m, m->pool[draw(m, m->n_pool)], shape_elements(shape));
	struct shape turned = *shape;

	if (shape->n < 2 || draw(m, 3))
		return op_reshape(m->g, t, *shape);
	turned.at[shape->n - 1] = shape->at[shape->n - 2];
	turned.at[shape->n - 2] = shape->at[shape->n - 1];
	return op_transpose(m->g, op_reshape(m->g, t, turned));
}

static struct tensor *operand(struct maker *m, const struct op_case *c, int i)
{
	const struct op_operand *o = &c->in[i];
	struct tensor *t;

	if (!o->there)
		return NULL;
	if (o->exact || o->fill == FILL_LOGS || m->n_pool == 0 || draw(m, 3) == 0)
		t = fresh(m, c, i);
	else if (o->fill == FILL_POSITIVE)
		t = op_scale(m->g, op_sigmoid(m->g, made_before(m, &o->shape)), 2, 0.2);
	else
		t = made_before(m, &o->shape);
	if (!o->gradient || !op_info(c->op)->grad)
		t = graph_stop(m->g, t);
	return op_info(c->op)->in_place >> i & 1 ? op_copy(m->g, t) : t;
}

static bool is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_BF16 || t == DTYPE_F64 || t == DTYPE_F16;
}

/* What others may be made of. Half of it is brought near 0, so that a chain does not grow without bound. */
static void keep(struct maker *m, struct tensor *t)
{
	if (!t || m->n_pool == POOL || !is_float(t->dtype) || shape_elements(&t->shape) == 0)
		return;
	m->pool[m->n_pool++] = draw(m, 2) ? t : op_tanh(m->g, t);
}

/* A chain of elementwise ops behind T: activations, residuals, what the planner fuses or lays over it. */
static struct tensor *follow(struct maker *m, struct tensor *t)
{
	size_t n = draw(m, 3);

	for (size_t i = 0; t && i < n; i++)
		switch (draw(m, 6)) {
		case 0:
			t = op_add(m->g, t, op_cast(m->g, made_before(m, &t->shape), t->dtype));
			break;
		case 1:
			t = op_mul(m->g, op_cast(m->g, made_before(m, &t->shape), t->dtype), t);
			break;
		case 2: t = op_scale(m->g, t, 0.5, 0.25); break;
		case 3: t = op_sub(m->g, t, t); break;
		default:
			t = op_activation(m->g, t, (enum activation)(1 + draw(m, ACTIVATION_TANH)));
		}
	return t;
}

/*
 * A reader of what an update in place overwrites, told of after the update: now and then a product with one of the first N_BEFORE, which do
 * not depend on the update, and something that may.
 */
static void read_old(struct maker *m, struct tensor *old, size_t n_before)
{
	size_t n = shape_elements(&old->shape);
	struct tensor *w;

	if (!is_float(old->dtype) || n == 0 || n_before == 0)
		return;
	old = op_cast(m->g, old, m->floats);
	if (draw(m, 2)) {
		keep(m, op_scale(m->g, old, -2, 0.5));
		return;
	}
	w = op_reshape(m->g, cut(m, m->pool[draw(m, n_before)], 4 * n), SHAPE(n, 4));
	/* Its gradient would read the old value when the new one is known. */
	old = op_matmul(m->g, op_reshape(m->g, old, SHAPE(1, n)), graph_stop(m->g, w));
	keep(m, op_add(m->g, op_cast(m->g, made_before(m, &SHAPE(1, 4)), m->floats), old));
}

/* One case, of whose results the first has a gradient; now and then twice, so that there are equal nodes. */
static void add_case(struct maker *m, const struct op_case *c)
{
	struct tensor *in[KERNEL_TENSORS], *t, *twin;
	uint32_t in_place = op_info(c->op)->in_place;
	size_t n_before = m->n_pool;

	for (int i = 0; i < c->n_in; i++)
		in[i] = operand(m, c, i);
	m->smooth &= op_info(c->op)->grad != NULL || in_place;
	t = graph_append(m->g, c->op, in, c->n_in, c->attributes);
	if (!t)
		return;
	for (int i = 0; i < t->node->n_out; i++) {
		m->smooth &= is_float(t->node->out[i]->dtype);
		keep(m, i ? graph_stop(m->g, t->node->out[i]) : t);
	}
	if (in_place && draw(m, 2))
		read_old(m, in[0], n_before);
	if (!in_place && draw(m, 5) == 0) {
		twin = graph_append(m->g, c->op, in, c->n_in, c->attributes);
		if (is_float(t->dtype))
			t = op_sub(m->g, op_scale(m->g, t, 3, 0), twin);
	}
	if (is_float(t->dtype) && shape_elements(&t->shape) && m->n_pool)
		keep(m, follow(m, t));
}

static const struct op_case *draw_case(struct maker *m)
{
	enum op op = usable[draw(m, n_usable)];

	if (draw(m, 4) == 0 && cases_of[OP_MATMUL].n)
		op = OP_MATMUL;
	return &cases_of[op].items[draw(m, cases_of[op].n)];
}

static void add_blocks(struct maker *m)
{
	size_t blocks = 1 + draw(m, 3);

	for (size_t i = 0; i < blocks; i++) {
		size_t n = 1 + draw(m, 4);

		graph_push(m->g, "block.%zu", i);
		if (draw(m, 3))
			graph_block(m->g);
		for (size_t j = 0; j < n; j++)
			add_case(m, draw_case(m));
		graph_pop(m->g);
	}
}

static void name_outputs(struct maker *m)
{
	struct tensor *loss = graph_scalar(m->g, 0);
	size_t n = m->n_pool < 5 ? m->n_pool : 5;

	for (size_t i = 0; i < n; i++) {
		struct tensor *t = m->pool[m->n_pool - 1 - i];
		char name[16];

		snprintf(name, sizeof(name), "out%zu", i);
		graph_output(m->g, tensor_is_dense(t) ? t : op_copy(m->g, t), name);
		t = op_mean(m->g, op_square(m->g, op_cast(m->g, t, DTYPE_F32)), 0, false);
		loss = op_add(m->g, loss, op_reshape(m->g, t, SHAPE_SCALAR));
	}
	graph_output(m->g, loss, "loss");
	graph_grad_accumulate(m->g, loss);
}

static int make(struct maker *m, uint64_t seed)
{
	*m = (struct maker){ .r = random_at(seed, 0, 11), .smooth = true };
	m->floats = draw(m, 3) ? DTYPE_F32 : DTYPE_BF16;
	if (store_new(&m->s) < 0 ||
	    graph_new(&m->g, m->s, &(struct graph_options){ .train = true }) < 0)
		return -1;
	add_blocks(m);
	name_outputs(m);
	return graph_check(m->g);
}

/* --- running it --- */

struct outcome {
	uint64_t hash;
	bool smooth;
	double *values; /* owned: of all outputs and sums of gradients, one after the other */
	size_t *ends;	/* owned: where each ends */
	size_t n;
};

static void free_outcome(struct outcome *o)
{
	free(o->values);
	free(o->ends);
	*o = (struct outcome){ 0 };
}

/* Every NaN is one: which of two operands it comes from is not said. */
static void add_values(struct outcome *o, const void *data, enum dtype dtype, size_t n)
{
	struct kernel_tensor t = { .data = (void *)data, .dtype = dtype };
	size_t at = o->n ? o->ends[o->n - 1] : 0;

	o->values = realloc(o->values, (at + n + 1) * sizeof(*o->values));
	o->ends = realloc(o->ends, (o->n + 1) * sizeof(*o->ends));
	if (!o->values || !o->ends)
		abort();
	for (size_t i = 0; i < n; i++) {
		double x = ref_get(&t, (ptrdiff_t)i);

		o->values[at + i] = isnan(x) ? NAN : x;
	}
	o->ends[o->n++] = at + n;
	o->hash = hash_short(o->values + at, n * sizeof(double), o->hash);
}

static void read_outcome(const struct maker *m, struct plan *p, struct outcome *o)
{
	for (size_t i = 0; i < graph_n_outputs(m->g); i++) {
		const struct tensor *t = graph_output_at(m->g, i, NULL);

		add_values(o, plan_data(p, t), t->dtype, shape_elements(&t->shape));
	}
	for (size_t i = 0; i < store_n(m->s); i++) {
		struct store_entry *e = store_at(m->s, i);

		if (e->kind == STORE_GRADIENT && (e->data || e->device_data)) {
			tap_works(store_to_host(m->s, e), "%s comes to the host", e->name);
			add_values(o, e->data, e->dtype, shape_elements(&e->shape));
			memset(e->data, 0, e->size);
			store_touch(e);
		}
	}
}

/* Twice: the second run must do what the first did. */
static int run(struct maker *m, struct plan *p, struct outcome *o)
{
	struct outcome second = { 0 };
	int result;

	for (size_t i = 0; i < m->n_given; i++) {
		void *data = plan_data(p, m->given[i].tensor);

		if (!data)
			return -1;
		put_values(m->given[i].c, m->given[i].i, m->given[i].tensor->dtype, data);
	}
	if (plan_run(p, 7, 3) < 0)
		return -1;
	read_outcome(m, p, o);
	if (plan_run(p, 7, 3) < 0)
		return -1;
	read_outcome(m, p, &second);
	result = second.hash == o->hash ? 0 : err_set(ERR_ARGUMENT, "the second run is another");
	free_outcome(&second);
	return result;
}

static int outcome_of(uint64_t seed, struct plan_options options, struct outcome *o)
{
	struct maker m;
	struct plan *p = NULL;
	int result = -1;

	*o = (struct outcome){ 0 };
	if (make(&m, seed) == 0 && plan_new(&p, m.g, &options) == 0)
		result = run(&m, p, o);
	o->smooth = m.smooth;
	plan_free(p);
	graph_free(m.g);
	store_free(m.s);
	return result;
}

/* --- comparing --- */

static struct team *teams[8];
static struct plan_arena *shared;
static size_t n_compared;

static void check_plan(uint64_t seed, struct plan_options o, int threads, uint64_t want,
		       const char *what)
{
	struct outcome got;

	o.team = teams[threads];
	if (tap_works(outcome_of(seed, o, &got), "graph %llu, %s", (unsigned long long)seed,
		      what) &&
	    got.hash != want)
		tap_ok(false, "graph %llu on %s, %s: the same bits", (unsigned long long)seed,
		       o.backend->name, what);
	free_outcome(&got);
}

static void check_near(uint64_t seed, const struct outcome *got)
{
	struct outcome want;
	struct plan_options o = { .backend = backend_ref() };

	if (!got->smooth || !tap_works(outcome_of(seed, o, &want), "on ref"))
		return;
	for (size_t i = 0, at = 0; i < want.n; at = want.ends[i++]) {
		double most = 1e-3, worst = 0;

		for (size_t j = at; j < want.ends[i]; j++) {
			if (!isfinite(want.values[j]) || !isfinite(got->values[j]))
				continue;
			most = fmax(most, fabs(want.values[j]));
			worst = fmax(worst, fabs(want.values[j] - got->values[j]));
		}
		if (worst > most * 0.05)
			tap_ok(false, "graph %llu: result %zu is off by %g of %g",
			       (unsigned long long)seed, i, worst, most);
	}
	n_compared++;
	free_outcome(&want);
}

/* On a device whose kernels are those of B, but for two ops that SEED draws, which the host does. */
static void check_device(uint64_t seed, const struct backend *b, uint64_t want)
{
	enum op out[2] = { (enum op)(seed * 7 % OP_COUNT), (enum op)(seed * 31 % OP_COUNT) };
	struct mock_device *d = mock_device_new(b, out, 2, 1u << 30);
	struct plan_options o = { .backend = mock_device_backend(d) };

	check_plan(seed, o, 2, want, "on a device");
	o.recompute = true;
	check_plan(seed, o, 1, want, "on a device, computed again");
	mock_device_free(d);
}

/* Chains of rows in tiles that do not divide them, with what kernels make of weights kept. */
static void check_tiles(uint64_t seed, struct plan_options o, uint64_t want)
{
	o.tile = 1 + seed % 3;
	check_plan(seed, o, 1, want, "in tiles");
	check_plan(seed, o, 3, want, "in tiles, 3 threads");
	o.keep = true;
	check_plan(seed, o, 2, want, "in tiles, what is kept");
	o.without = PLAN_SEGMENTS;
	o.caches = &(struct kernel_caches){ .l1 = 1, .l2 = 1, .l3 = 1 };
	check_plan(seed, o, 2, want, "what is kept, cut for the smallest caches");
}

/* Whether a plan that has a device runs what the device does not do on the level of B. */
static bool is_host(const struct backend *b)
{
	enum level level;
	const char *word;

	return level_choose(&level, &word) == 0 && b == backend_level(level);
}

static void check_graph(uint64_t seed, const struct backend *b)
{
	struct plan_options o = { .backend = b, .without = PLAN_ALL };
	struct outcome plain;
	char what[40];

	if (!tap_works(outcome_of(seed, o, &plain), "graph %llu on %s, without passes",
		       (unsigned long long)seed, b->name)) {
		free_outcome(&plain);
		return;
	}
	for (unsigned pass = 1; pass <= PLAN_ALL; pass *= 2) {
		o.without = PLAN_ALL & ~pass;
		snprintf(what, sizeof(what), "with pass %u alone", pass);
		check_plan(seed, o, 1, plain.hash, what);
	}
	for (unsigned pass = 1; pass <= PLAN_ALL; pass *= 2) {
		o.without = pass;
		snprintf(what, sizeof(what), "without pass %u, 3 threads", pass);
		check_plan(seed, o, 3, plain.hash, what);
	}
	o.without = 0;
	check_plan(seed, o, 1, plain.hash, "with all passes");
	check_plan(seed, o, 2, plain.hash, "2 threads");
	check_plan(seed, o, 3, plain.hash, "3 threads");
	check_plan(seed, o, 7, plain.hash, "7 threads");
	check_tiles(seed, o, plain.hash);
	if (is_host(b))
		check_device(seed, b, plain.hash);
	o.arena = shared;
	check_plan(seed, o, 2, plain.hash, "in an arena that others used");
	o.arena = NULL;
	o.guard = true;
	check_plan(seed, o, 1, plain.hash, "between closed pages");
	o.guard = false;
	o.recompute = true;
	check_plan(seed, o, 2, plain.hash, "computed again");
	o.without = PLAN_ALL;
	check_plan(seed, o, 1, plain.hash, "computed again, without passes");
	check_near(seed, &plain);
	free_outcome(&plain);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
	uint64_t first = setting("NNUTILS_SEED", 0), count = setting("NNUTILS_COUNT", 200);
	const struct backend *backends[LEVEL_COUNT + 1] = { backend_ref() };
	size_t n_backends = 1;

	find_cases();
	for (int level = 0; level < LEVEL_COUNT; level++)
		if (level_available((enum level)level))
			backends[n_backends++] = backend_level((enum level)level);
	for (int threads = 1; threads <= 7; threads++)
		tap_works(team_new(&teams[threads], threads), "a team of %d", threads);
	tap_works(plan_arena_new(&shared), "an arena");
	for (uint64_t seed = first; seed < first + count && n_usable; seed++)
		check_graph(seed, backends[seed % n_backends]);
	tap_ok(n_compared * 5 >= count || count < 100, "%zu graphs are smooth", n_compared);
	plan_arena_free(shared);
	for (int threads = 1; threads <= 7; threads++)
		team_free(teams[threads]);
	for (int op = 0; op < OP_COUNT; op++)
		op_cases_free(&cases_of[op]);
	return tap_done();
}
