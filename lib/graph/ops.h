/*
 * lib/graph/ops.h - the builders: one function an op, and what is composed of several
 *
 * Each appends to G and returns its first output; NULL, and nothing is appended, once an error stands. What the ops compute
 * stands in ops.def (man page nnutils-ops(7)). Negative axes count from the end.
 */
#ifndef LIB_GRAPH_OPS_H
#define LIB_GRAPH_OPS_H

#include "lib/graph/graph.h"

/* --- views --- */
struct tensor *op_reshape(struct graph *g, struct tensor *x,
			  struct shape shape); /* copies what has gaps */
struct tensor *op_permute(struct graph *g, struct tensor *x, const int *axes);
struct tensor *op_transpose(struct graph *g, struct tensor *x); /* the last two axes */
/* LENGTH elements of AXIS from FROM on. */
struct tensor *op_slice(struct graph *g, struct tensor *x, int axis, size_t from, size_t length);
struct tensor *op_slice_step(struct graph *g, struct tensor *x, int axis, size_t from,
			     size_t length, size_t step);
struct tensor *op_expand(struct graph *g, struct tensor *x, struct shape shape);
struct tensor *op_unsqueeze(struct graph *g, struct tensor *x, int axis);

/* --- elementwise; a and b broadcast as in NumPy --- */
struct tensor *op_add(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_sub(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_mul(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_div(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_min(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_max(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_pow(struct graph *g, struct tensor *a, struct tensor *b);
struct tensor *op_compare(struct graph *g, enum compare_kind kind, struct tensor *a,
			  struct tensor *b);
struct tensor *op_where(struct graph *g, struct tensor *c, struct tensor *a, struct tensor *b);
struct tensor *op_neg(struct graph *g, struct tensor *x);
struct tensor *op_exp(struct graph *g, struct tensor *x);
struct tensor *op_log(struct graph *g, struct tensor *x);
struct tensor *op_sqrt(struct graph *g, struct tensor *x);
struct tensor *op_rsqrt(struct graph *g, struct tensor *x);
struct tensor *op_square(struct graph *g, struct tensor *x);
struct tensor *op_abs(struct graph *g, struct tensor *x);
struct tensor *op_sign(struct graph *g, struct tensor *x);
struct tensor *op_sin(struct graph *g, struct tensor *x);
struct tensor *op_cos(struct graph *g, struct tensor *x);
struct tensor *op_atan(struct graph *g, struct tensor *x);
struct tensor *op_round(struct graph *g, struct tensor *x);
struct tensor *op_sigmoid(struct graph *g, struct tensor *x);
struct tensor *op_tanh(struct graph *g, struct tensor *x);
struct tensor *op_relu(struct graph *g, struct tensor *x);
struct tensor *op_relu2(struct graph *g, struct tensor *x);
struct tensor *op_silu(struct graph *g, struct tensor *x);
struct tensor *op_gelu(struct graph *g, struct tensor *x);
struct tensor *op_gelu_tanh(struct graph *g, struct tensor *x);
struct tensor *op_softplus(struct graph *g, struct tensor *x);
struct tensor *op_unary_grad(struct graph *g, enum unary_kind kind, struct tensor *x,
			     struct tensor *dy);
struct tensor *op_scale(struct graph *g, struct tensor *x, double a, double b); /* a x + b */
struct tensor *op_clamp(struct graph *g, struct tensor *x, double low, double high);
struct tensor *op_cast(struct graph *g, struct tensor *x,
		       enum dtype dtype); /* X itself when it is so */
struct tensor *op_copy(struct graph *g, struct tensor *x);
/* X itself when the graph does not train, or p is 0. */
struct tensor *op_dropout(struct graph *g, struct tensor *x, double p);
struct tensor *op_fill(struct graph *g, enum dtype dtype, struct shape shape, double value);
struct tensor *op_arange(struct graph *g, enum dtype dtype, size_t n, double from, double step);

/* --- over axes: a set of bits, 0 for all --- */
struct tensor *op_sum(struct graph *g, struct tensor *x, uint32_t axes, bool keep);
struct tensor *op_mean(struct graph *g, struct tensor *x, uint32_t axes, bool keep);
struct tensor *op_amax(struct graph *g, struct tensor *x, uint32_t axes, bool keep);
struct tensor *op_logsumexp(struct graph *g, struct tensor *x, uint32_t axes, bool keep);
struct tensor *op_argmax(struct graph *g, struct tensor *x); /* of the last axis */
struct tensor *op_cumsum(struct graph *g, struct tensor *x, int axis, bool reverse, bool exclusive);
struct tensor *op_softmax(struct graph *g, struct tensor *x);
struct tensor *op_log_softmax(struct graph *g, struct tensor *x);
struct tensor *op_argsort(struct graph *g, struct tensor *x, bool falling);
struct tensor *op_top_k(struct graph *g, struct tensor *x, size_t k, struct tensor **places);
struct tensor *op_histogram(struct graph *g, struct tensor *ids, size_t bins);
/* Sums what broadcasting repeated: X in the shape S. */
struct tensor *op_sum_to(struct graph *g, struct tensor *x, const struct shape *s);
/* The same with a result of DTYPE: f32 sums of bf16. AXES as they are: 0 is none. */
struct tensor *op_sum_to_as(struct graph *g, struct tensor *x, const struct shape *s,
			    enum dtype dtype);
struct tensor *op_sum_as(struct graph *g, struct tensor *x, uint32_t axes, bool keep,
			 enum dtype dtype);

/* --- by index, layout --- */
struct tensor *op_gather_rows(struct graph *g, struct tensor *table, struct tensor *ids);
struct tensor *op_scatter_add_rows(struct graph *g, struct tensor *x, struct tensor *ids, size_t n);
struct tensor *op_scatter_add_rows_as(struct graph *g, struct tensor *x, struct tensor *ids,
				      size_t n, enum dtype dtype);
struct tensor *op_take_along(struct graph *g, struct tensor *x, struct tensor *ids);
struct tensor *op_put_along(struct graph *g, struct tensor *x, struct tensor *ids, size_t n);
struct tensor *op_concat(struct graph *g, struct tensor *const *x, int n, int axis);
struct tensor *op_pad(struct graph *g, struct tensor *x, const size_t *before, const size_t *after,
		      double value);
struct tensor *op_repeat(struct graph *g, struct tensor *x, int axis,
			 size_t times); /* each element TIMES in a row */

/* --- products --- */
struct tensor *op_matmul(struct graph *g, struct tensor *a, struct tensor *b);
struct matmul_operands {
	struct tensor *a, *b, *bias, *residual; /* the last two may be NULL */
	enum activation activation;
	enum dtype dtype; /* of the result; 0: that of a */
	bool round; /* the rows of a, to 8 bits (kernels/rounding.h); such a product has no gradient */
	bool pack; /* b, a parameter, is kept in the kernel's own form where it has one */
};
struct tensor *op_matmul_with(struct graph *g, const struct matmul_operands *o);
struct tensor *op_activation(struct graph *g, struct tensor *x, enum activation activation);
struct tensor *op_matmul_acc(struct graph *g, struct tensor *c, struct tensor *a, struct tensor *b);
struct tensor *op_grouped_matmul(struct graph *g, struct tensor *x, struct tensor *w,
				 struct tensor *offsets);
struct tensor *op_grouped_matmul_dw(struct graph *g, struct tensor *x, struct tensor *dy,
				    struct tensor *offsets);

/*
 * x Wᵀ + b with the store's parameters `NAME.weight` [OUT, width of x] and, where the store has it (or BIAS), `NAME.bias` [OUT], and
 * with the adapter that the store has for NAME: the only makers of weight products, with conv2d and embedding.
 */
struct tensor *linear(struct graph *g, struct tensor *x, const char *name, size_t out);
/* Whether products with W round what it multiplies: the graph's option says so, and W is blocks of small integers. */
bool linear_rounds(const struct graph *g, const struct tensor *w);
struct tensor *linear_bias(struct graph *g, struct tensor *x, const char *name, size_t out);
struct tensor *embedding(struct graph *g, struct tensor *ids, const char *name, size_t vocab,
			 size_t width);

/* --- norms --- */
struct tensor *op_rms_norm(struct graph *g, struct tensor *x, struct tensor *w, double eps);
struct tensor *op_rms_norm_offset(struct graph *g, struct tensor *x, struct tensor *w, double eps,
				  double offset);
struct tensor *op_layer_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     double eps);
struct tensor *op_group_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     size_t groups, double eps);
struct tensor *op_batch_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     double eps, struct tensor **mean, struct tensor **variance);

/* --- language models --- */
struct rope {
	struct tensor *positions, *frequencies, *axes; /* axes may be NULL */
	double scale;
	bool interleaved;
};
struct tensor *op_rope(struct graph *g, struct tensor *x, const struct rope *r);
struct tensor *op_swiglu(struct graph *g, struct tensor *gate, struct tensor *up);
struct tensor *op_geglu(struct graph *g, struct tensor *gate, struct tensor *up, bool tanh);
struct attention {
	bool causal;
	size_t window;
	double scale, soft_cap;
	/* All may be NULL. */
	struct tensor *bias, *mask, *q_documents, *k_documents, *q_positions, *k_positions, *pages;
	size_t page; /* rows */
};
struct tensor *op_attention(struct graph *g, struct tensor *q, struct tensor *k, struct tensor *v,
			    const struct attention *o, struct tensor **lse);
struct tensor *op_kv_write(struct graph *g, struct tensor *cache, struct tensor *x,
			   struct tensor *slots);
struct cross_entropy {
	double smoothing, z_loss, soft_cap;
	int32_t ignore;
	struct tensor *bias;		/* or NULL */
	struct tensor **lse, **entropy; /* where to give them, or NULL */
};
struct tensor *op_linear_ce(struct graph *g, struct tensor *x, struct tensor *w,
			    struct tensor *targets, const struct cross_entropy *o);
/*
 * The sum of WEIGHTS [T], which are known before the losses, times what op_linear_ce gives. Loss and gradient in one pass, three products
 * instead of four: for training. LOSS (may be NULL) gets the losses [T]; no gradient flows through them, the
 * log-sum-exp or the weights.
 */
struct tensor *op_linear_ce_sum(struct graph *g, struct tensor *x, struct tensor *w,
				struct tensor *targets, struct tensor *weights,
				const struct cross_entropy *o, struct tensor **loss);
struct tensor *op_linear_kl(struct graph *g, struct tensor *x, struct tensor *w,
			    struct tensor *teacher, struct tensor *ids,
			    const struct cross_entropy *o);

/* --- vision --- */
struct conv {
	size_t stride, pad, dilation, groups; /* of both axes; 0 is 1, 0, 1, 1 */
	struct tensor *bias;
	enum activation activation;
};
struct tensor *op_conv2d(struct graph *g, struct tensor *x, struct tensor *w, const struct conv *o);
/*
 * With the store's `NAME.weight` [OUT, C / groups, HEIGHT, WIDTH], `NAME.bias` where the store has it, and the adapter for NAME, which
 * convolutions in groups cannot have.
 */
struct tensor *conv2d(struct graph *g, struct tensor *x, const char *name, size_t out,
		      size_t height, size_t width, const struct conv *o);
struct tensor *op_conv2d_with(struct graph *g, struct tensor *x, struct tensor *w,
			      struct tensor *bias, const struct conv_attributes *o);
/* The transposed convolution, w [C of x, O / groups, h, w]: result height (H - 1) stride - 2 pad + dilation (h - 1) + output_pad + 1. */
struct tensor *op_conv_transpose2d(struct graph *g, struct tensor *x, struct tensor *w,
				   const struct conv *o, size_t output_pad);
struct tensor *op_max_pool(struct graph *g, struct tensor *x, const struct pool_attributes *o,
			   struct tensor **places);
struct tensor *op_avg_pool(struct graph *g, struct tensor *x, const struct pool_attributes *o);
struct tensor *op_resize(struct graph *g, struct tensor *x, enum resize_mode mode,
			 bool align_corners, size_t height, size_t width);

/* --- training --- */
struct tensor *op_accumulate(struct graph *g, struct tensor *sum, struct tensor *x);
struct tensor *op_scale_by(struct graph *g, struct tensor *x, struct tensor *h);
struct tensor *op_sum_squares(struct graph *g, struct tensor *x);
struct tensor *op_count_nonfinite(struct graph *g, struct tensor *x);
struct tensor *op_ema(struct graph *g, struct tensor *average, struct tensor *x, struct tensor *h);
struct tensor *op_sgd(struct graph *g, struct tensor *p, struct tensor *momentum, struct tensor *dp,
		      struct tensor *h, const struct optimizer_attributes *o);
struct tensor *op_adamw(struct graph *g, struct tensor *p, struct tensor *first,
			struct tensor *second, struct tensor *dp, struct tensor *h,
			const struct optimizer_attributes *o);
struct tensor *op_lion(struct graph *g, struct tensor *p, struct tensor *momentum,
		       struct tensor *dp, struct tensor *h, const struct optimizer_attributes *o);
struct adamw8_state {
	struct tensor *first, *second, *first_scale, *second_scale;
};
struct tensor *op_adamw8(struct graph *g, struct tensor *p, const struct adamw8_state *s,
			 struct tensor *dp, struct tensor *h, const struct optimizer_attributes *o);
/* Muon: X near to the orthogonal matrix nearest it, by STEPS of Newton and Schulz's iteration (Jordan et al. 2024); composed. */
struct tensor *op_orthogonalize(struct graph *g, struct tensor *x, int steps);

#endif
