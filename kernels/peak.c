/* kernels/peak.c - the loops of a level, its base's and those of the units that it has */

#include "kernels/peak.h"

#define DECLARE(name)                           \
 extern const struct peak_loop peak_fma_##name; \
 float peak_move_##name(const struct peak_move *m);
LEVEL_BASES(DECLARE)
#undef DECLARE

static const struct {
	const struct peak_loop *fma;
	float (*move)(const struct peak_move *m);
} bases[LEVEL_COUNT] = {
#define ROW(name) [LEVEL_##name] = { &peak_fma_##name, peak_move_##name },
	LEVEL_BASES(ROW)
#undef ROW
};

#if defined(__x86_64__)
extern const struct peak_loop peak_unit_avx_vnni, peak_unit_avx512_vnni, peak_unit_avx512_bf16,
	peak_bf16_amx, peak_int8_amx;
#elif defined(__aarch64__)
extern const struct peak_loop peak_unit_neon_dotprod, peak_unit_neon_bf16;
#endif

/* The best comes last. */
static const struct {
	enum peak_unit unit;
	enum level level;
	const struct peak_loop *loop;
} units[] = {
#if defined(__x86_64__)
	{ PEAK_INT8, LEVEL_avx_vnni, &peak_unit_avx_vnni },
	{ PEAK_INT8, LEVEL_avx512_vnni, &peak_unit_avx512_vnni },
	{ PEAK_BF16, LEVEL_avx512_bf16, &peak_unit_avx512_bf16 },
	{ PEAK_INT8, LEVEL_amx, &peak_int8_amx },
	{ PEAK_BF16, LEVEL_amx, &peak_bf16_amx },
#elif defined(__aarch64__)
	{ PEAK_INT8, LEVEL_neon_dotprod, &peak_unit_neon_dotprod },
	{ PEAK_BF16, LEVEL_neon_bf16, &peak_unit_neon_bf16 },
#endif
	{ PEAK_UNITS, LEVEL_COUNT, 0 },
};

/* NULL: the level has no such unit. */
static const struct peak_loop *loop_of(enum level level, enum peak_unit unit)
{
	const struct peak_loop *found = NULL;

	if (unit == PEAK_F32)
		return bases[level_base(level)].fma;
	for (size_t i = 0; units[i].loop; i++)
		if (units[i].unit == unit && units[i].level <= level &&
		    level_base(units[i].level) == level_base(level) &&
		    level_available(units[i].level))
			found = units[i].loop;
	return found;
}

double peak_operations(enum level level, enum peak_unit unit)
{
	const struct peak_loop *l = loop_of(level, unit);

	return l ? l->operations : 0;
}

void peak_multiply(enum level level, enum peak_unit unit, size_t rounds, float *x)
{
	loop_of(level, unit)->multiply(rounds, x);
}

float peak_move(enum level level, const struct peak_move *m)
{
	return bases[level_base(level)].move(m);
}
