/* kernels/cpu/gemm.c - panels of matrices, and the product of two tiles of them */

#include "kernels/cpu/level.h"

#include "kernels/cpu/gemm.h"

/* --- turning --- */

typedef float quad __attribute__((vector_size(16)));

SIMD_INLINE quad load_quad(const float *p)
{
	quad x;

	memcpy(&x, p, sizeof(x));
	return x;
}

/* Elements 0 to 3 of 2, 4 or 8 lines: element k of all of them to OUT + k STEP. */
SIMD_INLINE void turn_2(const float *const *line, size_t at, float *out, size_t step)
{
	quad x = load_quad(line[0] + at), y = load_quad(line[1] + at);
	quad low = __builtin_shufflevector(x, y, 0, 4, 1, 5);
	quad high = __builtin_shufflevector(x, y, 2, 6, 3, 7);

	memcpy(out, &low, 8);
	memcpy(out + step, (float *)&low + 2, 8);
	memcpy(out + 2 * step, &high, 8);
	memcpy(out + 3 * step, (float *)&high + 2, 8);
}

SIMD_INLINE void turn_4(const float *const *line, size_t at, float *out, size_t step)
{
	quad a = load_quad(line[0] + at), b = load_quad(line[1] + at);
	quad c = load_quad(line[2] + at), d = load_quad(line[3] + at);
	quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
	quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), x;

	x = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
	memcpy(out, &x, sizeof(x));
	x = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	memcpy(out + step, &x, sizeof(x));
	ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
	cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
	x = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
	memcpy(out + 2 * step, &x, sizeof(x));
	x = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	memcpy(out + 3 * step, &x, sizeof(x));
}

#if SIMD_WIDTH >= 8
/* Lines l and l + 4 share a register, whose halves are turned at once. */
SIMD_INLINE __m256 load_two(const float *const *line, size_t at)
{
	return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(line[0] + at)),
				    _mm_loadu_ps(line[4] + at), 1);
}

SIMD_INLINE void turn_8(const float *const *line, size_t at, float *out, size_t step)
{
	__m256 a = load_two(line, at), b = load_two(line + 1, at);
	__m256 c = load_two(line + 2, at), d = load_two(line + 3, at);
	__m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
	__m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));

	_mm256_storeu_ps(out, _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)));
	_mm256_storeu_ps(out + step, _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
	ab = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
	cd = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
	_mm256_storeu_ps(out + 2 * step, _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)));
	_mm256_storeu_ps(out + 3 * step, _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
}
#endif

/* N elements of WIDTH lines (a constant, but in gemm_turn). */
SIMD_INLINE void turn(const float *const *line, size_t width, size_t n, float *out, size_t step)
{
	size_t k = 0;

	for (; k + 4 <= n; k += 4) {
		size_t l = 0;

#if SIMD_WIDTH >= 8
		for (; l + 8 <= width; l += 8)
			turn_8(line + l, k, out + k * step + l, step);
#endif
		for (; l + 4 <= width; l += 4)
			turn_4(line + l, k, out + k * step + l, step);
		for (; l + 2 <= width; l += 2)
			turn_2(line + l, k, out + k * step + l, step);
		for (; l < width; l++)
			for (size_t i = k; i < k + 4; i++)
				out[i * step + l] = line[l][i];
	}
	for (; k < n; k++)
		for (size_t l = 0; l < width; l++)
			out[k * step + l] = line[l][k];
}

void LEVEL_NAME(gemm_turn)(const float *in, size_t rows, size_t columns, size_t stride, float *out,
			   size_t out_stride)
{
	const float *line[8];

	for (size_t r = 0; r < rows; r += 8) {
		size_t many = rows - r < 8 ? rows - r : 8;

		for (size_t l = 0; l < many; l++)
			line[l] = in + (r + l) * stride;
		if (many == 8)
			turn(line, 8, columns, out + r, out_stride);
		else
			turn(line, many, columns, out + r, out_stride);
	}
}

/* --- packing --- */

static const float zeros[GEMM_CHUNK];

/*
 * Lines lie apart, elements of a line side by side: WIDTH (a constant) lines are turned, f32 where they lie, others a chunk
 * at a time after being brought to f32.
 */
SIMD_INLINE void pack_lines(const struct gemm_source *s, size_t first, size_t n, size_t k0,
			    size_t kn, size_t width, float *out)
{
	float lines[GEMM_COLUMNS > GEMM_ROWS ? GEMM_COLUMNS : GEMM_ROWS][GEMM_CHUNK];
	const float *line[GEMM_COLUMNS > GEMM_ROWS ? GEMM_COLUMNS : GEMM_ROWS];

	for (size_t k = 0; k < kn; k += GEMM_CHUNK) {
		size_t many = kn - k < GEMM_CHUNK ? kn - k : GEMM_CHUNK;

		for (size_t l = 0; l < width; l++) {
			ptrdiff_t at =
				s->at + (ptrdiff_t)(first + l) * s->line + (ptrdiff_t)(k0 + k);

			line[l] = l >= n		     ? zeros
				  : s->t->dtype == DTYPE_F32 ? (const float *)s->t->data + at
							     : lines[l];
			if (line[l] == lines[l])
				gemm_run(s->t, at, lines[l], many);
		}
		turn(line, width, many, out + k * width, width);
	}
}

/* A run of N values of element k of as many lines into panels of WIDTH (a constant); the last is filled up with zeros. */
SIMD_INLINE void deal(const float *run, size_t n, size_t width, size_t step, float *out)
{
	size_t l = 0;

	for (; l + width <= n; l += width, out += step)
		memcpy(out, run + l, width * sizeof(float));
	if (l < n) {
		memset(out, 0, width * sizeof(float));
		memcpy(out, run + l, (n - l) * sizeof(float));
	}
}

/*
 * Lines lie side by side: runs over many of them are dealt out to panels. Rows of a large matrix lie pages apart, which no
 * processor sees coming: they are asked for ahead.
 */
#define AHEAD 8

SIMD_INLINE void pack_across(const struct gemm_source *s, size_t first, size_t n, size_t k0,
			     size_t kn, size_t width, size_t step, float *out)
{
	size_t most = GEMM_CHUNK / width * width;
	float run[GEMM_CHUNK];

	for (size_t l = 0; l < n; l += most) {
		size_t many = n - l < most ? n - l : most;
		float *to = out + l / width * step;

		for (size_t k = 0; k < kn; k++, to += width) {
			ptrdiff_t at = s->at + (ptrdiff_t)(k0 + k) * s->k + (ptrdiff_t)(first + l);

			if (s->t->dtype != DTYPE_F32) {
				gemm_run(s->t, at, run, many);
				deal(run, many, width, step, to);
				continue;
			}
			for (size_t i = 0; i < many && k + AHEAD < kn; i += 16)
				__builtin_prefetch((const float *)s->t->data + at + AHEAD * s->k +
						   (ptrdiff_t)i);
			deal((const float *)s->t->data + at, many, width, step, to);
		}
	}
}

/* For a WIDTH that the compiler knows. */
SIMD_INLINE void pack(const struct gemm_source *s, size_t first, size_t n, size_t k0, size_t kn,
		      size_t width, size_t step, float *out)
{
	if (s->line == 1 && s->k != 1) {
		pack_across(s, first, n, k0, kn, width, step, out);
		return;
	}
	for (size_t l = 0; l < n; l += width)
		pack_lines(s, first + l, n - l < width ? n - l : width, k0, kn, width,
			   out + l / width * step);
}

void LEVEL_NAME(gemm_pack)(const struct gemm_source *s, size_t first, size_t n, size_t k0,
			   size_t kn, size_t width, size_t step, float *out)
{
	if (width == GEMM_ROWS)
		pack(s, first, n, k0, kn, GEMM_ROWS, step, out);
	else if (width == GEMM_LOW)
		pack(s, first, n, k0, kn, GEMM_LOW, step, out);
	else
		pack(s, first, n, k0, kn, GEMM_COLUMNS, step, out);
}

/* --- the tile --- */

SIMD_INLINE void add_products(const float *a, const float *b, size_t kn, vf32 sum[GEMM_ROWS][2])
{
	for (size_t k = 0; k < kn; k++, a += GEMM_ROWS, b += GEMM_COLUMNS) {
		vf32 b0 = simd_load(b), b1 = simd_load(b + SIMD_WIDTH);

		SIMD_UNROLL
		for (int i = 0; i < GEMM_ROWS; i++) {
			vf32 x = simd_broadcast(a + i);

			sum[i][0] = simd_fma(x, b0, sum[i][0]);
			sum[i][1] = simd_fma(x, b1, sum[i][1]);
		}
	}
}

SIMD_INLINE void load_sums(const float *from, ptrdiff_t step, vf32 sum[GEMM_ROWS][2])
{
	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++, from += step) {
		sum[i][0] = simd_load(from);
		sum[i][1] = simd_load(from + SIMD_WIDTH);
	}
}

SIMD_INLINE void store_sums(vf32 sum[GEMM_ROWS][2], float *to, ptrdiff_t step)
{
	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++, to += step) {
		simd_store(to, sum[i][0]);
		simd_store(to + SIMD_WIDTH, sum[i][1]);
	}
}

void LEVEL_NAME(gemm_tile)(const float *a, const float *b, size_t kn, float *c, size_t stride)
{
	vf32 sum[GEMM_ROWS][2];

	load_sums(c, (ptrdiff_t)stride, sum);
	add_products(a, b, kn, sum);
	store_sums(sum, c, (ptrdiff_t)stride);
}

void LEVEL_NAME(gemm_tile_ends)(const float *a, const float *b, size_t kn,
				const struct gemm_ends *e)
{
	const float *plus = e->plus;
	vf32 sum[GEMM_ROWS][2];

	if (e->from) {
		load_sums(e->from, e->from_step, sum);
	} else {
		SIMD_UNROLL
		for (int i = 0; i < GEMM_ROWS; i++)
			sum[i][0] = sum[i][1] = (vf32){ 0 };
	}
	add_products(a, b, kn, sum);
	if (plus) {
		SIMD_UNROLL
		for (int i = 0; i < GEMM_ROWS; i++, plus += e->plus_step) {
			sum[i][0] = sum[i][0] + simd_load(plus);
			sum[i][1] = sum[i][1] + simd_load(plus + SIMD_WIDTH);
		}
	}
	store_sums(sum, e->to, e->to_step);
}

/* The same of one chain, which starts from nothing. */
SIMD_INLINE void chain(const float *a, const float *b, size_t kn, float *c, size_t stride)
{
	vf32 sum[GEMM_ROWS][2];

	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++)
		sum[i][0] = sum[i][1] = (vf32){ 0 };
	add_products(a, b, kn, sum);
	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++, c += stride) {
		simd_store(c, simd_load(c) + sum[i][0]);
		simd_store(c + SIMD_WIDTH, simd_load(c + SIMD_WIDTH) + sum[i][1]);
	}
}

void LEVEL_NAME(gemm_tile_chains)(const float *a, const float *b, size_t kn, float *c,
				  size_t stride)
{
	for (; kn > GEMM_CHAIN; kn -= GEMM_CHAIN) {
		chain(a, b, GEMM_CHAIN, c, stride);
		a += GEMM_CHAIN * GEMM_ROWS;
		b += GEMM_CHAIN * GEMM_COLUMNS;
	}
	chain(a, b, kn, c, stride);
}
