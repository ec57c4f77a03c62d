/* tests/kernel/test_peak.c - the loops that measure the machine compute what they say, on every level */
#include "kernels/peak.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "tests/tap.h"

#define FLOATS (3 * PEAK_STEP)

static void multiplies(enum level level)
{
	float x[64];
	bool good = true;

	for (int i = 0; i < 64; i++)
		x[i] = i < 16 ? 0.5f : i < 32 ? 1 : 0;
	peak_multiply(level, PEAK_F32, 2, x);
	/* Chain k from k: (k / 2 + 1) / 2 + 1 = k / 4 + 1.5, for k from 0 to 11. */
	for (int i = 0; i < 4; i++)
		good = good && x[32 + i] == 66 / 4.0f + 18;
	tap_ok(good, "%s: two rounds give %g", level_name(level), (double)x[32]);
	tap_ok(peak_operations(level, PEAK_F32) >= 2 * 12 * 4, "%s: operations of a round",
	       level_name(level));
}

/* Rounds in which each product is D, from chains that start at 3, 4, 5, ... */
static void check_dots(enum level level, enum peak_unit unit, const char *what, const void *a,
		       const void *b, double d)
{
	float x[64] = { 0 };
	/* A tile's sum takes 16 lanes at once, and there are 4 tiles. */
	bool tiles = strcmp(level_name(level), "amx") == 0, good = true;
	double chains = tiles ? 4 : 12, want;

	if (peak_operations(level, unit) == 0) {
		tap_ok(true, "%s: no unit for %s", level_name(level), what);
		return;
	}
	memcpy(x, a, 64);
	memcpy(x + 16, b, 64);
	for (int i = 0; i < 16; i++) {
		const int32_t whole = 3;
		const float f = 3;

		memcpy(x + 32 + i, unit == PEAK_BF16 ? (const void *)&f : &whole, sizeof(f));
	}
	peak_multiply(level, unit, 5, x);
	want = chains * (3 + 5 * d * (tiles ? 16 : 1)) + chains * (chains - 1) / 2;
	for (int i = 0; i < 4; i++) {
		int32_t whole;

		memcpy(&whole, x + 32 + i, sizeof(whole));
		good = good && (unit == PEAK_BF16 ? (double)x[32 + i] : (double)whole) == want;
	}
	tap_ok(good, "%s: five rounds of %s give %g", level_name(level), what, want);
}

/* Elements of a lane differ, so that none can be left out. */
static void dots(enum level level)
{
	uint16_t x[32], y[32];
	uint8_t a[64];
	int8_t b[64];

	for (int i = 0; i < 64; i++) {
		x[i / 2] = brain_from_f32(i / 2 % 2 ? 3 : 1);
		y[i / 2] = brain_from_f32(i / 2 % 2 ? 0.5f : -4);
		a[i] = (uint8_t)(i % 4 * 40 + 5);
		b[i] = (int8_t)(i % 2 ? -7 * (i % 4) : 9);
	}
	check_dots(level, PEAK_BF16, "pairs of bf16", x, y, 3 * 0.5 - 4);
	check_dots(level, PEAK_INT8, "fours of bytes", a, b, 5 * 9 + 45 * -7 + 85 * 9 + 125 * -21);
}

/* Which units a level must have. */
static void units(void)
{
#if defined(__x86_64__)
	static const struct {
		enum level level;
		enum peak_unit unit;
		double operations;
	} rows[] = { { LEVEL_avx2, PEAK_BF16, 0 },
		     { LEVEL_avx2, PEAK_INT8, 0 },
		     { LEVEL_avx_vnni, PEAK_INT8, 2 * 12 * 32 },
		     { LEVEL_avx512, PEAK_INT8, 0 },
		     { LEVEL_avx512_vnni, PEAK_INT8, 2 * 12 * 64 },
		     { LEVEL_avx512_vnni, PEAK_BF16, 0 },
		     { LEVEL_avx512_bf16, PEAK_BF16, 2 * 12 * 32 },
		     { LEVEL_amx, PEAK_BF16, 4 * 2 * 16 * 16 * 32 },
		     { LEVEL_amx, PEAK_INT8, 4 * 2 * 16 * 16 * 64 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (level_available(rows[i].level))
			tap_ok(peak_operations(rows[i].level, rows[i].unit) == rows[i].operations,
			       "%s: %g operations of unit %d", level_name(rows[i].level),
			       rows[i].operations, rows[i].unit);
#endif
}

static float memory[PEAK_READS + PEAK_UPDATES + PEAK_WRITES][FLOATS] __attribute__((aligned(64)));

static void prepare(struct peak_move *m)
{
	for (int s = 0; s < PEAK_READS + PEAK_UPDATES + PEAK_WRITES; s++)
		for (int i = 0; i < FLOATS; i++)
			memory[s][i] = (float)(i % 7 + 10 * s);
	for (int k = 0; k < PEAK_READS; k++)
		m->read[k] = memory[k];
	for (int k = 0; k < PEAK_UPDATES; k++)
		m->update[k] = memory[PEAK_READS + k];
	for (int k = 0; k < PEAK_WRITES; k++)
		m->write[k] = memory[PEAK_READS + PEAK_UPDATES + k];
}

/* What stream S holds at I after M. */
static float wanted(const struct peak_move *m, int s, int i)
{
	int update = s - PEAK_READS, write = update - PEAK_UPDATES;
	float before = (float)(i % 7 + 10 * s), sum = 0;

	for (int k = 0; k < m->reads; k++)
		sum += (float)(i % 7 + 10 * k);
	if (i < PEAK_STEP || i >= 2 * PEAK_STEP || s < PEAK_READS)
		return before;
	if (write >= 0)
		return write < m->writes ? sum : before;
	return update < m->updates ? before + sum : before;
}

static bool moves(enum level level, struct peak_move *m)
{
	float total = 0, got;

	prepare(m);
	got = peak_move(level, m);
	for (int i = PEAK_STEP; i < 2 * PEAK_STEP && !m->updates && !m->writes; i++)
		for (int k = 0; k < m->reads; k++)
			total += (float)(i % 7 + 10 * k);
	for (int s = 0; s < PEAK_READS + PEAK_UPDATES + PEAK_WRITES; s++)
		for (int i = 0; i < FLOATS; i++)
			if (memory[s][i] != wanted(m, s, i))
				return false;
	return got == total;
}

/* The middle third of every mix of streams. */
static void streams(enum level level)
{
	for (int i = 1; i < (PEAK_READS + 1) * (PEAK_UPDATES + 1) * (PEAK_WRITES + 1) * 2; i++) {
		struct peak_move m = { .from = PEAK_STEP, .to = 2 * PEAK_STEP };
		int rest = i / 2;

		m.stream = i % 2;
		m.reads = rest % (PEAK_READS + 1);
		m.updates = rest / (PEAK_READS + 1) % (PEAK_UPDATES + 1);
		m.writes = rest / (PEAK_READS + 1) / (PEAK_UPDATES + 1);
		tap_ok(moves(level, &m), "%s: %d read, %d updated, %d written%s", level_name(level),
		       m.reads, m.updates, m.writes, m.stream ? ", past the caches" : "");
	}
}

int main(void)
{
	for (int i = 0; i < LEVEL_COUNT; i++) {
		if (!level_available((enum level)i)) {
			tap_skip("native this machine lacks the level", level_name((enum level)i));
			continue;
		}
		multiplies((enum level)i);
		dots((enum level)i);
		streams((enum level)i);
	}
	units();
	return tap_done();
}
