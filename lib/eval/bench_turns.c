/* lib/eval/bench_turns.c - the kernels of one case in turn, beside loops that move the same bytes */

#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/bench.h"
#include "lib/eval/op_bench.h"

#define RUNNERS_MOST 24

/* What takes turns on one case. */
struct runner {
	struct op_bench *bench;
	size_t level; /* place in the list of levels */
	bool ref;
};

struct turns {
	struct runner ops[RUNNERS_MOST];
	struct roof_floor floors[2]; /* plain, streaming */
	struct timing_runner runners[RUNNERS_MOST + 2];
	size_t n_ops, n_floors;
};

static double samples[RUNNERS_MOST + 2][BENCH_RUNS];

/* Adds a runner. A kernel that does not do the case is passed over, when it is one of several. */
static int add_runner(struct turns *t, const struct bench *b, const struct op_shape *s,
		      enum dtype floats, size_t level, const struct backend *on,
		      const char *variant)
{
	struct op_bench_options o = { .backend = on,
				      .variant = variant,
				      .roof = b->levels[level].roof,
				      .team = b->team,
				      .cold = b->cold };
	struct runner *r = &t->ops[t->n_ops];

	if (t->n_ops == RUNNERS_MOST)
		return err_set(ERR_LIMIT, "more than %d kernels at once", RUNNERS_MOST);
	if (op_bench_new(&r->bench, s, floats, &o) < 0) {
		bool other = err_last() == ERR_UNSUPPORTED || err_last() == ERR_ARGUMENT;

		return variant && other && strcmp(s->name, "-") != 0 ? 0 : -1;
	}
	r->level = level;
	r->ref = on == backend_ref();
	t->n_ops++;
	return 0;
}

static bool all_variants(const struct bench *b)
{
	return b->n_variants == 1 && strcmp(b->variants[0], "all") == 0;
}

static int add_cpu(struct turns *t, const struct bench *b, const struct op_shape *s,
		   enum dtype floats, size_t level)
{
	const struct backend *on = b->levels[level].backend;
	const char *name;

	if (!b->n_variants)
		return add_runner(t, b, s, floats, level, on, NULL);
	for (size_t i = 0; all_variants(b) && (name = op_bench_variant(on, s->op, i)); i++)
		if (add_runner(t, b, s, floats, level, on, name) < 0)
			return -1;
	for (size_t i = 0; !all_variants(b) && i < b->n_variants; i++)
		if (add_runner(t, b, s, floats, level, on, b->variants[i]) < 0)
			return -1;
	return 0;
}

/* The best unit for values of this type. */
static enum peak_unit best_unit(const struct bench *b, size_t level, enum dtype t, double *rate)
{
	*rate = roof_operations(b->levels[level].roof, PEAK_F32).median;
	if (t == DTYPE_BF16) {
		struct spread s = roof_operations(b->levels[level].roof, PEAK_BF16);

		if (s.n && s.median > *rate) {
			*rate = s.median;
			return PEAK_BF16;
		}
	}
	return PEAK_F32;
}

/* Loops that move the same bytes, unless no memory could be slow enough to matter. */
static int add_floors(struct turns *t, const struct bench *b)
{
	struct op_bench_facts f = op_bench_facts(t->ops[0].bench);
	size_t level = b->n_levels - 1;
	bool stores = f.bytes.updated + f.bytes.written > 0;
	double rate;

	best_unit(b, level, f.dtype, &rate);
	if (f.operations / rate > roof_moved(&f.bytes) / 2e9)
		return 0;
	for (int stream = 0; stream <= stores; stream++)
		if (roof_floor(b->levels[level].roof, &f.bytes, stream, b->cold,
			       &t->floors[t->n_floors++]) < 0)
			return -1;
	return 0;
}

/* Seconds in which BYTES move in the faster of the ways; 0 when that was not measured. */
static double floor_seconds(const struct turns *t, size_t runs, double bytes)
{
	double best = 0;

	for (size_t i = 0; i < t->n_floors; i++) {
		struct spread s = timing_spread(samples[t->n_ops + i], runs);
		double took = s.median * bytes / t->floors[i].moved;

		best = i == 0 || took < best ? took : best;
	}
	return best;
}

static void print_op(const struct turns *t, const struct bench *b, const struct op_shape *s,
		     size_t i, size_t runs)
{
	struct op_bench_facts f = op_bench_facts(t->ops[i].bench);
	struct bench_row r = bench_row_of(b, t->ops[i].level, op_info(s->op)->name, s->name);
	double rate, by_bytes;
	enum peak_unit unit = best_unit(b, t->ops[i].level, f.dtype, &rate);

	r.dtype = dtype_name(f.dtype);
	r.operands = s->operands;
	r.device = f.backend;
	if (t->ops[i].ref || strcmp(f.backend, "ref") == 0)
		r.level = NULL;
	r.variant = f.variant;
	r.cache = b->cold ? "cold" : "warm";
	r.seconds = timing_spread(samples[i], runs);
	r.operations = f.operations;
	r.scratch = f.scratch;
	r.moved = roof_moved(&f.bytes);
	by_bytes = floor_seconds(t, runs, r.moved);
	r.roof = f.operations / rate;
	r.bound = unit == PEAK_BF16 ? "bf16-dot" : "fma";
	if (by_bytes > r.roof) {
		r.roof = by_bytes;
		r.bound = "bytes";
	}
	b->row(&r);
}

/* Everything that takes turns; what was made is in T, also after an error. */
static int take_all(struct turns *t, const struct bench *b, const struct op_shape *s,
		    enum dtype floats)
{
	for (size_t i = 0; i < b->n_levels && b->cpu; i++)
		if (add_cpu(t, b, s, floats, i) < 0)
			return -1;
	if (b->ref && add_runner(t, b, s, floats, b->n_levels - 1, backend_ref(), NULL) < 0)
		return -1;
	return t->n_ops ? add_floors(t, b) : 0;
}

static void run_turns(struct turns *t, const struct bench *b, const struct op_shape *s)
{
	struct timing_limits l = { b->least_runs, BENCH_RUNS, b->seconds };
	size_t runs;

	for (size_t i = 0; i < t->n_ops; i++)
		t->runners[i] = (struct timing_runner){ op_bench_run, t->ops[i].bench, samples[i] };
	for (size_t i = 0; i < t->n_floors; i++)
		t->runners[t->n_ops + i] = (struct timing_runner){ roof_floor_run, &t->floors[i],
								   samples[t->n_ops + i] };
	runs = timing_interleave(t->runners, t->n_ops + t->n_floors, &l);
	for (size_t i = 0; i < t->n_ops; i++)
		print_op(t, b, s, i, runs);
}

static int bench_case(const struct bench *b, const struct op_shape *s, enum dtype floats)
{
	static struct turns t;
	int result;

	t.n_ops = t.n_floors = 0;
	result = take_all(&t, b, s, floats);
	if (result == 0 && t.n_ops)
		run_turns(&t, b, s);
	for (size_t i = 0; i < t.n_ops; i++)
		op_bench_free(t.ops[i].bench);
	return result;
}

static int bench_types(const struct bench *b, const struct op_shape *s)
{
	size_t n = op_bench_takes_dtype(s) ? b->n_dtypes : 1;

	for (size_t i = 0; i < n; i++)
		if (bench_case(b, s, b->dtypes[i]) < 0)
			return -1;
	return 0;
}

/* The user's operands, with the attributes of the op's first row. */
static int bench_own(const struct bench *b, const struct op_shape *first, const char *const *own,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct op_shape s = *first;

		s.name = "-";
		s.operands = own[i];
		if (bench_types(b, &s) < 0)
			return -1;
	}
	return 0;
}

int bench_op(const struct bench *b, enum op op, const char *const *own, size_t n_own)
{
	const char *name = op_info(op)->name;
	size_t i = 0;

	while (i < n_op_shapes && op_shapes[i].op != op)
		i++;
	if (i == n_op_shapes && b->wanted(name, "-")) {
		struct bench_row r = bench_row_of(b, 0, name, NULL);

		r.note = "no shape";
		b->row(&r);
		return 0;
	}
	if (n_own)
		return i < n_op_shapes && b->wanted(name, "-")
			       ? bench_own(b, &op_shapes[i], own, n_own)
			       : 0;
	for (; i < n_op_shapes && op_shapes[i].op == op; i++)
		if (b->wanted(name, op_shapes[i].name) && bench_types(b, &op_shapes[i]) < 0)
			return -1;
	return 0;
}
