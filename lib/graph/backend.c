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

static bool claims(const struct kernel *k, const char *op, const struct kernel_call *c)
{
	return strcmp(k->op, op) == 0 && (!k->claims || k->claims(c));
}

const struct kernel *backend_choose(const struct backend *b, const char *op,
				    const struct kernel_call *c)
{
	for (const struct cpu_choice *row = cpu_choices; b->units && row->kernel; row++)
		if (cpu_choice_serves(row, b->level, b->vendor) && claims(row->kernel, op, c))
			return row->kernel;
	for (const struct kernel *const *k = b->kernels; *k; k++)
		if (claims(*k, op, c))
			return *k;
	return NULL;
}

/* --- cpu: a table a base level, and the units --- */

#define CPU_TABLE(base) extern const struct kernel *const cpu_kernels_##base[];
LEVEL_BASES(CPU_TABLE)
#undef CPU_TABLE

#define CPU_BACKEND(id, base)     \
 { .name = "cpu",                 \
   .kernels = cpu_kernels_##base, \
   .units = true,                 \
   .level = LEVEL_##id,           \
   .vendor = CPU_VENDOR },

/* The last row: whoever made the processor. */
static const struct backend cpu[VENDOR_COUNT + 1][LEVEL_COUNT] = {
#define CPU_VENDOR VENDOR_OTHER
	{ LEVEL_LIST(CPU_BACKEND) },
#undef CPU_VENDOR
#define CPU_VENDOR VENDOR_INTEL
	{ LEVEL_LIST(CPU_BACKEND) },
#undef CPU_VENDOR
#define CPU_VENDOR VENDOR_AMD
	{ LEVEL_LIST(CPU_BACKEND) },
#undef CPU_VENDOR
#define CPU_VENDOR VENDOR_COUNT
	{ LEVEL_LIST(CPU_BACKEND) },
#undef CPU_VENDOR
};

const struct backend *backend_level(enum level level)
{
	return &cpu[VENDOR_COUNT][level];
}

const struct backend *backend_of(enum level level, enum level_vendor vendor)
{
	return &cpu[vendor][level];
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
	return backend_of(level, level_vendor());
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
