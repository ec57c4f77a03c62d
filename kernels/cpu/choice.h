/*
 * kernels/cpu/choice.h - which kernels serve where a processor has units that its base level does not use
 *
 * A committed table, with the measurement that made each row; nothing is timed when a tool starts.
 */
#ifndef KERNELS_CPU_CHOICE_H
#define KERNELS_CPU_CHOICE_H

#include "kernels/cpu/level.h"
#include "kernels/kernel.h"

struct cpu_choice {
	const struct kernel *kernel;
	enum level level; /* serves this one, and later ones of the same base */
	bool vendors
		[VENDOR_COUNT]; /* where it is faster than what follows it and than the base's */
};

/* By preference; an entry without a kernel ends it. */
extern const struct cpu_choice cpu_choices[];

/* Whether a row is LEVEL's, on processors of VENDOR; VENDOR_COUNT asks for all that LEVEL can run. */
bool cpu_choice_serves(const struct cpu_choice *row, enum level level, enum level_vendor vendor);

#endif
