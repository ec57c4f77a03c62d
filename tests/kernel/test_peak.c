/* tests/kernel/test_peak.c - the loops that measure the machine compute what they say, on every level */
#include "kernels/peak.h"

#include <stdlib.h>

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
		streams((enum level)i);
	}
	return tap_done();
}
