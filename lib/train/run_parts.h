/* lib/train/run_parts.h - what the files of the run folder share; users include run_folder.h */
#ifndef LIB_TRAIN_RUN_PARTS_H
#define LIB_TRAIN_RUN_PARTS_H

#include <sys/types.h>

#include "lib/base/arena.h"
#include "lib/train/run_folder.h"

#define RUN_STATE_BYTES_MAX ((size_t)16 << 20)
#define RUN_FILES_MAX	    256 /* of a checkpoint */
#define RUN_STATE	    "run.json"
#define RUN_OPTIMIZER	    "optimizer.safetensors"
#define RUN_COMPLETE	    "complete"
#define RUN_LOG		    "log.jsonl"
#define RUN_LOCK	    "lock"

struct run_folder {
	struct arena *arena;
	const char *path;
	bool made; /* the folder was not there */
	int lock;  /* -1: none, of a run that is done */
	/* Of the checkpoint that `last` names; NULL before the first. */
	const struct run_state *state;
	const char *last;
	int log; /* -1 before the first line */
	uint64_t log_bytes;
	bool full;
};

/* --- run_names.c --- */

/* `step-N` and SUFFIX, exactly. */
bool run_step_name(const char *name, const char *suffix, uint64_t *step);
/* Names that a killed checkpoint leaves. */
bool run_is_leftover(const char *name);
/* `FOLDER/NAME`, and `FOLDER/step-N` with SUFFIX; in R's arena, NULL with the error set. */
const char *run_path(struct run_folder *r, const char *name);
const char *run_step_path(struct run_folder *r, uint64_t step, const char *suffix);

/* The names in a folder but `.` and `..`, sorted; owned. */
struct run_list {
	char **names;
	size_t n, capacity;
};
int run_list_read(struct run_list *l, const char *path);
void run_list_free(struct run_list *l);
bool run_list_has(const struct run_list *l, const char *name);

/* --- run_lock.c --- */

/* Opens and locks R's `lock`; *THERE: it was there before. -1: another process has it. */
int run_lock_take(struct run_folder *r, bool *there);
/* Whether another process holds it; the error is set then. */
bool run_lock_held(struct run_folder *r);

/* --- run_disk.c --- */

int run_sync_folder(const char *path);
/* A folder of files, its end mark first. */
int run_remove_folder(const char *path);
/* The same, but a thread gives the blocks back: a fifth of a second a gigabyte where the disk is told of each (discard). */
int run_remove_beside(const char *path);
/* The two names change places, by way of ASIDE where the file system knows no exchange. */
int run_exchange(const char *a, const char *b, const char *aside);
/* A link NAME of R to step-STEP, in place of what it was. */
int run_link_set(struct run_folder *r, const char *name, uint64_t step);
/* 1 and the step that it leads to; 0: there is none; -1: it is something else. */
int run_link_get(struct run_folder *r, const char *name, uint64_t *step);
int run_link_remove(struct run_folder *r, const char *name);

/* --- run_complete.c --- */

bool run_is_complete(const char *folder);
/* What a checkpoint's files are, as outdir_watch tells them; owned, all zero to begin with. */
struct run_marks {
	struct run_mark {
		struct hash128 hash;
		uint64_t size;
		char *name;
	} * items;
	size_t n, capacity;
};
int run_marks_add(void *marks, const char *name, uint64_t size, const struct hash128 *hash);
void run_marks_free(struct run_marks *m);
/* Writes the end mark of a folder that holds the files of M, which are sorted. */
int run_complete_write(const char *folder, struct run_marks *m);
/* Holds every file against it. */
int run_complete_check(const char *folder);

/* --- run_recover.c --- */

/* Removes leftovers, and reads the state of the checkpoint to go on from. OURS: a run began here. */
int run_recover(struct run_folder *r, bool ours, enum run_found *found);

/* --- run_optimizer.c --- */

/* Into the folder D, when the store has any. */
struct outdir;
int run_optimizer_write(struct outdir *d, const struct store *s);
/* Entries whose newest values are not on the host, or that have none, are refused. */
int run_check_values(const struct store_entry *e);

/* --- run_log.c --- */

int run_log_sync(struct run_folder *r);
/* The log holds what the state says. */
int run_log_check(struct run_folder *r);

/* Keeps whether the last error was a full disk; returns -1. */
int run_failed(struct run_folder *r);

#endif
