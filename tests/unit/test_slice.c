/* lib/data/slice: NumPy's rules, each row checked against numpy 2.4.6 by hand */

#include "lib/base/err.h"
#include "lib/data/slice.h"
#include "tests/tap.h"

#include <stdio.h>

static const uint64_t shape[] = { 5, 7, 10 };

/* Every element of the part, as its place in the whole, in order: `0 1 2 …`. */
static const char *places(const char *text)
{
	static char out[4096];
	struct slice s;
	size_t at = 0;

	out[0] = '\0';
	if (slice_parse(&s, text, shape, 3) < 0)
		return err_text();
	for (uint64_t r = 0; r < slice_n_rows(&s); r++)
		for (uint64_t i = 0; i < s.axis[2].n; i++)
			at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%d", at ? " " : "",
					       (int)(slice_row(&s, shape, r) * shape[2] +
						     s.axis[2].start + i * s.axis[2].step));
	return out;
}

static void test_places(void)
{
	tap_is_text(places("1,2,3"), "93", "one element");
	tap_is_text(places("0,0,::4"), "0 4 8", "a step");
	tap_is_text(places("-1,-1,-2:"), "348 349", "from the end");
	tap_is_text(places("0:2,6,:2"), "60 61 130 131", "a range before an index");
	tap_is_text(places("::3,::6,9"), "9 69 219 279", "steps on the outer axes");
	tap_is_text(places("0,0,8:100"), "8 9", "a stop past the end is cut");
	tap_is_text(places("0,0,-100:2"), "0 1", "a start before the beginning is cut");
	tap_is_text(places("0,0,5:5"), "", "empty");
	tap_is_text(places("0,0,7:3"), "", "backwards is empty");
	tap_is_text(places("0,0,9:10:9223372036854775807"), "9", "the largest step");
}

static void test_shape(void)
{
	uint64_t out[TENSOR_DIMS_MAX];
	struct slice s;

	tap_works(slice_parse(&s, "1:4,-1", shape, 3), "two axes named");
	tap_is_u64(slice_shape(&s, out), 2, "an index drops its axis");
	tap_is_u64(out[0], 3, "first");
	tap_is_u64(out[1], 10, "last, whole");
	tap_is_u64(slice_n_elements(&s), 30, "elements");
	tap_ok(slice_whole_rows(&s, shape), "the rows are whole");
	tap_works(slice_parse(&s, ":,:,1:", shape, 3), "a part of the rows");
	tap_ok(!slice_whole_rows(&s, shape), "the rows are not whole");
	tap_works(slice_parse(&s, NULL, shape, 0), "a scalar");
	tap_is_u64(slice_n_elements(&s), 1, "has one element");
	tap_is_u64(slice_n_rows(&s), 1, "in one row");
	tap_is_u64(slice_row(&s, shape, 0), 0, "the first");
}

static void test_refused(void)
{
	struct slice s;

	tap_fails(slice_parse(&s, "5", shape, 3), ERR_ARGUMENT, "index 5, but the axis has 5",
		  "an index past the end");
	tap_fails(slice_parse(&s, "-6", shape, 3), ERR_ARGUMENT, "axis 0", "before the beginning");
	tap_fails(slice_parse(&s, "-9223372036854775808", shape, 3), ERR_ARGUMENT, "axis 0",
		  "the least number");
	tap_fails(slice_parse(&s, "0,0,0,0", shape, 3), ERR_ARGUMENT, "more axes", "too many axes");
	tap_fails(slice_parse(&s, "0,", shape, 3), ERR_ARGUMENT, "comma", "a comma at the end");
	tap_fails(slice_parse(&s, ",0", shape, 3), ERR_ARGUMENT, "axis 0: empty", "an empty axis");
	tap_fails(slice_parse(&s, "::0", shape, 3), ERR_ARGUMENT, "positive", "a step of 0");
	tap_fails(slice_parse(&s, "::-1", shape, 3), ERR_ARGUMENT, "positive", "a negative step");
	tap_fails(slice_parse(&s, "1:2:3:4", shape, 3), ERR_ARGUMENT, "more than START:STOP:STEP",
		  "four parts");
	tap_fails(slice_parse(&s, "x", shape, 3), ERR_ARGUMENT, "axis 0", "no number");
	tap_fails(slice_parse(&s, "0,1 2", shape, 3), ERR_ARGUMENT, "axis 1", "a space");
}

int main(void)
{
	tap_run(test_places);
	tap_run(test_shape);
	tap_run(test_refused);
	return tap_done();
}
