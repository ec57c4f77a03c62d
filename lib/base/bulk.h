/*
 * lib/base/bulk.h - many bytes to a file: past the page cache, hashed on the way, written while more are made
 *
 * For what is large and not read soon. Where fresh pages of the cache are dear, as in a virtual machine that gives its free memory back, this
 * is several times as fast: of 1.2 GB on ext4, 0.4 GB/s through the cache, 1.0 past it from small pages, 2.5 from huge ones. A file
 * system that cannot (O_DIRECT) is written to as usual.
 */
#ifndef LIB_BASE_BULK_H
#define LIB_BASE_BULK_H

#include <stddef.h>

#include "lib/base/hash.h"

struct bulk;

/* At the beginning of FD, an empty file, which stays the caller's; NAME, for messages, must outlive it. */
int bulk_new(struct bulk **out, int fd, const char *name);
void bulk_free(struct bulk *b); /* NULL is allowed */

/* Takes a copy. -1 with the error set, also when what was taken before could not be written; errno tells why. */
int bulk_put(struct bulk *b, const void *data, size_t n);
/* All is written, though not synced: 0 and its hash, or -1. */
int bulk_end(struct bulk *b, struct hash128 *hash);

#endif
