/*
 * kernels/cpu/matmul_few.c - products of few rows by the rows of a matrix (x wT: decoding), where reading the weights is the work
 *
 * Nothing is packed: a thread takes some rows of w, reads each once, in the order of memory, and multiplies it by every row of x.
 * A result is one chain of multiply-adds a lane, and the lanes are summed neighbours first, whatever else is computed beside it.
 * Of block-quantized weights the small integers of a group are multiplied, and their sum by the scale; offsets meet the sums of
 * x over groups. Rows of x are made f32, and summed, by each thread for itself: they are few.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/dequant.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector.h"

#define FEW_ROWS     12
#define PASS_ROWS    6	/* at once: their sums stay in registers */
#define CHUNK	     64 /* rows of w between epilogues, at most */
#define CHUNK_STEP   (CHUNK + 16)
#define CHUNK_BYTES  65536	  /* of w, so that a second pass finds it in L2 */
#define SUMS_OF(row) ((row) / 16) /* room for the sums of a row's groups */

struct few {
	const struct product *p;
	const struct dequant_form *form; /* NULL: floats, or a type that is decoded row by row */
	size_t room;			 /* of a row of x: whole stretches */
	float *x, *sums, *row;
	const uint8_t *w; /* row 0 */
	size_t row_bytes, rows;
};

static size_t room_of(size_t k)
{
	return (k + DEQUANT_STRETCH - 1) / DEQUANT_STRETCH * DEQUANT_STRETCH;
}

static size_t part_size(const struct product *p)
{
	size_t room = room_of(p->k);

	return p->m * (room + SUMS_OF(room)) + room;
}

/* --- rows of x --- */

static float vector_sum(const float *x, size_t n)
{
	vf32 sum = simd_load(x);

	for (size_t i = SIMD_WIDTH; i < n; i += SIMD_WIDTH)
		sum += simd_load(x + i);
	return rows_sum(sum);
}

/* As f32, with zeros behind, and the sums of their groups where offsets need them. */
static void prepare_row(const struct few *f, size_t row)
{
	const struct kernel_tensor *a = f->p->a;
	float *x = f->x + row * f->room, *sums = f->sums + row * SUMS_OF(f->room);
	size_t group = f->form ? (size_t)f->form->group : 0;

	operand_load(a->dtype, operand_at(a, (ptrdiff_t)row * a->stride[f->p->row_axis]), x,
		     f->p->k);
	memset(x + f->p->k, 0, (f->room - f->p->k) * sizeof(float));
	if (!f->form || !f->form->offset)
		return;
	for (size_t i = 0; i < f->room; i += group)
		sums[i / group] = vector_sum(x + i, group);
	/* A vector wider than a stretch's groups reads on; what it finds there meets offsets of 0, and must be a number. */
	for (size_t i = f->room / group; i < SUMS_OF(f->room); i++)
		sums[i] = 0;
}

/* --- floats --- */

/*
 * ROWS rows of x by WIDE rows of w of type T, all constants: OUT[r * CHUNK_STEP + j]. Rows that come after are asked for: a
 * stream that ends with every row is not foreseen.
 */
SIMD_INLINE void dots(enum dtype t, size_t rows, size_t wide, const uint8_t *w, size_t row_bytes,
		      const float *x, size_t room, size_t k, float *out)
{
	vf32 sum[PASS_ROWS * 4];
	size_t i = 0;

	SIMD_UNROLL
	for (size_t s = 0; s < rows * wide; s++)
		sum[s] = (vf32){ 0 };
	for (; i < k; i += SIMD_WIDTH) {
		size_t at = operand_bytes(t, (ptrdiff_t)i);

		SIMD_UNROLL
		for (size_t j = 0; j < wide; j++) {
			const uint8_t *p = w + j * row_bytes + at;
			vf32 v;

			__builtin_prefetch((const void *)((uintptr_t)p + wide * row_bytes), 0, 2);
			v = i + SIMD_WIDTH <= k ? vector_load(t, p) : vector_some(t, p, k - i, 0);
			SIMD_UNROLL
			for (size_t r = 0; r < rows; r++)
				sum[r * wide + j] =
					simd_fma(v, simd_load(x + r * room + i), sum[r * wide + j]);
		}
	}
	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		SIMD_UNROLL
	for (size_t j = 0; j < wide; j++)
		out[r * CHUNK_STEP + j] = rows_sum(sum[r * wide + j]);
}

/* N rows of w, as many at once as there are registers for. */
SIMD_INLINE void float_rows(enum dtype t, size_t rows, const struct few *f, const uint8_t *w,
			    size_t n, const float *x, float *out)
{
	const size_t wide = rows <= 3 ? 4 : rows == 4 ? 3 : 2;
	size_t j = 0;

	for (; j + wide <= n; j += wide)
		dots(t, rows, wide, w + j * f->row_bytes, f->row_bytes, x, f->room, f->p->k,
		     out + j);
	for (; j < n; j++)
		dots(t, rows, 1, w + j * f->row_bytes, f->row_bytes, x, f->room, f->p->k, out + j);
}

/* --- blocks --- */

/* ROWS rows of x by one stretch of N elements; GROUP and OFFSET are constants too. */
SIMD_INLINE void stretch_dots(size_t rows, size_t group, bool offset,
			      const struct dequant_stretch *s, size_t n, const float *x,
			      const float *sums, size_t room, vf32 *sum)
{
	const size_t vectors = group / SIMD_WIDTH;

	for (size_t g = 0; g < n / group; g++) {
		vf32 scale = simd_broadcast(s->scale + g), q[8];

		SIMD_UNROLL
		for (size_t v = 0; v < vectors; v++)
			q[v] = dequant_floats(s->q + g * group + v * SIMD_WIDTH);
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++) {
			const float *y = x + r * room + g * group;
			vf32 part = q[0] * simd_load(y);

			SIMD_UNROLL
			for (size_t v = 1; v < vectors; v++)
				part = simd_fma(q[v], simd_load(y + v * SIMD_WIDTH), part);
			sum[r] = simd_fma(scale, part, sum[r]);
		}
	}
	for (size_t g = 0; offset && g < DEQUANT_STRETCH / group; g += SIMD_WIDTH) {
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++)
			sum[r] = simd_fma(simd_load(s->offset + g),
					  simd_load(sums + r * SUMS_OF(room) + g), sum[r]);
	}
}

/* A row of w. */
SIMD_INLINE void block_dots(size_t rows, size_t group, bool offset, const struct few *f,
			    const uint8_t *w, const float *x, const float *sums, float *out)
{
	const struct dtype_info *info = dtype_info(f->p->b->dtype);
	struct dequant_stretch s;
	vf32 sum[PASS_ROWS];

	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		sum[r] = (vf32){ 0 };
	memset(s.offset, 0, sizeof(s.offset));
	for (size_t k = 0; k < f->p->k; k += DEQUANT_STRETCH) {
		size_t n = f->p->k - k < DEQUANT_STRETCH ? f->p->k - k : DEQUANT_STRETCH;
		const uint8_t *p = w + k / info->block * info->bytes;

		for (size_t i = 0; i < n / info->block * info->bytes; i += 64)
			simd_prefetch(p + i);
		f->form->unpack(p, n, &s);
		for (size_t g = n / group; offset && g < DEQUANT_STRETCH / group; g++)
			s.offset[g] = 0;
		stretch_dots(rows, group, offset, &s, n, x + k, sums + k / group, f->room, sum);
	}
	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		out[r * CHUNK_STEP] = rows_sum(sum[r]);
}

SIMD_INLINE void block_rows(size_t rows, size_t group, bool offset, const struct few *f,
			    const uint8_t *w, size_t n, const float *x, const float *sums,
			    float *out)
{
	for (size_t j = 0; j < n; j++)
		block_dots(rows, group, offset, f, w + j * f->row_bytes, x, sums, out + j);
}

/* Of types without scales and small integers: f32 first. */
SIMD_INLINE void decoded_rows(size_t rows, const struct few *f, const uint8_t *w, size_t n,
			      const float *x, float *out)
{
	for (size_t j = 0; j < n; j++) {
		LEVEL_NAME(dequant_row)
		(f->p->b->dtype, w + j * f->row_bytes, f->row, f->p->k);
		dots(DTYPE_F32, rows, 1, (const uint8_t *)f->row, 0, x, f->room, f->p->k, out + j);
	}
}

/* --- any --- */

SIMD_INLINE void some_rows(size_t rows, const struct few *f, const uint8_t *w, size_t n,
			   const float *x, const float *sums, float *out)
{
	switch (f->p->b->dtype) {
	case DTYPE_F32: float_rows(DTYPE_F32, rows, f, w, n, x, out); return;
	case DTYPE_BF16: float_rows(DTYPE_BF16, rows, f, w, n, x, out); return;
	case DTYPE_F16: float_rows(DTYPE_F16, rows, f, w, n, x, out); return;
	default: break;
	}
	if (!f->form)
		decoded_rows(rows, f, w, n, x, out);
	else if (f->form->group == 16 && f->form->offset)
		block_rows(rows, 16, true, f, w, n, x, sums, out);
	else if (f->form->group == 16)
		block_rows(rows, 16, false, f, w, n, x, sums, out);
	else if (f->form->offset)
		block_rows(rows, 32, true, f, w, n, x, sums, out);
	else
		block_rows(rows, 32, false, f, w, n, x, sums, out);
}

/* Rows FIRST to FIRST + N - 1 of w by rows ROW on, ROWS of them. */
static void pass(const struct few *f, size_t first, size_t n, size_t row, size_t rows, float *out)
{
	const uint8_t *w = f->w + first * f->row_bytes;
	const float *x = f->x + row * f->room, *sums = f->sums + row * SUMS_OF(f->room);

	switch (rows) {
	case 1: some_rows(1, f, w, n, x, sums, out); return;
	case 2: some_rows(2, f, w, n, x, sums, out); return;
	case 3: some_rows(3, f, w, n, x, sums, out); return;
	case 4: some_rows(4, f, w, n, x, sums, out); return;
	case 5: some_rows(5, f, w, n, x, sums, out); return;
	default: some_rows(6, f, w, n, x, sums, out); return;
	}
}

static struct few few_of(const struct kernel_call *c, const struct product *p)
{
	const struct kernel_tensor *b = p->b;
	const struct dtype_info *info = dtype_info(b->dtype);
	struct few f = { .p = p,
			 .form = LEVEL_NAME(dequant_form)(b->dtype),
			 .room = room_of(p->k) };

	f.x = (float *)c->scratch + (size_t)c->part * part_size(p);
	f.sums = f.x + p->m * f.room;
	f.row = f.sums + p->m * SUMS_OF(f.room);
	f.w = b->data;
	f.row_bytes = (size_t)b->stride[b->n_axes - 1] / info->block * info->bytes;
	f.rows = CHUNK_BYTES / (f.row_bytes + 1) / 4 * 4;
	f.rows = f.rows < 4 ? 4 : f.rows > CHUNK ? CHUNK : f.rows;
	return f;
}

static void run(const struct kernel_call *c, bool accumulate)
{
	struct product p = product_of(c, accumulate);
	struct few f = few_of(c, &p);
	float out[FEW_ROWS * CHUNK_STEP];
	size_t from, to;

	kernel_share(p.n, 16, c->part, c->parts, &from, &to);
	for (size_t row = 0; row < p.m && from < to && p.k > 0; row++)
		prepare_row(&f, row);
	for (size_t j = from; j < to; j += f.rows) {
		size_t n = to - j < f.rows ? to - j : f.rows;

		for (size_t row = 0; row < p.m; row += PASS_ROWS)
			pass(&f, j, n, row, p.m - row < PASS_ROWS ? p.m - row : PASS_ROWS,
			     out + row * CHUNK_STEP);
		for (size_t row = 0; row < p.m; row++)
			if (accumulate)
				epilogue_accumulate(&p, row, j, n, out + row * CHUNK_STEP);
			else
				epilogue_row(c, &p, 0, row, j, n, out + row * CHUNK_STEP);
	}
}

static void run_few(const struct kernel_call *c)
{
	run(c, false);
}

static void run_acc_few(const struct kernel_call *c)
{
	run(c, true);
}

static size_t scratch_few(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return (size_t)c->parts * part_size(&p) * sizeof(float);
}

static size_t scratch_acc_few(const struct kernel_call *c)
{
	struct product p = product_of(c, 1);

	return (size_t)c->parts * part_size(&p) * sizeof(float);
}

/* One matrix of rows of w side by side, and few rows of x, by what there may be and not by what there is. */
static bool serves(const struct kernel_call *c, const struct product *p)
{
	const struct kernel_tensor *a = p->a, *b = p->b, *out = p->out;
	size_t rows = out->shape[0] ? p->m / out->shape[0] * c->rows : p->m;

	if (p->batches != 1 || p->b_batches != 1 || rows > FEW_ROWS || p->m > FEW_ROWS)
		return false;
	if (!operand_is_float(a->dtype) || a->stride[a->n_axes - 1] != 1 ||
	    b->stride[b->n_axes - 2] != 1 || b->stride[b->n_axes - 1] < 0)
		return false;
	return operand_is_float(b->dtype) ||
	       (dtype_info(b->dtype)->block > 1 && dtype_decodes(b->dtype));
}

static bool claims_few(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return product_is_exact(c) && serves(c, &p) && epilogue_serves(c);
}

/* The same products as matmul's, so that a sum in place has the bits of a sum apart. */
static bool claims_acc_few(const struct kernel_call *c)
{
	struct product p = product_of(c, 1);

	return serves(c, &p) && epilogue_accumulates(c);
}

const struct kernel LEVEL_NAME(matmul_few);
const struct kernel LEVEL_NAME(matmul_few) = {
	.op = "matmul",
	.variant = "few-rows",
	.claims = claims_few,
	.scratch = scratch_few,
	.run = run_few,
};

const struct kernel LEVEL_NAME(matmul_acc_few);
const struct kernel LEVEL_NAME(matmul_acc_few) = {
	.op = "matmul_acc",
	.variant = "few-rows",
	.claims = claims_acc_few,
	.scratch = scratch_acc_few,
	.run = run_acc_few,
};
