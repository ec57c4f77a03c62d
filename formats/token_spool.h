/*
 * formats/token_spool.h - bytes that are put aside until it is their turn
 *
 * Small ones stay in memory; from 1 MiB on they lie in a file without a name, which goes away with
 * the process.
 */
#ifndef FORMATS_TOKEN_SPOOL_H
#define FORMATS_TOKEN_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct token_spool;

/* The file, when one is needed, is made in the folder of NEAR, which is copied. */
int token_spool_new(struct token_spool **out, const char *near);
void token_spool_free(struct token_spool *s); /* NULL is allowed */

int token_spool_write(struct token_spool *s, const void *data, size_t n);
uint64_t token_spool_size(const struct token_spool *s);

/* Everything that was written, valid until the spool is written again or freed. */
int token_spool_bytes(struct token_spool *s, struct bytes *out);

#endif
