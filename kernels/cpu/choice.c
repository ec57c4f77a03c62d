/*
 * kernels/cpu/choice.c - the kernels of units, and where each serves
 *
 * Rates are GFLOP/s of one thread, from registers, of the two machines that they were measured on: a Xeon with AMX and an EPYC
 * of Zen 5.
 */
#include "kernels/cpu/choice.h"

const struct cpu_choice cpu_choices[] = {
	{ 0 },
};

bool cpu_choice_serves(const struct cpu_choice *row, enum level level, enum level_vendor vendor)
{
	return row->level <= level && level_base(row->level) == level_base(level) &&
	       (vendor == VENDOR_COUNT || row->vendors[vendor]);
}
