/*
 * lib/train/run_folder.h - the folder of a training run: checkpoints, links, the log, the lock
 *
 *	step-N/		a Hugging Face folder of the model after step N, with `optimizer.safetensors` and `run.json`; the file
 *			`complete` is written last: without it the folder is a leftover
 *	last, best	links to the newest whole checkpoint and to the one with the lowest validation loss
 *	log.jsonl	one object a line; `bytes` of run.json say how much of it belongs to the checkpoint
 *	done		an empty file, after the last step
 *	lock		held (fcntl) while a process works in the folder
 *
 * man/man5/nnutils-run.5 describes every file. A checkpoint is written under a temporary name, fsynced and renamed, then the
 * links are: a kill at any moment leaves the one before it. A full disk leaves it too, and the run goes on.
 */
#ifndef LIB_TRAIN_RUN_FOLDER_H
#define LIB_TRAIN_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/hf_config.h"
#include "lib/base/buffer.h"
#include "lib/base/hash.h"
#include "lib/graph/store.h"
#include "lib/model/bind.h"
#include "lib/text/spec.h"

/*
 * What run.json holds. Settings are pairs of text under the names of train-lm's options, in a fixed order; identities are what a run must
 * find again: `tokens`, `tokenizer`, `model` (hashes), `level`, `kernels`.
 */
struct run_setting {
	const char *name, *value;
};

struct run_state {
	uint64_t step, tokens, targets; /* done so far */
	uint64_t skipped;		/* steps that were not finite, in all */
	uint64_t skipped_in_row;
	uint64_t log_bytes;
	double best_loss; /* NaN: none yet */
	uint64_t best_step;
	double smoothed_loss; /* of the progress line; NaN: none */
	uint64_t rollbacks;   /* of the spike guard: data go by it */
	const struct run_setting *settings, *identities;
	size_t n_settings, n_identities;
};

/* Appends run.json; keys in a fixed order, doubles as the shortest text that reads back. */
int run_state_put(struct buffer *b, const struct run_state *s);
/* What it points to lives in ARENA. NAME is for messages. */
int run_state_parse(struct run_state *out, struct arena *arena, struct bytes text,
		    const char *name);
/* The value under NAME, or NULL. */
const char *run_setting(const struct run_setting *list, size_t n, const char *name);

enum run_found {
	RUN_NEW,    /* nothing whole was there: leftovers were removed */
	RUN_RESUME, /* `last` is whole: its state was read */
	RUN_DONE,   /* `done` is there: there is nothing to do */
};

struct run_folder;

/*
 * Takes the folder at PATH, made when it is not there, and locks it. Without RESUME it must be empty. -1 with the error set: it is in
 * use (by which process), not empty, not a folder.
 */
int run_folder_open(struct run_folder **out, const char *path, bool resume, enum run_found *found);
void run_folder_close(struct run_folder *r); /* NULL is allowed; the lock ends */
/*
 * Of the checkpoint that `last` names, after RUN_RESUME and after each checkpoint; NULL before. What they return stays valid, and
 * stays as it is, as long as R is.
 */
const struct run_state *run_folder_state(const struct run_folder *r);
const char *run_folder_last(const struct run_folder *r);

/* What goes into a checkpoint. */
struct run_checkpoint {
	const struct hf_config *config;
	const struct store *store;
	const struct bind_rules *rules; /* to the names of the folder */
	const char *
		companions; /* a folder whose tokenizer and generation files are copied along; NULL: none */
	const struct run_state *state;
	/* Written as the tokenizer's files where there are no companions (a GGUF has none); NULL: none. */
	const struct tokenizer_spec *tokenizer;
};

/*
 * Writes step-N, N of the state, and points `last` at it. 0, or -1 with the error set and everything as it was before; ERR_IO with
 * errno ENOSPC or EDQUOT kept in run_folder_full.
 */
int run_folder_checkpoint(struct run_folder *r, const struct run_checkpoint *c);
bool run_folder_full(const struct run_folder *r); /* the last failure was a full disk */
/* Reads optimizer.safetensors of `last` into the entries of S of kind STORE_STATE, by name; shapes and dtypes must agree. */
int run_folder_restore(const struct run_folder *r, struct store *s, struct team *team);
int run_folder_best(struct run_folder *r, uint64_t step);
/* Removes whole checkpoints but the N newest, `last` and `best`. */
int run_folder_keep(struct run_folder *r, size_t n);
int run_folder_done(struct run_folder *r);

/* --- the log --- */

/* Cut to the bytes of the state on resume. LINE is a JSON object without a line end. */
int run_folder_log(struct run_folder *r, struct bytes line);
uint64_t run_folder_log_bytes(const struct run_folder *r);

#endif
