/* kernels/cpu/conv_piece.h - a piece of a convolution's result: bias, activation, and where its places go */
#ifndef KERNELS_CPU_CONV_PIECE_H
#define KERNELS_CPU_CONV_PIECE_H

#include "kernels/cpu/activation.h"
#include "kernels/cpu/conv.h"

/* Places ROW, COLUMN on; for a piece without a band PLACE on, of the grid. */
struct conv_piece {
	const struct kernel_call *c;
	const struct convolution *v;
	const struct conv_part *p;
	const float *left; /* of the group */
	size_t image, group, panel, panels;
	struct image_grid grid; /* that begins at its first column */
	size_t row, rows, column, columns;
};

/* --- bias, activation, places --- */

SIMD_INLINE float piece_bias(const struct kernel_call *c, size_t channel)
{
	float bias = 0;

	if (c->n_in > 2 && c->in[2].data)
		operand_load(c->in[2].dtype,
			     operand_at(&c->in[2], (ptrdiff_t)channel * c->in[2].stride[0]), &bias,
			     1);
	return bias;
}

/* N elements STEP apart. */
SIMD_INLINE void piece_store_apart(const struct kernel_tensor *out, const float *x, ptrdiff_t at,
				   ptrdiff_t step, size_t n)
{
	float *y = (float *)out->data + at;

	for (size_t i = 0; i < n; i++)
		if (out->dtype == DTYPE_F32)
			y[(ptrdiff_t)i * step] = x[i];
		else
			operand_store(out->dtype, x + i,
				      (uint8_t *)out->data +
					      operand_bytes(out->dtype, at + (ptrdiff_t)i * step),
				      1);
}

/* N places PLACE on of the class, of a channel. They lie side by side in the result, or apart. */
SIMD_INLINE void piece_store(const struct conv_piece *b, size_t channel, size_t place, size_t n,
			     const float *x)
{
	const struct image_axis *h = &b->p->grid.h, *w = &b->p->grid.w;
	const struct kernel_tensor *out = b->v->out;
	ptrdiff_t plane =
		(ptrdiff_t)b->image * out->stride[0] + (ptrdiff_t)channel * out->stride[1];

	if (h->place_step == 1 && w->place_step == 1) {
		operand_store(out->dtype, x,
			      (uint8_t *)out->data +
				      operand_bytes(out->dtype, plane + (ptrdiff_t)place),
			      n);
		return;
	}
	for (size_t i = place / w->places, j = place % w->places; n; i++, j = 0) {
		size_t many = conv_least(w->places - j, n);

		piece_store_apart(
			out, x,
			plane + (ptrdiff_t)(h->first_place + i * h->place_step) * out->stride[2] +
				(ptrdiff_t)(w->first_place + j * w->place_step),
			(ptrdiff_t)w->place_step, many);
		x += many;
		n -= many;
	}
}

/* N sums of a channel become the result; X is written up to whole vectors. */
SIMD_INLINE void piece_finish(const struct conv_piece *b, size_t channel, size_t n, float *x)
{
	float bias = piece_bias(b->c, channel);
	enum dtype t = b->v->out->dtype;

	if (bias != 0)
		for (size_t j = 0; j < n; j++)
			x[j] += bias;
	if (!b->v->back && b->v->a->activation) {
		operand_round(t, x, n);
		activation_row(x, n, b->v->a->activation);
	}
}

/* And are stored: row ROW of the group, places PLACE on. */
SIMD_INLINE void piece_end(const struct conv_piece *b, size_t row, size_t place, size_t n, float *x)
{
	size_t channel = b->group * b->v->rows + row;

	piece_finish(b, channel, n, x);
	piece_store(b, channel, place, n, x);
}

/* Where the piece's row I begins. */
SIMD_INLINE size_t piece_place(const struct conv_piece *b, size_t i)
{
	return (b->row + i) * b->p->grid.w.places + b->column;
}

/* How many rows panel PANEL has, and the first of them. */
SIMD_INLINE size_t piece_panel_rows(const struct conv_piece *b, size_t panel, size_t *first)
{
	*first = panel * b->p->width;
	return conv_least(b->v->rows - *first, b->p->width);
}

#endif
