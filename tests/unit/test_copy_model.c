/* formats/copy_model: rules for names; the rest is tested through the tool (tests/cmd/copy-model.bats) */

#include "formats/copy_model.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "tests/tap.h"

static int parse(struct copy_rename *rule, const char *text)
{
	static char *copy;

	free(copy);
	copy = mem_copy(text, strlen(text));
	return copy_rename_parse(rule, copy);
}

int main(void)
{
	struct copy_rename r;

	tap_works(parse(&r, "a=b"), "a plain rule");
	tap_is_text(r.from, "a", "its left side");
	tap_is_text(r.to, "b", "its right side");
	tap_works(parse(&r, "model.*=*"), "a star on each side");
	tap_is_text(r.from, "model.*", "its left side");
	tap_is_text(r.to, "*", "its right side");
	tap_works(parse(&r, "a=b=c"), "the first = cuts");
	tap_is_text(r.to, "b=c", "and the rest is the new name");
	tap_works(parse(&r, "a.*=b"), "a star that is thrown away");
	tap_fails(parse(&r, "ab"), ERR_ARGUMENT, "'ab' is not FROM=TO", "no =");
	tap_fails(parse(&r, "=b"), ERR_ARGUMENT, "not FROM=TO", "an empty left side");
	tap_fails(parse(&r, "a="), ERR_ARGUMENT, "not FROM=TO", "an empty right side");
	tap_fails(parse(&r, "a*b*=c"), ERR_ARGUMENT, "more than one *", "two stars");
	tap_fails(parse(&r, "a=*b"), ERR_ARGUMENT, "needs one on the left", "a star from nowhere");
	return tap_done();
}
