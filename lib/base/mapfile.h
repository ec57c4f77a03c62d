/*
 * lib/base/mapfile.h - a file as memory, read only
 *
 * The map is private and holds what the file held; if another process cuts the file shorter
 * while it is mapped, touching the lost pages raises SIGBUS, which the command layer turns
 * into one line and exit 2. An empty file maps to size 0. Only regular files: a pipe or a
 * folder is refused by name.
 */
#ifndef LIB_BASE_MAPFILE_H
#define LIB_BASE_MAPFILE_H

#include <stdint.h>

#include "lib/base/bytes.h"

struct mapfile;

int mapfile_open(struct mapfile **out, const char *path);
void mapfile_close(struct mapfile *m); /* NULL is allowed */

struct bytes mapfile_bytes(const struct mapfile *m); /* valid until mapfile_close */
const char *mapfile_path(const struct mapfile *m);
int mapfile_fd(const struct mapfile *m); /* for copying between files; stays owned by M */

/* Its pages leave the process, which counts them as its memory; they stay in the system's cache, and come back when they are looked at. */
void mapfile_forget(const struct mapfile *m);

/*
 * Much of it will be read: what the system's cache does not hold yet comes to lie there in huge pages, where its files can, for this map and
 * for later ones. A whole walk through such pages takes a fiftieth of the time that a first one through small pages does.
 */
void mapfile_expect(const struct mapfile *m);

/* The mapped file that holds ADDRESS, or NULL: what a SIGBUS handler asks. Async-signal-safe. */
const char *mapfile_path_at(const void *address);

/*
 * Reads a whole small file (a configuration, an index) of at most LIMIT bytes into *OUT,
 * NUL after it; the caller frees. Pipes are allowed. ERR_LIMIT names the limit.
 */
int file_read(const char *path, size_t limit, char **out, size_t *size);

#endif
