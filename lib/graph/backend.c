/* lib/graph/backend.c - the backends by name, and which kernel serves a call */

#include "lib/graph/backend.h"

#include <string.h>

#include "lib/base/err.h"
#include "lib/graph/rules.h"

static const struct kernel *const ref_kernels[] = {
#define OP(id, op, ...) &ref_##op,
#define VIEW(...)
#include "lib/graph/ops.def"
#undef OP
#undef VIEW
	NULL,
};

static const struct backend ref = { .name = "ref", .kernels = ref_kernels };

const struct backend *backend_ref(void)
{
	return &ref;
}

const struct kernel *backend_choose(const struct backend *b, const char *op,
				    const struct kernel_call *c)
{
	for (const struct kernel *const *k = b->kernels; *k; k++)
		if (strcmp((*k)->op, op) == 0 && (!(*k)->claims || (*k)->claims(c)))
			return *k;
	return NULL;
}

/* --- cpu: a table a level --- */

#define CPU_TABLE(level) extern const struct kernel *const cpu_kernels_##level[];
LEVEL_LIST(CPU_TABLE)
#undef CPU_TABLE

static const struct backend cpu[LEVEL_COUNT] = {
#define CPU_BACKEND(level) [LEVEL_##level] = { .name = "cpu", .kernels = cpu_kernels_##level },
	LEVEL_LIST(CPU_BACKEND)
#undef CPU_BACKEND
};

const struct backend *backend_level(enum level level)
{
	return &cpu[level];
}

const struct backend *backend_cpu(void)
{
	enum level level;
	const char *word;

	if (level_choose(&level, &word) < 0) {
		err_set(ERR_ARGUMENT, "NNUTILS_ISA=%s: not one of %s that this machine has", word,
			level_names());
		return NULL;
	}
	return &cpu[level];
}

const struct backend *backend_find(const char *name)
{
	if (strcmp(name, "ref") == 0)
		return &ref;
	if (strcmp(name, "cpu") == 0)
		return backend_cpu();
	err_set(ERR_ARGUMENT, "no device %s: cpu or ref", name);
	return NULL;
}
