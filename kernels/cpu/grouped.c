/*
 * kernels/cpu/grouped.c - products of groups of rows, each with a matrix of its own, and the gradient by those matrices
 *
 * A part has some columns of every matrix, so that it does not matter how rows are spread over the groups. Each group is a product
 * like any other: the kernels of matmul make it, for few rows and for many, with one part. Only one group's columns are
 * packed at a time. Groups are taken from the last to the first: where offsets overlap, a row belongs to the first.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/gemm.h"

extern const struct kernel LEVEL_NAME(matmul_few), LEVEL_NAME(matmul_tiles);

#define FEW_MOST 64 /* more rows than matmul_few ever takes */

static const struct matmul_attributes plain = { 0 };

/* One group's product: a call of matmul, and what it points to. */
struct group {
	struct kernel_tensor in[2], out;
	struct kernel_call call;
};

static int32_t offset_at(const struct kernel_tensor *offsets, size_t i)
{
	int32_t x;

	memcpy(&x, (const uint8_t *)offsets->data + (ptrdiff_t)i * offsets->stride[0] * 4,
	       sizeof(x));
	return x;
}

/* Rows *FROM to *TO - 1 of ROWS are group G's. */
static void group_rows(const struct kernel_tensor *offsets, size_t g, size_t rows, size_t *from,
		       size_t *to)
{
	int64_t first = offset_at(offsets, g), last = offset_at(offsets, g + 1);
	int64_t most = (int64_t)rows;

	first = first < 0 ? 0 : first > most ? most : first;
	last = last < first ? first : last > most ? most : last;
	*from = (size_t)first;
	*to = (size_t)last;
}

static size_t element_bytes(const struct kernel_tensor *t, ptrdiff_t elements)
{
	const struct dtype_info *info = dtype_info(t->dtype);

	return (size_t)elements / info->block * info->bytes;
}

/* Rows or columns FROM to TO - 1 along AXIS of T. */
static struct kernel_tensor some(struct kernel_tensor t, int axis, size_t from, size_t to)
{
	t.data = (uint8_t *)t.data + element_bytes(&t, (ptrdiff_t)from * t.stride[axis]);
	t.shape[axis] = to - from;
	return t;
}

/* Matrix G of T, which has three axes. */
static struct kernel_tensor matrix(const struct kernel_tensor *t, size_t g)
{
	struct kernel_tensor m = some(*t, 0, g, g + 1);

	m.n_axes = 2;
	for (int i = 0; i < 2; i++) {
		m.shape[i] = t->shape[i + 1];
		m.stride[i] = t->stride[i + 1];
	}
	return m;
}

static struct kernel_tensor turned(struct kernel_tensor t)
{
	struct kernel_tensor x = t;

	for (int i = 0; i < 2; i++) {
		x.shape[i] = t.shape[1 - i];
		x.stride[i] = t.stride[1 - i];
	}
	return x;
}

static void make_call(struct group *g, const struct kernel_call *c)
{
	g->call = (struct kernel_call){ .in = g->in,
					.out = &g->out,
					.n_in = 2,
					.n_out = 1,
					.attributes = &plain,
					.parts = 1,
					.rows = g->out.shape[0],
					.caches = c->caches };
}

/* --- a call of one part: [packed columns][scratch] --- */

static size_t up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static size_t packed_size(const struct group *g)
{
	int in = 0;

	return up(LEVEL_NAME(matmul_tiles).kept(&g->call, &in));
}

/* Whatever its rows are, at most those of G. */
static size_t room_of(struct group *g)
{
	size_t tiles = packed_size(g) + up(LEVEL_NAME(matmul_tiles).scratch(&g->call)), few = 0;
	size_t rows = g->out.shape[0] < FEW_MOST ? g->out.shape[0] : FEW_MOST;

	for (; rows && !few; rows--) {
		g->in[0].shape[0] = g->out.shape[0] = g->call.rows = rows;
		if (LEVEL_NAME(matmul_few).claims(&g->call))
			few = up(LEVEL_NAME(matmul_few).scratch(&g->call));
	}
	return tiles > few ? tiles : few;
}

static void run_group(struct group *g, uint8_t *room)
{
	g->call.kept = room;
	g->call.scratch = room;
	if (LEVEL_NAME(matmul_few).claims(&g->call)) {
		LEVEL_NAME(matmul_few).run(&g->call);
		return;
	}
	g->call.scratch = room + packed_size(g);
	LEVEL_NAME(matmul_tiles).run(&g->call);
	g->call.phase = 1;
	LEVEL_NAME(matmul_tiles).run(&g->call);
}

/* --- columns --- */

/* Blocks that lie along the columns stay whole. */
static size_t column_step(const struct kernel_tensor *w)
{
	size_t block = dtype_info(w->dtype)->block;

	return w->stride[w->n_axes - 1] == 1 && block > GEMM_COLUMNS ? block : GEMM_COLUMNS;
}

static size_t most_columns(const struct kernel_tensor *w, size_t columns, int parts)
{
	size_t from, to;

	kernel_share(columns, column_step(w), 0, parts, &from, &to);
	return to - from;
}

/* --- rows by their group's matrix --- */

static void clear_rows(const struct kernel_tensor *out, size_t from, size_t to)
{
	for (size_t row = from; row < to; row++)
		memset((uint8_t *)out->data +
			       operand_bytes(out->dtype, (ptrdiff_t)row * out->stride[0]),
		       0, operand_bytes(out->dtype, (ptrdiff_t)out->shape[1]));
}

/* Rows of no group, and where offsets do not rise all. */
static void clear_others(const struct kernel_tensor *offsets, const struct kernel_tensor *out)
{
	size_t groups = offsets->shape[0] - 1, rows = out->shape[0], from, to, first = 0, last = 0;
	bool rising = true;

	for (size_t g = 0; g < groups; g++)
		rising = rising && offset_at(offsets, g) <= offset_at(offsets, g + 1);
	if (groups && rising) {
		group_rows(offsets, 0, rows, &first, &to);
		group_rows(offsets, groups - 1, rows, &from, &last);
	}
	clear_rows(out, 0, first);
	clear_rows(out, last > first ? last : first, rows);
}

/* Rows FIRST to LAST - 1 by columns FROM to TO - 1 of matrix I. */
static void forward_group(struct group *g, const struct kernel_call *c, size_t i, size_t first,
			  size_t last, size_t from, size_t to)
{
	*g = (struct group){ .in = { some(c->in[0], 0, first, last),
				     some(matrix(&c->in[1], i), 1, from, to) },
			     .out = some(some(c->out[0], 0, first, last), 1, from, to) };
	make_call(g, c);
}

static size_t part_of_grouped_matmul(const struct kernel_call *c)
{
	const struct kernel_tensor *w = &c->in[1];
	struct group g;

	if (!w->shape[0])
		return 0;
	forward_group(&g, c, 0, 0, c->out[0].shape[0], 0,
		      most_columns(w, c->out[0].shape[1], c->parts));
	return room_of(&g);
}

static void run_grouped_matmul(const struct kernel_call *c)
{
	const struct kernel_tensor *w = &c->in[1], *offsets = &c->in[2];
	struct kernel_tensor out = c->out[0];
	uint8_t *room = (uint8_t *)c->scratch + (size_t)c->part * part_of_grouped_matmul(c);
	size_t rows = out.shape[0], from, to, first, last;
	struct group g;

	kernel_share(out.shape[1], column_step(w), c->part, c->parts, &from, &to);
	if (from == to)
		return;
	out = some(out, 1, from, to);
	clear_others(offsets, &out);
	for (size_t i = w->shape[0]; i-- > 0;) {
		group_rows(offsets, i, rows, &first, &last);
		if (first == last)
			continue;
		forward_group(&g, c, i, first, last, from, to);
		run_group(&g, room);
	}
}

/* --- the gradient by the matrices --- */

static void backward_group(struct group *g, const struct kernel_call *c, size_t i, size_t first,
			   size_t last, size_t from, size_t to)
{
	*g = (struct group){ .in = { turned(some(c->in[0], 0, first, last)),
				     some(some(c->in[1], 0, first, last), 1, from, to) },
			     .out = some(matrix(&c->out[0], i), 1, from, to) };
	make_call(g, c);
}

static size_t part_of_grouped_matmul_dw(const struct kernel_call *c)
{
	struct group g;

	if (!c->out[0].shape[0])
		return 0;
	backward_group(&g, c, 0, 0, c->in[1].shape[0], 0,
		       most_columns(&c->in[1], c->in[1].shape[1], c->parts));
	return room_of(&g);
}

static void run_grouped_matmul_dw(const struct kernel_call *c)
{
	const struct kernel_tensor *dy = &c->in[1], *offsets = &c->in[2];
	uint8_t *room = (uint8_t *)c->scratch + (size_t)c->part * part_of_grouped_matmul_dw(c);
	size_t from, to, first, last;
	struct group g;

	kernel_share(dy->shape[1], column_step(dy), c->part, c->parts, &from, &to);
	for (size_t i = 0; from < to && i < c->out[0].shape[0]; i++) {
		group_rows(offsets, i, dy->shape[0], &first, &last);
		backward_group(&g, c, i, first, last, from, to);
		run_group(&g, room);
	}
}

/* --- what is claimed --- */

static bool offsets_serve(const struct kernel_call *c)
{
	return c->in[2].dtype == DTYPE_I32 && c->in[2].shape[0] > 0;
}

static bool claims_grouped_matmul(const struct kernel_call *c)
{
	struct group g;

	if (!offsets_serve(c) || !c->in[1].shape[0])
		return false;
	forward_group(&g, c, 0, 0, c->out[0].shape[0], 0, c->out[0].shape[1]);
	return LEVEL_NAME(matmul_tiles).claims(&g.call);
}

static bool claims_grouped_matmul_dw(const struct kernel_call *c)
{
	struct group g;

	if (!offsets_serve(c) || !c->out[0].shape[0])
		return false;
	backward_group(&g, c, 0, 0, c->in[1].shape[0], 0, c->in[1].shape[1]);
	return LEVEL_NAME(matmul_tiles).claims(&g.call);
}

#define KERNEL(name)                                       \
 static size_t scratch_##name(const struct kernel_call *c) \
 {                                                         \
  return (size_t)c->parts * part_of_##name(c);             \
 }                                                         \
 LEVEL_KERNEL(name, groups, .claims = claims_##name, .scratch = scratch_##name, .run = run_##name)

KERNEL(grouped_matmul);
KERNEL(grouped_matmul_dw);
