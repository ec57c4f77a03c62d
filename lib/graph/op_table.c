/* lib/graph/op_table.c - the rows of ops.def as data */

#include "lib/graph/op_table.h"

#include <string.h>

#include "lib/graph/cost.h"
#include "lib/graph/rules.h"

#define SIZE_none	   0
#define SIZE_kind	   sizeof(struct kind_attributes)
#define SIZE_scalars	   sizeof(struct scalars_attributes)
#define SIZE_fill	   sizeof(struct fill_attributes)
#define SIZE_dropout	   sizeof(struct dropout_attributes)
#define SIZE_axes	   sizeof(struct axes_attributes)
#define SIZE_axis	   sizeof(struct axis_attributes)
#define SIZE_pad	   sizeof(struct pad_attributes)
#define SIZE_matmul	   sizeof(struct matmul_attributes)
#define SIZE_norm	   sizeof(struct norm_attributes)
#define SIZE_rope	   sizeof(struct rope_attributes)
#define SIZE_gated	   sizeof(struct gated_attributes)
#define SIZE_attention	   sizeof(struct attention_attributes)
#define SIZE_cross_entropy sizeof(struct cross_entropy_attributes)
#define SIZE_conv	   sizeof(struct conv_attributes)
#define SIZE_pool	   sizeof(struct pool_attributes)
#define SIZE_resize	   sizeof(struct resize_attributes)
#define SIZE_optimizer	   sizeof(struct optimizer_attributes)

#define grad_none   NULL
#define ALL	    OP_ROWS_ALL
#define ELEMENTWISE OP_ELEMENTWISE
#define RANDOM	    OP_RANDOM
#define SERIAL	    OP_SERIAL

static const struct op_info table[OP_COUNT] = {
#define OP(id, op, low, high, places, attr, shape_rule, grad_rule, row_mask, flag, cost_rule, tol, \
	   cases, text)                                                                            \
 [OP_##id] = {                                                                                     \
	 .name = #op,                                                                              \
	 .least = low,                                                                             \
	 .most = high,                                                                             \
	 .in_place = places,                                                                       \
	 .attributes = SIZE_##attr,                                                                \
	 .shape = shape_##shape_rule,                                                              \
	 .grad = grad_##grad_rule,                                                                 \
	 .grad_name = #grad_rule,                                                                  \
	 .rows = row_mask,                                                                         \
	 .flags = flag,                                                                            \
	 .cost = cost_##cost_rule,                                                                 \
	 .tolerance = tol,                                                                         \
	 .summary = text,                                                                          \
	 .ref = &ref_##op,                                                                         \
 },
#define VIEW(id, op, shape_rule, grad_rule, text) \
 [OP_##id] = { .name = #op,                       \
	       .grad = grad_##grad_rule,          \
	       .grad_name = #grad_rule,           \
	       .flags = OP_VIEW,                  \
	       .summary = text },
#include "lib/graph/ops.def"
#undef OP
#undef VIEW
};

const struct op_info *op_info(enum op op)
{
	return &table[op];
}
