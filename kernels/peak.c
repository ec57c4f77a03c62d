/* kernels/peak.c - the loops of a level */

#include "kernels/peak.h"

#define DECLARE(name)                                                     \
 double peak_operations_##name(enum peak_unit unit);                      \
 void peak_multiply_##name(enum peak_unit unit, size_t rounds, float *x); \
 float peak_move_##name(const struct peak_move *m);
LEVEL_BASES(DECLARE)
#undef DECLARE

static const struct {
	double (*operations)(enum peak_unit unit);
	void (*multiply)(enum peak_unit unit, size_t rounds, float *x);
	float (*move)(const struct peak_move *m);
} loops[LEVEL_COUNT] = {
#define ROW(name) \
 [LEVEL_##name] = { peak_operations_##name, peak_multiply_##name, peak_move_##name },
	LEVEL_BASES(ROW)
#undef ROW
};

double peak_operations(enum level level, enum peak_unit unit)
{
	return loops[level_base(level)].operations(unit);
}

void peak_multiply(enum level level, enum peak_unit unit, size_t rounds, float *x)
{
	loops[level_base(level)].multiply(unit, rounds, x);
}

float peak_move(enum level level, const struct peak_move *m)
{
	return loops[level_base(level)].move(m);
}
