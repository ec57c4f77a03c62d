/* tests/unit/test_copies.c - many copies by a team: each byte once, whatever the sizes and the number of threads */
#include <stdlib.h>
#include <string.h>

#include "lib/base/copies.h"
#include "tests/tap.h"

#define MIB ((size_t)1 << 20)

static void check(const size_t *sizes, size_t n, int threads)
{
	struct copy copies[8];
	struct team *team = NULL;
	unsigned char *from[8], *to[8];
	bool same = true;

	for (size_t i = 0; i < n; i++) {
		from[i] = malloc(sizes[i] + 1);
		to[i] = calloc(sizes[i] + 1, 1);
		for (size_t k = 0; k < sizes[i]; k++)
			from[i][k] = (unsigned char)(1 + (k * 31 + k / 4093 + i) % 251);
		copies[i] = (struct copy){ to[i], from[i], sizes[i] };
	}
	if (threads && !tap_works(team_new(&team, threads), "%d threads", threads))
		return;
	copies_run(team, copies, n);
	for (size_t i = 0; i < n; i++) {
		same = same && memcmp(from[i], to[i], sizes[i]) == 0 && to[i][sizes[i]] == 0;
		free(from[i]);
		free(to[i]);
	}
	tap_ok(same, "%zu copies, the first of %zu bytes", n, n ? sizes[0] : 0);
	team_free(team);
}

int main(void)
{
	static const size_t many[] = { 1, 0, 4 * MIB - 1, 9 * MIB + 5, 17, 4 * MIB, 3 };
	static const size_t one[] = { 12 * MIB + 1 };

	for (int threads = 0; threads < 4; threads++) {
		check(many, 7, threads);
		check(one, 1, threads);
		check(one, 0, threads);
	}
	return tap_done();
}
