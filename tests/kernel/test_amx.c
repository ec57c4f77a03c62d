/*
 * tests/kernel/test_amx.c - the tiles of amx_emulated.h against what Intel's manual says, and against the processor's own
 *
 * The values are small enough to follow by hand: which sums are apart, in what order, and where a bit is lost.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/amx_emulated.h"
#include "kernels/cpu/level.h"
#include "kernels/half.h"
#include "tests/tap.h"

#if defined(__x86_64__)
# include <cpuid.h>
# include <immintrin.h>
# include <sys/syscall.h>
#endif

struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

static struct config shapes(int m, int k, int n)
{
	struct config c = { .palette = 1 };

	c.rows[0] = c.rows[1] = (uint8_t)m;
	c.rows[2] = (uint8_t)k;
	c.row_bytes[0] = c.row_bytes[2] = (uint16_t)(4 * n);
	c.row_bytes[1] = (uint16_t)(4 * k);
	return c;
}

/* --- what a processor faults on --- */

static bool traps(void (*fn)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		fn();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status);
}

static void configure(struct config c)
{
	amx_configure(&c);
}

static void fine(void)
{
	configure(shapes(16, 16, 16));
	amx_zero(0);
	amx_dpbf16ps(0, 1, 2);
}

static void not_configured(void)
{
	amx_zero(0);
}

static void released(void)
{
	fine();
	amx_release();
	amx_zero(0);
}

static void other_tile(void)
{
	configure(shapes(16, 16, 16));
	amx_zero(3);
}

static void too_many_rows(void)
{
	configure(shapes(17, 16, 16));
}

static void too_wide(void)
{
	configure(shapes(16, 16, 17));
}

static void palette_2(void)
{
	struct config c = shapes(16, 16, 16);

	c.palette = 2;
	configure(c);
}

static void reserved(void)
{
	struct config c = shapes(16, 16, 16);

	c.reserved[3] = 1;
	configure(c);
}

static void rows_without_bytes(void)
{
	struct config c = shapes(16, 16, 16);

	c.rows[5] = 4;
	configure(c);
}

static void a_ninth_tile(void)
{
	struct config c = shapes(16, 16, 16);

	c.rows[8] = 1;
	c.row_bytes[8] = 4;
	configure(c);
}

static void one_tile_twice(void)
{
	configure(shapes(16, 16, 16));
	amx_dpbf16ps(0, 1, 1);
}

static void other_shapes(void)
{
	struct config c = shapes(8, 4, 16);

	c.rows[1] = 7;
	configure(c);
	amx_dpbf16ps(0, 1, 2);
}

static void other_columns(void)
{
	struct config c = shapes(8, 4, 16);

	c.row_bytes[2] = 60;
	configure(c);
	amx_dpbf16ps(0, 1, 2);
}

static void other_depth(void)
{
	struct config c = shapes(8, 4, 16);

	c.rows[2] = 5;
	configure(c);
	amx_dpbf16ps(0, 1, 2);
}

static void test_faults(void)
{
	tap_ok(!traps(fine), "a product of whole tiles");
	tap_ok(traps(not_configured), "tiles that are not configured");
	tap_ok(traps(released), "tiles that were released");
	tap_ok(traps(other_tile), "a tile that the configuration leaves out");
	tap_ok(traps(too_many_rows), "17 rows");
	tap_ok(traps(too_wide), "68 bytes a row");
	tap_ok(traps(palette_2), "palette 2");
	tap_ok(traps(reserved), "a reserved byte");
	tap_ok(traps(rows_without_bytes), "rows of no bytes");
	tap_ok(traps(a_ninth_tile), "a ninth tile");
	tap_ok(traps(one_tile_twice), "an operand twice");
	tap_ok(traps(other_shapes), "rows that do not fit");
	tap_ok(traps(other_columns), "columns that do not fit");
	tap_ok(traps(other_depth), "pairs that do not fit");
}

/* --- what a product gives: one row, K pairs, one column --- */

static float dot(float start, int pairs, const float *a, const float *b)
{
	uint16_t row[32], column[32];
	float sum = start;

	for (int i = 0; i < 2 * pairs; i++) {
		row[i] = brain_from_f32(a[i]);
		column[i] = brain_from_f32(b[i]);
	}
	configure(shapes(1, pairs, 1));
	amx_load(0, &sum, 4);
	amx_load(1, row, 64);
	amx_load(2, column, 4);
	amx_dpbf16ps(0, 1, 2);
	amx_store(0, &sum, 4);
	amx_release();
	return sum;
}

static void test_bf16(void)
{
	const float ones[] = { 1, 1, 1, 1, 1, 1 }, big = 0x1p24f;
	const float below = 0x1p-127f, scale = 0x1p100f, least = 0x1p-63f;

	tap_ok(dot(3, 2, (float[]){ 1, 2, 3, 4 }, (float[]){ 5, 6, 7, 8 }) == 3 + 5 + 12 + 21 + 32,
	       "five products");
	tap_ok(dot(big, 1, ones, ones) == big + 2, "the pair is summed before it is added");
	tap_ok(dot(0, 3, (float[]){ big, 0, 1, 0, 1, 0 }, ones) == big,
	       "the even ones are a chain, in which each 1 is lost");
	tap_ok(dot(0, 3, (float[]){ big, 1, 0, 1, 0, 0 }, ones) == big + 2,
	       "the odd ones are another");
	tap_ok(dot(0, 1, (float[]){ below, 0 }, (float[]){ scale, 0 }) == 0,
	       "a subnormal operand is 0");
	tap_ok(dot(below, 1, (float[]){ least, 0 }, (float[]){ least, 0 }) == 2 * below,
	       "and so is what is added to");
	tap_ok(dot(0, 1, (float[]){ least, least }, (float[]){ least / 2, least / 2 }) == 0,
	       "and a product, though the sum of the two were none");
	tap_ok(dot(0, 2, (float[]){ least, 0, least, 0 },
		   (float[]){ least / 2, 0, least / 2, 0 }) == 0,
	       "and each step of a chain");
	tap_ok(isnan(dot(0, 1, (float[]){ INFINITY, 0 }, (float[]){ 0, 0 })), "infinity by 0");
	tap_ok(isinf(dot(0, 1, (float[]){ INFINITY, 0 }, ones)), "infinity");
}

static int32_t dot_bytes(int32_t start, const void *a, const void *b, int a_signed, int b_signed)
{
	configure(shapes(1, 1, 1));
	amx_load(0, &start, 4);
	amx_load(1, a, 4);
	amx_load(2, b, 4);
	amx_dpb(0, 1, 2, a_signed, b_signed);
	amx_store(0, &start, 4);
	amx_release();
	return start;
}

static void test_bytes(void)
{
	const uint8_t x[4] = { 0x80, 1, 2, 3 }, y[4] = { 0x80, 4, 5, 0xff };

	tap_is_i64(dot_bytes(1, x, y, 1, 1), 1 + 128 * 128 + 4 + 10 - 3, "signed by signed");
	tap_is_i64(dot_bytes(1, x, y, 0, 1), 1 - 128 * 128 + 4 + 10 - 3, "unsigned by signed");
	tap_is_i64(dot_bytes(1, x, y, 1, 0), 1 - 128 * 128 + 4 + 10 + 765, "signed by unsigned");
	tap_is_i64(dot_bytes(1, x, y, 0, 0), 1 + 128 * 128 + 4 + 10 + 765, "unsigned");
	tap_is_i64(dot_bytes(INT32_MAX, "\1\0\0\0", "\1\0\0\0", 1, 1), INT32_MIN, "wraps around");
}

static void test_edges(void)
{
	uint8_t from[16 * 64], to[16 * 64];
	struct config c = { .palette = 1, .row_bytes = { 12 }, .rows = { 3 } };
	size_t kept = 0, written = 0;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i % 251 + 1);
	memset(to, 0xff, sizeof(to)); /* which FROM has not */
	configure(c);
	amx_load(0, from, 64);
	amx_store(0, to, 64);
	amx_release();
	for (size_t i = 0; i < sizeof(to); i++) {
		bool inside = i / 64 < 3 && i % 64 < 12;

		kept += inside && to[i] == from[i];
		written += !inside && to[i] != 0xff;
	}
	tap_is_u64(kept, 36, "3 rows of 12 bytes there and back");
	tap_is_u64(written, 0, "and nothing else");
}

/* --- against the processor --- */

#if defined(__x86_64__)
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) static void on_processor(
	const struct config *c, float *sums, const uint16_t *a, const uint16_t *b, bool bytes)
{
	_tile_loadconfig(c);
	_tile_loadd(0, sums, 64);
	_tile_loadd(1, a, 64);
	_tile_loadd(2, b, 64);
	if (bytes)
		_tile_dpbssd(0, 1, 2);
	else
		_tile_dpbf16ps(0, 1, 2);
	_tile_stored(0, sums, 64);
	_tile_release();
}

static bool has_tiles(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 0xd) == 0xd &&
	       syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

/* Bits of any kind but NaN and infinity, whose payloads are not followed. */
static uint16_t any_bf16(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (uint16_t)(*state >> 16 & (*state & 0x100 ? 0xbfff : 0x83ff));
}

static void test_against_the_processor(void)
{
	uint32_t state = 1;

	if (!has_tiles()) {
		tap_skip("cpu: this machine lacks the level", "amx");
		return;
	}
	for (int round = 0; round < 500; round++) {
		struct config c = shapes(1 + round % 16, 1 + round % 15, 1 + round % 13);
		uint16_t a[16 * 32], b[16 * 32];
		float got[256] = { 0 }, want[256] = { 0 };

		for (size_t i = 0; i < 16 * 32; i++) {
			a[i] = any_bf16(&state);
			b[i] = any_bf16(&state);
		}
		on_processor(&c, got, a, b, round % 2);
		amx_configure(&c);
		amx_load(0, want, 64);
		amx_load(1, a, 64);
		amx_load(2, b, 64);
		if (round % 2)
			amx_dpb(0, 1, 2, 1, 1);
		else
			amx_dpbf16ps(0, 1, 2);
		amx_store(0, want, 64);
		amx_release();
		tap_ok(memcmp(got, want, sizeof(got)) == 0, "round %d: the same bits", round);
	}
}
#else
static void test_against_the_processor(void)
{
	tap_skip("cpu: this architecture has no tiles", "amx");
}
#endif

int main(void)
{
	tap_run(test_faults);
	tap_run(test_bf16);
	tap_run(test_bytes);
	tap_run(test_edges);
	tap_run(test_against_the_processor);
	return tap_done();
}
