/* lib/eval/scan.c - one pass over a tensor's data */

#include "lib/eval/scan.h"

#include "lib/base/err.h"

int scan_level(enum level *out)
{
	const char *word;

	if (level_choose(out, &word) == 0)
		return 0;
	return err_set(ERR_ARGUMENT, "NNUTILS_ISA=%s: not one of %s, or this machine lacks it",
		       word, level_names());
}
