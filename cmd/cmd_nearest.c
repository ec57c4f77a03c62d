/*
 * cmd/cmd_nearest.c - the option that a slip of the hand was meant to be
 *
 * Two names are as far apart as the fewest letters that have to be put in, left out, changed, or changed with their neighbour
 * (Damerau 1964, in the form where no letter is touched twice).
 */
#include <string.h>

#include "cmd/cmd_internal.h"

#define LONGEST 40
#define FAR	3 /* as many slips are no slip any more */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2], *turn;

	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		turn = before, before = last, last = now, now = turn;
	}
	return last[m];
}

const char *cmd_nearest(const struct cmd_spec *spec, const char *name, size_t n)
{
	const char *nearest = NULL;
	size_t best = least(FAR, n / 2 + 1);

	for (const struct cmd_option *o = spec->options; o->name && n <= LONGEST; o++) {
		size_t m = strlen(o->name), d;

		if (m > LONGEST)
			continue;
		d = distance(name, n, o->name, m);
		if (d < best) {
			best = d;
			nearest = o->name;
		}
	}
	return nearest;
}
