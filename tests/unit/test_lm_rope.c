/* tests/unit/test_lm_rope.c - frequencies and scales of rope beside transformers (scripts/gen-fixtures-lm: rope.tsv) */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/model/lm.h"
#include "tests/tap.h"

/* One line: a configuration, a context, the scale, the frequencies. */
static void check_rope(char *line, int number)
{
	char *context = strchr(line, '\t'), *rest = context + 1;
	struct hf_config c;
	struct arena *arena;
	float got[LM_PAIRS_MAX];
	double scale, off = 0;
	size_t n = 0, pairs;

	*context = '\0';
	tap_works(arena_new(&arena), "an arena");
	if (tap_works(hf_config_parse(&c, arena, bytes_of(line), "rope.tsv"), "line %d", number)) {
		uint64_t length = strtoull(rest, &rest, 10);
		double want_scale = strtod(rest, &rest);

		pairs = lm_rope(&c.rope[HF_FULL], c.head_dim, c.context, length, got, &scale);
		for (; n < pairs && *rest && *rest != '\n'; n++) {
			double want = strtod(rest, &rest);

			off = fmax(off, fabs(got[n] - want) / want);
		}
		tap_ok(n == pairs && *rest == '\n' && off < 7e-8,
		       "line %d, %s: %zu frequencies, off by %.2g", number,
		       hf_rope_type_name(c.rope[HF_FULL].type), pairs, off);
		tap_ok(fabs(scale - want_scale) < 1e-15 * want_scale * 4,
		       "line %d: the scale %.17g", number, scale);
	}
	arena_free(arena);
}

static void test_rope(void)
{
	size_t size;
	char *text = tap_fixture("fixtures/golden/lm/rope.tsv", &size), *next = text;
	int n = 0;

	while (next && (size_t)(next - text) < size) {
		char *line = next;

		next = strchr(line, '\n');
		if (next)
			next++;
		check_rope(line, ++n);
	}
	tap_is_i64(n, 17, "lines of rope.tsv");
	free(text);
}

int main(void)
{
	tap_run(test_rope);
	return tap_done();
}
