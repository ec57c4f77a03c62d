/*
 * lib/base/outfile.h - output that appears whole or not at all
 *
 * A file is written under a temporary name beside its target (`.NAME.tmp-XXXXXX`), and
 * outfile_commit flushes, fsyncs it, renames it over the target and fsyncs the folder. Before
 * that the target is untouched; outfile_discard, or outfile_remove_all from a signal handler,
 * removes the temporary. A new file gets the mode that open(2) with 0666 would give; over an
 * existing target its mode is kept. A target that is not a regular file (a pipe, /dev/full) is
 * written in place; a symbolic link is followed, so that the link stays and its target changes.
 *
 * A folder works alike: files are written into a temporary folder beside the target, which is
 * renamed at the end. The target must not exist, or be an empty folder.
 */
#ifndef LIB_BASE_OUTFILE_H
#define LIB_BASE_OUTFILE_H

#include <stdint.h>
#include <stddef.h>

#include "lib/base/bytes.h"
#include "lib/base/hash.h"

struct outfile;
struct outdir;

/*
 * Opens PATH for writing; `-` is stdout, which commit only flushes, as it does `/dev/stdout` and
 * `/dev/fd/N`. A target that may not be written is refused, not replaced.
 */
int outfile_new(struct outfile **out, const char *path);

/* Buffered writes at the end. 0, or -1 with the error set (`PATH: No space left on device`). */
int outfile_write(struct outfile *f, const void *data, size_t n);

/*
 * Appends N bytes at OFFSET of FD, inside the kernel where the file systems allow it
 * (copy_file_range), else through a buffer. -1 with the error if FD ends before that. Takes half
 * the time of outfile_write from a map of the same file.
 */
int outfile_copy(struct outfile *f, int fd, uint64_t offset, uint64_t n);

/* Overwrites N bytes that were written before, at OFFSET. Fails on what cannot seek. */
int outfile_patch(struct outfile *f, uint64_t offset, const void *data, size_t n);

uint64_t outfile_offset(const struct outfile *f);  /* bytes written so far */
const char *outfile_path(const struct outfile *f); /* the target's name; `stdout` for `-` */

/* Both end and free F, also when they fail; commit then has removed the temporary. */
int outfile_commit(struct outfile *f);
void outfile_discard(struct outfile *f); /* NULL is allowed */

int outdir_new(struct outdir **out, const char *path);
/* A file NAME (no slash) in the folder; commit or discard it before the folder. */
int outdir_file(struct outdir *d, const char *name, struct outfile **out);
/* The same with all that is in it. */
int outdir_text(struct outdir *d, const char *name, struct bytes text);
/*
 * Files that D gets from here on are hashed as they are written, past the page cache where they are large (lib/base/bulk.h), and told to
 * TOLD when they are committed; what it returns is commit's. For what is not read soon. Such a file cannot be patched.
 */
void outdir_watch(struct outdir *d,
		  int (*told)(void *to, const char *name, uint64_t size,
			      const struct hash128 *hash),
		  void *to);
int outdir_commit(struct outdir *d);
void outdir_discard(struct outdir *d); /* NULL is allowed */

/* Removes every temporary of the process. Async-signal-safe; at most 4,096 files and 64 folders are
   tracked at once, and a further one is refused when it is made. */
void outfile_remove_all(void);

#endif
