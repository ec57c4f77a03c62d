/*
 * kernels/attributes.h - what an op is told beside its tensors
 *
 * One struct an op that has any, without padding (equal ops are found by equal bytes), zero where nothing is said. Which
 * op takes which stands in lib/graph/ops.def.
 */
#ifndef KERNELS_ATTRIBUTES_H
#define KERNELS_ATTRIBUTES_H

#include <stdint.h>

/* scale: a x + b; clamp: a <= x <= b; fill: a; arange: a + b i; pad: a; sum_squares and others: none */
struct scalars_attributes {
	double a, b;
};

enum compare_kind { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };

/* compare, and unary_grad: the derivative of which function */
struct kind_attributes {
	uint32_t kind;
};

enum unary_kind {
	UNARY_SIGMOID,
	UNARY_TANH,
	UNARY_RELU,
	UNARY_RELU2,
	UNARY_SILU,
	UNARY_GELU,
	UNARY_GELU_TANH,
	UNARY_SOFTPLUS
};

/* The first member of every op that draws is the scope of its draws: the gradient of dropout has that of its op. */
struct dropout_attributes {
	uint64_t scope;
	double p; /* an element is 0 with this chance, else divided by 1 - p */
};

/* sum, mean, max, argmax, logsumexp: bit i is axis i; concat, cumsum, argsort, top_k: axis */
struct axes_attributes {
	uint32_t axes;	    /* a set of bits */
	uint32_t keep;	    /* the reduced axes stay, with length 1 */
	uint32_t out_dtype; /* enum dtype; 0: that of the input */
	uint32_t reserved;
};

struct axis_attributes {
	uint32_t axis;
	uint32_t reverse;   /* cumsum: from the end; argsort: the largest first */
	uint32_t exclusive; /* cumsum: without the element itself */
	uint32_t
		n; /* top_k: how many; histogram: bins; scatter_add_rows, put_along: the length of the axis */
	uint32_t out_dtype; /* scatter_add_rows: enum dtype; 0: that of the input */
	uint32_t reserved;
};

#define PAD_AXES 5
struct pad_attributes {
	double value;
	uint64_t before[PAD_AXES], after[PAD_AXES];
};

/* What is applied to the result of matmul and conv2d, last. */
enum activation {
	ACTIVATION_NONE,
	ACTIVATION_RELU,
	ACTIVATION_RELU2,
	ACTIVATION_SILU,
	ACTIVATION_GELU,
	ACTIVATION_GELU_TANH,
	ACTIVATION_SIGMOID,
	ACTIVATION_TANH
};

struct matmul_attributes {
	uint32_t activation;
	uint32_t out_dtype; /* enum dtype; 0: that of a */
	uint32_t
		round; /* 1: the rows of a are rounded first (kernels/rounding.h). grouped_matmul: 0 */
	uint32_t
		pack; /* 1: b may be kept in a form of the kernel's own; results are the same to the bit */
};

struct norm_attributes {
	double eps;
	double offset;	 /* rms_norm: the weight is (offset + w): 1 in Gemma */
	uint64_t groups; /* group_norm */
};

/*
 * rope: pair i of a head turns by position[axis of i] x frequency[i]. Pairs are (i, i + n / 2) of the first n = 2 x pairs
 * elements of a head, or (2 i, 2 i + 1) when interleaved; the rest is left alone.
 */
struct rope_attributes {
	double scale; /* of sine and cosine (YaRN's attention factor); 0 is 1 */
	uint32_t interleaved;
	uint32_t inverse; /* turns back: the gradient */
};

struct gated_attributes {
	uint32_t tanh; /* geglu: the tanh form */
	uint32_t reserved;
};

struct attention_attributes {
	double scale;	 /* of q . k; 0: 1 / sqrt(dim of q) */
	double soft_cap; /* c tanh(s / c); 0: none */
	uint64_t window; /* keys at most this far back, itself included; 0: no limit */
	uint32_t causal;
	uint32_t page; /* rows a page of the cache, when pages are given */
};

struct cross_entropy_attributes {
	double smoothing; /* label smoothing */
	double z_loss;	  /* times the square of the log-sum-exp */
	double soft_cap;  /* of the logits; 0: none */
	int32_t ignore;	  /* this target has loss 0 and no gradient */
	uint32_t entropy; /* also give the entropy of each row */
};

struct conv_attributes {
	uint32_t stride[2], pad[4], dilation[2]; /* height, width; top, left, bottom, right */
	uint32_t groups;
	uint32_t activation;
	uint32_t size[2]; /* conv2d_dx: height and width of its result; conv2d_dw: of the kernel */
};

struct pool_attributes {
	uint32_t kernel[2], stride[2], pad[2];
	uint32_t count_pad; /* avg: padding counts */
	uint32_t reserved;
	uint32_t size[2]; /* of the gradients: height and width of the input */
};

enum resize_mode { RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_BICUBIC };

struct resize_attributes {
	uint32_t mode;
	uint32_t align_corners;
	uint32_t size[2]; /* height and width of the result (of the gradient: of the input) */
};

#define STOCHASTIC_PARAMETER 1u /* one of bf16 or f16 */
#define STOCHASTIC_MOMENTS \
 2u /* adamw8's: a mean that moves by a tenth a step would stand still otherwise */

/* Optimizers: what does not change from step to step. What does is a tensor (ops.def). */
struct optimizer_attributes {
	uint64_t scope; /* of the draws */
	double beta1, beta2, eps, weight_decay;
	uint32_t nesterov;
	uint32_t stochastic; /* rounded so: 1 a parameter of bf16 or f16, 2 the moments of adamw8 */
};

#endif
