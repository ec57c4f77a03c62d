/*
 * kernels/peak.h - loops that are bound by one thing alone: what every kernel is held to
 *
 * peak_multiply keeps the unit that multiplies and adds busy, from registers; peak_move streams bytes, as a kernel that
 * computes nothing would. Neither gives a result that anyone wants; both depend on what they read, so that no compiler leaves
 * them out.
 */
#ifndef KERNELS_PEAK_H
#define KERNELS_PEAK_H

#include <stddef.h>

#include "kernels/cpu/level.h"

/* What multiplies and adds. */
enum peak_unit {
	PEAK_F32,  /* fused where the level has it, else a multiplication and an addition */
	PEAK_BF16, /* pairs of bf16 into f32 */
	PEAK_INT8, /* fours of 8-bit integers into 32 */
	PEAK_UNITS
};

/* Operations of one round (a multiplication and an addition are two); 0: the level has no such unit. */
double peak_operations(enum level level, enum peak_unit unit);
/*
 * ROUNDS times sum = sum a + b of f32, sum = sum + a b of the other units, in vectors of up to 16 lanes: a lies at X, b at
 * X + 16, and at X + 32 the first chain's sum, where the others' begin 1, 2, 3, ... higher, and where the sum of all chains is
 * left. Lanes are floats, pairs of bf16, or fours of 8-bit integers (without a sign in a, but on NEON) whose sums are 32-bit
 * integers. On tiles a is every row of the left operand and b every row of the right. X has 64 floats. The unit must be there.
 */
void peak_multiply(enum level level, enum peak_unit unit, size_t rounds, float *x);

struct peak_loop {
	double operations; /* of one round */
	void (*multiply)(size_t rounds, float *x);
};

#define PEAK_READS   4
#define PEAK_UPDATES 3
#define PEAK_WRITES  2

/*
 * A pass over streams of as many bytes each: what is read, updated in place, and written. The sum of what is read goes to
 * what is written, and is added to what is updated.
 */
struct peak_move {
	const float *read[PEAK_READS];
	float *update[PEAK_UPDATES];
	float *write[PEAK_WRITES];
	int reads, updates, writes; /* how many there are; at least one */
	size_t from, to;	    /* floats of each: multiples of PEAK_STEP */
	bool stream; /* writes go past the caches (16-byte stores or wider; where there are none, as others) */
};
#define PEAK_STEP 256 /* floats; streams start at multiples of 64 bytes */

/* Returns the sum of what was read when nothing is written or updated, else 0. */
float peak_move(enum level level, const struct peak_move *m);

#endif
