/*
 * lib/eval/op_shapes.c - the table of shapes
 *
 * 12.6M: 6 layers of width 384, 6 heads and 2 of keys, 1024 within, 8192 words, steps of 16 x 256 tokens. 100M: 12 of 768, 12 and
 * 4 heads, 2048, 32000 words, 4 x 512 tokens. SmolLM2: 576, 9 and 3 heads, 1536, 49152 words. Gemma: 640, 4 heads of 256 and 1,
 * 2048, 262144 words. YOLO: YOLO11n at 640 x 640. `large` is out of any cache.
 */
#include "lib/eval/op_shapes.h"

#include "lib/graph/graph_parts.h"

/* clang-format off */
#define FFN    "2048x2048"
#define LARGE  "8192x2048"
#define TWO(s) s " " s

#define UNARY(id)    { OP_##id, "100M.ffn", FFN, NULL }
#define POSITIVE(id) { OP_##id, "100M.ffn", FFN "+", NULL }
#define BINARY(id)   { OP_##id, "100M.ffn", TWO(FFN), NULL }

#define AXES(set)      &(const struct axes_attributes){ .axes = set }
#define AXIS(...)      &(const struct axis_attributes){ __VA_ARGS__ }
#define KIND(k)        &(const struct kind_attributes){ k }
#define SCALARS(a, b)  &(const struct scalars_attributes){ a, b }
#define NORM(...)      &(const struct norm_attributes){ .eps = 1e-5, __VA_ARGS__ }
#define MATMUL         &(const struct matmul_attributes){ 0 }
#define MATMUL_ROUNDED &(const struct matmul_attributes){ .round = 1 }
#define MATMUL_PACKED  &(const struct matmul_attributes){ .round = 1, .pack = 1 }
#define ROPE           &(const struct rope_attributes){ 0 }
#define CAUSAL         &(const struct attention_attributes){ .causal = 1 }
#define WINDOW         &(const struct attention_attributes){ .causal = 1, .window = 512 }
#define LOSS           &(const struct cross_entropy_attributes){ .ignore = -100 }
#define OPTIMIZER      &(const struct optimizer_attributes){ .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1 }
#define STOCHASTIC(s)  &(const struct optimizer_attributes){ .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .stochastic = s }
/* dtype 0: what is asked for */
#define FILL           &(const struct fill_attributes){ .b = 1, .shape = { 1, { 4194304 } } }
#define CONV(s, p, g)       &(const struct conv_attributes){ { s, s }, { p, p, p, p }, { 1, 1 }, g, 0, { 0 } }
#define CONV_OF(s, p, g, n) &(const struct conv_attributes){ { s, s }, { p, p, p, p }, { 1, 1 }, g, 0, { n, n } }
#define POOL(k, s, p, n)    &(const struct pool_attributes){ { k, k }, { s, s }, { p, p }, 0, 0, { n, n } }
#define RESIZE(mode, n)     &(const struct resize_attributes){ mode, 0, { n, n } }

const struct op_shape op_shapes[] = {
	{ OP_ADD, "100M.ffn", TWO(FFN), NULL },
	{ OP_ADD, "large", TWO(LARGE), NULL },
	{ OP_ADD, "12.6M.residual", TWO("4096x384"), NULL },
	{ OP_ADD, "100M.bias", FFN " 2048", NULL },
	BINARY(SUB),
	{ OP_MUL, "100M.ffn", TWO(FFN), NULL },
	{ OP_MUL, "large", TWO(LARGE), NULL },
	{ OP_DIV, "100M.ffn", FFN " " FFN "+", NULL },
	BINARY(MIN),
	BINARY(MAX),
	{ OP_POW, "100M.ffn", FFN "+ " FFN, NULL },
	{ OP_COMPARE, "100M.ffn", TWO(FFN), KIND(COMPARE_LT) },
	{ OP_WHERE, "100M.ffn", "bool:" FFN " " TWO(FFN), NULL },
	UNARY(NEG),
	UNARY(EXP),
	POSITIVE(LOG),
	POSITIVE(SQRT),
	POSITIVE(RSQRT),
	UNARY(SQUARE),
	UNARY(ABS),
	UNARY(SIGN),
	UNARY(SIN),
	UNARY(COS),
	UNARY(ATAN),
	UNARY(ROUND),
	UNARY(SIGMOID),
	UNARY(TANH),
	UNARY(RELU),
	UNARY(RELU2),
	{ OP_SILU, "100M.ffn", FFN, NULL },
	{ OP_SILU, "large", LARGE, NULL },
	{ OP_SILU, "YOLO.stem", "1x16x320x320", NULL },
	{ OP_GELU, "100M.ffn", FFN, NULL },
	{ OP_GELU, "large", LARGE, NULL },
	UNARY(GELU_TANH),
	UNARY(SOFTPLUS),
	{ OP_UNARY_GRAD, "100M.ffn", TWO(FFN), KIND(UNARY_SILU) },
	{ OP_SCALE, "100M.ffn", FFN, SCALARS(2, 1) },
	{ OP_SCALE, "large", LARGE, SCALARS(2, 1) },
	{ OP_CLAMP, "100M.ffn", FFN, SCALARS(-1, 1) },
	{ OP_CAST, "100M.ffn.to-bf16", "f32:" FFN, KIND(DTYPE_BF16) },
	{ OP_CAST, "100M.ffn.to-f32", "bf16:" FFN, KIND(DTYPE_F32) },
	{ OP_CAST, "large.to-bf16", "f32:" LARGE, KIND(DTYPE_BF16) },
	{ OP_COPY, "100M.ffn", FFN, NULL },
	{ OP_COPY, "large", LARGE, NULL },
	{ OP_COPY, "100M.transposed", FFN "T", NULL },
	{ OP_DROPOUT, "100M.ffn", FFN, &(const struct dropout_attributes){ .p = 0.1 } },
	{ OP_FILL, "4M", "", FILL },
	{ OP_ARANGE, "4M", "", FILL },

	{ OP_SUM, "100M.ffn.rows", FFN, AXES(2) },
	{ OP_SUM, "100M.ffn.columns", FFN, AXES(1) },
	{ OP_SUM, "large.all", LARGE, AXES(3) },
	{ OP_MEAN, "100M.ffn.rows", FFN, AXES(2) },
	{ OP_AMAX, "100M.ffn.rows", FFN, AXES(2) },
	{ OP_ARGMAX, "SmolLM2.logits", "16x49152", AXIS(.axis = 1) },
	{ OP_LOGSUMEXP, "SmolLM2.logits", "64x49152", AXES(2) },
	{ OP_CUMSUM, "100M.ffn", FFN, AXIS(.axis = 1) },
	{ OP_SOFTMAX, "100M.scores", "6144x512", NULL },
	{ OP_SOFTMAX, "large", LARGE, NULL },
	{ OP_SOFTMAX, "SmolLM2.logits", "64x49152", NULL },
	{ OP_SOFTMAX_GRAD, "100M.scores", TWO("6144x512"), NULL },
	{ OP_SOFTMAX_GRAD, "large", TWO(LARGE), NULL },
	{ OP_LOG_SOFTMAX, "SmolLM2.logits", "64x49152", NULL },
	{ OP_ARGSORT, "SmolLM2.logits", "4x49152", AXIS(.axis = 1, .reverse = 1) },
	{ OP_TOP_K, "SmolLM2.logits", "16x49152", AXIS(.axis = 1, .n = 50) },
	{ OP_HISTOGRAM, "256-experts", "i32:65536<256", AXIS(.n = 256) },

	{ OP_GATHER_ROWS, "100M.embedding", "32000x768 i32:2048<32000", NULL },
	{ OP_GATHER_ROWS, "large", "32000x768 i32:32768<32000", NULL },
	{ OP_GATHER_ROWS, "SmolLM2.prompt", "49152x576 i32:512<49152", NULL },
	{ OP_GATHER_ROWS, "dequantize.q4_0", "q4_0:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q4_1", "q4_1:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q5_0", "q5_0:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q5_1", "q5_1:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q8_0", "q8_0:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.f16", "f16:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.bf16", "bf16:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q4_k", "q4_k:32768x1024 i32:32768#", NULL },
	{ OP_GATHER_ROWS, "dequantize.q6_k", "q6_k:32768x1024 i32:32768#", NULL },
	{ OP_SCATTER_ADD_ROWS, "12.6M.embedding", "4096x384 i32:4096<8192", AXIS(.n = 8192) },
	{ OP_SCATTER_ACC, "100M.embedding", "32000x768 2048x768 i32:2048<32000", NULL },
	{ OP_SCATTER_ACC, "large", "32000x768 32768x768 i32:32768<32000", NULL },
	{ OP_TAKE_ALONG, "100M.logits", "256x32000 i32:256x64<32000", NULL },
	{ OP_PUT_ALONG, "100M.logits", "256x64 i32:256x64<32000", AXIS(.n = 32000) },

	{ OP_CONCAT, "YOLO.neck", "1x128x80x80 1x128x80x80", AXIS(.axis = 1) },
	{ OP_CONCAT, "100M.qkv", "2048x768 2048x256 2048x256", AXIS(.axis = 1) },
	{ OP_PAD, "YOLO.image", "1x3x640x640", &(const struct pad_attributes){ .before = { 0, 0, 1, 1 }, .after = { 0, 0, 1, 1 } } },

	{ OP_MATMUL, "100M.up", "4096x768 768x2048T", MATMUL },
	{ OP_MATMUL, "100M.up.dx", "4096x2048 2048x768", MATMUL },
	{ OP_MATMUL, "100M.up.dw", "2048x4096T 4096x768", MATMUL },
	{ OP_MATMUL, "12.6M.up", "8192x384 384x1024T", MATMUL },
	{ OP_MATMUL, "12.6M.up.dx", "8192x1024 1024x384", MATMUL },
	{ OP_MATMUL, "12.6M.up.dw", "1024x8192T 8192x384", MATMUL },
	{ OP_MATMUL, "square", "2048x2048 2048x2048", MATMUL },
	{ OP_MATMUL, "12.6M.q", "4096x384 384x384T", MATMUL },
	{ OP_MATMUL, "12.6M.head", "4096x384 384x8192T", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.1", "1x576 576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.4", "4x576 576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.16", "16x576 576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.512", "512x576 576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.head.1", "1x576 576x49152TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.1.q8_0", "1x576 q8_0:576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.512.q8_0", "512x576 q8_0:576x1536TW", MATMUL },
	{ OP_MATMUL, "SmolLM2.up.1.rounded", "1x576 q4_1:576x1536TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "SmolLM2.up.12.rounded", "12x576 q4_1:576x1536TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "SmolLM2.up.512.rounded", "512x576 q4_1:576x1536TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "SmolLM2.up.1.packed", "1x576 q4_1:576x1536TW", MATMUL_PACKED },
	{ OP_MATMUL, "SmolLM2.up.12.packed", "12x576 q4_1:576x1536TW", MATMUL_PACKED },
	{ OP_MATMUL, "SmolLM2.up.512.packed", "512x576 q4_1:576x1536TW", MATMUL_PACKED },
	{ OP_MATMUL, "Llama-1B.down.1.q4_k.rounded", "1x8192 q4_k:8192x2048TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "Llama-1B.down.1.q4_k.packed", "1x8192 q4_k:8192x2048TW", MATMUL_PACKED },
	{ OP_MATMUL, "Llama-1B.down.1.q6_k.rounded", "1x8192 q6_k:8192x2048TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "Gemma.head.1.rounded", "1x640 q8_0:640x262144TW", MATMUL_ROUNDED },
	{ OP_MATMUL, "Gemma.head.1.packed", "1x640 q8_0:640x262144TW", MATMUL_PACKED },
	{ OP_MATMUL, "Gemma.up.1", "1x640 640x2048TW", MATMUL },
	{ OP_MATMUL, "Gemma.up.512", "512x640 640x2048TW", MATMUL },
	{ OP_MATMUL_ACC, "100M.up.dw", "f32:2048x768 2048x2048T 2048x768", NULL },
	{ OP_GROUPED_MATMUL, "8-experts", "4096x768 8x768x1024 i32:9^4096", MATMUL },
	{ OP_GROUPED_MATMUL_DW, "8-experts", "4096x768 4096x1024 i32:9^4096", NULL },

	{ OP_RMS_NORM, "12.6M", "4096x384 384", NORM() },
	{ OP_RMS_NORM, "100M", "2048x768 768", NORM() },
	{ OP_RMS_NORM, "large", "32768x768 768", NORM() },
	{ OP_RMS_NORM_GRAD, "100M", "2048x768 2048x768 768", NORM() },
	{ OP_RMS_NORM_GRAD, "large", "32768x768 32768x768 768", NORM() },
	{ OP_LAYER_NORM, "100M", "2048x768 768 768", NORM() },
	{ OP_LAYER_NORM, "large", "32768x768 768 768", NORM() },
	{ OP_LAYER_NORM_GRAD, "100M", "2048x768 2048x768 768", NORM() },
	{ OP_LAYER_NORM_GRAD, "large", "32768x768 32768x768 768", NORM() },
	{ OP_GROUP_NORM, "diffusion", "2x320x64x64 320 320", NORM(.groups = 32) },
	{ OP_GROUP_NORM_GRAD, "diffusion", TWO("2x320x64x64") " 320", NORM(.groups = 32) },
	{ OP_BATCH_NORM, "YOLO", "8x64x80x80 64 64", NORM() },
	{ OP_BATCH_NORM_GRAD, "YOLO", TWO("8x64x80x80") " f32:64 f32:64+ 64", NORM() },

	{ OP_ROPE, "100M.q", "2048x12x64 i32:2048x1# f32:32+", ROPE },
	{ OP_ROPE, "12.6M.q", "4096x6x64 i32:4096x1# f32:32+", ROPE },
	{ OP_ROPE, "large", "32768x12x64 i32:32768x1# f32:32+", ROPE },
	{ OP_SWIGLU, "12.6M", TWO("4096x1024"), NULL },
	{ OP_SWIGLU, "large", TWO(LARGE), NULL },
	{ OP_SWIGLU_GRAD, "12.6M", TWO("4096x1024") " 4096x1024", NULL },
	{ OP_SWIGLU_GRAD, "large", TWO(LARGE) " " LARGE, NULL },
	{ OP_GEGLU, "Gemma", TWO(FFN), &(const struct gated_attributes){ .tanh = 1 } },
	{ OP_GEGLU_GRAD, "Gemma", TWO(FFN) " " FFN, &(const struct gated_attributes){ .tanh = 1 } },
	{ OP_ATTENTION, "12.6M.256", "256x6x64 256x2x64 256x2x64", CAUSAL },
	{ OP_ATTENTION, "100M.1024", "1024x12x64 1024x4x64 1024x4x64", CAUSAL },
	{ OP_ATTENTION, "100M.4096", "4096x12x64 4096x4x64 4096x4x64", CAUSAL },
	{ OP_ATTENTION, "SmolLM2.decode", "1x9x64 512x3x64 512x3x64", CAUSAL },
	{ OP_ATTENTION, "Gemma.1024", "1024x4x256 1024x1x256 1024x1x256", WINDOW },
	{ OP_ATTENTION_GRAD, "12.6M.256", "256x6x64 256x6x64 f32:256x6+ 256x6x64 256x2x64 256x2x64", CAUSAL },
	{ OP_ATTENTION_GRAD, "100M.1024", "1024x12x64 1024x12x64 f32:1024x12+ 1024x12x64 1024x4x64 1024x4x64", CAUSAL },
	{ OP_ATTENTION_GRAD, "100M.4096", "4096x12x64 4096x12x64 f32:4096x12+ 4096x12x64 4096x4x64 4096x4x64", CAUSAL },
	{ OP_KV_WRITE, "SmolLM2.prompt", "2048x3x64 512x3x64 i32:512#", NULL },
	{ OP_LINEAR_CE, "12.6M", "4096x384 8192x384 i32:4096<8192", LOSS },
	{ OP_LINEAR_CE, "100M", "2048x768 32000x768 i32:2048<32000", LOSS },
	{ OP_LINEAR_CE, "128k", "512x768 128000x768 i32:512<128000", LOSS },
	{ OP_LINEAR_CE_SUM, "12.6M", "4096x384 8192x384 i32:4096<8192 f32:4096", LOSS },
	{ OP_LINEAR_CE_SUM, "100M", "2048x768 32000x768 i32:2048<32000 f32:2048", LOSS },
	{ OP_LINEAR_CE_SUM, "128k", "512x768 128000x768 i32:512<128000 f32:512", LOSS },
	{ OP_LINEAR_CE_GRAD, "12.6M", "4096x384 8192x384 i32:4096<8192 f32:4096+ f32:4096", LOSS },
	{ OP_LINEAR_CE_GRAD, "100M", "2048x768 32000x768 i32:2048<32000 f32:2048+ f32:2048", LOSS },
	{ OP_LINEAR_CE_GRAD, "128k", "512x768 128000x768 i32:512<128000 f32:512+ f32:512", LOSS },
	{ OP_LINEAR_KL, "12.6M.64-kept", "1024x384 8192x384 1024x64 i32:1024x64<8192", LOSS },
	{ OP_LINEAR_KL_GRAD, "12.6M.64-kept", "1024x384 8192x384 1024x64 i32:1024x64<8192 f32:1024+ f32:1024", LOSS },

	{ OP_CONV2D, "YOLO.stem", "1x3x640x640 16x3x3x3W", CONV(2, 1, 1) },
	{ OP_CONV2D, "YOLO.stage-1", "1x16x320x320 32x16x3x3W", CONV(2, 1, 1) },
	{ OP_CONV2D, "YOLO.3x3-160", "1x16x160x160 16x16x3x3W", CONV(1, 1, 1) },
	{ OP_CONV2D, "YOLO.3x3-80", "1x64x80x80 64x64x3x3W", CONV(1, 1, 1) },
	{ OP_CONV2D, "YOLO.1x1-40", "1x256x40x40 128x256x1x1W", CONV(1, 0, 1) },
	{ OP_CONV2D, "YOLO.3x3-20", "1x128x20x20 128x128x3x3W", CONV(1, 1, 1) },
	{ OP_CONV2D, "YOLO.down-40", "1x128x40x40 256x128x3x3W", CONV(2, 1, 1) },
	{ OP_CONV2D, "YOLO.depthwise-80", "1x80x80x80 80x1x3x3W", CONV(1, 1, 80) },
	{ OP_CONV2D_DX, "YOLO.3x3-80", "8x64x80x80 64x64x3x3", CONV_OF(1, 1, 1, 80) },
	{ OP_CONV2D_DX, "YOLO.down-40", "8x256x20x20 256x128x3x3", CONV_OF(2, 1, 1, 40) },
	{ OP_CONV2D_DW, "YOLO.3x3-80", TWO("8x64x80x80"), CONV_OF(1, 1, 1, 3) },
	{ OP_CONV2D_DW, "YOLO.down-40", "8x128x40x40 8x256x20x20", CONV_OF(2, 1, 1, 3) },
	{ OP_MAX_POOL, "YOLO.sppf", "1x128x20x20", POOL(5, 1, 2, 0) },
	{ OP_MAX_POOL_GRAD, "YOLO.sppf", "8x128x20x20 i32:8x128x20x20<400", POOL(5, 1, 2, 20) },
	{ OP_AVG_POOL, "halved", "8x64x80x80", POOL(2, 2, 0, 0) },
	{ OP_AVG_POOL_GRAD, "halved", "8x64x40x40", POOL(2, 2, 0, 80) },
	{ OP_RESIZE, "YOLO.neck", "1x256x20x20", RESIZE(RESIZE_NEAREST, 40) },
	{ OP_RESIZE, "bilinear", "1x64x80x80", RESIZE(RESIZE_BILINEAR, 160) },
	{ OP_RESIZE_GRAD, "YOLO.neck", "1x256x40x40", RESIZE(RESIZE_NEAREST, 20) },

	{ OP_ACCUMULATE, "100M.embedding", "f32:32000x768 32000x768", NULL },
	{ OP_REPLACE, "100M.embedding", TWO("32000x768"), NULL },
	{ OP_SCALE_BY, "100M.embedding", "32000x768 f32:1+", NULL },
	{ OP_SUM_SQUARES, "100M.embedding", "32000x768", NULL },
	{ OP_COUNT_NONFINITE, "100M.embedding", "32000x768", NULL },
	{ OP_EMA, "100M.embedding", TWO("32000x768") " f32:1+", NULL },
	{ OP_SGD, "100M.embedding", "32000x768 f32:32000x768 f32:32000x768 f32:2+", OPTIMIZER },
	{ OP_ADAMW, "100M.up", "2048x768 f32:2048x768 f32:2048x768+ f32:2048x768 f32:4+", OPTIMIZER },
	{ OP_ADAMW, "100M.embedding", "32000x768 f32:32000x768 f32:32000x768+ f32:32000x768 f32:4+", OPTIMIZER },
	{ OP_ADAMW, "100M.stochastic", "bf16:32000x768 f32:32000x768 f32:32000x768+ f32:32000x768 f32:4+", STOCHASTIC(STOCHASTIC_PARAMETER) },
	{ OP_LION, "100M.embedding", "32000x768 f32:32000x768 f32:32000x768 f32:2+", OPTIMIZER },
	{ OP_ADAMW8, "100M.embedding", "32000x768 i8:32000x768 u8:32000x768 f32:96000+ f32:96000+ f32:32000x768 f32:4+", OPTIMIZER },
	{ OP_ADAMW8, "100M.stochastic", "bf16:32000x768 i8:32000x768 u8:32000x768 f32:96000+ f32:96000+ f32:32000x768 f32:4+", STOCHASTIC(STOCHASTIC_PARAMETER | STOCHASTIC_MOMENTS) },
};
/* clang-format on */

const size_t n_op_shapes = sizeof(op_shapes) / sizeof(op_shapes[0]);
