/*
 * kernels/cpu/level.h - which instruction set the kernels of kernels/cpu run on
 *
 * Every file of kernels/cpu but level.c is compiled once a level, with LEVEL defined as its
 * name, and its functions carry the name: LEVEL_NAME(tensor_stats_piece) is
 * tensor_stats_piece_avx2 there. LEVEL_LIST is what this architecture has, as in the Makefile.
 */
#ifndef KERNELS_CPU_LEVEL_H
#define KERNELS_CPU_LEVEL_H

#include <stdbool.h>

#if defined(__x86_64__)
# define LEVEL_LIST(X) X(generic) X(avx2) X(avx512)
#else
# define LEVEL_LIST(X) X(generic)
#endif

/* Ordered: a later one does all that an earlier one does, faster. */
enum level {
#define LEVEL_ENUM(name) LEVEL_##name,
	LEVEL_LIST(LEVEL_ENUM)
#undef LEVEL_ENUM
		LEVEL_COUNT
};

#define LEVEL_PASTE_(name, level) name##_##level
#define LEVEL_PASTE(name, level)  LEVEL_PASTE_(name, level)
#define LEVEL_NAME(name)	  LEVEL_PASTE(name, LEVEL)

/* Whether processor and operating system have what LEVEL needs. */
bool level_available(enum level level);
enum level level_best(void); /* the highest that is available */

const char *level_name(enum level level);
const char *level_names(void); /* all of this architecture: `generic, avx2, avx512` */

/*
 * level_best(), or what NNUTILS_ISA names, so that tests can run every level. -1 when that is
 * no level or one that this machine lacks: the message is the caller's, `NNUTILS_ISA=*WORD`. *WORD
 * (which may be NULL) is the variable's value, NULL when it is not set or empty.
 */
int level_choose(enum level *out, const char **word);

#endif
