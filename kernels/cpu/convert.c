/*
 * kernels/cpu/convert.c - elements of any plain type: copied as bytes, converted, compared, chosen
 *
 * What floats alone do to floats is in elementwise.c. Copies and choices move bytes of one size; conversions and comparisons of
 * other types go through double, CHUNK elements at a time, as ref does.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/plain.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector.h"

#define CHUNK PLAIN_CHUNK

/* --- runs along the last axis --- */

struct run {
	size_t outer, first, n; /* elements FIRST to FIRST + N - 1 of run OUTER */
};

static ptrdiff_t last_step(const struct kernel_tensor *t)
{
	return t->n_axes ? t->stride[t->n_axes - 1] : 0;
}

static ptrdiff_t run_at(const struct kernel_tensor *t, const struct run *r)
{
	return rows_at(t, r->outer) + (ptrdiff_t)r->first * last_step(t);
}

static void each_run(const struct kernel_call *c,
		     void (*fn)(const struct kernel_call *c, const struct run *r))
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + CHUNK - 1) / CHUNK, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct run r = { .outer = i / runs, .first = i % runs * CHUNK };

		r.n = length - r.first < CHUNK ? length - r.first : CHUNK;
		fn(c, &r);
	}
}

/* --- bytes --- */

/* The elements of T in R where they lie, or in ROOM. */
static const uint8_t *bytes_of(const struct kernel_tensor *t, const struct run *r, uint8_t *room)
{
	const uint8_t *p = plain_at(t, run_at(t, r));

	if (last_step(t) == 1)
		return p;
	plain_gather(dtype_info(t->dtype)->bytes, p, last_step(t), room, r->n);
	return room;
}

static bool gives_runs(const struct kernel_tensor *out)
{
	return out->n_axes == 0 || out->shape[out->n_axes - 1] == 1 || last_step(out) == 1;
}

/* --- copy --- */

/*
 * Of a transposed tensor, one line of TILE elements at a time would fetch a line of the cache for each; so TILE runs are
 * done together.
 */
#define TILE 16

static int other_axis(const struct kernel_tensor *x)
{
	for (int i = 0; i < x->n_axes - 1 && last_step(x) != 1; i++)
		if (x->stride[i] == 1 && x->shape[i] > 1)
			return i;
	return -1;
}

/* Runs of axis AXIS, the last one moved to it: TILE by CHUNK elements in tiles of TILE by TILE. */
static void copy_tile(const struct kernel_call *c, int axis, ptrdiff_t from, ptrdiff_t to,
		      size_t rows, size_t n)
{
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	size_t bytes = dtype_info(x->dtype)->bytes;

	for (size_t j = 0; j < n; j += TILE)
		for (size_t i = 0; i < rows; i++)
			plain_gather(
				bytes,
				plain_at(x, from + (ptrdiff_t)i + (ptrdiff_t)j * last_step(x)),
				last_step(x),
				plain_at(y, to + (ptrdiff_t)i * y->stride[axis] + (ptrdiff_t)j),
				n - j < TILE ? n - j : TILE);
}

static void copy_turned(const struct kernel_call *c, int axis)
{
	struct kernel_tensor x = c->in[0], y = c->out[0];
	size_t rows = x.shape[axis], n = x.shape[x.n_axes - 1], from, to;
	size_t down = (rows + TILE - 1) / TILE, across = (n + CHUNK - 1) / CHUNK;

	x.shape[axis] = y.shape[axis] = 1; /* what is left counts the planes */
	x.shape[x.n_axes - 1] = y.shape[y.n_axes - 1] = 1;
	kernel_share(kernel_elements(&y) * down * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct run r = { .outer = i / across / down };
		size_t row = i / across % down * TILE, column = i % across * CHUNK;

		copy_tile(c, axis,
			  run_at(&x, &r) + (ptrdiff_t)row + (ptrdiff_t)column * last_step(&x),
			  run_at(&y, &r) + (ptrdiff_t)row * y.stride[axis] + (ptrdiff_t)column,
			  rows - row < TILE ? rows - row : TILE,
			  n - column < CHUNK ? n - column : CHUNK);
	}
}

static void copy_run(const struct kernel_call *c, const struct run *r)
{
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	size_t bytes = dtype_info(x->dtype)->bytes;
	uint8_t *to = plain_at(y, run_at(y, r));

	if (last_step(x) == 1)
		vector_copy(to, plain_at(x, run_at(x, r)), r->n * bytes,
			    kernel_elements(y) * bytes >= VECTOR_STREAM_BYTES);
	else
		plain_gather(bytes, plain_at(x, run_at(x, r)), last_step(x), to, r->n);
}

/* What lies side by side from the first to the last: the part's share at once. */
static void copy_all(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	size_t bytes = dtype_info(x->dtype)->bytes, n = kernel_elements(y), from, to;

	kernel_share(n, CHUNK, c->part, c->parts, &from, &to);
	vector_copy((uint8_t *)y->data + from * bytes, (const uint8_t *)x->data + from * bytes,
		    (to - from) * bytes, n * bytes >= VECTOR_STREAM_BYTES);
}

static void run_copy(const struct kernel_call *c)
{
	int axis = other_axis(&c->in[0]);

	if (kernel_dense(&c->in[0]) && kernel_dense(&c->out[0]))
		copy_all(c);
	else if (axis >= 0)
		copy_turned(c, axis);
	else
		each_run(c, copy_run);
	simd_stream_end();
}

static bool claims_copy(const struct kernel_call *c)
{
	return c->in[0].dtype == c->out[0].dtype && plain_serves(c->in[0].dtype) &&
	       gives_runs(&c->out[0]);
}

/* --- where --- */

#define CHOOSE(name, type)                                                                      \
 static void name(const uint8_t *c, const uint8_t *a, const uint8_t *b, uint8_t *out, size_t n) \
 {                                                                                              \
  for (size_t i = 0; i < n; i++) {                                                              \
   type x, y;                                                                                   \
   memcpy(&x, a + i * sizeof(x), sizeof(x));                                                    \
   memcpy(&y, b + i * sizeof(y), sizeof(y));                                                    \
   x = c[i] ? x : y;                                                                            \
   memcpy(out + i * sizeof(x), &x, sizeof(x));                                                  \
  }                                                                                             \
 }
CHOOSE(choose1, uint8_t)
CHOOSE(choose2, uint16_t)
CHOOSE(choose4, uint32_t)
CHOOSE(choose8, uint64_t)

/* Floats of several types are chosen as f32. */
static void where_floats(const struct kernel_call *c, const struct run *r)
{
	uint8_t room[3][8 * CHUNK];
	float x[2][CHUNK];

	for (int i = 0; i < 2; i++)
		operand_load(c->in[i + 1].dtype, bytes_of(&c->in[i + 1], r, room[i]), x[i], r->n);
	choose4(bytes_of(&c->in[0], r, room[2]), (uint8_t *)x[0], (uint8_t *)x[1], (uint8_t *)x[0],
		r->n);
	operand_store(c->out[0].dtype, x[0], plain_at(&c->out[0], run_at(&c->out[0], r)), r->n);
}

static bool same_dtypes(const struct kernel_call *c)
{
	return c->in[1].dtype == c->out[0].dtype && c->in[2].dtype == c->out[0].dtype;
}

static void where_run(const struct kernel_call *c, const struct run *r)
{
	uint8_t room[3][8 * CHUNK];
	const uint8_t *which = bytes_of(&c->in[0], r, room[0]);
	const uint8_t *a = bytes_of(&c->in[1], r, room[1]), *b = bytes_of(&c->in[2], r, room[2]);
	uint8_t *out = plain_at(&c->out[0], run_at(&c->out[0], r));

	switch (dtype_info(c->out[0].dtype)->bytes) {
	case 1: choose1(which, a, b, out, r->n); return;
	case 2: choose2(which, a, b, out, r->n); return;
	case 4: choose4(which, a, b, out, r->n); return;
	default: choose8(which, a, b, out, r->n);
	}
}

static void run_where(const struct kernel_call *c)
{
	each_run(c, same_dtypes(c) ? where_run : where_floats);
}

static bool claims_where(const struct kernel_call *c)
{
	bool floats = true;

	for (int i = 1; i < 3; i++)
		floats = floats && operand_is_float(c->in[i].dtype);
	if (c->in[0].dtype != DTYPE_BOOL || !gives_runs(&c->out[0]))
		return false;
	return same_dtypes(c) ? plain_serves(c->out[0].dtype)
			      : floats && operand_is_float(c->out[0].dtype);
}

/* --- cast --- */

static void cast_run(const struct kernel_call *c, const struct run *r)
{
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	uint8_t room[8 * CHUNK];
	double wide[CHUNK];

	plain_to_doubles(x->dtype, bytes_of(x, r, room), wide, r->n);
	plain_from_doubles(y->dtype, wide, plain_at(y, run_at(y, r)), r->n);
}

static void run_cast(const struct kernel_call *c)
{
	each_run(c, cast_run);
}

static bool claims_cast(const struct kernel_call *c)
{
	return plain_converts(c->in[0].dtype) && plain_converts(c->out[0].dtype) &&
	       gives_runs(&c->out[0]);
}

/* --- compare --- */

#define COMPARE(name, type)                                                            \
 static void name(const type *a, const type *b, uint32_t kind, uint8_t *out, size_t n) \
 {                                                                                     \
  switch (kind) {                                                                      \
  case COMPARE_EQ: EACH(a[i] == b[i]);                                                 \
  case COMPARE_NE: EACH(a[i] != b[i]);                                                 \
  case COMPARE_LT: EACH(a[i] < b[i]);                                                  \
  case COMPARE_LE: EACH(a[i] <= b[i]);                                                 \
  case COMPARE_GT: EACH(a[i] > b[i]);                                                  \
  default: EACH(a[i] >= b[i]);                                                         \
  }                                                                                    \
 }
#define EACH(expression)          \
 for (size_t i = 0; i < n; i++)   \
  out[i] = (uint8_t)(expression); \
 return
COMPARE(compare_floats, float)
COMPARE(compare_doubles, double)
#undef EACH

static void compare_run(const struct kernel_call *c, const struct run *r)
{
	const struct kind_attributes *kind = c->attributes;
	uint8_t room[2][8 * CHUNK], *out = plain_at(&c->out[0], run_at(&c->out[0], r));
	const uint8_t *p[2];

	for (int i = 0; i < 2; i++)
		p[i] = bytes_of(&c->in[i], r, room[i]);
	if (operand_is_float(c->in[0].dtype) && operand_is_float(c->in[1].dtype)) {
		float x[2][CHUNK];

		for (int i = 0; i < 2; i++)
			operand_load(c->in[i].dtype, p[i], x[i], r->n);
		compare_floats(x[0], x[1], kind->kind, out, r->n);
	} else {
		double x[2][CHUNK];

		for (int i = 0; i < 2; i++)
			plain_to_doubles(c->in[i].dtype, p[i], x[i], r->n);
		compare_doubles(x[0], x[1], kind->kind, out, r->n);
	}
}

static void run_compare(const struct kernel_call *c)
{
	each_run(c, compare_run);
}

static bool claims_compare(const struct kernel_call *c)
{
	return plain_converts(c->in[0].dtype) && plain_converts(c->in[1].dtype) &&
	       c->out[0].dtype == DTYPE_BOOL && gives_runs(&c->out[0]);
}

/* --- the kernels --- */

#define KERNEL(name, kind, claim) LEVEL_KERNEL(name, kind, .claims = claim, .run = run_##name)

KERNEL(copy, bytes, claims_copy);
KERNEL(where, bytes, claims_where);
KERNEL(cast, doubles, claims_cast);
KERNEL(compare, bools, claims_compare);
