/*
 * formats/safetensors_read.c - opening safetensors, and what is in it
 *
 * The data section must be covered by the tensors exactly, without overlap and without holes,
 * as in the reference implementation; so the size of the file is known from its header, and a
 * cut or a grown file is noticed when it is opened.
 */
#include <inttypes.h>

#include "formats/safetensors_parts.h"
#include "lib/base/memory.h"

int safetensors_new(struct safetensors **out)
{
	struct safetensors *s = mem_new(1, sizeof *s);

	if (!s)
		return -1;
	if (arena_new(&s->arena) < 0 || names_new(&s->names) < 0 || json_new(&s->json) < 0) {
		safetensors_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void safetensors_close(struct safetensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_files; i++)
		mapfile_close(s->files[i].map);
	mapfile_close(s->index);
	json_free(s->json);
	names_free(s->names);
	arena_free(s->arena);
	free(s->files);
	free(s->tensors);
	free(s->pairs);
	free(s);
}

/* By data; tensors without any by their place in the header. */
static int by_data(const void *a, const void *b)
{
	const struct tensor_info *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if ((x->n_bytes == 0) != (y->n_bytes == 0))
		return x->n_bytes == 0 ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* Each tensor must begin where the one before it ends. *TOTAL: where the last one ends. */
static int check_cover(const char *file, const struct tensor_info *t, size_t n, uint64_t *total)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (t[i].offset > at)
			return safetensors_fail(file, t[i].name, ERR_FORMAT,
						"%" PRIu64
						" bytes before its data belong to no tensor",
						t[i].offset - at);
		if (t[i].offset < at)
			return safetensors_fail(file, t[i].name, ERR_FORMAT,
						"its data overlaps that of tensor " BYTES_FMT,
						BYTES_ARG(t[i - 1].name));
		at += t[i].n_bytes;
	}
	*total = at;
	return 0;
}

static int check_size(const struct safetensors_file *f, uint64_t data, uint64_t total)
{
	uint64_t there = f->bytes.size - data;

	if (total > there)
		return err_set(ERR_FORMAT,
			       "%s: the file is cut short: its tensors take %" PRIu64
			       " bytes, %" PRIu64 " are there",
			       f->path, total, there);
	if (total < there)
		return err_set(ERR_FORMAT,
			       "%s: %" PRIu64
			       " bytes follow the last tensor, which ends at byte %" PRIu64,
			       f->path, there - total, data + total);
	return 0;
}

static int add_names(struct safetensors *s, size_t first)
{
	for (size_t i = first; i < s->n_tensors; i++) {
		const struct tensor_info *t = &s->tensors[i];
		uint32_t old;
		int got = names_add(s->names, t->name, (uint32_t)i, &old);

		if (got < 0)
			return -1;
		if (got == 0)
			return safetensors_fail(s->files[t->file].path, t->name, ERR_MISMATCH,
						"the same tensor is in %s too",
						s->files[s->tensors[old].file].path);
	}
	return 0;
}

/* From offsets in the data to places in the file. */
static void place(struct safetensors *s, size_t first, uint64_t data)
{
	const struct safetensors_file *f = &s->files[s->n_files - 1];

	for (size_t i = first; i < s->n_tensors; i++) {
		struct tensor_info *t = &s->tensors[i];

		t->offset += data;
		t->data = (const unsigned char *)f->bytes.data + t->offset;
		t->file = (uint32_t)(s->n_files - 1);
	}
}

static int read_last(struct safetensors *s)
{
	const struct safetensors_file *f = &s->files[s->n_files - 1];
	size_t first = s->n_tensors, n;
	uint64_t data = 0, total = 0;
	struct tensor_info *added;

	if (safetensors_read_header(s, &data) < 0)
		return -1;
	if (s->n_tensors > UINT32_MAX)
		return err_set(ERR_LIMIT, "%s: too many tensors", f->path);
	n = s->n_tensors - first;
	added = n > 0 ? s->tensors + first : NULL;
	if (n > 1)
		qsort(added, n, sizeof *added, by_data);
	if (check_cover(f->path, added, n, &total) < 0 || check_size(f, data, total) < 0)
		return -1;
	place(s, first, data);
	return add_names(s, first);
}

/* Takes MAP over at once, so that closing S closes it. */
static int add_file(struct safetensors *s, struct mapfile *map, struct bytes bytes,
		    const char *path)
{
	struct safetensors_file *f;

	if (mem_grow(&s->files, &s->files_capacity, s->n_files + 1, sizeof *s->files) < 0) {
		mapfile_close(map);
		return -1;
	}
	f = &s->files[s->n_files++];
	*f = (struct safetensors_file){ .map = map, .bytes = bytes };
	f->path = arena_copy(s->arena, bytes_of(path));
	return f->path ? read_last(s) : -1;
}

int safetensors_add_path(struct safetensors *s, const char *path)
{
	struct mapfile *map;

	if (mapfile_open(&map, path) < 0)
		return -1;
	mapfile_expect(map);
	return add_file(s, map, mapfile_bytes(map), path);
}

int safetensors_open(struct safetensors **out, const char *path)
{
	struct safetensors *s;
	int rc;

	if (safetensors_new(&s) < 0)
		return -1;
	if (bytes_end_with(bytes_of(path), ".index.json"))
		rc = safetensors_add_index(s, path);
	else
		rc = safetensors_add_path(s, path);
	if (rc < 0)
		safetensors_close(s);
	else
		*out = s;
	return rc;
}

int safetensors_open_memory(struct safetensors **out, const void *data, size_t size,
			    const char *name)
{
	struct safetensors *s;
	int rc;

	if (safetensors_new(&s) < 0)
		return -1;
	rc = add_file(s, NULL, (struct bytes){ data, size }, name);
	if (rc < 0)
		safetensors_close(s);
	else
		*out = s;
	return rc;
}

size_t safetensors_n_files(const struct safetensors *s)
{
	return s->n_files;
}

const char *safetensors_file_path(const struct safetensors *s, size_t i)
{
	return s->files[i].path;
}

int safetensors_file_fd(const struct safetensors *s, size_t i)
{
	return s->files[i].map ? mapfile_fd(s->files[i].map) : -1;
}

uint64_t safetensors_file_size(const struct safetensors *s, size_t i)
{
	return s->files[i].bytes.size;
}

size_t safetensors_n_tensors(const struct safetensors *s)
{
	return s->n_tensors;
}

const struct tensor_info *safetensors_tensor(const struct safetensors *s, size_t i)
{
	return &s->tensors[i];
}

const struct tensor_info *safetensors_find(const struct safetensors *s, struct bytes name)
{
	uint32_t i;

	return names_find(s->names, name, &i) ? &s->tensors[i] : NULL;
}

size_t safetensors_n_pairs(const struct safetensors *s)
{
	return s->n_pairs;
}

const struct safetensors_pair *safetensors_pair(const struct safetensors *s, size_t i)
{
	return &s->pairs[i];
}
