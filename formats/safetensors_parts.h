/*
 * formats/safetensors_parts.h - what the files of the safetensors reader share
 *
 * Private to formats/safetensors_*.c.
 */
#ifndef FORMATS_SAFETENSORS_PARTS_H
#define FORMATS_SAFETENSORS_PARTS_H

#include "formats/json.h"
#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/names.h"

#define SAFETENSORS_METADATA "__metadata__"

struct safetensors_file {
	struct mapfile *map; /* owned; NULL for memory */
	const char *path;
	struct bytes bytes; /* all of it */
};

struct safetensors {
	struct arena *arena;
	struct names *names; /* of tensors: their place in TENSORS */
	struct json *json;
	struct mapfile *index; /* names of a sharded set may point into it */

	struct safetensors_file *files;
	size_t n_files, files_capacity;
	struct tensor_info *tensors;
	size_t n_tensors, tensors_capacity;
	struct safetensors_pair *pairs;
	size_t n_pairs, pairs_capacity;
};

int safetensors_new(struct safetensors **out);

/* Adds one file as the last: its tensors in the order of their data, their names to the table. */
int safetensors_add_path(struct safetensors *s, const char *path);

/* Adds all the files that the index at PATH names. */
int safetensors_add_index(struct safetensors *s, const char *path);

/*
 * Appends the tensors of the last file as its header lists them, checked one by one; OFFSET counts from
 * the start of the data, FILE is the place in the header. *DATA is where in the file the data starts.
 */
int safetensors_read_header(struct safetensors *s, uint64_t *data);

/* B itself when it lies in WITHIN, else a copy in the arena. False: no memory. */
bool safetensors_keep(struct safetensors *s, struct bytes within, struct bytes *b);

/* `FILE: tensor NAME: …`; returns -1. */
int safetensors_fail(const char *file, struct bytes name, enum err_code code, const char *format,
		     ...) __attribute__((format(printf, 4, 5)));

#endif
