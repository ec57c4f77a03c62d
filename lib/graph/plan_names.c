/* lib/graph/plan_names.c - what plan.h calls its passes and its kinds of memory */

#include "lib/graph/plan.h"

const char *plan_pass_name(int bit)
{
	static const char *const names[] = { "fold",  "merge",	  "in-place", "epilogue",
					     "reuse", "segments", "meetings", "own" };

	return bit >= 0 && bit < (int)(sizeof(names) / sizeof(*names)) ? names[bit] : NULL;
}

const char *plan_memory_name(enum plan_memory kind)
{
	static const char *const names[PLAN_MEMORY_COUNT] = {
		"weights", "derived forms", "gradients", "optimizer and state",
		"cache",   "activations",   "workspace",
	};

	return names[kind];
}
