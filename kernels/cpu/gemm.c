/* kernels/cpu/gemm.c - panels of matrices, and the product of two tiles of them */

#include "kernels/cpu/level.h"

#include "kernels/cpu/gemm.h"

/* --- packing --- */

/* Lines lie apart, elements of a line side by side: WIDTH lines at a time are brought to f32 and turned. */
static void pack_lines(const struct gemm_source *s, size_t first, size_t n, size_t k0, size_t kn,
		       size_t width, float *out)
{
	float lines[GEMM_COLUMNS > GEMM_ROWS ? GEMM_COLUMNS : GEMM_ROWS][GEMM_CHUNK];

	for (size_t k = 0; k < kn; k += GEMM_CHUNK) {
		size_t many = kn - k < GEMM_CHUNK ? kn - k : GEMM_CHUNK;

		for (size_t l = 0; l < n; l++)
			gemm_run(s->t,
				 s->at + (ptrdiff_t)(first + l) * s->line + (ptrdiff_t)(k0 + k),
				 lines[l], many);
		for (size_t l = n; l < width; l++)
			memset(lines[l], 0, many * sizeof(float));
		for (size_t i = 0; i < many; i++)
			for (size_t l = 0; l < width; l++)
				out[(k + i) * width + l] = lines[l][i];
	}
}

/* Lines lie side by side: a run over many of them is cut into panels. */
static void pack_across(const struct gemm_source *s, size_t first, size_t n, size_t k0, size_t kn,
			size_t width, size_t step, float *out)
{
	float run[GEMM_CHUNK + 64];

	for (size_t l = 0; l < n; l += GEMM_CHUNK / width * width) {
		size_t most = GEMM_CHUNK / width * width;
		size_t many = n - l < most ? n - l : most;
		size_t padded = (many + width - 1) / width * width;

		for (size_t k = 0; k < kn; k++) {
			gemm_run(s->t, s->at + (ptrdiff_t)(k0 + k) * s->k + (ptrdiff_t)(first + l),
				 run, many);
			memset(run + many, 0, (padded - many) * sizeof(float));
			for (size_t p = 0; p < padded; p += width)
				memcpy(out + (l + p) / width * step + k * width, run + p,
				       width * sizeof(float));
		}
	}
}

void LEVEL_NAME(gemm_pack)(const struct gemm_source *s, size_t first, size_t n, size_t k0,
			   size_t kn, size_t width, size_t step, float *out)
{
	if (s->line == 1 && s->k != 1) {
		pack_across(s, first, n, k0, kn, width, step, out);
		return;
	}
	for (size_t l = 0; l < n; l += width)
		pack_lines(s, first + l, n - l < width ? n - l : width, k0, kn, width,
			   out + l / width * step);
}

/* --- the tile --- */

void LEVEL_NAME(gemm_tile)(const float *a, const float *b, size_t kn, float *c, size_t stride)
{
	vf32 sum[GEMM_ROWS][2];

	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++) {
		sum[i][0] = simd_load(c + (size_t)i * stride);
		sum[i][1] = simd_load(c + (size_t)i * stride + SIMD_WIDTH);
	}
	for (size_t k = 0; k < kn; k++, a += GEMM_ROWS, b += GEMM_COLUMNS) {
		vf32 b0 = simd_load(b), b1 = simd_load(b + SIMD_WIDTH);

		SIMD_UNROLL
		for (int i = 0; i < GEMM_ROWS; i++) {
			vf32 x = simd_broadcast(a + i);

			sum[i][0] = simd_fma(x, b0, sum[i][0]);
			sum[i][1] = simd_fma(x, b1, sum[i][1]);
		}
	}
	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++) {
		simd_store(c + (size_t)i * stride, sum[i][0]);
		simd_store(c + (size_t)i * stride + SIMD_WIDTH, sum[i][1]);
	}
}
