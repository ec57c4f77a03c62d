/* lib/base/machine.h - what kind of machine this is, for people and for measurements */
#ifndef LIB_BASE_MACHINE_H
#define LIB_BASE_MACHINE_H

#include <stddef.h>

#define MACHINE_NAME 128

/* The processor's name as the system tells it, `unknown` when it does not. Printable. Returns OUT. */
char *machine_name(char out[MACHINE_NAME]);

/* Bytes of the data caches that a processor sees, its own and those that it shares; 0: not there, or not known. */
struct machine_caches {
	size_t l1, l2, l3;
};
struct machine_caches machine_caches(void);

/* What one thread can count on while all processors work: each divided by the processors that share it. Asked for once. */
struct machine_caches machine_cache_shares(void);

#endif
