/*
 * kernels/cpu/peak.c - multiply-adds from registers, and streams of bytes
 *
 * A multiply-add takes about four cycles and two can begin in each, so 8 chains are needed (12 where it is two instructions);
 * 12 chains and two operands fit the 16 registers of the narrower levels. One step of a stream is PEAK_STEP floats, so that the loop
 * over streams costs little.
 */
#include "kernels/cpu/simd.h"
#include "kernels/peak.h"

#define CHAINS 12

float LEVEL_NAME(peak_move)(const struct peak_move *m);

static void multiply(size_t rounds, float *x)
{
	vf32 a = simd_load(x), b = simd_load(x + 16), sum[CHAINS];

	SIMD_UNROLL
	for (int k = 0; k < CHAINS; k++)
		sum[k] = simd_load(x + 32) + (float)k;
	for (size_t i = 0; i < rounds; i++) {
		SIMD_UNROLL
		for (int k = 0; k < CHAINS; k++)
			sum[k] = simd_fma(sum[k], a, b);
	}
	SIMD_UNROLL
	for (int k = 1; k < CHAINS; k++)
		sum[0] += sum[k];
	simd_store(x + 32, sum[0]);
}

const struct peak_loop LEVEL_NAME(peak_fma);
const struct peak_loop LEVEL_NAME(peak_fma) = { 2.0 * CHAINS * SIMD_WIDTH, multiply };

/* --- streams --- */

SIMD_INLINE void store_past_caches(float *p, vf32 v)
{
#if SIMD_WIDTH == 16
	_mm512_stream_ps(p, (__m512)v);
#elif SIMD_WIDTH == 8
	_mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__)
	_mm_stream_ps(p, (__m128)v);
#else
	simd_store(p, v);
#endif
}

SIMD_INLINE void finish_streaming(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

/* One vector of each stream. */
SIMD_INLINE vf32 move_vector(const struct peak_move *m, int reads, int updates, int writes,
			     bool stream, size_t at)
{
	vf32 sum = { 0 };

	for (int k = 0; k < reads; k++)
		sum += simd_load(m->read[k] + at);
	for (int k = 0; k < updates; k++) {
		vf32 v = simd_load(m->update[k] + at) + sum;

		if (stream)
			store_past_caches(m->update[k] + at, v);
		else
			simd_store(m->update[k] + at, v);
	}
	for (int k = 0; k < writes; k++)
		if (stream)
			store_past_caches(m->write[k] + at, sum);
		else
			simd_store(m->write[k] + at, sum);
	return sum;
}

/* Inlined with constant numbers, the common mixes become loops of loads and stores alone. */
SIMD_INLINE float move(const struct peak_move *m, int reads, int updates, int writes, bool stream)
{
	struct peak_move local = *m; /* what it points at is none of it */
	vf32 sum[4] = { { 0 } };
	float total = 0;

	for (size_t i = m->from; i < m->to; i += 4 * SIMD_WIDTH)
		for (size_t k = 0; k < 4; k++)
			sum[k] += move_vector(&local, reads, updates, writes, stream,
					      i + k * SIMD_WIDTH);
	if (stream)
		finish_streaming();
	if (updates || writes)
		return 0;
	sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
	for (int j = 0; j < SIMD_WIDTH; j++)
		total += sum[0][j];
	return total;
}

/* X(reads, updates, writes) */
#define MIXES(X) \
 X(1, 0, 0)      \
 X(2, 0, 0)      \
 X(4, 0, 0)      \
 X(0, 0, 1) X(1, 0, 1) X(2, 0, 1) X(3, 0, 1) X(3, 0, 2) X(0, 1, 0) X(1, 1, 0) X(1, 2, 0) X(1, 3, 0)

float LEVEL_NAME(peak_move)(const struct peak_move *m)
{
#define MIX(r, u, w)                                           \
 if (m->reads == (r) && m->updates == (u) && m->writes == (w)) \
  return m->stream ? move(m, r, u, w, true) : move(m, r, u, w, false);
	MIXES(MIX)
#undef MIX
	return move(m, m->reads, m->updates, m->writes, m->stream);
}
