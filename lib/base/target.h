/*
 * lib/base/target.h - what stands where output is to go
 *
 * Symbolic links are followed by hand, also when the last one points to nothing, so that the link
 * stays and what it names is made. The process's own descriptors (`/dev/stdout`, `/dev/fd/3`,
 * `/proc/self/fd/3`) are told apart from the files behind them: they are written, not replaced.
 */
#ifndef LIB_BASE_TARGET_H
#define LIB_BASE_TARGET_H

#include <sys/types.h>

enum target_kind {
	TARGET_NONE, /* nothing there */
	TARGET_FILE, /* a regular file */
	TARGET_FOLDER,
	TARGET_DESCRIPTOR, /* one of this process's own */
	TARGET_OTHER,	   /* a device, a pipe, a socket */
};

struct target {
	enum target_kind kind;
	char *path;  /* with links followed; the caller frees */
	mode_t mode; /* the permissions of a file or a folder */
	int descriptor;
};

/* 0, or -1 with the error set. */
int target_find(struct target *out, const char *path);

/* The folder part of PATH, with its slash; "./" when it has none. The caller frees. */
char *target_folder(const char *path);

#endif
