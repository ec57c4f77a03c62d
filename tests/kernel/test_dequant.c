/*
 * test_dequant.c - blocks and 8-bit floats to f32, against gguf-py and ml_dtypes
 *
 * fixtures/golden/dtype: made by scripts/gen-fixtures-dtype. A NaN's payload is not compared.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "kernels/dtype.h"
#include "tests/corrupt.h"
#include "tests/kernel/fnv.h"
#include "tests/tap.h"

static char *golden(enum dtype t, const char *suffix, size_t *n)
{
	char path[128];

	snprintf(path, sizeof(path), "fixtures/golden/dtype/%s.%s", dtype_name(t), suffix);
	return tap_fixture(path, n);
}

/* Little-endian f32 bits, every NaN the same. */
static void store_canonical(uint8_t *to, float f)
{
	store_u32(to, f != f ? 0x7fc00000 : f32_bits(f));
}

static uint64_t hash_of(const float *f, size_t n)
{
	uint64_t hash = FNV_START;
	uint8_t bytes[4];

	for (size_t i = 0; i < n; i++) {
		store_canonical(bytes, f[i]);
		hash = fnv_add(hash, bytes, 4);
	}
	return hash;
}

/* The first element that is not what the golden file says, or N. */
static size_t first_wrong(const float *got, const char *want, size_t n)
{
	uint8_t bytes[4];
	size_t i;

	for (i = 0; i < n; i++) {
		store_canonical(bytes, got[i]);
		if (memcmp(bytes, want + 4 * i, 4) != 0)
			break;
	}
	return i;
}

/* Source and destination both end at a guard page, the source at an odd address. */
static void check_blocks(enum dtype t)
{
	size_t block = dtype_info(t)->block, bytes = dtype_info(t)->bytes;
	size_t n_raw, n_values, n_hashes;
	char *raw = golden(t, "blocks", &n_raw);
	char *values = golden(t, "f32", &n_values);
	char *hashes = golden(t, "hashes", &n_hashes);
	size_t n = n_raw / bytes, wrong = 0;
	uint8_t *src = guard_new(n_raw + 1);
	float *dst = guard_new(n * block * sizeof(float));

	memcpy(src + 1, raw, n_raw);
	dtype_to_f32(t, src + 1, dst, n * block);
	while (wrong < n && hash_of(dst + wrong * block, block) == load_u64(hashes + 8 * wrong))
		wrong++;
	tap_ok(n >= 64 && n_hashes == 8 * n, "%s: %zu blocks", dtype_name(t), n);
	tap_is_u64(first_wrong(dst, values, n_values / 4), 2 * block, "%s: values of two blocks",
		   dtype_name(t));
	tap_is_u64(wrong, n, "%s: every block", dtype_name(t));
	guard_free(src);
	guard_free(dst);
	free(raw);
	free(values);
	free(hashes);
}

static void test_blocks(void)
{
	static const enum dtype types[] = {
		DTYPE_Q4_0,  DTYPE_Q4_1,  DTYPE_Q5_0,	DTYPE_Q5_1,   DTYPE_Q8_0,  DTYPE_Q2_K,
		DTYPE_Q3_K,  DTYPE_Q4_K,  DTYPE_Q5_K,	DTYPE_Q6_K,   DTYPE_TQ1_0, DTYPE_TQ2_0,
		DTYPE_MXFP4, DTYPE_NVFP4, DTYPE_IQ4_NL, DTYPE_IQ4_XS, DTYPE_Q1_0,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		check_blocks(types[i]);
}

static void test_8_bit_floats(void)
{
	uint8_t every[256];
	float values[256];
	size_t n;

	for (int i = 0; i < 256; i++)
		every[i] = (uint8_t)i;
	for (int t = DTYPE_F8_E4M3; t <= DTYPE_F8_E8M0; t++) {
		char *want = golden((enum dtype)t, "f32", &n);

		dtype_to_f32((enum dtype)t, every, values, 256);
		tap_is_u64(first_wrong(values, want, n / 4), 256, "%s: all 256",
			   dtype_name((enum dtype)t));
		free(want);
	}
}

/* Plain types at odd addresses, in and out, ending at guard pages; any number of elements. */
static void test_plain_types_go_round(void)
{
	for (int t = 1; t < DTYPE_COUNT; t++) {
		bool same = true;

		if (!dtype_encodes((enum dtype)t))
			continue;
		for (size_t n = 0; n <= 70; n++) {
			size_t bytes = n * dtype_info((enum dtype)t)->bytes;
			float *in = guard_new(n * sizeof(float));
			float *out = guard_new(n * sizeof(float));
			uint8_t *packed = guard_new(bytes + 1);

			for (size_t i = 0; i < n; i++)
				in[i] = t == DTYPE_BOOL ? (float)(i % 3 == 0) : (float)i;
			dtype_from_f32((enum dtype)t, in, packed + 1, n);
			dtype_to_f32((enum dtype)t, packed + 1, out, n);
			same = same && memcmp(in, out, n * sizeof(float)) == 0;
			guard_free(in);
			guard_free(out);
			guard_free(packed);
		}
		tap_ok(same, "%s, 0 to 70 elements", dtype_name((enum dtype)t));
	}
}

int main(void)
{
	tap_run(test_blocks);
	tap_run(test_8_bit_floats);
	tap_run(test_plain_types_go_round);
	return tap_done();
}
