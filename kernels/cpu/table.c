/*
 * kernels/cpu/table.c - the kernels of a level, by preference
 */
#include "kernels/cpu/level.h"

#include "kernels/kernel.h"

/* clang-format off */
#define KERNELS(X) \
	X(matmul_packed) X(matmul_rounded) X(matmul_few) X(matmul_tiles) \
	X(matmul_acc_few) X(matmul_acc_tiles) X(grouped_matmul_groups) X(grouped_matmul_dw_groups) \
	X(add_runs) X(sub_runs) X(mul_runs) X(div_runs) \
	X(min_runs) X(max_runs) X(pow_runs) X(neg_runs) X(exp_runs) X(log_runs) X(sqrt_runs) \
	X(rsqrt_runs) X(square_runs) X(abs_runs) X(sign_runs) X(sin_runs) X(cos_runs) \
	X(atan_runs) X(round_runs) X(sigmoid_runs) X(tanh_runs) X(relu_runs) X(relu2_runs) \
	X(linear_ce_sum_groups) X(linear_ce_chunks) X(linear_ce_grad_chunks) X(linear_kl_chunks) \
	X(linear_kl_grad_chunks) X(accumulate_flat) X(replace_flat) X(scale_by_flat) \
	X(ema_flat) X(sgd_flat) X(adamw_flat) X(lion_flat) X(adamw8_flat) X(sum_squares_flat) \
	X(count_nonfinite_flat) X(gather_rows_index) X(scatter_add_rows_index) \
	X(scatter_acc_index) X(take_along_index) X(put_along_index) X(silu_runs) X(gelu_runs) \
	X(gelu_tanh_runs) X(softplus_runs) X(unary_grad_runs) X(scale_runs) X(clamp_runs) \
	X(cast_runs) X(copy_bytes) X(cast_doubles) X(compare_bools) X(where_bytes) \
	X(dropout_blocks) X(concat_stretches) X(pad_rows) X(fill_stretches) X(arange_stretches) \
	X(argmax_rows) X(argsort_rows) X(top_k_rows) X(cumsum_rows) X(histogram_rows) \
	X(max_pool_planes) X(max_pool_grad_planes) X(avg_pool_planes) X(avg_pool_grad_planes) \
	X(resize_planes) X(resize_grad_planes) X(conv2d_panels) X(conv2d_dx_panels) \
	X(conv2d_dw_panels) X(swiglu_runs) X(swiglu_grad_runs) X(geglu_runs) X(geglu_grad_runs) \
	X(rms_norm_rows) X(layer_norm_rows) X(rms_norm_grad_rows) X(layer_norm_grad_rows) \
	X(softmax_rows) X(log_softmax_rows) X(softmax_grad_rows) X(rope_rows) X(sum_pieces) \
	X(mean_pieces) X(amax_pieces) X(logsumexp_pieces) X(attention_few) X(attention_tiles) \
	X(attention_grad_tiles) X(kv_write_rows) X(group_norm_planes) X(batch_norm_planes) \
	X(group_norm_grad_planes) X(batch_norm_grad_planes)
/* clang-format on */

#define DECLARE(name) extern const struct kernel LEVEL_NAME(name);
KERNELS(DECLARE)

extern const struct kernel *const LEVEL_NAME(cpu_kernels)[];

#define ENTRY(name) &LEVEL_NAME(name),
const struct kernel *const LEVEL_NAME(cpu_kernels)[] = { KERNELS(ENTRY) NULL };
