/*
 * kernels/cpu/level.h - which instruction set the kernels of kernels/cpu run on
 *
 * A level is a base with, or without, units of its own. Every file of kernels/cpu but level.c and choice.c is compiled once a
 * base, with LEVEL defined as its name, and its functions carry the name: LEVEL_NAME(tensor_stats_piece) is
 * tensor_stats_piece_avx2 there. Files in a folder kernels/cpu/UNIT use a unit that only some processors of that base have,
 * and are compiled once, with LEVEL defined as UNIT; kernels/cpu/choice.h says which of them serve. LEVEL_BASES and LEVEL_LIST
 * are what this architecture has, as in the Makefile.
 */
#ifndef KERNELS_CPU_LEVEL_H
#define KERNELS_CPU_LEVEL_H

#include <stdbool.h>

/* X(level, base), by preference: the last that a machine has is its best. A base comes before its levels. */
#if defined(__x86_64__)
# define LEVEL_BASES(X) X(generic) X(avx2) X(avx512)
# define LEVEL_LIST(X) \
  X(generic, generic)  \
  X(avx2, avx2)        \
  X(avx_vnni, avx2) X(avx512, avx512) X(avx512_vnni, avx512) X(avx512_bf16, avx512) X(amx, avx512)
#elif defined(__aarch64__)
# define LEVEL_BASES(X) X(generic) X(neon)
# define LEVEL_LIST(X)	X(generic, generic) X(neon, neon) X(neon_dotprod, neon) X(neon_bf16, neon)
#else
# define LEVEL_BASES(X) X(generic)
# define LEVEL_LIST(X)	X(generic, generic)
#endif

enum level {
#define LEVEL_ENUM(name, base) LEVEL_##name,
	LEVEL_LIST(LEVEL_ENUM)
#undef LEVEL_ENUM
		LEVEL_COUNT
};

#define LEVEL_PASTE_(name, level) name##_##level
#define LEVEL_PASTE(name, level)  LEVEL_PASTE_(name, level)
#define LEVEL_NAME(name)	  LEVEL_PASTE(name, LEVEL)

/* The kernel OP_KIND of this level; more are the fields beside op and variant. */
#define LEVEL_KERNEL(op_name, kind, ...)           \
 const struct kernel LEVEL_NAME(op_name##_##kind); \
 const struct kernel LEVEL_NAME(                   \
	 op_name##_##kind) = { .op = #op_name, .variant = #kind, __VA_ARGS__ }

/* Whether processor and operating system have what LEVEL needs. */
bool level_available(enum level level);
enum level level_best(void); /* the last that is available */
enum level level_base(enum level level);

const char *level_name(enum level level);
const char *level_names(void); /* all of this architecture: `generic, avx2, ...` */

/*
 * level_best(), or what NNUTILS_ISA names, so that tests can run every level. -1 when that is
 * no level or one that this machine lacks: the message is the caller's, `NNUTILS_ISA=*WORD`. *WORD
 * (which may be NULL) is the variable's value, NULL when it is not set or empty.
 */
int level_choose(enum level *out, const char **word);

/* Who made the processor: units of one name run at rates of their own. */
enum level_vendor { VENDOR_OTHER, VENDOR_INTEL, VENDOR_AMD, VENDOR_COUNT };
enum level_vendor level_vendor(void);
const char *level_vendor_name(enum level_vendor vendor); /* `Intel`, `AMD`, `other` */

/*
 * Asks the operating system, once a thread, for the use of AMX tiles, 8 KiB of registers that it keeps only for those who ask
 * (Linux, Documentation/arch/x86/xstate.rst). Linux grants them to the whole process; asking in each thread costs a system
 * call, and does not count on it. False: no tiles here.
 */
bool level_tiles(void);

#endif
