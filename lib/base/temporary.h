/*
 * lib/base/temporary.h - files and folders that go away unless they are kept
 *
 * Each is entered in a table before it is made, and leaves it once it has been removed or has got
 * its name, so that a signal handler can remove what is there at any moment
 * (outfile_remove_all, in outfile.h).
 */
#ifndef LIB_BASE_TEMPORARY_H
#define LIB_BASE_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

/* At once, in the process. */
#define TEMPORARY_FILES	  4096
#define TEMPORARY_FOLDERS 64

struct temporary {
	char *path;	       /* owned; NULL: none */
	_Atomic(char *) *slot; /* its place in the table */
	bool folder;
};

/*
 * These make, and on failure set the error, naming SHOWN, and return -1. A file is open for
 * writing, and its descriptor is returned. MODE is as for open(2) and mkdir(2).
 */
int temporary_file(struct temporary *t, const char *target, mode_t mode, const char *shown);
int temporary_folder(struct temporary *t, const char *target, mode_t mode, const char *shown);
/* The two above are called `.NAME.tmp-XXXXXX` beside TARGET; this one exactly PATH, which must not
   exist. */
int temporary_file_at(struct temporary *t, const char *path, const char *shown);

void temporary_remove(struct temporary *t); /* from the disk and from the table */
void temporary_keep(struct temporary *t);   /* from the table only; frees the path */

#endif
