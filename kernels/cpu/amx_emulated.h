/*
 * kernels/cpu/amx_emulated.h - AMX tiles in portable C, for tests on processors that have none
 *
 * Intel's manual, volume 1, chapter 18 (palette 1: eight tiles of 16 rows of 64 bytes), and volume 2: LDTILECFG, TILELOADD,
 * TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS, TDPBSSD and its kin. Where a processor faults (tiles not configured, a
 * configuration or shapes that it does not take) this traps. Tiles belong to the thread and to the file that includes this.
 */
#ifndef KERNELS_CPU_AMX_EMULATED_H
#define KERNELS_CPU_AMX_EMULATED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AMX_TILES     8
#define AMX_ROWS      16
#define AMX_ROW_BYTES 64

struct amx_tile {
	uint8_t data[AMX_ROWS][AMX_ROW_BYTES];
	int rows, bytes; /* of a row; 0: not configured */
};

static _Thread_local struct amx_tile amx_tiles[AMX_TILES];

#define AMX_EMULATED static inline __attribute__((unused))

AMX_EMULATED void amx_fault_unless(int fine)
{
	if (!fine)
		__builtin_trap();
}

AMX_EMULATED void amx_release(void)
{
	memset(amx_tiles, 0, sizeof(amx_tiles));
}

/* 64 bytes: palette, start row, 14 reserved; bytes a row of 16 tiles, 2 bytes each; rows of 16 tiles. */
AMX_EMULATED void amx_configure(const void *config)
{
	uint8_t c[64];

	memcpy(c, config, sizeof(c));
	amx_release();
	if (c[0] == 0)
		return;
	amx_fault_unless(c[0] == 1);
	for (int i = 2; i < 16; i++)
		amx_fault_unless(c[i] == 0);
	for (int i = 0; i < 16; i++) {
		int bytes = c[16 + 2 * i] | c[17 + 2 * i] << 8, rows = c[48 + i];

		amx_fault_unless(rows <= AMX_ROWS && bytes <= AMX_ROW_BYTES &&
				 (rows == 0) == (bytes == 0) && (i < AMX_TILES || rows == 0));
		if (i < AMX_TILES) {
			amx_tiles[i].rows = rows;
			amx_tiles[i].bytes = bytes;
		}
	}
}

AMX_EMULATED struct amx_tile *amx_tile(int i)
{
	amx_fault_unless(amx_tiles[i].rows > 0);
	return &amx_tiles[i];
}

AMX_EMULATED void amx_zero(int i)
{
	struct amx_tile *t = amx_tile(i);

	memset(t->data, 0, sizeof(t->data));
}

AMX_EMULATED void amx_load(int i, const void *from, ptrdiff_t stride)
{
	struct amx_tile *t = amx_tile(i);

	amx_zero(i);
	for (int r = 0; r < t->rows; r++)
		memcpy(t->data[r], (const uint8_t *)from + r * stride, (size_t)t->bytes);
}

AMX_EMULATED void amx_store(int i, void *to, ptrdiff_t stride)
{
	struct amx_tile *t = amx_tile(i);

	for (int r = 0; r < t->rows; r++)
		memcpy((uint8_t *)to + r * stride, t->data[r], (size_t)t->bytes);
}

/* Shapes of a product: C [m][n] of 4 bytes, A [m][k] and B [k][n] of groups of 4 bytes. */
AMX_EMULATED void amx_check_product(int c, int a, int b)
{
	amx_fault_unless(c != a && c != b && a != b);
	amx_fault_unless(amx_tile(c)->bytes % 4 == 0 && amx_tile(a)->bytes % 4 == 0 &&
			 amx_tile(b)->bytes % 4 == 0);
	amx_fault_unless(amx_tiles[c].rows == amx_tiles[a].rows &&
			 amx_tiles[c].bytes == amx_tiles[b].bytes &&
			 amx_tiles[a].bytes / 4 == amx_tiles[b].rows);
}

/* --- bf16: a subnormal, of an operand or a result, is a zero of its sign --- */

AMX_EMULATED float amx_flush(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits &= bits & 0x7f800000 ? 0xffffffff : 0x80000000;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

AMX_EMULATED float amx_bf16(const uint8_t *p)
{
	uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return amx_flush(x);
}

/* Rounded once. */
AMX_EMULATED float amx_multiply_add(float a, float b, float c)
{
	return amx_flush(__builtin_fmaf(a, b, amx_flush(c)));
}

AMX_EMULATED void amx_dpbf16ps(int c, int a, int b)
{
	amx_check_product(c, a, b);
	for (int m = 0; m < amx_tiles[c].rows; m++) {
		float even[AMX_ROW_BYTES / 4] = { 0 }, odd[AMX_ROW_BYTES / 4] = { 0 }, sum;
		int columns = amx_tiles[c].bytes / 4;

		for (int k = 0; k < amx_tiles[b].rows; k++) {
			const uint8_t *x = amx_tiles[a].data[m] + 4 * k;
			const uint8_t *y = amx_tiles[b].data[k];
			float x0 = amx_bf16(x), x1 = amx_bf16(x + 2);

			for (int n = 0; n < columns; n++) {
				even[n] = amx_multiply_add(x0, amx_bf16(y + 4 * n), even[n]);
				odd[n] = amx_multiply_add(x1, amx_bf16(y + 4 * n + 2), odd[n]);
			}
		}
		for (int n = 0; n < columns; n++) {
			memcpy(&sum, amx_tiles[c].data[m] + 4 * n, 4);
			sum = amx_flush(amx_flush(sum) + amx_flush(even[n] + odd[n]));
			memcpy(amx_tiles[c].data[m] + 4 * n, &sum, 4);
		}
	}
}

/* --- 8 bits: sums of four products, of 32 bits, which wrap around --- */

AMX_EMULATED int32_t amx_byte(uint8_t x, int is_signed)
{
	return is_signed ? (int32_t)(int8_t)x : (int32_t)x;
}

AMX_EMULATED void amx_dpb(int c, int a, int b, int a_signed, int b_signed)
{
	amx_check_product(c, a, b);
	for (int m = 0; m < amx_tiles[c].rows; m++)
		for (int k = 0; k < amx_tiles[b].rows; k++)
			for (int n = 0; n < amx_tiles[c].bytes / 4; n++) {
				const uint8_t *x = amx_tiles[a].data[m] + 4 * k;
				const uint8_t *y = amx_tiles[b].data[k] + 4 * n;
				uint32_t sum;

				memcpy(&sum, amx_tiles[c].data[m] + 4 * n, 4);
				for (int i = 0; i < 4; i++)
					sum += (uint32_t)(amx_byte(x[i], a_signed) *
							  amx_byte(y[i], b_signed));
				memcpy(amx_tiles[c].data[m] + 4 * n, &sum, 4);
			}
}

#endif
