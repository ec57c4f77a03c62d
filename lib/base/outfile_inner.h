/* lib/base/outfile_inner.h - what outfile.c and outdir.c share */
#ifndef LIB_BASE_OUTFILE_INNER_H
#define LIB_BASE_OUTFILE_INNER_H

#include "lib/base/outfile.h"
#include "lib/base/temporary.h"

/* Writes T, which is open as FD, under its own path, called SHOWN in messages. Owns both, and on
   failure removes them. When it is committed, T stays in the table and is handed to D. */
int outfile_inside(struct outfile **out, struct outdir *d, struct temporary *t, int fd,
		   const char *shown);
/* Begins what outdir_watch says; nothing was written yet. */
void outfile_watch(struct outfile *f);

/* Takes over a committed file's temporary. Cannot fail: outdir_file made room. */
void outdir_take(struct outdir *d, struct temporary *t);

/* Of a watched file that was taken over, whose path ends in its name. */
int outdir_tell(struct outdir *d, const char *path, uint64_t size, const struct hash128 *hash);

/* fsync of the folder that holds PATH; 0, or -1 with the error set, naming SHOWN. */
int outfile_sync_folder(const char *path, const char *shown);

#endif
