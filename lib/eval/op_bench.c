/* lib/eval/op_bench.c - a graph of one node, its operands, and its time */

#include "lib/eval/op_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/graph/cost.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/store.h"

#define SHORT 20e-6 /* what takes less is repeated within one run */
#define LONG  0.1   /* what takes more needs no second run to be warm */

struct op_bench {
	struct store *store; /* of the weights */
	struct graph *g;
	struct plan *plan;
	struct node *node, *before; /* the op's; one at which all threads meet */
	struct tensor *inputs[KERNEL_TENSORS];
	struct op_operands operands;
	struct backend chosen;	       /* with VARIANT alone of the op's kernels */
	const struct kernel **kernels; /* owned */
	struct roof *roof;
	enum dtype dtype; /* that was asked for, or that it has anyway */
	double footprint;
	size_t times;
	bool cold;
};

/* --- the kernels to choose from --- */

const char *op_bench_variant(const struct backend *b, enum op op, size_t i)
{
	const char *last = NULL;

	for (const struct kernel *const *k = b->kernels; *k; k++) {
		if (strcmp((*k)->op, op_info(op)->name) != 0 ||
		    (last && strcmp(last, (*k)->variant) == 0))
			continue;
		last = (*k)->variant;
		if (i-- == 0)
			return last;
	}
	return NULL;
}

/* B's backend without the other kernels of OP. */
static int choose_variant(struct op_bench *b, const struct backend *from, enum op op,
			  const char *variant)
{
	size_t n = 0, kept = 0;
	bool there = false;

	while (from->kernels[n])
		n++;
	b->kernels = mem_new(n + 1, sizeof(*b->kernels));
	if (!b->kernels)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct kernel *k = from->kernels[i];
		bool is_op = strcmp(k->op, op_info(op)->name) == 0;

		if (is_op && strcmp(k->variant, variant) != 0)
			continue;
		there = there || is_op;
		b->kernels[kept++] = k;
	}
	if (!there)
		return err_set(ERR_ARGUMENT, "%s has no variant '%s' here", op_info(op)->name,
			       variant);
	b->chosen = *from;
	b->chosen.kernels = b->kernels;
	return 0;
}

/* --- the graph --- */

/* A weight of the store, frozen. */
static struct tensor *weight(struct op_bench *b, const char *name, enum dtype t,
			     const struct shape *s)
{
	struct store_entry *e = store_add(b->store, name, STORE_PARAMETER, t, s);

	if (!e || store_allocate(b->store, e) < 0)
		return NULL;
	e->trainable = false;
	return graph_param(b->g, name, *s);
}

static struct tensor *operand(struct op_bench *b, int i, enum dtype floats)
{
	const struct op_operand_shape *o = &b->operands.at[i];
	struct shape s = op_operand_memory(o);
	struct tensor *t;
	char name[8];

	if (!o->there)
		return NULL;
	snprintf(name, sizeof(name), "in%d", i);
	t = o->weight ? weight(b, name, o->dtype ? o->dtype : floats, &s)
		      : graph_input(b->g, name, o->dtype ? o->dtype : floats, s);
	b->inputs[i] = t;
	return t && o->transposed ? op_transpose(b->g, t) : t;
}

/* What fill and cast make where they do not say: what is asked for. */
static void complete(enum op op, enum dtype floats, void *attributes)
{
	if (op == OP_FILL || op == OP_ARANGE)
		((struct fill_attributes *)attributes)->dtype = floats;
}

static int build(struct op_bench *b, const struct op_shape *s, enum dtype floats)
{
	_Alignas(16) unsigned char attributes[256] = { 0 };
	struct tensor *in[KERNEL_TENSORS], *t;

	if (op_operands_parse(s->operands, &b->operands) < 0)
		return -1;
	if (b->operands.n < op_info(s->op)->least || b->operands.n > op_info(s->op)->most)
		return err_set(ERR_ARGUMENT, "%s takes %d to %d operands, not %d",
			       op_info(s->op)->name, op_info(s->op)->least, op_info(s->op)->most,
			       b->operands.n);
	if (store_new(&b->store) < 0 ||
	    graph_new(&b->g, b->store, &(struct graph_options){ .train = true }) < 0)
		return -1;
	if (s->attributes)
		memcpy(attributes, s->attributes, op_info(s->op)->attributes);
	complete(s->op, floats, attributes);
	t = op_fill(b->g, DTYPE_F32, SHAPE(1), 0);
	graph_output(b->g, t, "before");
	b->before = t ? t->node : NULL;
	for (int i = 0; i < b->operands.n; i++) {
		in[i] = operand(b, i, floats);
		if (b->operands.at[i].there && !in[i])
			return graph_check(b->g) < 0 ? -1 : err_prefix("operand %d", i + 1);
	}
	t = graph_append(b->g, s->op, in, b->operands.n, attributes);
	b->node = t ? t->node : NULL;
	for (int i = 0; b->node && i < b->node->n_out; i++) {
		char name[8];

		snprintf(name, sizeof(name), "out%d", i);
		graph_output(b->g, b->node->out[i], name);
	}
	return graph_check(b->g);
}

/* --- values --- */

#define VALUES 4099 /* a prime: rows do not begin alike */

/* Small, so that what is repeated in place and what is exponentiated stays finite. */
static float float_value(const struct op_operand_shape *o, const struct random_stream *r, size_t i)
{
	if (o->fill == '+')
		return shape_elements(&o->shape) == 1 ? 1 : 0.5f + random_uniform(r, 0, i);
	return 0.1f * random_normal(r, 0, i);
}

static void fill_floats(const struct op_operand_shape *o, const struct random_stream *r,
			enum dtype t, void *data, size_t n)
{
	static _Thread_local float values[VALUES];
	size_t size = dtype_info(t)->bytes;

	for (size_t i = 0; i < VALUES; i++)
		values[i] = float_value(o, r, i);
	for (size_t i = 0; i < n; i += VALUES)
		dtype_from_f32(t, values, (char *)data + i * size, n - i < VALUES ? n - i : VALUES);
}

static int32_t id_value(const struct op_operand_shape *o, const struct random_stream *r, size_t i)
{
	size_t n = shape_elements(&o->shape);

	switch (o->fill) {
	case '#': return (int32_t)i;
	case '^': return (int32_t)(o->limit * i / (n > 1 ? n - 1 : 1));
	default: return (int32_t)random_below(r, 0, i, o->limit ? o->limit : 100);
	}
}

/*
 * Blocks of quantized values: every two bytes make an f16 from 0.03 to 0.13, so that scales are sound wherever they lie. Bytes
 * of 8-bit types serve as well.
 */
static void fill_bytes(const struct random_stream *r, enum dtype t, uint8_t *data, size_t n)
{
	uint8_t mask = t == DTYPE_BOOL ? 1 : 7, base = t == DTYPE_BOOL ? 0 : 0x28;

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(base + (random_u32(r, 0, i % VALUES) & mask));
}

static void fill_operand(const struct op_operand_shape *o, int i, const struct tensor *t,
			 void *data)
{
	struct random_stream r = random_at(1, (uint64_t)i, 0);
	size_t n = shape_elements(&t->shape), size = 0;

	if (t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16 ||
	    t->dtype == DTYPE_F64) {
		fill_floats(o, &r, t->dtype, data, n);
	} else if (t->dtype == DTYPE_I32) {
		for (size_t j = 0; j < n; j++)
			((int32_t *)data)[j] = id_value(o, &r, j);
	} else if (dtype_size(t->dtype, n, &size)) {
		fill_bytes(&r, t->dtype, data, size);
	}
}

static int fill(struct op_bench *b)
{
	for (int i = 0; i < b->operands.n; i++) {
		void *data = b->inputs[i] ? plan_data(b->plan, b->inputs[i]) : NULL;

		if (b->inputs[i] && !data)
			return -1;
		if (data)
			fill_operand(&b->operands.at[i], i, b->inputs[i], data);
	}
	return 0;
}

/* --- making --- */

static bool is_float(enum dtype t)
{
	return t == DTYPE_F64 || t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

static enum dtype main_dtype(const struct node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && is_float(n->in[i]->dtype))
			return n->in[i]->dtype;
	return n->n_in && n->in[0] ? n->in[0]->dtype : n->out[0]->dtype;
}

static void calibrate(struct op_bench *b)
{
	double seconds = op_bench_run(b);

	if (seconds < LONG)
		seconds = op_bench_run(b);
	if (!b->cold && seconds < SHORT)
		b->times = 1 + (size_t)(SHORT / (seconds + 1e-9));
}

static int make(struct op_bench *b, const struct op_shape *s, enum dtype floats,
		const struct op_bench_options *o)
{
	const struct roof_bytes *bytes;
	struct op_bench_facts facts;
	struct plan_options options = {
		.backend = o->backend,
		.team = o->team,
		.keep = true,
		.without = PLAN_FOLD | PLAN_MERGE | PLAN_IN_PLACE | PLAN_EPILOGUE,
	};

	if (build(b, s, floats) < 0)
		return -1;
	if (o->variant) {
		if (choose_variant(b, o->backend, s->op, o->variant) < 0)
			return -1;
		options.backend = &b->chosen;
		options.strict = true;
	}
	if (plan_new(&b->plan, b->g, &options) < 0 || plan_allocate(b->plan) < 0 || fill(b) < 0)
		return -1;
	plan_measure(b->plan, true);
	b->roof = o->roof;
	b->dtype = op_bench_takes_dtype(s) ? floats : main_dtype(b->node);
	b->cold = o->cold;
	b->times = 1;
	facts = op_bench_facts(b);
	bytes = &facts.bytes;
	b->footprint = bytes->read + bytes->updated + bytes->written;
	if (b->cold && roof_evict(b->roof) < 0)
		return -1;
	calibrate(b);
	return 0;
}

int op_bench_new(struct op_bench **out, const struct op_shape *s, enum dtype floats,
		 const struct op_bench_options *o)
{
	struct op_bench *b = mem_new(1, sizeof(*b));

	if (!b)
		return -1;
	if (make(b, s, floats, o) < 0) {
		op_bench_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

void op_bench_free(struct op_bench *b)
{
	if (!b)
		return;
	plan_free(b->plan);
	graph_free(b->g);
	store_free(b->store);
	free(b->kernels);
	free(b);
}

bool op_bench_takes_dtype(const struct op_shape *s)
{
	struct op_operands o;

	if (s->op == OP_FILL || s->op == OP_ARANGE)
		return true;
	if (op_operands_parse(s->operands, &o) < 0)
		return true; /* it will be refused */
	for (int i = 0; i < o.n; i++)
		if (o.at[i].there && o.at[i].dtype == DTYPE_UNKNOWN)
			return true;
	return false;
}

/* --- running --- */

/* Of the op's node, and of copies that its shape rule may have asked for. */
static double seconds_so_far(const struct op_bench *b)
{
	double seconds = 0;

	for (size_t i = 0; i < plan_n_steps(b->plan); i++) {
		struct plan_node_stats s = plan_step(b->plan, i);

		if (s.node != b->before)
			seconds += s.seconds;
	}
	return seconds;
}

double op_bench_run(void *arg)
{
	struct op_bench *b = arg;
	double start;

	/* A run cannot fail: its memory is there. */
	if (b->cold)
		roof_evict(b->roof);
	else if (b->footprint <= (double)roof_cached(b->roof))
		plan_run(b->plan, 1, 0);
	start = seconds_so_far(b);
	for (size_t i = 0; i < b->times; i++)
		plan_run(b->plan, 1, i);
	return (seconds_so_far(b) - start) / (double)b->times;
}

/* --- what it does --- */

/* What is updated in place is counted as much as it is read; what is only written into it, as written. */
static struct roof_bytes node_bytes(const struct node *n)
{
	uint32_t in_place = op_info(n->op)->in_place;
	struct roof_bytes b = { 0 };
	int o = 0;

	for (int i = 0; i < n->n_in; i++) {
		if (in_place >> i & 1) {
			b.updated += cost_in_bytes(n, i);
			b.written += cost_out_bytes(n, o++) - cost_in_bytes(n, i);
		} else {
			b.read += cost_in_bytes(n, i);
		}
	}
	for (; o < n->n_out; o++)
		b.written += cost_out_bytes(n, o);
	return b;
}

struct op_bench_facts op_bench_facts(const struct op_bench *b)
{
	struct op_bench_facts f = { .bytes = node_bytes(b->node),
				    .dtype = b->dtype,
				    .scratch = (double)plan_bytes(b->plan, PLAN_WORKSPACE) };

	for (size_t i = 0; i < plan_n_steps(b->plan); i++) {
		struct plan_node_stats s = plan_step(b->plan, i);

		if (s.node != b->node)
			continue;
		f.operations = s.operations;
		f.backend = s.backend;
		f.variant = s.kernel->variant;
	}
	return f;
}
