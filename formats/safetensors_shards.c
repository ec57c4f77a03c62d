/*
 * formats/safetensors_shards.c - a sharded set, opened by its index
 *
 * Source: model.safetensors.index.json as huggingface_hub and transformers write it. The index
 * names files; since it may come from anyone, each must be a plain name beside the index.
 */
#include <inttypes.h>

#include "formats/safetensors_parts.h"
#include "lib/base/memory.h"

#define INDEX_DEPTH    32
#define NAME_BYTES_MAX 255 /* of one file, on the file systems that we know */

/* One entry of weight_map; FILE is a number of the FILES below, in the order of the index. */
struct listed {
	struct bytes tensor;
	uint32_t file;
};

struct index {
	struct safetensors *set;
	const char *path;
	struct names *files; /* their numbers */
	struct listed *listed;
	size_t n_listed, listed_capacity;
	struct bytes *file; /* as they first appear */
	size_t n_files, file_capacity;
	uint32_t *place; /* of each file in the set, which holds them sorted by name */
};

static bool plain_name(struct bytes name)
{
	if (name.size == 0 || name.size > NAME_BYTES_MAX || bytes_are(name, ".") ||
	    bytes_are(name, ".."))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] == '/' || name.data[i] == '\\' || name.data[i] == '\0')
			return false;
	return true;
}

static int file_number(struct index *x, struct bytes name, struct bytes tensor, uint32_t *out)
{
	int got = names_add(x->files, name, (uint32_t)x->n_files, out);

	if (got <= 0)
		return got;
	if (!plain_name(name))
		return safetensors_fail(x->path, tensor, ERR_FORMAT,
					"\"" BYTES_FMT "\" is not a file name beside the index",
					BYTES_ARG(name));
	if (mem_grow(&x->file, &x->file_capacity, x->n_files + 1, sizeof *x->file) < 0)
		return -1;
	*out = (uint32_t)x->n_files;
	x->file[x->n_files++] = name;
	return 0;
}

static int read_weight_map(struct index *x, struct json *j, struct bytes text)
{
	struct bytes tensor, name;
	uint32_t file;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &tensor)) > 0) {
		if (json_string(j, &name) < 0 || !safetensors_keep(x->set, text, &tensor) ||
		    !safetensors_keep(x->set, text, &name) ||
		    file_number(x, name, tensor, &file) < 0)
			return -1;
		if (x->n_listed == UINT32_MAX)
			return err_set(ERR_LIMIT, "%s: too many tensors", x->path);
		if (mem_grow(&x->listed, &x->listed_capacity, x->n_listed + 1, sizeof *x->listed) <
		    0)
			return -1;
		x->listed[x->n_listed++] = (struct listed){ tensor, file };
	}
	return got;
}

/* metadata.total_size counts tied weights once or twice, as the writer liked, so it is not read. */
static int read_index(struct index *x, struct bytes text)
{
	struct json *j = x->set->json;
	struct json_limits limits = { .depth = INDEX_DEPTH };
	struct bytes key;
	bool has_map = false;
	int got;

	json_init(j, text.data, text.size, x->path, &limits);
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "weight_map")) {
			has_map = true;
			got = read_weight_map(x, j, text);
		} else {
			got = json_skip(j, NULL);
		}
		if (got < 0)
			return -1;
	}
	if (got < 0 || json_end(j) < 0)
		return -1;
	if (!has_map)
		return err_set(ERR_FORMAT, "%s: no weight_map", x->path);
	return 0;
}

/* PATH's folder and NAME; what follows the last slash of PATH is left out. */
static char *beside(const char *path, struct bytes name)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;

	return mem_format("%.*s%.*s", folder, path, (int)name.size, name.data);
}

static int open_shard(struct index *x, struct bytes name)
{
	char *path = beside(x->path, name);
	int rc;

	if (!path)
		return -1;
	rc = safetensors_add_path(x->set, path);
	if (rc < 0 && (err_last() == ERR_IO || err_last() == ERR_MISSING))
		err_prefix("%s", x->path);
	free(path);
	return rc;
}

struct numbered {
	struct bytes name;
	uint32_t number;
};

static int by_name(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return bytes_compare(x->name, y->name);
}

/* The shards in the order of their names, however the index lists them. */
static int open_shards(struct index *x)
{
	struct numbered *order = mem_new(x->n_files, sizeof *order);
	int rc = order ? 0 : -1;

	x->place = mem_new(x->n_files, sizeof *x->place);
	if (!x->place)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < x->n_files; i++)
		order[i] = (struct numbered){ x->file[i], (uint32_t)i };
	if (rc == 0)
		qsort(order, x->n_files, sizeof *order, by_name);
	for (size_t i = 0; rc == 0 && i < x->n_files; i++) {
		x->place[order[i].number] = (uint32_t)i;
		rc = open_shard(x, order[i].name);
	}
	free(order);
	return rc;
}

/* Every tensor of the index must be in the file that it says. */
static int check_listed(const struct index *x)
{
	for (size_t i = 0; i < x->n_listed; i++) {
		const struct listed *l = &x->listed[i];
		const struct tensor_info *t = safetensors_find(x->set, l->tensor);
		const char *file = x->set->files[x->place[l->file]].path;

		if (!t)
			return safetensors_fail(x->path, l->tensor, ERR_MISMATCH,
						"it should be in %s, which does not have it", file);
		if (t->file != x->place[l->file])
			return safetensors_fail(x->path, l->tensor, ERR_MISMATCH,
						"it should be in %s, but is in %s", file,
						x->set->files[t->file].path);
	}
	return 0;
}

/* After check_listed all that is listed is there, so a shard has more exactly when the counts differ. */
static int check_unlisted(const struct index *x)
{
	const struct safetensors *s = x->set;
	const struct tensor_info *t;
	struct names *listed;
	int rc = 0;

	if (s->n_tensors == x->n_listed)
		return 0;
	if (names_new(&listed) < 0)
		return -1;
	for (size_t i = 0; rc >= 0 && i < x->n_listed; i++)
		rc = names_add(listed, x->listed[i].tensor, 0, NULL);
	for (size_t i = 0; rc >= 0 && i < s->n_tensors; i++) {
		t = &s->tensors[i];
		if (!names_find(listed, t->name, NULL))
			rc = safetensors_fail(s->files[t->file].path, t->name, ERR_MISMATCH,
					      "it is not listed in %s", x->path);
	}
	names_free(listed);
	return rc < 0 ? -1 : 0;
}

int safetensors_add_index(struct safetensors *s, const char *path)
{
	struct index x = { .set = s, .path = path };
	int rc = -1;

	if (mapfile_open(&s->index, path) < 0 || names_new(&x.files) < 0)
		goto out;
	if (read_index(&x, mapfile_bytes(s->index)) < 0 || open_shards(&x) < 0 ||
	    check_listed(&x) < 0 || check_unlisted(&x) < 0)
		goto out;
	rc = 0;
out:
	names_free(x.files);
	free(x.listed);
	free(x.file);
	free(x.place);
	return rc;
}
